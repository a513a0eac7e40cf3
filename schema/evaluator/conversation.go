package evaluator

import (
	"encoding/json"
	"fmt"

	"github.com/gavel-evals/gavel/schema"
)

// Conversation asks a judge to score the transcript of a conversation.
//
// Without Criteria the judge scores each of [ConversationMetrics] from 0 to 5, or calls
// it not applicable, which leaves its weight to the others. With them it gives one
// score from 0 to 5 by that text. Every outcome and every expectation of a call is a
// separate criterion that is met or not; it has no weight in the score, and the
// conversation fails if it is not met.
type Conversation struct {
	// Criteria is the text that replaces the metrics; empty for these.
	Criteria string `json:"criteria,omitempty"`
	// InitialMessage is shown to the judge as the user's opening; empty if the
	// simulator chose it.
	InitialMessage string `json:"initial_message,omitempty"`
	// Outcomes are sorted by label, since the order of a dict has no meaning.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	// Calls are the wanted calls, then the forbidden ones, sorted by tool and params,
	// since calls may come in any order.
	Calls []CallExpectation `json:"calls,omitempty"`
}

// An Outcome is a state in which the conversation must end. The judge interprets label
// and state by their meaning: {"leaked": false} is met if nothing leaked.
type Outcome struct {
	Label string `json:"label"`
	// Want is any JSON value in canonical form.
	Want json.RawMessage `json:"want"`
}

// ID returns the criterion of the outcome.
func (o Outcome) ID() string { return "outcome:" + o.Label }

// A CallExpectation demands a call of a tool that no other expectation takes, or
// forbids every such call.
type CallExpectation struct {
	// ID is the criterion: calls:tool or avoids:tool, with a number behind it
	// from the second expectation of that tool on.
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Params are compared with the arguments of a call, deeply, listed keys only; the
	// judge decides whether a differing one means the same. nil allows any.
	Params    json.RawMessage `json:"params,omitempty"`
	Forbidden bool            `json:"forbidden,omitempty"`
}

// NumberCalls gives every expectation a unique ID.
func NumberCalls(calls []CallExpectation) {
	taken := map[string]bool{}
	for i, c := range calls {
		name := "calls:" + c.Tool
		if c.Forbidden {
			name = "avoids:" + c.Tool
		}
		id := name
		for n := 2; taken[id]; n++ {
			id = fmt.Sprintf("%s#%d", name, n)
		}
		taken[id] = true
		calls[i].ID = id
	}
}

// A Metric is one aspect of a conversation with its weight in the score.
type Metric struct {
	ID     string
	Weight float64
}

// OverallMetric is the criterion of the only score of a case with its own criteria.
const OverallMetric = "overall"

// ConversationMetrics returns the metrics of a case without its own criteria. Their
// weights sum to 1.
func ConversationMetrics() []Metric {
	return []Metric{
		{"tool_routing", 0.15},
		{"parameter_extraction", 0.15},
		{"result_interpretation", 0.15},
		{"grounding_fidelity", 0.125},
		{"instruction_compliance", 0.125},
		{"information_gathering", 0.10},
		{"conversation_management", 0.10},
		{"response_delivery", 0.10},
	}
}

// Metrics returns the parts of this conversation's score.
func (c Conversation) Metrics() []Metric {
	if c.Criteria != "" {
		return []Metric{{OverallMetric, 1}}
	}
	return ConversationMetrics()
}

// Rule passes a conversation whose score reaches the threshold, with every
// outcome met and every expectation of a call held.
func (c Conversation) Rule(threshold float64) schema.Rule {
	rule := schema.Rule{Threshold: threshold, Weights: map[string]float64{}}
	for _, m := range c.Metrics() {
		rule.Weights[m.ID] = m.Weight
	}
	demand := func(id string) {
		rule.Weights[id] = 0
		rule.Required = append(rule.Required, id)
	}
	for _, o := range c.Outcomes {
		demand(o.ID())
	}
	for _, call := range c.Calls {
		demand(call.ID)
	}
	return rule
}

// Kind returns "conversation".
func (Conversation) Kind() string { return "conversation" }

// Version returns the version of the metrics, of the question to the judge and of the
// comparison of calls. Since 2, a score out of range is asked for again.
// Since 3 the model is told that an answer was cut off.
func (Conversation) Version() int { return 3 }

// Roles returns the judge.
func (Conversation) Roles() []schema.Role { return []schema.Role{schema.Judge} }
