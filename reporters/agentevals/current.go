package agentevals

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A current has the parts of a line under the names that AgentV 4 and 5 have for them in
// index.jsonl. They follow the names of the format's pages, which stay.
type current struct {
	TestID       string `json:"test_id"`
	Suite        string `json:"suite"`
	Conversation string `json:"conversation_id,omitempty"`
	outcome
	TokenUsage *tokens `json:"token_usage,omitempty"`
	// CostUSD is missing where the price of a call is not known.
	CostUSD    *float64 `json:"cost_usd,omitempty"`
	DurationMS *int64   `json:"duration_ms,omitempty"`
	// Tags are those of the case, as a map where its suite has them by keys.
	Tags   any     `json:"tags,omitempty"`
	Scores []score `json:"scores"`
	// NamedScores has the score of each of Scores by its name.
	NamedScores map[string]float64 `json:"named_scores,omitempty"`
	EvalPath    string             `json:"eval_path,omitempty"`
	Category    string             `json:"category,omitempty"`
	Experiment  string             `json:"experiment,omitempty"`
	// SampleCount, Samples and Aggregation are there where the case has several samples.
	SampleCount int             `json:"sample_count,omitempty"`
	Samples     []sample        `json:"samples,omitempty"`
	Aggregation *aggregation    `json:"aggregation,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
}

// An outcome is how a case or a sample ended.
type outcome struct {
	ExecutionStatus string `json:"execution_status"`
	// FailureStage and FailureReason say where one that is not ok went wrong: before the
	// target was asked (setup), there (agent), or after its answer (evaluator).
	FailureStage  string `json:"failure_stage,omitempty"`
	FailureReason string `json:"failure_reason_code,omitempty"`
}

// outcomeOf is the outcome of a verdict on a case that the target answered or not.
func outcomeOf(v verdict.Verdict, answered bool) outcome {
	switch {
	case v == verdict.Pass:
		return outcome{ExecutionStatus: "ok"}
	case v != verdict.Error:
		return outcome{"quality_failure", "evaluator", "threshold_not_met"}
	case answered:
		return outcome{"execution_error", "evaluator", "evaluator_error"}
	}
	return outcome{"execution_error", "agent", "provider_error"}
}

// An aggregation says how the scores of the samples became one.
type aggregation struct {
	Strategy string   `json:"strategy"`
	Mean     *float64 `json:"mean,omitempty"`
}

// A tokens is what the target read and wrote.
type tokens struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

// A score is that of one evaluator.
type score struct {
	Name   string   `json:"name"`
	Type   string   `json:"type,omitempty"`
	Score  float64  `json:"score"`
	Weight *float64 `json:"weight,omitempty"`
	Scores []score  `json:"scores,omitempty"`
}

// currentOf is what AgentV calls the parts of a line.
func currentOf(l line, row *report.Row) current {
	out := current{TestID: l.EvalID, Suite: l.Dataset, Conversation: l.ConversationID, EvalPath: row.File, Scores: scoresOf(turns(l.Evaluators))}
	if tags := row.Result.Labels.Tags; len(tags) > 0 {
		out.Tags = tags
	}
	facts := row.Result.Labels.Facts
	out.Category, out.Experiment, out.Metadata = facts.Category, facts.Tags["experiment"], facts.Metadata
	if len(facts.Tags) > 0 {
		out.Tags = facts.Tags
	}
	if row.Samples > 1 {
		out.SampleCount, out.Samples, out.Aggregation = row.Samples, samplesOf(row), aggregated(row)
	}
	for _, s := range out.Scores {
		if out.NamedScores == nil {
			out.NamedScores = map[string]float64{}
		}
		out.NamedScores[s.Name] = s.Score
	}
	out.outcome = outcomeOf(l.Verdict, row.Result.Transcript != nil)
	if row.Unrun() {
		out.FailureStage, out.FailureReason = "setup", ""
	}
	if t := row.Result.Transcript; t != nil {
		took := t.Latency.Milliseconds()
		out.TokenUsage, out.CostUSD, out.DurationMS = &tokens{t.Usage.InputTokens, t.Usage.OutputTokens}, t.Usage.Cost(), &took
	}
	return out
}

// A sample is one of several of a case, counted from 0.
type sample struct {
	Sample  int             `json:"sample"`
	Score   *float64        `json:"score"`
	Verdict verdict.Verdict `json:"verdict"`
	outcome
	TokenUsage tokens   `json:"token_usage"`
	CostUSD    *float64 `json:"cost_usd,omitempty"`
	DurationMS int64    `json:"duration_ms"`
}

// samplesOf are the samples of a case that were judged.
func samplesOf(row *report.Row) []sample {
	var out []sample
	for i, s := range row.Result.Samples {
		out = append(out, sample{
			i, s.Score, s.Verdict, outcomeOf(s.Verdict, true), tokens{s.Usage.InputTokens, s.Usage.OutputTokens}, s.Usage.Cost(), s.Latency.Milliseconds(),
		})
	}
	return out
}

// aggregated is how the score of a case follows from those of its samples.
func aggregated(row *report.Row) *aggregation {
	if row.Result.Best {
		return &aggregation{Strategy: "pass_at_k"}
	}
	return &aggregation{Strategy: "mean", Mean: row.Score}
}

// turns are the evaluators of the turns of a conversation in the place of the one that they
// are members of, as AgentV lists them.
func turns(evaluators []evaluatorResult) []evaluatorResult {
	if len(evaluators) == 1 && len(evaluators[0].Evaluators) > 0 && evaluators[0].Evaluators[0].Name == "turn-1" {
		return evaluators[0].Evaluators
	}
	return evaluators
}

func scoresOf(evaluators []evaluatorResult) []score {
	out := make([]score, 0, len(evaluators))
	for _, e := range evaluators {
		out = append(out, score{e.Name, e.Type, e.Score, e.Weight, scoresOf(e.Evaluators)})
	}
	return out
}
