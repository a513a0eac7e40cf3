package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// Decide applies the rules of the evaluators to the samples of a case.
//
// The score of the case is Σ w·s / Σ w over the evaluators, where s is the
// mean over the samples. It passes when every evaluator passes. Samples that
// ended in an error, or that do not fit the evaluators, are left out; when none
// remains, or when the weights give no mean, the verdict is [Error]. The reason
// is that of the first evaluator that failed, else of the first.
func Decide(evaluators []schema.Evaluator, samples []Sample) Result {
	if len(evaluators) == 0 {
		return Result{Verdict: Error, Reason: "the case has no evaluator"}
	}
	judged := make([]Sample, 0, len(samples))
	problem := "no sample was taken"
	for _, s := range samples {
		if e := sampleError(evaluators, s); e != "" {
			problem = e
			continue
		}
		judged = append(judged, s)
	}
	if len(judged) == 0 {
		return Result{Verdict: Error, Reason: problem}
	}
	res := Result{Verdict: Pass, Samples: len(judged)}
	var sum, weights float64
	for i, ev := range evaluators {
		er := decideEvaluator(ev, i, judged)
		sum += ev.Weight * er.Score
		weights += share(ev.Weight)
		if i == 0 || !er.Pass && res.Verdict == Pass {
			res.Reason = er.Reason
		}
		if !er.Pass {
			res.Verdict = Fail
		}
		res.Evaluators = append(res.Evaluators, er)
	}
	score := sum / weights
	if !(score >= 0 && score < 1+1e-9) {
		return Result{Verdict: Error, Samples: len(judged), Reason: "the weights of the evaluators or of their criteria give no mean: they must be numbers ≥ 0 with a sum above 0"}
	}
	score = math.Min(1, score)
	res.Score = &score
	return res
}

// sampleError says why a sample cannot be judged; empty when it can.
func sampleError(evaluators []schema.Evaluator, s Sample) string {
	if s.Error != "" {
		return s.Error
	}
	for _, m := range s.Measurements {
		if m.Error != "" {
			return fmt.Sprintf("%s: %s", m.Evaluator, m.Error)
		}
		if len(m.Criteria) == 0 {
			return fmt.Sprintf("%s: nothing was measured", m.Evaluator)
		}
		for _, c := range m.Criteria {
			if math.IsNaN(c.Score) || c.Score < 0 || c.Score > 1 {
				return fmt.Sprintf("%s: criterion %s has the score %v, which is not in [0,1]", m.Evaluator, c.ID, c.Score)
			}
		}
	}
	if len(s.Measurements) != len(evaluators) {
		return fmt.Sprintf("the sample has %d measurements, and the case has %d evaluators", len(s.Measurements), len(evaluators))
	}
	return ""
}

// decideEvaluator sums up the i-th measurement of every sample.
func decideEvaluator(ev schema.Evaluator, i int, judged []Sample) EvaluatorResult {
	er := EvaluatorResult{Name: ev.Name, Criteria: meanCriteria(i, judged)}
	held := map[string]int{}
	for _, s := range judged {
		m := s.Measurements[i]
		er.Score += scoreOnce(ev.Rule, m.Criteria) / float64(len(judged))
		for _, c := range m.Criteria {
			if c.Score > 0 {
				held[c.ID]++
			}
		}
	}
	er.Pass = round9(er.Score) >= round9(ev.Rule.Threshold)
	for _, id := range demands(ev.Rule, er.Criteria) {
		if 2*held[id] <= len(judged) {
			er.Pass = false
		}
	}
	er.Reason = firstReason(ev.Rule, i, judged, er.Pass)
	if !er.Pass {
		er.Reason += hint(ev, er.Criteria)
	}
	return er
}

// demands are the criteria that have to hold in more than half of the samples.
// One that was required and never measured does not hold.
func demands(rule schema.Rule, criteria []Criterion) []string {
	ids := slices.Clone(rule.Required)
	for _, c := range criteria {
		if c.Veto {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// hint names the way out of the commonest surprise: lists of keywords are
// often meant as alternatives, and all of them are wanted.
func hint(ev schema.Evaluator, criteria []Criterion) string {
	if _, ok := ev.Spec.(evaluator.Keyword); !ok || ev.Rule.Need > 0 || ev.Rule.Threshold == 1 { // a number or all were asked for
		return ""
	}
	found, missing := false, false
	for _, c := range criteria {
		switch {
		case c.Veto:
		case c.Score > 0:
			found = true
		default:
			missing = true
		}
	}
	if found && missing {
		return " (if the keywords are alternatives, set `match: any`)"
	}
	return ""
}

// scoreOnce is the score of one measurement under the rule, in [0,1], or NaN
// when the weights of its criteria give no mean. Criteria that do not apply
// leave their weight to the others. Vetoes that hold do not count; where there
// is nothing else, that is the full score.
func scoreOnce(rule schema.Rule, criteria []Criterion) float64 {
	var sum, weights float64
	counted := 0
	for _, c := range criteria {
		if c.Veto {
			if c.Score == 0 {
				return 0
			}
			continue
		}
		counted++
		if c.NotApplicable {
			continue
		}
		w, ok := rule.Weights[c.ID]
		if !ok {
			w = 1
		}
		sum += w * c.Score
		weights += share(w)
	}
	switch {
	case counted == 0:
		return 1
	case rule.Need > 0:
		return math.Min(1, sum/float64(rule.Need))
	}
	return sum / weights
}

// share is a weight, or NaN where it is negative: such a one could still give a
// mean between 0 and 1, and it would mean nothing.
func share(weight float64) float64 {
	if weight < 0 {
		return math.NaN()
	}
	return weight
}

// meanCriteria are the criteria with their mean scores over the samples that
// they apply to, and with the notes of the first of these.
func meanCriteria(i int, judged []Sample) []Criterion {
	var order []string
	found := map[string][]Criterion{}
	for _, s := range judged {
		for _, c := range s.Measurements[i].Criteria {
			if len(found[c.ID]) == 0 {
				order = append(order, c.ID)
			}
			found[c.ID] = append(found[c.ID], c)
		}
	}
	out := make([]Criterion, 0, len(order))
	for _, id := range order {
		mean := found[id][0]
		apply := slices.DeleteFunc(found[id], func(c Criterion) bool { return c.NotApplicable })
		if len(apply) > 0 {
			mean = apply[0]
			mean.Score = 0
		}
		for _, c := range apply {
			mean.Score += c.Score / float64(len(apply))
		}
		out = append(out, mean)
	}
	return out
}

// firstReason is the reason of the first sample that by itself agrees with the
// outcome, so that a failing case explains its failure.
func firstReason(rule schema.Rule, i int, judged []Sample, pass bool) string {
	for _, s := range judged {
		m := s.Measurements[i]
		held := round9(scoreOnce(rule, m.Criteria)) >= round9(rule.Threshold)
		for _, id := range demands(rule, m.Criteria) {
			held = held && slices.ContainsFunc(m.Criteria, func(c Criterion) bool { return c.ID == id && c.Score > 0 })
		}
		if held == pass {
			return m.Reason
		}
	}
	return judged[0].Measurements[i].Reason
}

// round9 rounds to 1e-9, so that 0.7 reached by division is 0.7.
func round9(x float64) float64 { return math.Round(x*1e9) / 1e9 }
