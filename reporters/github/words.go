package github

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

// StatusFor says a report in two statuses, without target URLs. A gate that
// passed is success; one that failed, or any invalid definition, is failure;
// an undetermined gate is error, which is not green either.
func StatusFor(r reporters.Report) (validate, verdict Status) {
	invalid := invalidFiles(r.Problems)
	validate = Status{Context: ContextValidate, State: Success, Description: validWords(r.Problems, invalid)}
	verdict = Status{Context: ContextVerdict}
	reason := oneLine(r.Gate.Reason)
	parts := []string{changeWords(r), rerunWords(r.Summary), scoreWords(r)}
	switch {
	case invalid > 0:
		validate.State, verdict.State = Failure, Failure
		parts = append([]string{invalidWords(invalid)}, parts...)
	case r.Gate.Result == "pass":
		verdict.State = Success
	case r.Gate.Result == "fail":
		verdict.State = Failure
		parts = append([]string{parts[0], reason}, parts[1:]...)
	default:
		verdict.State = Error
		parts = append([]string{reason}, parts...)
	}
	verdict.Description = fit(maxDescription, parts...)
	return validate, verdict
}

// Waiting is the last state of a head that may not run before somebody
// approves it; reason is one line.
func Waiting(reason string) Status {
	return Status{Context: ContextVerdict, State: Error, Description: fit(maxDescription, "waiting for approval: "+oneLine(reason))}
}

func validWords(problems []schema.Problem, invalid int) string {
	warnings := 0
	for _, p := range problems {
		if p.Severity == schema.Warning {
			warnings++
		}
	}
	words := "all definitions are valid"
	if invalid > 0 {
		words = invalidWords(invalid)
	}
	if warnings > 0 {
		words += ", " + count(warnings, "warning")
	}
	return words
}

// invalidFiles counts files, since a file with ten mistakes is one definition
// that did not run.
func invalidFiles(problems []schema.Problem) int {
	files := map[string]bool{}
	for _, p := range problems {
		if p.Severity == schema.Error {
			files[p.File] = true
		}
	}
	return len(files)
}

func invalidWords(n int) string { return count(n, "invalid definition") }

// changeWords says what changed against base, or how the cases stand where
// there is no base.
func changeWords(r reporters.Report) string {
	s, d := r.Summary, r.Diff
	if s.Run+s.Rejudged+s.Redecided+s.Removed+d.Moved == 0 {
		return "no affected cases"
	}
	if r.Base == nil {
		words := fmt.Sprintf("%s of %s pass", thousands(s.Pass), count(s.Cases, "case"))
		if s.Error > 0 {
			words += ", " + count(s.Error, "error")
		}
		return words
	}
	var words []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			words = append(words, "1 "+one)
		case n > 1:
			words = append(words, thousands(n)+" "+many)
		}
	}
	add(d.Regressions, "regression", "regressions")
	add(d.Improvements, "improvement", "improvements")
	add(d.Unclear, "unclear", "unclear")
	add(s.Error, "error", "errors")
	add(d.New, "new case", "new cases")
	add(d.Removed, "removed case", "removed cases")
	if len(words) == 0 {
		return "no regressions"
	}
	return strings.Join(words, ", ")
}

func rerunWords(s reporters.Summary) string {
	if n := s.Run + s.Rejudged + s.Redecided; n > 0 {
		return fmt.Sprintf("%s of %s rerun", thousands(n), count(s.Cases, "case"))
	}
	return ""
}

func scoreWords(r reporters.Report) string {
	if base, head := r.Diff.ScoreBase, r.Diff.ScoreHead; base != nil && head != nil {
		return fmt.Sprintf("score %.3f → %.3f", *base, *head)
	}
	if r.Summary.Score != nil {
		return fmt.Sprintf("score %.3f", *r.Summary.Score)
	}
	return ""
}

// fit joins as many parts as limit characters hold, in their order. Only a
// first part that is too long by itself is cut, between two characters.
func fit(limit int, parts ...string) string {
	const separator = " · "
	line := ""
	for _, part := range parts {
		joined := line + separator + part
		if line == "" {
			joined = part
		}
		if part != "" && (line == "" || utf8.RuneCountInString(joined) <= limit) {
			line = joined
		}
	}
	if runes := []rune(line); len(runes) > limit {
		return strings.TrimRight(string(runes[:limit-1]), " ") + "…"
	}
	return line
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// thousands groups digits: 1204 is 1,204.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
