package files

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// FormatAgentEvals is the name of the form of results.
const FormatAgentEvals = "agentevals"

// hitScore is the minimum score of a criterion that is listed as right.
const hitScore = 0.6

// An agentEvalsLine is the result of one case.
type agentEvalsLine struct {
	Timestamp      time.Time         `json:"timestamp"`
	EvalID         string            `json:"evalId"`
	Dataset        string            `json:"dataset"`
	ConversationID string            `json:"conversationId,omitempty"`
	Score          *float64          `json:"score"`
	Verdict        verdict.Verdict   `json:"verdict"`
	Hits           []string          `json:"hits"`
	Misses         []string          `json:"misses"`
	Answer         string            `json:"candidateAnswer"`
	Target         string            `json:"target"`
	Trace          *agentEvalsTrace  `json:"traceSummary,omitempty"`
	Evaluators     []evaluatorResult `json:"evaluatorResults"`
	Error          string            `json:"error,omitempty"`

	indexLine
}

// An agentEvalsTrace summarizes the target's calls. It is missing if they are unknown.
type agentEvalsTrace struct {
	EventCount int      `json:"eventCount"`
	ToolNames  []string `json:"toolNames"`
	CostUSD    *float64 `json:"costUsd,omitempty"`
	DurationMS int64    `json:"durationMs"`
}

// An evaluatorResult is the result of one evaluator.
type evaluatorResult struct {
	Name       string            `json:"name"`
	Type       string            `json:"type,omitempty"`
	Score      float64           `json:"score"`
	Weight     *float64          `json:"weight,omitempty"`
	Hits       []string          `json:"hits"`
	Misses     []string          `json:"misses"`
	Reasoning  string            `json:"reasoning,omitempty"`
	Aggregator string            `json:"aggregator,omitempty"`
	Details    json.RawMessage   `json:"details,omitempty"`
	Evaluators []evaluatorResult `json:"evaluatorResults,omitempty"`
}

