package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// Decide applies the rules of the evaluators to the samples of a case.
//
// The score of the case is Σ w·s / Σ w over the evaluators, where s is the mean over
// the samples. It passes when every evaluator passes. Samples that ended in an error,
// or that do not fit the evaluators, are left out; if none remains, or if the weights
// give no mean, the verdict is [Error]. The reason comes from the first evaluator that
// failed, else from the first.
func Decide(evaluators []schema.Evaluator, samples []Sample) Result {
	return DecideCase(&schema.Case{Evaluators: evaluators}, samples)
}

// DecideCase is [Decide] with the policy of the case. If that has bands, the case
// passes or is borderline by its score, compared after rounding to 1e-9, whichever
// evaluators pass; it fails if a demand is not met, whatever the score (the verdicts of
// the evalcase format). The rule of a demand may also make the score of the case 0, as
// AgentV does. If the policy has a pass share, each sample is decided alone, and the case
// passes if enough of them do; the score is the same as without it.
func DecideCase(c *schema.Case, samples []Sample) Result {
	evaluators := c.Evaluators
	if len(evaluators) == 0 {
		return Result{Verdict: Error, Reason: "the case has no evaluator"}
	}
	judged, problem := judgeable(evaluators, samples)
	if c.Policy.PassShare > 0 && len(judged) > 0 {
		return decideShare(c, judged, problem)
	}
	if len(judged) == 0 || c.Policy.Whole && len(judged) < len(samples) {
		return Result{Verdict: Error, Samples: len(judged), Reason: problem}
	}
	if c.Policy.Best && len(judged) > 1 {
		return best(c, judged)
	}
	res := Result{Samples: len(judged)}
	var sum, weights float64
	broken := -1 // the first evaluator with an unmet demand
	unanimous, isZero := false, false
	for i, ev := range evaluators {
		unanimous = unanimous || ev.Rule.Unanimous
		res.NoThreshold = res.NoThreshold || ev.Rule.Ungated
		er, demands := decideEvaluator(ev, i, judged, c.Policy.Every)
		sum += ev.Weight * er.Score
		weights += share(ev.Weight)
		if !demands && broken < 0 {
			broken = i
		}
		isZero = isZero || !demands && ev.Rule.Zeroes || ev.Rule.Weightless
		res.Evaluators = append(res.Evaluators, er)
	}
	score := sum / weights
	if !(score >= 0 && score < 1+1e-9) {
		return Result{Verdict: Error, Samples: len(judged), Reason: "the weights of the evaluators or of their criteria give no mean: they must be numbers ≥ 0 with a sum above 0"}
	}
	if score = math.Min(1, score); isZero {
		score = 0
	}
	res.Score = &score
	res.Verdict = conclusion(c.Policy.Bands, res, broken < 0)
	if c.Policy.Every && len(judged) > 1 {
		res.Verdict = worst(c, judged)
	}
	if res.Verdict == Pass && (unanimous || c.Policy.Every) && len(judged) < len(samples) {
		return Result{Verdict: Error, Samples: len(judged), Reason: problem} // every sample must pass, and one is unknown
	}
	res.Reason = res.Evaluators[decisive(res, broken)].Reason
	return res
}

// alone decides on one sample of a case.
func alone(c *schema.Case, s Sample) Result {
	return DecideCase(&schema.Case{Evaluators: c.Evaluators, Policy: schema.Policy{Bands: c.Policy.Bands}}, []Sample{s})
}

// worst decides on each sample alone, and returns the lowest of the verdicts.
func worst(c *schema.Case, judged []Sample) Verdict {
	lowest := Pass
	for _, s := range judged {
		if v := alone(c, s).Verdict; v.Rank() < lowest.Rank() {
			lowest = v
		}
	}
	return lowest
}

// best decides on each sample alone, and returns the best result: the best verdict with
// the highest score, the first of several.
func best(c *schema.Case, judged []Sample) Result {
	var out Result
	passed := 0
	for i, s := range judged {
		one := alone(c, s)
		better := one.Verdict.Rank() > out.Verdict.Rank() || one.Verdict == out.Verdict && one.Score != nil && *one.Score > *out.Score
		if i == 0 || better {
			out = one
		}
		if one.Verdict == Pass {
			passed++
		}
	}
	out.Samples, out.Best = len(judged), true
	out.Reason += shareOf(passed, len(judged), "; the best counts")
	return out
}

