package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// Decide applies the rules of the evaluators to the samples of a case.
//
// The score of the case is Σ w·s / Σ w over the evaluators, where s is the
// mean over the samples. It passes when every evaluator passes. Samples that
// ended in an error are left out; when none remains the verdict is [Error].
func Decide(evaluators []schema.Evaluator, samples []Sample) Result {
	judged := make([]Sample, 0, len(samples))
	var problem string
	for _, s := range samples {
		if e := sampleError(s); e != "" {
			problem = e
			continue
		}
		judged = append(judged, s)
	}
	if len(judged) == 0 {
		if problem == "" {
			problem = "no sample was taken"
		}
		return Result{Verdict: Error, Reason: problem}
	}
	res := Result{Verdict: Pass, Samples: len(judged)}
	var sum, weights float64
	for i, ev := range evaluators {
		er := decideEvaluator(ev, i, judged)
		sum += ev.Weight * er.Score
		weights += ev.Weight
		if !er.Pass {
			res.Verdict = Fail
		}
		if res.Reason == "" || (!er.Pass && res.Verdict == Fail) {
			res.Reason = er.Reason
		}
		res.Evaluators = append(res.Evaluators, er)
	}
	score := sum / weights
	if math.IsNaN(score) || math.IsInf(score, 0) {
		return Result{Verdict: Error, Samples: len(judged), Reason: "the weights of the evaluators sum to 0"}
	}
	res.Score = &score
	return res
}

func sampleError(s Sample) string {
	if s.Error != "" {
		return s.Error
	}
	for _, m := range s.Measurements {
		if m.Error != "" {
			return fmt.Sprintf("%s: %s", m.Evaluator, m.Error)
		}
		for _, c := range m.Criteria {
			if math.IsNaN(c.Score) || c.Score < 0 || c.Score > 1 {
				return fmt.Sprintf("%s: criterion %s has the score %v, which is not in [0,1]", m.Evaluator, c.ID, c.Score)
			}
		}
	}
	return ""
}

// decideEvaluator sums up the i-th measurement of every sample.
func decideEvaluator(ev schema.Evaluator, i int, judged []Sample) EvaluatorResult {
	er := EvaluatorResult{Name: ev.Name, Pass: true}
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
	er.Criteria = meanCriteria(i, judged)
	for _, c := range er.Criteria {
		demanded := c.Veto || slices.Contains(ev.Rule.Required, c.ID)
		if demanded && 2*held[c.ID] <= len(judged) {
			er.Pass = false
		}
	}
	if round9(er.Score) < round9(ev.Rule.Threshold) {
		er.Pass = false
	}
	er.Reason = firstReason(ev.Rule, i, judged, er.Pass)
	return er
}

// scoreOnce is the score of one measurement under the rule, in [0,1].
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
		w, ok := rule.Weights[c.ID]
		if !ok {
			w = 1
		}
		counted++
		sum += w * c.Score
		weights += w
	}
	switch {
	case counted == 0:
		return 1
	case rule.Need > 0:
		return math.Min(1, sum/float64(rule.Need))
	}
	return sum / weights
}

func meanCriteria(i int, judged []Sample) []Criterion {
	var order []string
	mean := map[string]*Criterion{}
	for _, s := range judged {
		for _, c := range s.Measurements[i].Criteria {
			m, ok := mean[c.ID]
			if !ok {
				m = &Criterion{ID: c.ID, Veto: c.Veto, Note: c.Note}
				mean[c.ID] = m
				order = append(order, c.ID)
			}
			m.Score += c.Score / float64(len(judged))
		}
	}
	out := make([]Criterion, 0, len(order))
	for _, id := range order {
		out = append(out, *mean[id])
	}
	return out
}

// firstReason is the reason of the first sample that agrees with the outcome,
// so that a failing case explains its failure.
func firstReason(rule schema.Rule, i int, judged []Sample, pass bool) string {
	for _, s := range judged {
		m := s.Measurements[i]
		if (round9(scoreOnce(rule, m.Criteria)) >= round9(rule.Threshold)) == pass {
			return m.Reason
		}
	}
	return judged[0].Measurements[i].Reason
}

// round9 rounds to 1e-9, so that 0.7 reached by division is 0.7.
func round9(x float64) float64 { return math.Round(x*1e9) / 1e9 }
