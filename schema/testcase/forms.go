package testcase

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// agentTurn is the first_turn of a conversation that the agent opens.
const agentTurn = "agent"

// drive returns who opens the conversation, and with which message. initial is the
// user's first message; empty if the simulator writes it, or the agent opens.
func (c *compiler) drive() (drive schema.Drive, initial string) {
	c.oneForm("persona", "persona_context")
	c.oneForm("initial_message", "first_message")
	byAgent := c.test.FirstTurn == agentTurn
	if byAgent && c.Doc.Has("initial_message") {
		c.Fail("ambiguous-field", "`initial_message` is the first message of the user, and `first_turn` is agent", "write `first_message`, or remove `first_turn`", "initial_message")
	}
	drive.Simulation = c.simulation()
	initial = c.unlessBlank(c.test.InitialMessage, "initial_message", "the simulator writes the first message")
	first := c.unlessBlank(c.test.FirstMessage, "first_message", "it is written by the one who opens the conversation")
	switch text := cmp.Or(initial, first); {
	case byAgent && text == "":
		drive.TargetOpens = true
	case byAgent:
		drive.Messages = []schema.Message{{Role: schema.RoleAssistant, Content: text}}
	case text != "":
		drive.Messages = []schema.Message{{Role: schema.RoleUser, Content: text}}
		return drive, text
	}
	return drive, ""
}

// oneForm refuses a case that says the same in two forms.
func (c *compiler) oneForm(field, later string) {
	if c.Doc.Has(field) && c.Doc.Has(later) {
		c.Fail("both-forms", fmt.Sprintf("`%s` and `%s` are two forms of the same", field, later), "remove one of them", later)
	}
}

// outcomes are states by their labels, or a list of statements that must be true.
// Their order says nothing, so they are sorted.
func (c *compiler) outcomes() []evaluator.Outcome {
	var out []evaluator.Outcome
	lines := map[string]int{}
	for i := range c.Doc.Items("expected_outcomes") {
		at := []any{"expected_outcomes", i}
		statement := strings.TrimSpace(c.Doc.Text(at...))
		switch first, dup := lines[statement]; {
		case statement == "":
			c.Fail("out-of-range", "a statement of `expected_outcomes` is empty", "write what must be true at the end, or remove it", at...)
		case dup:
			c.Fail("duplicate-id", "`expected_outcomes` has a statement twice", fmt.Sprintf("the first is in line %d; remove one", first), at...)
		}
		lines[statement] = c.Doc.At(at...).Line
		out = append(out, evaluator.Outcome{Label: statement, Want: json.RawMessage("true")})
	}
	for _, label := range c.Doc.Keys("expected_outcomes") {
		out = append(out, evaluator.Outcome{Label: label, Want: c.Doc.JSON("expected_outcomes", label)})
	}
	slices.SortFunc(out, func(a, b evaluator.Outcome) int { return cmp.Compare(a.Label, b.Label) })
	return out
}

// form names the later version of the format where the case has a field of it.
func (c *compiler) form() string {
	later := []string{"persona_context", "first_turn", "first_message", "agent_id", "source_call_id"}
	if slices.ContainsFunc(later, func(field string) bool { return c.Doc.Has(field) }) || c.Doc.IsList("expected_outcomes") {
		return "Connexity after 1.0.0"
	}
	return ""
}
