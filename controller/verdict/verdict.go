// Package verdict has the results of a case and decides its verdict. It is a leaf: it
// calls nothing and knows no dialect.
//
// Most callers want [Decide], which turns the measured samples of one case into a
// [Result]. It is pure, so a changed threshold is re-decided from stored results,
// without a call.
package verdict

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
)

// A Verdict is the judgement on a case.
type Verdict string

const (
	// Pass means that all demands held.
	Pass Verdict = "pass"
	// Borderline is between pass and fail, in the dialect that has it.
	Borderline Verdict = "borderline"
	// Fail means that a demand did not hold.
	Fail Verdict = "fail"
	// Error means that no judgement was possible. It counts neither as a pass nor as a
	// score of 0.
	Error Verdict = "error"
	// Skipped means that the case was not meant to run.
	Skipped Verdict = "skipped"
)

// Rank orders the verdicts that are judgements: fail 0, borderline 1, pass 2. It is -1
// for others.
func (v Verdict) Rank() int {
	return slices.Index([]Verdict{Fail, Borderline, Pass}, v)
}

// Usage sums up the cost of calls.
type Usage struct {
	Calls        int   `json:"calls"`
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// CostUSD is the price of the calls with a known price; Unpriced counts the others.
	CostUSD  float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced"`
	// Told counts the calls whose target reported their cost, and ToldUSD is the sum.
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

// Cost returns the cost of the calls in USD, or nil if a price is unknown.
func (u Usage) Cost() *float64 {
	if u.Unpriced > 0 {
		return nil
	}
	return &u.CostUSD
}

// Tokens returns input plus output.
func (u Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// A Transcript is the exchange of the driver and the target in one sample. Evaluators
// look at it.
type Transcript struct {
	// System is the system prompt and Tools are the offered tools, without their mocks;
	// for an agent, the ones that it reports.
	System string        `json:"system_prompt,omitempty"`
	Tools  []schema.Tool `json:"tools,omitempty"`
	// Messages are all turns in order, including tool calls and results.
	Messages []schema.Message `json:"messages"`
	// Written is the number of Messages that a program wrote instead of the case.
	Written int `json:"written,omitempty"`
	// Kept are the answers of other cases that the case had, by their names.
	Kept map[string]string `json:"kept,omitempty"`
	// Model is the model that answered, as it named itself; may be empty.
	Model string `json:"model,omitempty"`
	// Revision is the version that an agent named, if that is not a commit.
	Revision string `json:"revision,omitempty"`
	// Traced reports whether the target's tool calls are known. If it is false,
	// evaluators of tool calls give an error rather than a zero.
	Traced bool `json:"tool_trace"`
	// Latency is the time spent in calls to the target.
	Latency time.Duration `json:"latency_ns"`
	Usage   Usage         `json:"usage"`
	// Simulated is the cost of calls to the simulator.
	Simulated Usage `json:"simulator_usage,omitzero"`
	// Finish is the reason why the target ended its last reply: stop, length,
	// tool_calls, content_filter, or its provider's; empty if unknown.
	Finish string `json:"finish_reason,omitempty"`
	// Turns are the replies of the target in a conversation whose other side is in the
	// case; nil for others.
	Turns []Turn `json:"turns,omitempty"`
	// Asked is the number of Messages before the target was asked. None of them is its
	// answer. It is not stored.
	Asked int `json:"-"`
	// Said replaces the last reply as the answer. It is not stored.
	Said string `json:"-"`
	// Ended names the side that ended a simulated conversation; empty for others.
	Ended End `json:"ended_by,omitempty"`
	// Changes are the target's changes in its workspace; nil without one.
	Changes *schema.WorkspaceChanges `json:"changes,omitempty"`
	// Notes are remarks on the conversation, such as a tool call that no mock
	// answers. A turn is the index of a message in Messages, from 1.
	Notes []string `json:"notes,omitempty"`
}

// FinishLength is the [Transcript.Finish] of a reply that was cut off at the limit of its
// tokens.
const FinishLength = "length"

// A Turn is a reply of the target, which is the messages from From up to To.
type Turn struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Latency and Usage are the reply's own.
	Latency time.Duration `json:"latency_ns"`
	Usage   Usage         `json:"usage"`
}

// SentFrom returns the index of the first message that the target is sent in a turn,
// counted from 0, if it is sent a window of earlier turns; a window of 0 has all.
func (t *Transcript) SentFrom(turn, window int) int {
	if window == 0 || turn <= window {
		return 0
	}
	return t.Turns[turn-window-1].To
}

// Until returns the conversation up to a turn, counted from 1.
func (t *Transcript) Until(turn int) *Transcript {
	out := *t
	out.Turns = t.Turns[:turn]
	out.Messages = t.Messages[:out.Turns[turn-1].To]
	return &out
}

// Calls returns the answer of a last reply that calls tools, as promptfoo has it: the list
// of calls as JSON or, next to a text, the message. It is empty for a reply without calls,
// and for one that thought before it said a text, which is its answer.
func (t *Transcript) Calls() string {
	last := t.LastReply()
	if last == nil || len(last.ToolCalls) == 0 {
		return ""
	}
	thinking, answer := Thought(*last)
	if strings.TrimSpace(answer) == "" {
		return unescaped(last.ToolCalls)
	}
	if thinking != "" {
		return ""
	}
	return unescaped(struct {
		Role    string            `json:"role"`
		Content string            `json:"content"`
		Calls   []schema.ToolCall `json:"tool_calls"`
	}{last.Role, answer, last.ToolCalls})
}

// unescaped returns texts as JSON in which <, > and & are themselves, since assertions
// look for them.
func unescaped(value any) string {
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	_ = to.Encode(value) // texts
	return strings.TrimSuffix(out.String(), "\n")
}

// LastReply returns the last message of the target, or nil.
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

// An End is the cause of a simulated conversation's end.
type End string

// The ends of simulated conversations.
const (
	EndedByTarget End = "target"
	EndedByUser   End = "user"
	EndedByLimit  End = "max turns"
)

// Final returns the replacement of the answer, else the last answer of the target, as
// [Answer] finds it.
func (t *Transcript) Final() string {
	if t.Said != "" {
		return t.Said
	}
	return Answer(t.Messages[min(t.Asked, len(t.Messages)):])
}

// A Criterion is one aspect that an evaluator measured.
type Criterion struct {
	// ID is stable across samples and unique in the measurement.
	ID string `json:"id"`
	// Score is in [0,1]; a criterion that is met or not scores 1 or 0.
	Score float64 `json:"score"`
	// Veto marks a criterion that does not add to the score but makes it 0 and fails
	// the evaluator if its own score is 0: a forbidden word.
	Veto bool `json:"veto,omitempty"`
	// NotApplicable marks a criterion that does not apply to the sample. It has no
	// score, and its weight is spread over the others.
	NotApplicable bool `json:"not_applicable,omitempty"`
	// Value is a quantity, ≥ 0, which the Rule bounds and thereby scores; nil for every
	// other criterion.
	Value *float64 `json:"value,omitempty"`
	// Note describes the finding for people.
	Note string `json:"note,omitempty"`
	// Expected and Actual are excerpts of the texts that were compared, if the criterion
	// does not hold. Without an Expected there is nothing to compare; older stored
	// results have neither.
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`
	// Sample is the number of the sample, counted from 1, that the note and the excerpts
	// are from, if the criterion is a mean over several; 0 if it is not.
	Sample int `json:"sample,omitempty"`
	// Code names the kind of a failure in snake_case; empty without one.
	Code string `json:"code,omitempty"`
	// Turns are the messages of the transcript that show it, counted from 1.
	Turns []int `json:"turns,omitempty"`
	// Hits and Misses are listed by a judge or a program, Details are added by a
	// program.
	Hits    []string        `json:"hits,omitempty"`
	Misses  []string        `json:"misses,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// Remark returns the note with its turn and the kind of failure: "turn 4: states 60
// days [fabricated_policy]". It is empty without any of these.
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

// A Measurement is the result of one evaluator for one sample, before any rule is
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
	// Error is the reason why nothing could be measured, or empty. Errors are never
	// stored.
	Error string `json:"error,omitempty"`
}

// A Sample is one iteration of a case with its measurements.
type Sample struct {
	// Ordinal counts from 0.
	Ordinal      int           `json:"ordinal"`
	Measurements []Measurement `json:"measurements"`
	// Error is the reason why the target could not be driven to the end.
	Error string `json:"error,omitempty"`
}

// A Result is the verdict on a case with its explanation.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Score is in [0,1]; nil without one.
	Score *float64 `json:"score"`
	// Samples counts the judged samples.
	Samples int `json:"samples"`
	// Best means that the other fields describe the best of them.
	Best bool `json:"best,omitempty"`
	// Evaluators are in the order of the case.
	Evaluators []EvaluatorResult `json:"evaluators,omitempty"`
	// Reason is the one line that people read first.
	Reason string `json:"reason,omitempty"`
	// NoThreshold means that no threshold was set, so that every score passes.
	NoThreshold bool `json:"no_threshold,omitempty"`
	// Attempts are the judged attempts, in order, if the case was repeated; the result
	// is the last one's.
	Attempts []Attempt `json:"attempts,omitempty"`
	// PassShare has the counts of a case that asks for a share of its samples; nil for
	// others.
	PassShare *PassShare `json:"pass_share,omitempty"`
	// Comparison is the comparison with a second prompt; nil without one.
	Comparison *Comparison `json:"comparison,omitempty"`
}

// An EvaluatorResult is the score of one evaluator over all samples.
type EvaluatorResult struct {
	Name string `json:"name"`
	// Type is the kind of the evaluator, and Weight its share in the score of the case;
	// older stored results have neither.
	Type   string   `json:"type,omitempty"`
	Weight *float64 `json:"weight,omitempty"`
	Score  float64  `json:"score"`
	Pass   bool     `json:"pass"`
	// Criteria hold the mean scores over the samples.
	Criteria []Criterion `json:"criteria,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	// Aggregator names how a composite combines its Members' scores.
	Aggregator string            `json:"aggregator,omitempty"`
	Members    []EvaluatorResult `json:"members,omitempty"`
}
