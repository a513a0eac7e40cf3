package verdict

import (
	"time"

	"github.com/gavel-evals/gavel/schema"
)

// An Effort is what the answers behind a result took from the agent, over all samples and
// attempts. Judges, simulated users and prepared answers are not in it.
type Effort struct {
	// Samples is how many there are in an attempt, ≥ 1: other fields are sums.
	Samples int `json:"samples"`
	// Calls are the requests to the agent, and Told counts the ones with a reported cost,
	// ToldUSD in all. The cost of the others follows from their tokens.
	Calls        int     `json:"calls"`
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	Told         int     `json:"told,omitempty"`
	ToldUSD      float64 `json:"told_usd,omitempty"`
	// Latency is the time spent in them.
	Latency time.Duration `json:"latency_ns"`
	// Turns are the agent's messages. ToolCalls are in them; Untraced means that
	// the calls of some sample are unknown.
	Turns     int  `json:"turns"`
	ToolCalls int  `json:"tool_calls,omitempty"`
	Untraced  bool `json:"untraced,omitempty"`
}

// Add adds a sample, whose first asked messages are the case's own.
func (e *Effort) Add(t *Transcript, asked int) {
	e.Calls += t.Usage.Calls
	e.InputTokens, e.OutputTokens = e.InputTokens+t.Usage.InputTokens, e.OutputTokens+t.Usage.OutputTokens
	e.Told, e.ToldUSD = e.Told+t.Usage.Told, e.ToldUSD+t.Usage.ToldUSD
	e.Latency += t.Latency
	e.Untraced = e.Untraced || !t.Traced
	for _, m := range t.Messages[min(asked, len(t.Messages)):] {
		if m.Role == schema.RoleAssistant {
			e.Turns++
			e.ToolCalls += len(m.ToolCalls)
		}
	}
}

// Usage returns the calls with their tokens, and the cost that the agent reported.
func (e *Effort) Usage() Usage {
	return Usage{Calls: e.Calls, InputTokens: e.InputTokens, OutputTokens: e.OutputTokens, Told: e.Told, ToldUSD: e.ToldUSD}
}