// WriteAgentEvals writes a line of JSON for each case. now is the time of verdicts from
// this run.
func WriteAgentEvals(w io.Writer, r *report.Report, now time.Time) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, l := range agentEvalsLines(r, now) {
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// AgentEvalsLeftOut counts the cases of other formats, which have no line.
func AgentEvalsLeftOut(r *report.Report) int {
	n := 0
	for _, row := range r.Cases {
		if row.Dialect != schema.DialectEvalcase && row.Verdict != nil && *row.Verdict != verdict.Skipped {
			n++
		}
	}
	return n
}

func agentEvalsLines(r *report.Report, now time.Time) []agentEvalsLine {
	var out []agentEvalsLine
	for i := range r.Cases {
		row := &r.Cases[i]
		isJudged := row.Verdict != nil && *row.Verdict != verdict.Skipped
		if row.Dialect != schema.DialectEvalcase || row.Result == nil || !isJudged && row.Error == nil {
			continue
		}
		out = append(out, newAgentEvalsLine(row, now))
	}
	return out
}

func newAgentEvalsLine(row *report.Row, now time.Time) agentEvalsLine {
	file, id, isLocal := strings.Cut(row.Key, "#")
	if !isLocal {
		id = path.Base(file)
	}
	l := agentEvalsLine{
		Timestamp: now.UTC(), EvalID: id, Dataset: dataset(row.Groups, file), ConversationID: row.Result.Labels.Conversation,
		Score: row.Score, Verdict: verdict.Error, Hits: []string{}, Misses: []string{}, Target: row.Target,
		Evaluators: evaluatorResults(row.Result.Evaluators),
	}
	if !row.Result.Judged.IsZero() {
		l.Timestamp = row.Result.Judged.UTC()
	}
	if row.Verdict != nil {
		l.Verdict = *row.Verdict
	}
	if row.Error != nil {
		l.Error = *row.Error
	}
	for _, e := range l.Evaluators {
		l.Hits, l.Misses = append(l.Hits, e.Hits...), append(l.Misses, e.Misses...)
	}
	if t := row.Result.Transcript; t != nil {
		l.Answer, l.Trace = verdict.Answer(agentEvalsOutput(t)), newAgentEvalsTrace(t)
	}
	l.indexLine = newIndexLine(l, row)
	return l
}

// dataset returns the name of a suite, else the base name of its file.
func dataset(groups []string, file string) string {
	if len(groups) == 0 || groups[0] == file {
		return path.Base(file)
	}
	return groups[0]
}

// agentEvalsOutput returns the messages after the user's last one.
func agentEvalsOutput(t *verdict.Transcript) []schema.Message {
	for i, m := range slices.Backward(t.Messages) {
		if m.Role == schema.RoleUser {
			return t.Messages[i+1:]
		}
	}
	return t.Messages
}

func newAgentEvalsTrace(t *verdict.Transcript) *agentEvalsTrace {
	if !t.Traced {
		return nil
	}
	out := &agentEvalsTrace{ToolNames: []string{}, CostUSD: t.Usage.Cost(), DurationMS: t.Latency.Milliseconds()}
	for _, m := range agentEvalsOutput(t) {
		for _, c := range m.ToolCalls {
			out.EventCount++
			if !slices.Contains(out.ToolNames, c.Function.Name) {
				out.ToolNames = append(out.ToolNames, c.Function.Name)
			}
		}
	}
	return out
}

func evaluatorResults(list []verdict.EvaluatorResult) []evaluatorResult {
	out := make([]evaluatorResult, 0, len(list))
	for _, r := range list {
		out = append(out, newEvaluatorResult(r, r.Criteria))
	}
	return out
}

// newEvaluatorResult returns the result of an evaluator, with its own names of
// criteria.
func newEvaluatorResult(r verdict.EvaluatorResult, criteria []verdict.Criterion) evaluatorResult {
	out := evaluatorResult{
		Name: r.Name, Type: r.Type, Score: r.Score, Weight: r.Weight, Reasoning: r.Reason, Aggregator: r.Aggregator,
		Hits: []string{}, Misses: []string{},
	}
	if r.Aggregator != "" {
		return composite(out, r, criteria)
	}
	for _, c := range criteria {
		if out.Reasoning == "" && c.Note != "" {
			out.Reasoning = c.Note
		}
		if c.Details != nil {
			out.Details = c.Details
		}
		switch {
		case c.NotApplicable:
		case len(c.Hits)+len(c.Misses) > 0:
			out.Hits, out.Misses = append(out.Hits, c.Hits...), append(out.Misses, c.Misses...)
		case verdict.Reaches(c.Score, hitScore):
			out.Hits = append(out.Hits, describe(c))
		default:
			out.Misses = append(out.Misses, describe(c))
		}
	}
	return out
}

// composite adds the results of the members, which prefix their lists with their names.
func composite(out evaluatorResult, r verdict.EvaluatorResult, criteria []verdict.Criterion) evaluatorResult {
	for _, m := range r.Members {
		var own []verdict.Criterion
		for _, c := range criteria {
			if id, is := strings.CutPrefix(c.ID, m.Name+"/"); is {
				c.ID = id
				own = append(own, c)
			}
		}
		inner := newEvaluatorResult(m, own)
		for _, text := range inner.Hits {
			out.Hits = append(out.Hits, "["+m.Name+"] "+text)
		}
		for _, text := range inner.Misses {
			out.Misses = append(out.Misses, "["+m.Name+"] "+text)
		}
		out.Evaluators = append(out.Evaluators, inner)
	}
	return out
}

// describe describes a criterion.
func describe(c verdict.Criterion) string {
	if c.Note == "" || c.Note == c.ID {
		return c.ID
	}
	return c.ID + ": " + c.Note
}

// An agentEvalsSummary is the summary of one suite against one target.
type agentEvalsSummary struct {
	Suite       string                         `json:"suite"`
	Timestamp   time.Time                      `json:"timestamp"`
	Target      string                         `json:"target"`
	Summary     agentEvalsCounts               `json:"summary"`
	ByEvaluator map[string]*agentEvalsExtremes `json:"byEvaluator"`
	TopMisses   []agentEvalsMiss               `json:"topMisses"`
}

// agentEvalsCounts count the judged cases; Error counts the others.
type agentEvalsCounts struct {
	Total        int      `json:"total"`
	Pass         int      `json:"pass"`
	Borderline   int      `json:"borderline"`
	Fail         int      `json:"fail"`
	Error        int      `json:"error"`
	PassRate     *float64 `json:"passRate"`
	AverageScore *float64 `json:"averageScore"`
}

type agentEvalsExtremes struct {
	AverageScore float64 `json:"averageScore"`
	MinScore     float64 `json:"minScore"`
	MaxScore     float64 `json:"maxScore"`
	n            int
}

type agentEvalsMiss struct {
	Miss  string `json:"miss"`
	Count int    `json:"count"`
}

// topMisses bounds the misses in a summary.
const topMisses = 10

// WriteAgentEvalsSummary writes the summary of the suite, or a list of summaries for
// several suites or targets.
func WriteAgentEvalsSummary(w io.Writer, r *report.Report, now time.Time) error {
	order := []string{}
	of := map[string][]agentEvalsLine{}
	for _, l := range agentEvalsLines(r, now) {
		key := fmt.Sprintf("%q %q", l.Dataset, l.Target)
		if of[key] == nil {
			order = append(order, key)
		}
		of[key] = append(of[key], l)
	}
	all := make([]agentEvalsSummary, 0, len(order))
	for _, key := range order {
		all = append(all, summarise(of[key], now))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if len(all) == 1 {
		return enc.Encode(all[0])
	}
	return enc.Encode(all)
}

func summarise(cases []agentEvalsLine, now time.Time) agentEvalsSummary {
	s := agentEvalsSummary{
		Suite: cases[0].Dataset, Target: cases[0].Target, Timestamp: now.UTC(),
		ByEvaluator: map[string]*agentEvalsExtremes{}, TopMisses: []agentEvalsMiss{},
	}
	total, missed := 0.0, map[string]int{}
	for _, l := range cases {
		switch l.Verdict {
		case verdict.Pass:
			s.Summary.Pass++
		case verdict.Borderline:
			s.Summary.Borderline++
		case verdict.Fail:
			s.Summary.Fail++
		default:
			s.Summary.Error++
			continue
		}
		s.Summary.Total++
		if l.Score != nil {
			total += *l.Score
		}
		for _, e := range l.Evaluators {
			s.add(e)
		}
		for _, text := range l.Misses {
			missed[text]++
		}
	}
	for _, e := range s.ByEvaluator {
		e.AverageScore /= float64(e.n)
	}
	if n := float64(s.Summary.Total); n > 0 {
		rate, mean := float64(s.Summary.Pass)/n, total/n
		s.Summary.PassRate, s.Summary.AverageScore = &rate, &mean
	}
	for text, n := range missed {
		s.TopMisses = append(s.TopMisses, agentEvalsMiss{text, n})
	}
	slices.SortFunc(s.TopMisses, func(a, b agentEvalsMiss) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Miss, b.Miss))
	})
	s.TopMisses = s.TopMisses[:min(len(s.TopMisses), topMisses)]
	return s
}

