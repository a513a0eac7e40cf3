package reporters

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// Headline returns the result in one line of plain text that still has to be escaped:
// it may contain the gate's reason, which names keys.
func (s *Sections) Headline(r *report.Report) string {
	var parts []string
	add := func(n int, noun string) {
		if n > 0 {
			parts = append(parts, textfmt.Count(n, noun))
		}
	}
	if words := Invalid(r.Problems); words != "" {
		parts = append(parts, words)
	}
	add(s.Regressed, "regression")
	if s.Regressed > 0 && s.confirmed() {
		parts[len(parts)-1] += " (confirmed)"
	}
	if gotWorse(r) {
		parts = append(parts, "worse on the whole")
	}
	if r.Base == nil && s.Failing > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s %s", textfmt.Int(int64(s.Failing)), textfmt.Count(r.Summary.Cases, "case"), textfmt.Verb(s.Failing, "fails", "fail")))
	} else {
		add(s.Failing, "failing case")
	}
	add(len(report.Accepted(r)), "accepted case")
	add(len(report.QuarantinedRows(r)), "quarantined case")
	add(report.Errors(r), "error")
	add(r.Diff.Improvements, "improvement")
	parts = append(parts, r.Unconfirmed()...)
	if fell := r.ScoresFell(); fell != "" {
		parts = append(parts, fell)
	}
	if n := r.Summary.NotRun; n > 0 && len(parts) > 0 { // otherwise the gate gives it, with the reason
		parts = append(parts, textfmt.Count(n, "case")+" not run")
	}
	line, left := s.headline(r, parts), report.Withdrawals(r)
	if left != "" && !strings.Contains(line, left) { // the gate's reason may have it
		line += " · " + left
	}
	for _, first := range []string{"scores fell", "worse on the whole"} {
		if strings.HasPrefix(line, first) {
			line = strings.ToUpper(line[:1]) + line[1:]
		}
	}
	if changed := r.TargetChanges.Line(); changed != "" {
		line = changed + " · " + line
	}
	return line
}

// Unexamined reports whether nothing is known about a head but the reason why it is not
// judged.
func Unexamined(r *report.Report) bool {
	return r.NotRunReason != "" && r.Summary.Cases == 0 && len(r.Problems) == 0 && r.Base == nil
}

// gotWorse reports whether the cases got worse on the whole, for certain.
func gotWorse(r *report.Report) bool { return r.Remeasured != nil && r.Remeasured.Mean.Called }

// confirmed reports whether all regressions are confirmed and at least one of them was
// measured again.
func (s *Sections) confirmed() bool {
	measured := false
	for _, row := range s.Blocking {
		if order(row) != 0 {
			continue
		}
		if row.Confirmation == nil || !row.Confirmation.Confirmed {
			return false
		}
		measured = measured || len(row.Confirmation.Samples) > 0
	}
	return measured
}

// explains reports whether counts explain why the gate does not pass. Flaky cases and
// improvements do not; a limit on scores, for example, may be the reason then.
func (s *Sections) explains(r *report.Report) bool {
	return len(s.Blocking) > 0 || report.InvalidFiles(r.Problems) > 0 || r.Summary.Error+r.Summary.NotRun > 0 ||
		r.Diff.Unclear > 0 && r.Gate.Result == report.GateUndetermined ||
		gotWorse(r) || r.ScoresFell() != "" || len(report.Accepted(r))+len(report.QuarantinedRows(r)) > 0
}

// headline uses the gate if no count describes the result.
func (s *Sections) headline(r *report.Report, parts []string) string {
	told := strings.Join(parts, ", ")
	bad := r.Gate.Result != report.GatePass || report.InvalidFiles(r.Problems) > 0 || len(s.Blocking) > 0 || r.Summary.Error > 0
	switch {
	case len(s.Planned) > 0:
		return strings.Join(append(parts, textfmt.Count(len(s.Planned), "case")+" would run"), ", ")
	case r.Gate.Result != report.GatePass && told != "" && !s.explains(r):
		return fmt.Sprintf("%s; %s", r.Gate, told)
	case bad && told != "":
		return told
	case Unexamined(r):
		return "Not judged: " + strings.TrimPrefix(r.NotRunReason, "not judged: ")
	case r.Gate.Result != report.GatePass:
		return r.Gate.String()
	case report.NothingAffected(r) && report.Withdrawals(r) == "" && len(report.QuarantinedRows(r)) == 0:
		return "No affected cases"
	case r.Base == nil:
		if r.Summary.Pass == 1 {
			return "The one judged case passes"
		}
		return "All " + textfmt.Count(r.Summary.Pass, "judged case") + " pass"
	case told != "":
		return "No regressions, " + told
	}
	return "No regressions"
}

// Invalid counts the definitions with errors, or reports that the whole commit is not
// examined; empty for neither.
func Invalid(problems []schema.Problem) string {
	n := report.InvalidFiles(problems)
	switch {
	case n == 0:
		return ""
	case report.OutOfBounds(problems):
		return "This commit is out of bounds"
	}
	return textfmt.Count(n, "invalid definition")
}

