package comment

import (
	"fmt"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// Conclusions of a check run. A neutral one would pass if it is required, so it is not
// used.
const (
	ConclusionSuccess        = "success"
	ConclusionFailure        = "failure"
	conclusionActionRequired = "action_required"
	ConclusionCancelled      = "cancelled" // no longer awaited
)

const (
	// maxAnnotations is as many as people look through, in some ten requests.
	maxAnnotations = 500
	maxMessage     = 2000
)

// NewCheck renders a report as a check run: its conclusion is as green as the verdict's
// status, and problems, regressions and errors are at the lines of the definitions.
// Reruns and costs are left out, so that equal results give equal check runs.
func NewCheck(r *report.Report) Check {
	validate, decided := NewStatuses(r)
	c := Check{Conclusion: ConclusionFailure}
	first := textfmt.Line(r.Gate.Reason)
	switch invalid := report.InvalidFiles(r.Problems); {
	case invalid > 0:
		first = reporters.Invalid(r.Problems)
	case decided.State == StateSuccess:
		c.Conclusion = ConclusionSuccess
	case decided.State == StateError && r.NotRunReason != "":
		c.Conclusion, first = conclusionActionRequired, textfmt.Line(r.NotRunReason)
	case decided.State == StateError && report.WaitingFiles(r.Problems) > 0:
		c.Conclusion = conclusionActionRequired
	}
	c.Title = fit(maxDescription, first, scoreWords(r))
	c.Annotations = annotations(r)
	c.Summary = fmt.Sprintf("%s\n\nGate: %s\n", textfmt.Markdown(validate.Description, maxMessage), textfmt.Markdown(r.Gate.Reason, maxMessage))
	if more := len(c.Annotations) - maxAnnotations; more > 0 {
		c.Annotations = c.Annotations[:maxAnnotations]
		c.Summary += fmt.Sprintf("\n%s not shown at its line.\n", textfmt.Count(more, "further remark"))
	}
	return c
}

// annotations returns a report's annotations, mistakes in definitions first.
func annotations(r *report.Report) []Annotation {
	var all []Annotation
	for _, kind := range []struct {
		severity schema.Severity
		level    Level
	}{{schema.Error, LevelFailure}, {schema.Warning, levelWarning}} {
		for _, p := range r.Problems {
			if p.Severity == kind.severity && p.File != "" {
				all = append(all, annotateProblem(p, kind.level))
			}
		}
	}
	var rows []*report.Row
	for i := range r.Cases {
		if row := &r.Cases[i]; row.Error == nil || row.Class != nil && *row.Class == report.Failed {
			rows = append(rows, row)
		}
	}
	for _, group := range reporters.ErrorGroups(rows) {
		if a, ok := annotateCase(group); ok {
			all = append(all, a)
		}
	}
	return all
}

func annotateProblem(p schema.Problem, level Level) Annotation {
	message := p.Message
	if p.Hint != "" {
		message += "\n" + p.Hint
	}
	return Annotation{
		Path: p.File, Line: max(p.Line, 1), Column: p.Column, Level: level,
		Title: p.Rule, Message: remark(message),
	}
}

// remark converts a text of any length into a message, cleaning only the part that is
// shown.
func remark(text string) string {
	return textfmt.Clip(textfmt.Clean(textfmt.Clip(text, maxMessage)), maxMessage)
}

// annotateCase returns the annotation of a case that got worse or has no verdict, or of
// several with the same error. A case that failed before is not news.
func annotateCase(group reporters.ErrorGroup) (Annotation, bool) {
	row := group.Rows[0]
	if row.File == "" || row.Class == nil {
		return Annotation{}, false
	}
	a := Annotation{Path: row.File, Line: max(row.Line, 1), Level: LevelFailure}
	words := row.VerdictReason
	switch *row.Class {
	case report.Regression:
		a.Title = "regression"
	case report.Failed:
		a.Title = "not judged"
		if row.Error != nil {
			words = *row.Error
		}
	case report.New:
		if row.Verdict == nil || *row.Verdict != verdict.Fail {
			return Annotation{}, false
		}
		a.Title = "new case that fails"
	case report.Flaky:
		a.Title, a.Level = "flaky", levelWarning
	default:
		return Annotation{}, false
	}
	const most = 8
	a.Message = group.Names(most, (*report.Row).Name)
	if len(group.Rows) > 1 {
		a.Message, words = group.Count()+": "+a.Message, group.Text
	}
	if row.BaseScore != nil && row.Score != nil {
		a.Message += fmt.Sprintf(": %s → %s", textfmt.Score(row.BaseScore, 3), textfmt.Score(row.Score, 3))
	}
	for _, more := range []string{words, reporters.Remeasured(row)} {
		if more != "" {
			a.Message += "\n" + more
		}
	}
	a.Message = remark(a.Message)
	return a, true
}
