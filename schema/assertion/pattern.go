package assertion

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/javascript"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/template"
)

// Pattern reports whether a JavaScript pattern with flags must be matched by
// JavaScript, since RE2 does not support it: one with lookahead, lookbehind or \u. The
// error is a [*template.MistakeError] about an invalid pattern, or a
// [*template.NeedError].
func Pattern(text, flags string) (byJavaScript bool, err error) {
	if wrong := wrongFlags(flags); wrong != "" {
		return false, &template.MistakeError{Message: wrong, Hint: "write flags of JavaScript, such as i, m or s, each once"}
	}
	if strings.Contains(flags, "v") {
		return false, &template.NeedError{What: "a pattern with the flag v"}
	}
	_, err = regexp.Compile(withFlags(text, flags))
	switch {
	case err == nil && !strings.Contains(flags, "y"):
		return false, nil
	case javascript.IsPattern(text, flags):
		return true, nil
	case len(text) > javascript.MaxPattern:
		return false, &template.NeedError{What: fmt.Sprintf("a pattern of at most %d bytes, if RE2 does not have it", javascript.MaxPattern)}
	}
	if wrong, ok := errors.AsType[*syntax.Error](err); ok && slices.Contains([]syntax.ErrorCode{syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth}, wrong.Code) && !isBackwards(text) {
		return false, &template.NeedError{What: "a pattern with fewer repetitions than " + template.Clip(text)} // which JavaScript supports
	}
	why := "it is not one of JavaScript"
	if err != nil {
		why = strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	}
	return false, &template.MistakeError{
		Message: fmt.Sprintf("the pattern %s of regex cannot be read: %s", template.Clip(text), template.Clip(why)), Hint: `correct it; a sign that is meant itself is written with a backslash, as in \(`,
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
	return ""
}

// withFlags converts a pattern to RE2 with the JavaScript flags that affect matching.
func withFlags(text, flags string) string {
	kept := strings.Map(func(r rune) rune {
		if strings.ContainsRune("ims", r) {
			return r
		}
		return -1
	}, flags)
	if kept == "" {
		return text
	}
	return "(?" + kept + ")" + text
}

// bounds matches the bounds of a repetition.
var bounds = lazyregexp.New(`\{(\d+),(\d+)\}`)

// isBackwards reports whether the maximum of a repetition is below its minimum.
func isBackwards(pattern string) bool {
	return slices.ContainsFunc(bounds.FindAllStringSubmatch(pattern, -1), func(m []string) bool {
		least, err := strconv.Atoi(m[1])
		most, mostErr := strconv.Atoi(m[2])
		return err == nil && mostErr == nil && most < least
	})
}

// Matching returns JavaScript that matches a pattern which RE2 does not support.
func Matching(pattern, flags string) evaluator.JavaScript {
	written, _ := json.Marshal(pattern) // a text
	made := "new RegExp(pattern)"
	if flags != "" {
		kept, _ := json.Marshal(strings.NewReplacer("g", "", "d", "").Replace(flags)) // which bear on no test
		made = "new RegExp(pattern, " + string(kept) + ")"
	}
	return evaluator.JavaScript{Code: `const pattern = ` + string(written) + `;
const found = ` + made + `.test(output);
return {pass: found, reason: 'the answer ' + (found ? 'matches ' : 'does not match ') + pattern};`}
}