func (s *agentEvalsSummary) add(e evaluatorResult) {
	x, there := s.ByEvaluator[e.Name]
	if !there {
		x = &agentEvalsExtremes{MinScore: e.Score, MaxScore: e.Score}
		s.ByEvaluator[e.Name] = x
	}
	x.n++
	x.AverageScore += e.Score
	x.MinScore, x.MaxScore = min(x.MinScore, e.Score), max(x.MaxScore, e.Score)
}

// An indexLine has the parts of a line under the names of AgentV 4 and 5 in
// index.jsonl. They follow the names of the format's pages, which stay.
type indexLine struct {
	TestID       string `json:"test_id"`
	Suite        string `json:"suite"`
	Conversation string `json:"conversation_id,omitempty"`
	agentEvalsOutcome
	TokenUsage *agentEvalsTokens `json:"token_usage,omitempty"`
	// CostUSD is missing if the price of a call is unknown.
	CostUSD    *float64 `json:"cost_usd,omitempty"`
	DurationMS *int64   `json:"duration_ms,omitempty"`
	// Tags are the case's, as a map if its suite has them by keys.
	Tags   any               `json:"tags,omitempty"`
	Scores []agentEvalsScore `json:"scores"`
	// NamedScores maps names to Scores.
	NamedScores map[string]float64 `json:"named_scores,omitempty"`
	EvalPath    string             `json:"eval_path,omitempty"`
	Category    string             `json:"category,omitempty"`
	Experiment  string             `json:"experiment,omitempty"`
	// SampleCount, Samples and Aggregation are present if the case has several samples.
	SampleCount int                    `json:"sample_count,omitempty"`
	Samples     []agentEvalsSample     `json:"samples,omitempty"`
	Aggregation *agentEvalsAggregation `json:"aggregation,omitempty"`
	Metadata    json.RawMessage        `json:"metadata,omitempty"`
}