// Change formats a difference of means with its 95 % confidence interval; empty without
// one, since the difference alone would look certain.
func Change(delta *float64, b report.Between) string {
	if delta == nil || !b.Known() {
		return ""
	}
	return fmt.Sprintf("%s (%s … %s)", textfmt.Signed(*delta, 2), textfmt.Signed(*b.CILow, 2), textfmt.Signed(*b.CIHigh, 2))
}

// Difference formats the delta of a report that has one, with its interval: three
// decimals, more if they are needed to see it. It mentions possible noise only if
// nothing else in the report is known to be real.
func Difference(r *report.Report) string {
	d := r.Diff
	certain := d.Confirmed > 0 || gotWorse(r)
	out := textfmt.Signed(*d.Delta, 3)
	if out == "0" {
		out = textfmt.Signed(*d.Delta, 6)
	}
	if d.CILow != nil && d.CIHigh != nil {
		out += fmt.Sprintf(", 95 %% CI %s … %s", textfmt.Signed(*d.CILow, 3), textfmt.Signed(*d.CIHigh, 3))
		if *d.CILow <= 0 && *d.CIHigh >= 0 && !certain {
			out += ": may be noise"
		}
	}
	return out
}

// DespiteFailures counts the cases that fail although the shown mean is 1: they have
// weight 0, break a demand without a score, or are not part of the mean. It goes after
// the score, and is empty for any other.
func DespiteFailures(r *report.Report, mean *float64) string {
	n := r.Summary.Fail
	if n == 0 || mean == nil || math.Round(*mean*1e9)/1e9 < 1 {
		return ""
	}
	return fmt.Sprintf(", although %s %s", textfmt.Count(n, "case"), textfmt.Verb(n, "fails", "fail"))
}

// Done counts the repeated cases by action, without cases that were not run.
func Done(r *report.Report) map[plan.Action]int {
	s := r.Summary
	done := map[plan.Action]int{plan.Run: s.Run, plan.Rejudge: s.Rejudged, plan.Redecide: s.Redecided}
	for i := range r.Cases {
		if row := &r.Cases[i]; row.Unrun() {
			done[row.Action]--
		}
	}
	return done
}

// Effort counts the repeated cases: "41 of 1,204 cases rerun, 3 re-judged, 2 not run".
func Effort(r *report.Report) string {
	s := r.Summary
	total := textfmt.Count(s.Cases, "case")
	switch {
	case r.NotRunReason != "":
		return "none of " + total + " run"
	case report.Due(r) == 0:
		return "none of " + total + " rerun"
	}
	var said []string
	say := func(n int, word string) {
		if n == 0 {
			return
		}
		count := textfmt.Int(int64(n))
		if len(said) == 0 {
			count += " of " + total
		}
		said = append(said, count+" "+word)
	}
	done := Done(r)
	for _, action := range []plan.Action{plan.Run, plan.Rejudge, plan.Redecide} {
		say(done[action], ActionWord(r, action))
	}
	say(s.NotRun, "not run")
	return strings.Join(said, ", ")
}

// ActionWord returns an action in the past tense: re-judged. Without a base nothing was
// done before.
func ActionWord(r *report.Report, a plan.Action) string {
	switch a {
	case plan.Run:
		if r.Base == nil {
			return "run"
		}
		return "rerun"
	case plan.Rejudge:
		return "re-judged"
	case plan.Redecide:
		return "re-decided"
	case plan.Reuse:
		return "stored verdict"
	}
	return string(a)
}

// Cost describes the cost of the run and the savings by reuse.
func Cost(r *report.Report) string {
	s := r.Summary
	took := []string{textfmt.Count(s.Calls, "call")}
	if s.Calls == 0 && s.Unanswered > 0 {
		took[0] = "no call was answered"
	}
	if s.CostUSD != nil && *s.CostUSD > 0 {
		took = append(took, textfmt.USD(*s.CostUSD))
	}
	if s.Tokens > 0 {
		took = append(took, textfmt.Int(s.Tokens)+" tokens")
	}
	took = append(took, textfmt.Duration(time.Duration(r.DurationMS)*time.Millisecond))
	out := strings.Join(took, ", ")
	if saved := r.Saved; saved.Calls > 0 {
		out += "; reuse saved " + textfmt.Count(saved.Calls, "call")
		if saved.CostUSD != nil && *saved.CostUSD > 0 {
			out += ", " + textfmt.USD(*saved.CostUSD)
		}
	}
	return out
}

// Why returns the plan's reasons for a row in one line: "rerun: system prompt changed
// in support/domain.json". Empty for a new case, for an invalid definition, whose error
// explains it, and without a base.
func Why(r *report.Report, row *report.Row) string {
	said := plan.Summarise(row.Reasons)
	if said == "" || r.Base == nil || row.Invalid() || row.Class != nil && *row.Class == report.New {
		return ""
	}
	return ActionWord(r, row.Action) + ": " + said
}

// Scored reports whether the report has a score of head: nothing had to be judged
// again, or some of it was.
func Scored(r *report.Report) bool {
	due := report.Due(r)
	return due == 0 || r.NotRunReason == "" && r.Summary.NotRun < due
}

// StandingText counts the cases that fail as they did at base; empty for none.
func (s *Sections) StandingText() string {
	if s.Standing == 0 {
		return ""
	}
	return textfmt.Count(s.Standing, "case") + " " + textfmt.Verb(s.Standing, "fails as it", "fail as they") + " did at base"
}
