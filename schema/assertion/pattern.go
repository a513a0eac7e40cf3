package assertion

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/schema/javascript"
	"github.com/gavel-evals/gavel/schema/template"
)

// CheckPattern returns nil for a pattern of JavaScript with its flags. The error is a
// [*template.MistakeError] about an invalid pattern, or a [*template.NeedError].
func CheckPattern(text, flags string) error {
	if wrong := wrongFlags(flags); wrong != "" {
		return &template.MistakeError{Message: wrong, Hint: "write flags of JavaScript, such as i, m or s, each once"}
	}
	wrong, isWrong := errors.AsType[*javascript.PatternError](javascript.CheckPattern(text, flags))
	switch {
	case !isWrong:
		return nil // a process that does not start says nothing about the pattern, and is an error of each case
	case wrong.Limit:
		return &template.NeedError{What: fmt.Sprintf("a pattern of at most %d bytes with fewer groups", javascript.MaxPattern)}
	case strings.Contains(text, "(?i)"):
		return &template.MistakeError{
			Message: fmt.Sprintf("the pattern %s of regex cannot be read: JavaScript has no (?i)", template.Clip(text)), Hint: "write letters of both cases, as in [Pp]aris, or flags: i in a suite of AgentV",
		}
	}
	return &template.MistakeError{
		Message: fmt.Sprintf("the pattern %s of regex cannot be read: %s", template.Clip(text), template.Clip(wrong.Message)), Hint: `correct it; a sign that is meant itself is written with a backslash, as in \(`,
	}
}

// wrongFlags describes the mistake in a pattern's flags, or is empty.
func wrongFlags(flags string) string {
	for i, flag := range flags {
		if !strings.ContainsRune("dgimsuvy", flag) {
			return fmt.Sprintf("the flag %q is not one of JavaScript", flag)
		}
		if strings.ContainsRune(flags[:i], flag) {
			return fmt.Sprintf("the flag %q is written twice", flag)
		}
	}
	if strings.Contains(flags, "u") && strings.Contains(flags, "v") {
		return "the flags u and v exclude each other"
	}
	return ""
}