// judgeable returns the samples that can be judged, and the problem of the last of the
// others.
func judgeable(evaluators []schema.Evaluator, samples []Sample) ([]Sample, string) {
	judged := make([]Sample, 0, len(samples))
	problem := "no sample was taken"
	for _, s := range samples {
		if e := sampleError(evaluators, s); e != "" {
			problem = e
			continue
		}
		judged = append(judged, s)
	}
	return judged, problem
}

// conclusion returns the verdict by the evaluators or, with bands, by the score and the
// demands.
func conclusion(bands *schema.Bands, res Result, demands bool) Verdict {
	failed := slices.ContainsFunc(res.Evaluators, func(er EvaluatorResult) bool { return !er.Pass })
	switch {
	case bands == nil && failed, bands != nil && !demands:
		return Fail
	case bands == nil, round9(*res.Score) >= round9(bands.Pass):
		return Pass
	case round9(*res.Score) >= round9(bands.Borderline):
		return Borderline
	}
	return Fail
}

// decisive returns the evaluator that explains the verdict: the first that passed or,
// for a case that does not pass, the one with a broken demand, else the first that
// failed.
func decisive(res Result, broken int) int {
	if broken >= 0 && res.Verdict != Pass {
		return broken
	}
	return max(0, slices.IndexFunc(res.Evaluators, func(er EvaluatorResult) bool { return er.Pass == (res.Verdict == Pass) }))
}

// sampleError returns the reason why a sample cannot be judged, or an empty string.
func sampleError(evaluators []schema.Evaluator, s Sample) string {
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
	if len(s.Measurements) != len(evaluators) {
		return fmt.Sprintf("the sample has %d measurements, and the case has %d evaluators", len(s.Measurements), len(evaluators))
	}
	for i, ev := range evaluators {
		if e := unmeasured(ev.Spec, ev.Rule, s.Measurements[i].Criteria); e != "" {
			return fmt.Sprintf("%s: %s", s.Measurements[i].Evaluator, e)
		}
	}
	return ""
}

// unmeasured returns the criteria that a rule needs and that are missing, or an empty
// string. They are an error, never a score of 0.
func unmeasured(spec schema.Spec, rule schema.Rule, criteria []Criterion) string {
	if len(criteria) == 0 {
		return "nothing was measured"
	}
	for _, c := range criteria {
		if c.Value == nil {
			continue
		}
		if v := *c.Value; !(v >= 0) || math.IsInf(v, 1) {
			return fmt.Sprintf("%s has the value %v, which is not a quantity", c.ID, v)
		}
		if _, ok := rule.Most[c.ID]; !ok && !strings.Contains(c.ID, "/") { // a member's has its bound there
			return "nothing bounds " + c.ID
		}
	}
	c, ok := spec.(evaluator.Composite)
	if !ok {
		return ""
	}
	for _, m := range c.Members {
		if len(c.Gates) > 0 && !slices.Contains(c.Gates, m.ID) || m.TurnOf() > 0 && pastLast(c, m, criteria) {
			continue // only measured if the gates are open, and no earlier turn ended the conversation
		}
		if e := unmeasured(m.Spec, m.Rule, memberCriteria(m.ID, criteria)); e != "" {
			return m.ID + ": " + e
		}
	}
	if len(c.Gates) > 0 && shutBy(c, criteria) == "" {
		open := c
		open.Gates = nil
		return unmeasured(open, rule, criteria)
	}
	given := slices.ContainsFunc(criteria, func(of Criterion) bool { return c.Aggregates(of.ID) })
	if !given && c.Aggregated() {
		return "the aggregator gave no score"
	}
	return ""
}

// pastLast reports whether a member looks at a turn after the last.
func pastLast(c evaluator.Composite, m evaluator.Member, criteria []Criterion) bool {
	last := lastTurn(c, criteria)
	return last > 0 && m.TurnOf() > last
}

