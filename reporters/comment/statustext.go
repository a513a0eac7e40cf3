package comment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// NewStatuses renders a report as two statuses, without target URLs. A passed gate is
// success; a failed one, or any invalid definition, is failure; an undetermined gate is
// error, which is not green either, and so is a plan that waits for approval.
func NewStatuses(r *report.Report) (validate, verdict Status) {
	return NewValidateStatus(r.Problems), verdictFor(r)
}

// NewValidateStatus returns the first status of [NewStatuses], which is known before
// judging.
func NewValidateStatus(problems []schema.Problem) Status {
	invalid := report.InvalidFiles(problems)
	validate := Status{Context: ContextValidate, State: StateSuccess, Description: validWords(problems, invalid)}
	switch {
	case invalid > 0:
		validate.State = StateFailure
	case report.WaitingFiles(problems) > 0:
		validate.State = StateError
	}
	return validate
}

// verdictFor returns the second one.
func verdictFor(r *report.Report) Status {
	verdict := Status{Context: ContextVerdict}
	invalid := report.InvalidFiles(r.Problems)
	reason := textfmt.Line(r.Gate.Reason)
	parts := []string{changeWords(r), r.ScoresFell(), textfmt.Line(r.TargetChanges.Line()), rerunWords(r), scoreWords(r)}
	if r.Gate.Result == report.GatePass { // otherwise the reason has it
		parts = append(parts, textfmt.Line(r.Gate.Unasked))
	}
	switch {
	case invalid > 0:
		verdict.State = StateFailure
		parts = append([]string{reporters.Invalid(r.Problems)}, parts...)
		if report.OutOfBounds(r.Problems) {
			parts = []string{textfmt.Line(r.NotRunReason)}
		}
	case r.Gate.Result == report.GatePass:
		verdict.State = StateSuccess
	case r.Gate.Result == report.GateFail:
		verdict.State = StateFailure
		parts = append([]string{parts[0], reason}, parts[1:]...)
	default:
		verdict.State = StateError
		parts = append([]string{reason}, parts...)
		if report.WaitingFiles(r.Problems) > 0 {
			verdict.Hold = Approvable
		}
		if r.NotRunReason != "" {
			parts[0], verdict.Hold = textfmt.Line(r.NotRunReason), Approvable
		}
	}
	verdict.Description = fit(maxDescription, parts...)
	return verdict
}

func validWords(problems []schema.Problem, invalid int) string {
	warnings := 0
	for _, p := range problems {
		if p.Severity == schema.Warning {
			warnings++
		}
	}
	words := "all definitions are valid"
	if waiting := report.WaitingFiles(problems); waiting > 0 {
		words = textfmt.Count(waiting, "definition") + textfmt.Verb(waiting, " waits", " wait") + " for approval"
	}
	if invalid > 0 {
		words = reporters.Invalid(problems)
	}
	if warnings > 0 {
		words += ", " + textfmt.Count(warnings, "warning")
	}
	return words
}

// changeWords describes the changes against base, or the verdicts of a report without a
// base. It returns nothing for a plan that was not run.
func changeWords(r *report.Report) string {
	s, d, left := r.Summary, r.Diff, report.Withdrawals(r)
	switch {
	case report.NothingAffected(r) && left == "":
		return "no affected cases"
	case r.NotRunReason != "" && report.Due(r) > 0:
		return left
	case r.Base == nil:
		words := fmt.Sprintf("%s of %s pass", textfmt.Int(int64(s.Pass)), textfmt.Count(s.Cases, "case"))
		if n := report.Errors(r); n > 0 {
			words += ", " + textfmt.Count(n, "error")
		}
		return words
	}
	var words []string
	add := func(n int, noun string) {
		if n > 0 {
			words = append(words, textfmt.Count(n, noun))
		}
	}
	accepted := report.Accepted(r)
	for _, row := range accepted {
		if row.Class != nil && *row.Class == report.Regression {
			d.Regressions--
		}
	}
	quarantined := report.QuarantinedRows(r)
	for _, row := range quarantined {
		if row.Class != nil && *row.Class == report.Regression && row.Accepted == nil {
			d.Regressions--
		}
	}
	add(d.Regressions, "regression")
	add(len(accepted), "accepted case")
	add(len(quarantined), "quarantined case")
	add(report.Errors(r), "error")
	add(d.Improvements, "improvement")
	unsettled := r.Unconfirmed()
	words = append(words, unsettled...)
	if len(unsettled) == 0 {
		add(d.Unclear, "unclear case")
	}
	add(d.New, "new case")
	said := strings.Join(words, ", ")
	switch {
	case said == "" && s.NotRun == 0:
		said = "no regressions"
	case said == "":
		return left
	}
	if left != "" {
		said += " · " + left
	}
	return said
}