// An agentEvalsOutcome is the end of a case or a sample.
type agentEvalsOutcome struct {
	ExecutionStatus string `json:"execution_status"`
	// FailureStage and FailureReason locate a failure: before the target was asked
	// (setup), there (agent), or after its answer (evaluator).
	FailureStage  string `json:"failure_stage,omitempty"`
	FailureReason string `json:"failure_reason_code,omitempty"`
}

// outcomeOf returns the outcome of a verdict on a case with or without an answer.
func outcomeOf(v verdict.Verdict, answered bool) agentEvalsOutcome {
	switch {
	case v == verdict.Pass:
		return agentEvalsOutcome{ExecutionStatus: "ok"}
	case v != verdict.Error:
		return agentEvalsOutcome{"quality_failure", "evaluator", "threshold_not_met"}
	case answered:
		return agentEvalsOutcome{"execution_error", "evaluator", "evaluator_error"}
	}
	return agentEvalsOutcome{"execution_error", "agent", "provider_error"}
}

// An agentEvalsAggregation describes the aggregation of the samples' scores.
type agentEvalsAggregation struct {
	Strategy string   `json:"strategy"`
	Mean     *float64 `json:"mean,omitempty"`
}

// An agentEvalsTokens counts the target's input and output.
type agentEvalsTokens struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

// tokensOf returns the tokens of a target, nil if it did not report them.
func tokensOf(u verdict.Usage) *agentEvalsTokens {
	if u.Tokens() == 0 {
		return nil
	}
	return &agentEvalsTokens{u.InputTokens, u.OutputTokens}
}

// An agentEvalsScore is the score of one evaluator.
type agentEvalsScore struct {
	Name   string            `json:"name"`
	Type   string            `json:"type,omitempty"`
	Score  float64           `json:"score"`
	Weight *float64          `json:"weight,omitempty"`
	Scores []agentEvalsScore `json:"scores,omitempty"`
}

// newIndexLine converts a line to AgentV's names.
func newIndexLine(l agentEvalsLine, row *report.Row) indexLine {
	out := indexLine{TestID: l.EvalID, Suite: l.Dataset, Conversation: l.ConversationID, EvalPath: row.File, Scores: scoresOf(turns(l.Evaluators))}
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
	out.agentEvalsOutcome = outcomeOf(l.Verdict, row.Result.Transcript != nil)
	if row.Unrun() {
		out.FailureStage, out.FailureReason = "setup", ""
	}
	if t := row.Result.Transcript; t != nil {
		took := t.Latency.Milliseconds()
		out.TokenUsage, out.CostUSD, out.DurationMS = tokensOf(t.Usage), t.Usage.Cost(), &took
	}
	return out
}

// An agentEvalsSample is one of several samples of a case, counted from 0.
type agentEvalsSample struct {
	Sample  int             `json:"sample"`
	Score   *float64        `json:"score"`
	Verdict verdict.Verdict `json:"verdict"`
	agentEvalsOutcome
	TokenUsage *agentEvalsTokens `json:"token_usage,omitempty"`
	CostUSD    *float64          `json:"cost_usd,omitempty"`
	DurationMS int64             `json:"duration_ms"`
}

// samplesOf returns the judged samples of a case.
func samplesOf(row *report.Row) []agentEvalsSample {
	var out []agentEvalsSample
	for i, s := range row.Result.Samples {
		out = append(out, agentEvalsSample{
			i, s.Score, s.Verdict, outcomeOf(s.Verdict, true), tokensOf(s.Usage), s.Usage.Cost(), s.Latency.Milliseconds(),
		})
	}
	return out
}

// aggregated describes the aggregation of a case's samples.
func aggregated(row *report.Row) *agentEvalsAggregation {
	if row.Result.Best {
		return &agentEvalsAggregation{Strategy: "pass_at_k"}
	}
	return &agentEvalsAggregation{Strategy: "mean", Mean: row.Score}
}

// turns replaces the evaluator of a conversation by the evaluators of its turns, as
// AgentV lists them.
func turns(evaluators []evaluatorResult) []evaluatorResult {
	if len(evaluators) == 1 && len(evaluators[0].Evaluators) > 0 && evaluators[0].Evaluators[0].Name == "turn-1" {
		return evaluators[0].Evaluators
	}
	return evaluators
}

func scoresOf(evaluators []evaluatorResult) []agentEvalsScore {
	out := make([]agentEvalsScore, 0, len(evaluators))
	for _, e := range evaluators {
		out = append(out, agentEvalsScore{e.Name, e.Type, e.Score, e.Weight, scoresOf(e.Evaluators)})
	}
	return out
}
