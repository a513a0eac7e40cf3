package promptfoo

import (
	"cmp"
	"strconv"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/row"
)

// grade takes over the answer, the score and what made it.
func (out *result) grade(c *report.Row, from *row.Row) {
	if t := c.Result.Transcript; t != nil {
		u := t.Usage
		out.Response = &response{
			Output: cmp.Or(verdict.Answer(t.Messages[lastOfUser(t.Messages)+1:]), t.Calls()), Cost: u.CostUSD,
			TokenUsage: tokens{Prompt: u.InputTokens, Completion: u.OutputTokens, Total: u.InputTokens + u.OutputTokens, NumRequests: u.Calls},
		}
		out.LatencyMS, out.Cost = t.Latency.Milliseconds(), u.CostUSD
	}
	if c.Error != nil {
		out.Error, out.FailureReason = *c.Error, failedError
		return
	}
	out.Success = *c.Verdict == verdict.Pass
	if !out.Success {
		out.FailureReason, out.Error = failedAssertion, c.VerdictReason
	}
	if *c.Verdict == verdict.Error {
		out.FailureReason = failedError
		return
	}
	if c.Score != nil {
		out.Score = *c.Score
	}
	reason := cmp.Or(c.VerdictReason, "All assertions passed")
	out.Grading = &grading{Pass: out.Success, Score: out.Score, Reason: reason, Components: []grading{}}
	if len(from.Asserts) == 0 {
		return
	}
	weights := map[string]float64{}
	for i, e := range c.Result.Evaluators {
		g := componentOf(e)
		if len(from.Asserts) == len(c.Result.Evaluators) {
			g.Assertion = &from.Asserts[i]
			out.name(weights, from.Asserts[i], e.Score)
		}
		out.Grading.Components = append(out.Grading.Components, g)
	}
	out.Grading.Named = out.NamedScores
}

// name adds the score of an assertion to the mean of its metric, by weight.
func (out *result) name(weights map[string]float64, a row.Assertion, score float64) {
	if a.Metric == "" {
		return
	}
	weight := 1.0
	if a.Weight != nil {
		weight = *a.Weight
	}
	before := weights[a.Metric]
	if weights[a.Metric] += weight; weights[a.Metric] > 0 {
		out.NamedScores[a.Metric] = (out.NamedScores[a.Metric]*before + score*weight) / weights[a.Metric]
	}
}

func componentOf(e verdict.EvaluatorResult) grading {
	g := grading{Pass: e.Pass, Score: e.Score, Reason: e.Reason, Assertion: &row.Assertion{Type: e.Type, Weight: e.Weight}}
	for _, c := range e.Criteria {
		g.Reason = cmp.Or(g.Reason, c.Note)
	}
	if g.Reason == "" && g.Pass {
		g.Reason = "Assertion passed"
	}
	g.Reason = cmp.Or(g.Reason, "the score is "+strconv.FormatFloat(e.Score, 'g', 3, 64))
	for _, m := range e.Members {
		g.Components = append(g.Components, componentOf(m))
	}
	return g
}

// count adds a result to the sums.
func (w *writer) count(out *result) {
	m, s := w.doc.Results.Prompts[out.PromptIdx].Metrics, &w.doc.Results.Stats
	switch {
	case out.Success:
		m.TestPassCount++
		s.Successes++
	case out.FailureReason == failedError:
		m.TestErrorCount++
		s.Errors++
	default:
		m.TestFailCount++
		s.Failures++
	}
	m.Score += out.Score
	m.TotalLatencyMS += out.LatencyMS
	m.Cost += out.Cost
	if out.Response != nil {
		m.TokenUsage.add(out.Response.TokenUsage)
		s.TokenUsage.add(out.Response.TokenUsage)
	}
	for name, score := range out.NamedScores {
		m.NamedScores[name] += score
	}
	if out.Grading == nil {
		return
	}
	for _, g := range out.Grading.Components {
		if g.Pass {
			m.AssertPassCount++
		} else {
			m.AssertFailCount++
		}
	}
}