func rerunWords(r *report.Report) string {
	n := report.Due(r)
	switch {
	case n == 0:
		return ""
	case r.NotRunReason != "":
		return textfmt.Count(n, "case") + " would run"
	}
	unrun := r.Summary.NotRun
	words := fmt.Sprintf("%s of %s %s", textfmt.Int(int64(n-unrun)), textfmt.Count(r.Summary.Cases, "case"), reporters.ActionWord(r, plan.Run))
	if unrun > 0 {
		words += ", " + textfmt.Int(int64(unrun)) + " not run"
	}
	return words
}

// scoreWords describes the change of the score, or the score.
func scoreWords(r *report.Report) string {
	if !reporters.Scored(r) {
		return ""
	}
	base, head := r.Diff.ScoreBase, r.Diff.ScoreHead
	if base != nil && head != nil && textfmt.Score(base, 3) != textfmt.Score(head, 3) {
		return "score " + textfmt.Score(base, 3) + " → " + textfmt.Score(head, 3) + reporters.DespiteFailures(r, head)
	}
	if base != nil && head != nil {
		return "score " + textfmt.Score(head, 3) + ", unchanged" + reporters.DespiteFailures(r, head)
	}
	if r.Summary.Score != nil {
		return "score " + textfmt.Score(r.Summary.Score, 3) + reporters.DespiteFailures(r, r.Summary.Score)
	}
	return ""
}

// fit joins as many parts as fit into limit characters, in order. Only a first part
// that is too long by itself is cut, between two characters.
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
	return textfmt.Clip(line, limit)
}

// GroupStatuses returns the statuses of the report's group gates, by the rules of
// [NewStatuses].
func GroupStatuses(r *report.Report) []Status {
	var all []Status
	for _, g := range r.GroupGates {
		s := verdictFor(r.GroupReport(g))
		s.Context = GroupContext(g.Group)
		all = append(all, s)
	}
	return all
}

// Names that a context contains unchanged, and the end of all others.
var (
	plainName  = lazyregexp.New(`^[!-~]+( [!-~]+)*$`)
	digestedAs = lazyregexp.New(`~[0-9a-fA-F]{16}$`)
)

// GroupContext returns the context of a group's status: gavel/verdict/ and the name. It
// depends on the name alone, since branch protection names it. A name that is too long,
// or that has anything but printable ASCII, ends with a digest: it may look like
// another one, or equal one if a forge ignores accents. Case does not distinguish
// contexts.
func GroupContext(name string) string {
	const prefix, digits = ContextVerdict + "/", 16
	if len(prefix)+len(name) <= maxContext && plainName.MatchString(name) && !digestedAs.MatchString(name) {
		return prefix + name
	}
	sum := sha256.Sum256([]byte(strings.ToLower(name)))
	shown := textfmt.Line(name)
	for len(prefix)+len(shown)+1+digits > maxContext {
		_, size := utf8.DecodeLastRuneInString(shown)
		shown = shown[:len(shown)-size]
	}
	return prefix + shown + "~" + hex.EncodeToString(sum[:])[:digits]
}
