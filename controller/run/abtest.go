package run

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// significant is the highest probability at which an uneven split of preferences does
// not count as chance.
const significant = 0.05

// An abPair has the measurements of one input under both prompts.
type abPair struct {
	A, B verdict.Sample
	// Preference is the verdict of a judge who saw both outputs; empty without a judge.
	Preference verdict.Measurement
}

// Problem returns the reason why there is nothing to compare, or an empty string.
func (p abPair) Problem() string {
	for _, s := range []verdict.Sample{p.A, p.B} {
		if s.Error != "" {
			return s.Error
		}
		for _, m := range s.Measurements {
			if m.Error != "" {
				return m.Error
			}
		}
		if len(s.Measurements) == 0 {
			return "it was not judged"
		}
	}
	return p.Preference.Error
}

// decideComparison fills c with the results of the two prompts over pairs without a
// problem. If a judge saw both outputs, the prompt that it prefers in clearly more
// pairs wins, see [stats.SignTest]. Otherwise a prompt wins if its score is higher by
// an interval that does not contain 0, see [stats.Paired].
func decideComparison(c *verdict.Comparison, evaluators []schema.Evaluator, pairs []abPair) {
	c.Pairs = len(pairs)
	if len(pairs) == 0 {
		return
	}
	score := tally{step: step(evaluators[0].Spec, evaluator.GradeCriterion)}
	var criteria []*tally
	for _, p := range pairs {
		a, b := verdict.Decide(evaluators, []verdict.Sample{p.A}), verdict.Decide(evaluators, []verdict.Sample{p.B})
		if a.Score != nil && b.Score != nil {
			score.add(*a.Score, *b.Score)
		}
		for i, ev := range evaluators[:min(len(a.Evaluators), len(b.Evaluators))] {
			criteria = addCriteria(criteria, ev, a.Evaluators[i].Criteria, b.Evaluators[i].Criteria)
		}
	}
	for _, t := range criteria {
		c.Criteria = append(c.Criteria, t.difference())
	}
	if len(score.a) > 0 {
		d := score.difference()
		c.Score = &d
		c.Winner = winner(d)
	}
	if c.Preferences != nil {
		c.Winner = count(c.Preferences, pairs)
	}
}

// addCriteria adds the criteria measured under both prompts.
func addCriteria(to []*tally, ev schema.Evaluator, a, b []verdict.Criterion) []*tally {
	for _, x := range a {
		i := slices.IndexFunc(b, func(y verdict.Criterion) bool { return y.ID == x.ID })
		if i < 0 || x.NotApplicable || b[i].NotApplicable {
			continue
		}
		at := slices.IndexFunc(to, func(t *tally) bool { return t.evaluator == ev.Name && t.id == x.ID })
		if at < 0 {
			at = len(to)
			to = append(to, &tally{evaluator: ev.Name, id: x.ID, step: step(ev.Spec, x.ID)})
		}
		to[at].add(x.Score, b[i].Score)
	}
	return to
}

// step returns the smallest difference between two scores of a criterion.
func step(spec schema.Spec, criterion string) float64 {
	switch spec.(type) {
	case evaluator.Criteria:
		return 1. / evaluator.CriteriaScale
	case evaluator.Semantic:
		if criterion == evaluator.GradeCriterion {
			return 1 / float64(len(evaluator.Grades())-1)
		}
	}
	return 1 // met or not
}

// A tally collects the scores of one evaluator or criterion, pair by pair.
type tally struct {
	evaluator, id string
	step          float64
	a, b          []float64
}

func (t *tally) add(a, b float64) { t.a, t.b = append(t.a, a), append(t.b, b) }

// difference sums up. The interval is limited to the range of score differences.
func (t *tally) difference() verdict.Difference {
	deltas := make([]float64, len(t.a))
	for i := range t.a {
		deltas[i] = t.b[i] - t.a[i]
	}
	d := verdict.Difference{Evaluator: t.evaluator, ID: t.id, A: stats.Mean(t.a), B: stats.Mean(t.b), Delta: stats.Mean(deltas)}
	if interval, ok := stats.Paired(deltas, t.step); ok {
		low, high := max(-1, interval.Low), min(1, interval.High)
		d.Low, d.High = &low, &high
	}
	return d
}

func winner(d verdict.Difference) string {
	switch {
	case d.Low == nil || !(stats.Interval{Low: *d.Low, High: *d.High}).Excludes(0):
		return ""
	case d.Delta > 0:
		return "B"
	}
	return "A"
}

// count counts the preferences and returns the winner.
func count(p *verdict.Preferences, pairs []abPair) string {
	for _, pair := range pairs {
		switch pair.Preference.Criteria[0].Score {
		case 0:
			p.A++
		case 1:
			p.B++
		default:
			p.Ties++
		}
	}
	p.P = stats.SignTest(p.A, p.B)
	switch {
	case p.P > significant:
		return ""
	case p.B > p.A:
		return "B"
	}
	return "A"
}
