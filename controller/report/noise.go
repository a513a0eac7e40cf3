package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// compare returns the class of a case judged on both sides.
func (in *Input) compare(p pair) Class {
	if f := in.Noise.Finding(p.plan); f != nil {
		switch f.Class {
		case confirm.Regression:
			return Regression
		case confirm.Flaky:
			return Flaky
		case confirm.Unclear, confirm.Error:
			return Unclear
		}
	}
	return compareVerdicts(p)
}

// isNoise reports whether the row was worse once, and not in its reruns.
func (row *Row) isNoise() bool {
	return row.Class != nil && *row.Class == Flaky && row.Confirmation != nil
}

// holds reports whether the row passes by the rule of new cases, whatever its first
// verdict is.
func (row *Row) holds() bool {
	return row.Confirmation != nil && row.Confirmation.Held != nil && *row.Confirmation.Held
}

// unsettled reports open questions of the reruns, case by case and for all cases
// together.
func (f *findings) unsettled(r *Report, s GateSettings) {
	open, gone := 0, 0
	for i := range r.Cases {
		switch c := r.Cases[i].Confirmation; {
		case c == nil || !c.Open || r.Cases[i].Required || s.Once:
		case c.MostlyWorse:
			gone++
		default:
			open++
		}
	}
	if gone > 0 {
		f.unknown("%s %s worse than base in most reruns, and base cannot be measured again to compare", textfmt.Count(gone, "case"), textfmt.Verb(gone, "was", "were"))
	}
	if open > 0 {
		why := ""
		if r.Remeasured != nil && r.Remeasured.Why != "" {
			why = ": " + strings.TrimPrefix(r.Remeasured.Why, NotRunPrefix)
		}
		f.unknown("%s %s not measured again often enough to tell a regression from noise%s", textfmt.Count(open, "case"), textfmt.Verb(open, "was", "were"), why)
	}
	if r.Remeasured == nil || s.Partial {
		return
	}
	switch m := r.Remeasured.Mean; {
	case m.Called:
		f.failed("the cases got worse on the whole: %d worse, %d better (p = %s)", m.Worse, m.Better, shortP(m.P))
	case r.Remeasured.Scores.Called && s.FailScores:
		f.failed("%s (p = %s; scores: fail)", r.ScoresFell(), shortP(r.Remeasured.Scores.P))
	case m.State == string(confirm.MeanOpen) && s.Once:
		f.unknown("the cases may have got worse on the whole, which stored results alone do not decide")
	case m.State == string(confirm.MeanOpen) && open == 0 && r.Remeasured.Why != "":
		f.unknown("whether the cases got worse on the whole was not measured: %s", strings.TrimPrefix(r.Remeasured.Why, NotRunPrefix))
	}
}

func shortP(p float64) string { return strconv.FormatFloat(p, 'g', 1, 64) }

// ScoresFell says that the scores fell for certain, and whether any verdict did as well;
// empty if they did not, or if the report already says that the cases got worse.
func (r *Report) ScoresFell() string {
	if r.Remeasured == nil || !r.Remeasured.Scores.Called || r.Remeasured.Mean.Called {
		return ""
	}
	said := fmt.Sprintf("scores fell by %s, certain", textfmt.Score(&r.Remeasured.Scores.Fall, 2))
	if r.Remeasured.Scores.Fall < 0.01 {
		said = fmt.Sprintf("scores fell by %s, certain", textfmt.Score(&r.Remeasured.Scores.Fall, 4))
	}
	for i := range r.Cases {
		if row := &r.Cases[i]; row.Error != nil || row.Verdict != nil && row.BaseVerdict != nil && *row.Verdict != *row.BaseVerdict {
			return said
		}
	}
	return said + "; no verdict changed"
}

// verdictLine counts the regressions, the confirmed ones among them, and the cases that
// were worse once but are not confirmed.
func (r *Report) verdictLine() string {
	var parts []string
	unconfirmed := r.Unconfirmed()
	if r.Remeasured.Measurements+len(unconfirmed) == 0 && r.ScoresFell() == "" {
		return ""
	}
	if n, confirmed := r.Diff.Regressions, r.Diff.Confirmed; n > 0 {
		how := ""
		switch {
		case n == confirmed:
			how = " (confirmed)"
		case confirmed > 0:
			how = fmt.Sprintf(" (%s confirmed)", textfmt.Int(int64(confirmed)))
		}
		parts = append(parts, textfmt.Count(n, "regression")+how)
	}
	parts = append(parts, unconfirmed...)
	if fell := r.ScoresFell(); fell != "" {
		parts = append(parts, fell)
	}
	said := strings.Join(parts, ", ")
	if push := r.Remeasured.Push; push > 1 {
		said += fmt.Sprintf("; push %d of this pull request, decided at alpha %s", push, shortP(r.Remeasured.Alpha))
	}
	return said
}

// Unconfirmed counts the cases that were worse once and not confirmed by reruns: "3
// unclear" and "1 flaky", if there are any.
func (r *Report) Unconfirmed() []string {
	counts := map[Class]int{}
	for i := range r.Cases {
		if row := &r.Cases[i]; row.Class != nil && row.Confirmation != nil && row.Accepted == nil {
			counts[*row.Class]++
		}
	}
	var said []string
	for _, class := range []Class{Unclear, Flaky} {
		if n := counts[class]; n > 0 {
			said = append(said, textfmt.Int(int64(n))+" "+string(class))
		}
	}
	return said
}

// unclear returns the names of the cases that reruns did not settle.
func unclear(r *Report) []string {
	var names []string
	for i := range r.Cases {
		row := &r.Cases[i]
		if row.Class != nil && *row.Class == Unclear && row.Confirmation != nil && !row.Confirmation.Open {
			names = append(names, row.Name())
		}
	}
	return names
}

// most bounds the keys named in a notice.
const most = 5

// listed joins names, and counts those beyond the first few.
func listed(names []string) string {
	said := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		said += fmt.Sprintf(" and %d more", more)
	}
	return said
}

// noiseNotices lists cases that pass although it is unknown whether they got worse.
func noiseNotices(r *Report) []Notice {
	var out []Notice
	if names := unclear(r); len(names) > 0 {
		n := len(names)
		out = append(out, Notice{Message: fmt.Sprintf("%s %s worse than base, and measuring %s again does not settle whether %s got worse: %s",
			textfmt.Count(n, "case"), textfmt.Verb(n, "was", "were"), textfmt.Verb(n, "it", "them"), textfmt.Verb(n, "it", "they"), listed(names))})
	}
	var unsteady []string
	for i := range r.Cases {
		if row := &r.Cases[i]; row.Confirmation != nil && row.Confirmation.Unsteady {
			unsteady = append(unsteady, row.Name())
		}
	}
	if n := len(unsteady); n > 0 {
		out = append(out, Notice{Message: fmt.Sprintf("%s %s as flaky, since only some runs pass: %s", textfmt.Count(n, "case"), textfmt.Verb(n, "passes", "pass"), listed(unsteady))})
	}
	if r.Remeasured != nil {
		for _, o := range r.Remeasured.Outages {
			out = append(out, Notice{Message: o.String()})
		}
	}
	if r.Remeasured != nil && r.Remeasured.Stale {
		out = append(out, Notice{Message: "base differs from its stored results, so its history begins again here"})
	}
	return out
}
