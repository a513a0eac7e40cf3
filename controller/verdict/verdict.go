// Package verdict holds what a run finds out about a case and decides what it
// means. It is a leaf: it calls nothing and knows no dialect.
//
// Most callers want [Decide], which turns the measured samples of one case
// into a [Result]. It is pure, so a changed threshold is re-decided from
// what is stored, without a call.
package verdict

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/workspace"
)

// A Verdict is the judgement on a case.
type Verdict string

const (
	// Pass means that everything that was demanded held.
	Pass Verdict = "pass"
	// Borderline is between pass and fail, in the dialect that has it.
	Borderline Verdict = "borderline"
	// Fail means that something that was demanded did not hold.
	Fail Verdict = "fail"
	// Error means that no judgement was possible. It counts neither as a pass
	// nor as a score of 0.
	Error Verdict = "error"
	// Skipped means that the case was not meant to run.
	Skipped Verdict = "skipped"
)

// Rank orders the verdicts that are judgements: fail 0, borderline 1, pass 2. It
// is -1 for what is none.
func (v Verdict) Rank() int {
	return slices.Index([]Verdict{Fail, Borderline, Pass}, v)
}

// Usage sums up what calls cost.
type Usage struct {
	Calls        int   `json:"calls"`
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// CostUSD is the price of the calls whose price is known; Unpriced counts
	// the others.
	CostUSD  float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced"`
	// Told counts the calls whose target said what they cost, and ToldUSD is the sum.
	Told    int     `json:"told,omitempty"`
	ToldUSD float64 `json:"told_usd,omitempty"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Calls:        u.Calls + v.Calls,
		InputTokens:  u.InputTokens + v.InputTokens,
		OutputTokens: u.OutputTokens + v.OutputTokens,
		CostUSD:      u.CostUSD + v.CostUSD,
		Unpriced:     u.Unpriced + v.Unpriced,
		Told:         u.Told + v.Told,
		ToldUSD:      u.ToldUSD + v.ToldUSD,
	}
}

// Cost is what the calls cost in USD, or nil when the price of one of them is
// not known.
func (u Usage) Cost() *float64 {
	if u.Unpriced > 0 {
		return nil
	}
	return &u.CostUSD
}

// Tokens is input plus output.
func (u Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// A Transcript is what happened between the driver and the target in one
// sample. It is what evaluators look at.
type Transcript struct {
	// System is the system prompt that was sent and Tools are those that were
	// offered, without their mocks; of an agent, what it says it has.
	System string        `json:"system_prompt,omitempty"`
	Tools  []schema.Tool `json:"tools,omitempty"`
	// Messages are all turns in order, tool calls and results among them.
	Messages []schema.Message `json:"messages"`
	// Written is how many of Messages a program wrote in the place of the case.
	Written int `json:"written,omitempty"`
	// Model is the model that answered, as it named itself; may be empty.
	Model string `json:"model,omitempty"`
	// Traced reports whether the tool calls of the target are known. Evaluators
	// of tool calls give an error rather than a zero where it is false.
	Traced bool `json:"tool_trace"`
	// Latency is the time spent in calls to the target.
	Latency time.Duration `json:"latency_ns"`
	Usage   Usage         `json:"usage"`
	// Simulated is what the calls to the simulator cost.
	Simulated Usage `json:"simulator_usage,omitzero"`
	// Finish is why the target ended its last reply: stop, length, tool_calls,
	// content_filter, or as its provider has it; empty where it is not known.
	Finish string `json:"finish_reason,omitempty"`
	// Turns are the replies of the target in a conversation of which the case says the
	// other side; nil for others.
	Turns []Turn `json:"turns,omitempty"`
	// Asked is how many of Messages were there before the target was asked. None of them is
	// its answer. It is not stored.
	Asked int `json:"-"`
	// Said is what counts as the answer in the place of the last reply. It is not stored.
	Said string `json:"-"`
	// Ended says who ended a simulated conversation; empty for others.
	Ended End `json:"ended_by,omitempty"`
	// Changes are what the target changed in its workspace; nil where it has none.
	Changes *workspace.Changes `json:"changes,omitempty"`
	// Notes are remarks on the conversation, such as a tool call that no mock
	// answers. A turn is the index of a message in Messages, from 1.
	Notes []string `json:"notes,omitempty"`
}

// A Turn is a reply of the target, which is the messages from From up to To.
type Turn struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Latency and Usage are those of the reply alone.
	Latency time.Duration `json:"latency_ns"`
	Usage   Usage         `json:"usage"`
}

// SentFrom is the first of the messages that the target is sent in a turn, counted from 0,
// where it is sent so many turns before it; a window of 0 has all.
func (t *Transcript) SentFrom(turn, window int) int {
	if window == 0 || turn <= window {
		return 0
	}
	return t.Turns[turn-window-1].To
}

// Until is the conversation up to a turn, counted from 1.
func (t *Transcript) Until(turn int) *Transcript {
	out := *t
	out.Turns = t.Turns[:turn]
	out.Messages = t.Messages[:out.Turns[turn-1].To]
	return &out
}

// Calls are those of the last reply as JSON, where it has no text besides thinking; else
// empty.
func (t *Transcript) Calls() string {
	last := t.LastReply()
	if last == nil || len(last.ToolCalls) == 0 {
		return ""
	}
	if _, answer := Thought(*last); strings.TrimSpace(answer) != "" {
		return ""
	}
	raw, _ := json.Marshal(last.ToolCalls) // texts
	return string(raw)
}

// LastReply is the last message of the target; nil where there is none.
func (t *Transcript) LastReply() *schema.Message {
	if t == nil {
		return nil
	}
	for i, m := range slices.Backward(t.Messages) {
		if m.Role == schema.RoleAssistant {
			return &t.Messages[i]
		}
	}
	return nil
}

// An End is what a simulated conversation ended by.
type End string

// The ends of simulated conversations.
const (
	EndedByTarget End = "target"
	EndedByUser   End = "user"
	EndedByLimit  End = "max turns"
)

// Final returns what was said in the place of the answer, else the last answer of the
// target, as [Answer] finds it.
func (t *Transcript) Final() string {
	if t.Said != "" {
		return t.Said
	}
	return Answer(t.Messages[min(t.Asked, len(t.Messages)):])
}

// A Criterion is one thing that an evaluator looked at.
type Criterion struct {
	// ID is stable across samples and unique in the measurement.
	ID string `json:"id"`
	// Score is in [0,1]; a criterion that is met or not scores 1 or 0.
	Score float64 `json:"score"`
	// Veto marks a criterion that does not add to the score but makes it 0 and
	// fails the evaluator when its own score is 0: a forbidden word.
	Veto bool `json:"veto,omitempty"`
	// NotApplicable marks a criterion that the sample says nothing about. It
	// has no score, and its weight is spread over the others.
	NotApplicable bool `json:"not_applicable,omitempty"`
	// Value is a quantity, ≥ 0, that the Rule bounds, which makes the score; nil
	// for every other criterion.
	Value *float64 `json:"value,omitempty"`
	// Note says what was found, for people.
	Note string `json:"note,omitempty"`
	// Code names the kind of a failure in snake_case; empty where there is none.
	Code string `json:"code,omitempty"`
	// Turns are the messages of the transcript that show it, counted from 1.
	Turns []int `json:"turns,omitempty"`
	// Hits and Misses are what a judge or a program lists as right and as wrong,
	// Details is what a program adds.
	Hits    []string        `json:"hits,omitempty"`
	Misses  []string        `json:"misses,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// Remark is the note with where it shows and the kind of failure: "turn 4:
// states 60 days [fabricated_policy]". It is empty where there is none of these.
func (c Criterion) Remark() string {
	text := c.Note
	if len(c.Turns) > 0 {
		turns := make([]string, len(c.Turns))
		for i, n := range c.Turns {
			turns[i] = strconv.Itoa(n)
		}
		text = strings.TrimSuffix("turn "+strings.Join(turns, ", ")+": "+text, ": ")
	}
	if c.Code != "" {
		text = strings.TrimSpace(text + " [" + c.Code + "]")
	}
	return text
}

// A Measurement is what one evaluator found in one sample, before any rule is
// applied.
type Measurement struct {
	// Evaluator is the name of the evaluator in the case.
	Evaluator string      `json:"evaluator"`
	Criteria  []Criterion `json:"criteria"`
	// Reason explains the measurement in one or two sentences.
	Reason string `json:"reason,omitempty"`
	// Asked and Answered are the last exchange with a model, if there was one.
	Asked    string `json:"prompt,omitempty"`
	Answered string `json:"reply,omitempty"`
	Usage    Usage  `json:"usage"`
	// Error says why nothing could be measured; empty when it was. Errors are
	// never stored.
	Error string `json:"error,omitempty"`
}

// A Sample is one iteration of a case with what the evaluators measured.
type Sample struct {
	// Ordinal counts from 0.
	Ordinal      int           `json:"ordinal"`
	Measurements []Measurement `json:"measurements"`
	// Error says why the target could not be driven to the end.
	Error string `json:"error,omitempty"`
}

// A Result is the verdict on a case with what led to it.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Score is in [0,1]; nil when there is none.
	Score *float64 `json:"score"`
	// Samples counts the samples that were judged.
	Samples int `json:"samples"`
	// Best says that the rest is of the best of them.
	Best bool `json:"best,omitempty"`
	// Evaluators are in the order of the case.
	Evaluators []EvaluatorResult `json:"evaluators,omitempty"`
	// Reason is the one line that people read first.
	Reason string `json:"reason,omitempty"`
	// NoThreshold says that no threshold was set, so that every score passes.
	NoThreshold bool `json:"no_threshold,omitempty"`
	// Attempts are those that were judged, in order, where the case was run
	// again; the result is that of the last.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Comparison is how a second prompt did; nil where there was none.
	Comparison *Comparison `json:"comparison,omitempty"`
}

// An EvaluatorResult is the score of one evaluator over all samples.
type EvaluatorResult struct {
	Name string `json:"name"`
	// Type is the kind of the evaluator, and Weight its share in the score of the
	// case; results that were stored earlier have neither.
	Type   string   `json:"type,omitempty"`
	Weight *float64 `json:"weight,omitempty"`
	Score  float64  `json:"score"`
	Pass   bool     `json:"pass"`
	// Criteria hold the mean scores over the samples.
	Criteria []Criterion `json:"criteria,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	// Aggregator says how a composite made one score of those of its Members.
	Aggregator string            `json:"aggregator,omitempty"`
	Members    []EvaluatorResult `json:"members,omitempty"`
}