// decideEvaluator sums up the i-th measurement of every sample, and reports whether all
// demands hold: in more than half of the samples, or in every one if the rule requires
// that. With every it passes when it passes in each of the samples.
func decideEvaluator(ev schema.Evaluator, i int, judged []Sample, every bool) (er EvaluatorResult, demands bool) {
	standings := make([]result, len(judged))
	broken := map[string]int{}
	passed := 0
	for n, s := range judged {
		standings[n] = applyRule(ev.Spec, ev.Rule, s.Measurements[i].Criteria)
		er.Score += standings[n].score
		if standings[n].pass {
			passed++
		}
		for _, id := range standings[n].broken {
			broken[id]++
		}
	}
	er.Score /= float64(len(judged))
	demands = true
	for _, n := range broken {
		if held := len(judged) - n; 2*held <= len(judged) || ev.Rule.Unanimous || every {
			demands = false
		}
	}
	er.Name, er.Weight = ev.Name, &ev.Weight
	er.Criteria = meanCriteria(standings, judged)
	if ev.Spec != nil {
		er.Type = ev.Spec.Kind()
	}
	er.Aggregator, er.Members = members(ev.Spec, ev.Rule, er.Criteria)
	er.Pass = demands && round9(er.Score) >= round9(ev.Rule.Threshold) && (!every || passed == len(judged))
	// The first sample that by itself agrees with the outcome explains it.
	agrees := max(0, slices.IndexFunc(standings, func(s result) bool { return s.pass == er.Pass }))
	er.Reason = judged[agrees].Measurements[i].Reason
	if !er.Pass {
		er.Reason += hint(ev, er.Criteria) + exceeded(ev.Rule, er.Criteria)
	}
	mean := ""
	if least := ev.Rule.Threshold; !er.Pass && demands && 2*passed > len(judged) && least < 1 && !Reaches(er.Score, least) {
		mean = fmt.Sprintf("; their mean score %.3g is below %.3g", er.Score, least)
	}
	er.Reason += shareOf(passed, len(judged), mean)
	return er, demands
}

// shareOf says how many of several samples pass, and what else decided; it is empty for
// one sample.
func shareOf(passed, samples int, more string) string {
	if samples < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d samples pass%s)", passed, samples, more)
}

// members returns the results of the evaluators within a composite, and the name of the
// aggregator. Unmeasured ones are left out. Their criteria are among the composite's.
func members(spec schema.Spec, rule schema.Rule, criteria []Criterion) (aggregator string, results []EvaluatorResult) {
	c, ok := spec.(evaluator.Composite)
	if !ok {
		return "", nil
	}
	for _, m := range c.Members {
		i := slices.IndexFunc(criteria, func(c Criterion) bool { return c.ID == m.ID })
		if i < 0 || criteria[i].NotApplicable {
			continue
		}
		weight, listed := rule.Weights[m.ID]
		if !listed {
			weight = 1
		}
		er := EvaluatorResult{Name: m.ID, Weight: &weight, Score: criteria[i].Score, Pass: Reaches(criteria[i].Score, m.Rule.Threshold)}
		if m.Spec != nil {
			er.Type = m.Spec.Kind()
		}
		er.Aggregator, er.Members = members(m.Spec, m.Rule, memberCriteria(m.ID, criteria))
		results = append(results, er)
	}
	switch {
	case c.Judge != nil:
		return c.Judge.Kind(), results
	case c.Program != nil:
		return c.Program.Kind(), results
	case c.Function != nil:
		return c.Function.Spec.Kind(), results
	}
	return cmp.Or(string(rule.Aggregate), "weighted_average"), results
}

// hint explains the commonest surprise: lists of keywords are often meant as
// alternatives, but all of them are required.
func hint(ev schema.Evaluator, criteria []Criterion) string {
	if _, ok := ev.Spec.(evaluator.Keyword); !ok || ev.Rule.Need > 0 || ev.Rule.Threshold == 1 { // a number or all were requested
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

// exceeded lists the exceeded bounds.
func exceeded(rule schema.Rule, criteria []Criterion) string {
	var over []string
	for _, c := range criteria {
		if c.Value != nil && c.Score < 1 {
			over = append(over, fmt.Sprintf("%s at most %v", c.ID, rule.Most[c.ID]))
		}
	}
	if len(over) == 0 {
		return ""
	}
	return " (allowed: " + strings.Join(over, ", ") + ")"
}

// meanCriteria returns the criteria with their mean scores over the samples that they
// apply to. Notes and excerpts are from the first of these with the lowest score, since it
// shows best why a criterion does not hold.
func meanCriteria(standings []result, judged []Sample) []Criterion {
	var order []string
	found := map[string][]Criterion{}
	for n, s := range standings {
		for _, c := range s.criteria {
			if len(standings) > 1 && c.Score < 1 && (c.Note != "" || c.Expected != "") {
				c.Sample = judged[n].Ordinal + 1
			}
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
			mean = slices.MinFunc(apply, func(a, b Criterion) int { return cmp.Compare(a.Score, b.Score) })
			mean.Score = 0
		}
		value := 0.0
		for _, c := range apply {
			mean.Score += c.Score
			if c.Value != nil {
				value += *c.Value
			}
		}
		if n := float64(len(apply)); n > 0 {
			mean.Score, value = mean.Score/n, value/n
		}
		if mean.Value != nil {
			mean.Value = &value
		}
		out = append(out, mean)
	}
	return out
}
