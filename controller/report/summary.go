package report

import (
	"reflect"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// summarise counts head's cases. Removed ones are counted separately, and controls only
// by what they cost.
func summarise(rows []Row, pairs, controls []pair) (Summary, Saved) {
	var s Summary
	var total weightedMean
	var spent, saved verdict.Usage
	for i, row := range rows {
		countAction(&s, row.Action)
		if row.Action == plan.Removed {
			continue
		}
		s.Count(row.Verdict)
		if row.Verdict == nil && row.Error != nil {
			s.Error++
		}
		if row.Verdict != nil && *row.Verdict == verdict.Pass {
			s.NoThreshold += count(row.NoThreshold)
			s.AsksNothing += count(row.AsksNothing)
		}
		s.NotRun += count(row.Unrun())
		if o := pairs[i].head; row.Error != nil && o != nil && !o.Failed.IsZero() {
			s.Unanswered += count(o.Usage.Calls == 0)
		}
		if row.Action == plan.Reuse && row.Verdict == nil {
			s.NoVerdict++
		}
		total.Add(row.Score, row.Weight)
		spent = spent.Add(pairs[i].spent())
		if o := pairs[i].head; o != nil {
			saved = saved.Add(o.Saved)
		}
	}
	for i := range controls {
		spent = spent.Add(controls[i].spent())
	}
	s.Calls, s.Tokens, s.CostUSD = spent.Calls, spent.Tokens(), spent.Cost()
	s.Score = total.Value()
	return s, Saved{Calls: saved.Calls, CostUSD: saved.Cost()}
}

// count returns 1 for true, else 0.
func count(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

// changed counts the cases that differ between the sides.
func changed(pairs []pair) *int {
	n := 0
	for _, p := range pairs {
		if p.plan.Changed() {
			n++
		}
	}
	return &n
}

// changedUnrun counts the cases that the change adds or changes but that do not run.
func changedUnrun(pairs []pair) (n int) {
	for _, p := range pairs {
		n += count(p.plan.ChangedUnrun())
	}
	return n
}

// spent returns this run's cost of a case, on both sides.
func (p *pair) spent() verdict.Usage {
	var u verdict.Usage
	for _, o := range []*Outcome{p.head, p.base} {
		if o != nil {
			u = u.Add(o.Usage)
		}
	}
	return u
}

func countAction(s *Summary, action plan.Action) {
	switch action {
	case plan.Run:
		s.Run++
	case plan.Rejudge:
		s.Rejudged++
	case plan.Redecide:
		s.Redecided++
	case plan.Reuse:
		s.Reused++
	case plan.Removed:
		s.Removed++
	}
}

// diff compares the cases judged on both sides. Both means use base's weights, so that
// a changed weight alone is not a difference. The interval covers the mean difference
// over similar cases.
func diff(rows []Row, pairs []pair) Diff {
	var d Diff
	var base, head weightedMean
	var measured []stats.Pair
	for i, row := range rows {
		if row.Class != nil {
			countClass(&d, *row.Class)
			if row.Confirmed() {
				d.Confirmed++
			}
		}
		if judged(pairs[i].base) && judged(pairs[i].head) {
			d.Pairs++
			base.Add(row.BaseScore, row.Weight)
			head.Add(row.Score, row.Weight)
			measured = append(measured, pairs[i].difference())
		}
	}
	d.ScoreBase, d.ScoreHead = base.Value(), head.Value()
	if d.ScoreBase != nil && d.ScoreHead != nil {
		delta := *d.ScoreHead - *d.ScoreBase
		d.Delta = &delta
	}
	d.Between = between(measured)
	return d
}

// between returns the interval of the mean difference of pairs. Differences of scores
// are within −1 and 1, so that whole interval means nothing.
func between(pairs []stats.Pair) (b Between) {
	if ci, ok := stats.Clustered(pairs); ok && (ci.Low > -1 || ci.High < 1) {
		low, high := max(ci.Low, -1), min(ci.High, 1)
		b.CILow, b.CIHigh = &low, &high
	}
	return b
}

// difference returns the difference of a case judged on both sides.
func (p *pair) difference() stats.Pair {
	out := stats.Pair{Weight: p.weight(), Cluster: p.cluster}
	if was, is := score(p.base), score(p.head); was != nil && is != nil {
		out.Difference = *is - *was
	}
	return out
}

// Cluster names the cluster of a case at head, whose cases fail together: the turns of a
// conversation and, by the setting noise.cluster, the cases with the same workspace or
// database, or of the same group. It is empty for a separate case.
func Cluster(row *plan.Row, by string) string {
	c := row.Head
	group := strings.Join(append([]string{row.Target}, c.Labels.Groups...), "\x00")
	var fixtures []string
	for _, in := range c.Inputs {
		if slices.Contains([]string{"workspace", "database", "seed"}, in.Role) && !in.Absent {
			fixtures = append(fixtures, in.File)
		}
	}
	switch {
	case by == config.ClusterGroup && len(c.Labels.Groups) > 0:
		return "group\x00" + group
	case by == config.ClusterFixture && len(fixtures) > 0:
		return strings.Join(append([]string{"fixture", row.Target}, fixtures...), "\x00")
	case c.Labels.Conversation != "":
		return "conversation\x00" + c.Labels.Conversation + "\x00" + group
	}
	return ""
}

func countClass(d *Diff, class Class) {
	switch class {
	case Regression:
		d.Regressions++
	case Improvement:
		d.Improvements++
	case Unclear:
		d.Unclear++
	case Flaky:
		d.Flaky++
	case New:
		d.New++
	case Gone:
		d.Removed++
	case Moved:
		d.Moved++
	}
}

// worthDetail reports whether people will want to look into the case: it failed or
// changed, and was different before.
func worthDetail(row Row) bool {
	if row.Verdict == nil || *row.Verdict == verdict.Skipped {
		return false
	}
	if row.Class == nil {
		return *row.Verdict != verdict.Pass
	}
	switch *row.Class {
	case Regression, Flaky, Failed:
		return true
	case New, Unclear:
		return *row.Verdict != verdict.Pass
	}
	return false
}

// DetailOf explains a verdict without a comparison; nil if nothing is known about it.
func DetailOf(result verdict.Result, transcript *verdict.Transcript) *Detail {
	return detail(pair{head: &Outcome{Result: result, Transcript: transcript}})
}

func detail(p pair) *Detail {
	d := &Detail{}
	if p.head != nil && p.head.Transcript != nil {
		d.Messages = p.head.Transcript.Messages
		if p.base != nil && !reflect.DeepEqual(p.base.Transcript.LastReply(), p.head.Transcript.LastReply()) {
			d.BaseReply = p.base.Transcript.LastReply()
		}
	}
	d.Criteria = criteria(p)
	if len(d.Messages) == 0 && len(d.Criteria) == 0 {
		return nil
	}
	return d
}

// criteria joins the criteria of both sides by evaluator and id, in head's order, with
// base's own last.
func criteria(p pair) []CriterionDiff {
	type id struct{ evaluator, criterion string }
	var out []CriterionDiff
	at := map[id]int{}
	each := func(o *Outcome, use func(id, verdict.Criterion)) {
		if !judged(o) {
			return
		}
		for _, ev := range o.Result.Evaluators {
			for _, c := range ev.Criteria {
				if !c.NotApplicable {
					use(id{ev.Name, c.ID}, c)
				}
			}
		}
	}
	each(p.head, func(k id, c verdict.Criterion) {
		at[k] = len(out)
		out = append(out, CriterionDiff{Evaluator: k.evaluator, ID: k.criterion, Head: &c.Score, Note: c.Remark(), Expected: c.Expected, Actual: c.Actual, Sample: c.Sample})
	})
	each(p.base, func(k id, c verdict.Criterion) {
		if i, ok := at[k]; ok {
			out[i].Base = &c.Score
			return
		}
		out = append(out, CriterionDiff{Evaluator: k.evaluator, ID: k.criterion, Base: &c.Score, Note: c.Remark(), Expected: c.Expected, Actual: c.Actual, Sample: c.Sample})
	})
	return out
}
