package evaluator

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// The ways to count of a [Counted].
const (
	ByFaithfulness = "context-faithfulness"
	ByRecall       = "context-recall"
	ByRelevance    = "context-relevance"
	ByConversation = "conversation-relevance"
)

// Counted asks a judge about parts of a text, and counts those that hold (context-… and
// conversation-relevance of the matrix dialect). The measurement has the criteria of
// [Graded]; the score is the share of the parts.
type Counted struct {
	// By is ByFaithfulness, ByRecall, ByRelevance or ByConversation.
	By string `json:"by"`
	// Query is what the user asked for, of ByFaithfulness and ByRelevance.
	Query string `json:"query,omitempty"`
	// Truth is the expected answer of ByRecall.
	Truth string `json:"truth,omitempty"`
	// Passages are the context that was retrieved: one text, or its parts if Apart is set.
	Passages []string `json:"passages,omitempty"`
	Apart    bool     `json:"apart,omitempty"`
	// Steps are functions as in [JavaScript], of which each gets the result of the one before
	// and the last returns the context, in place of Passages. The first gets the answer
	// before all transforms.
	Steps   []string        `json:"steps,omitempty"`
	Context json.RawMessage `json:"context,omitempty"`
	// Prompts replace the questions to the judge, in their order: of ByFaithfulness one for
	// the statements and one for the verdicts, of ByConversation one for each turn. They
	// have marks for what is known later. An empty one replaces nothing.
	Prompts []string `json:"prompts,omitempty"`
	// Turns are the conversation of ByConversation; without any, it is the question and the
	// answer of the case. Window is how many of them the judge sees at once.
	Turns  []Turn `json:"turns,omitempty"`
	Window int    `json:"window,omitempty"`
	// Least is the score that passes.
	Least float64 `json:"least"`
	// Not inverts both criteria.
	Not bool `json:"not,omitempty"`
	// Target is the judging model; empty means the judge. Its identity is a separate
	// part of J.
	Target string `json:"-"`
}

// The marks in Prompts of a [Counted].
const (
	MarkAnswer     = "{{answer}}"
	MarkContext    = "{{context}}"
	MarkInput      = "{{input}}"
	MarkStatements = "{{statements}}"
)

// A Turn is what a user said, with the answer.
type Turn struct {
	Input  string `json:"input"`
	Output string `json:"output"`
}

// Kind returns By.
func (c Counted) Kind() string { return c.By }

// Version returns the version of the judge's prompts, of reading its replies, and of
// counting.
func (Counted) Version() int { return 1 }

// Roles returns the judge unless another model is asked.
func (c Counted) Roles() []schema.Role { return judgeUnless(c.Target) }

// Targets returns the name of the model that replaces the judge.
func (c Counted) Targets() []string { return named(c.Target) }
