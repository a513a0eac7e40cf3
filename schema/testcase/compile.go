package testcase

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

const (
	// defaultThreshold is the score that a conversation passes with.
	defaultThreshold = 0.75
	// defaultTimeout applies without a configured one.
	defaultTimeout = 120 * time.Second
	// maxToolRounds bounds how often the agent asks for tools before it
	// replies.
	maxToolRounds = 16

	statusActive     = "active"
	difficultyNormal = "normal"
)

// A caseFile is the content of a case.
type caseFile struct {
	ID             string          `json:"id"`
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	Difficulty     string          `json:"difficulty"`
	Tags           []string        `json:"tags"`
	Status         string          `json:"status"`
	Persona        *schema.Persona `json:"persona"`
	PersonaContext string          `json:"persona_context"`
	InitialMessage string          `json:"initial_message"`
	FirstMessage   string          `json:"first_message"`
	FirstTurn      string          `json:"first_turn"`
	UserContext    json.RawMessage `json:"user_context"`
	MaxTurns       *int            `json:"max_turns"`
	Calls          []callFile      `json:"expected_tool_calls"`
	Criteria       string          `json:"evaluation_criteria_override"`
}

// A compiler compiles one case of a file to a Case.
type compiler struct {
	document.Source
	document.Complaints
	test caseFile
}

func (c *compiler) build(key string) *schema.Case {
	drive, initial := c.drive()
	tc := &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: key, Dialect: schema.DialectTestcase, Origin: c.Doc.At(), Labels: c.labels(),
			Weight: 1,
			Inputs: []schema.Input{{File: c.Doc.File, Role: "definition"}},
		},
		Form:   c.form(),
		Drive:  drive,
		Mocks:  c.mocks(),
		Policy: c.policy(),
	}
	if w, ok := c.Settings.Difficulties[tc.Labels.Difficulty]; ok {
		tc.Weight = w
	}
	if status := tc.Labels.Status; status != statusActive {
		tc.Skip = "the status is " + status
	}
	tc.Evaluators = []schema.Evaluator{c.evaluator(initial)}
	return tc
}

// unlessBlank treats a blank text, as forms write an empty field, as missing.
func (c *compiler) unlessBlank(text, field, instead string) string {
	if strings.TrimSpace(text) != "" {
		return text
	}
	if c.Doc.Has(field) {
		c.Warn("blank-text", "`"+field+"` is blank: "+instead, "write null or leave it out", field)
	}
	return ""
}

func (c *compiler) labels() schema.Labels {
	if c.test.ID != "" && c.identity() == "" {
		c.Warn("no-uuid", "`id` is not a UUID and is ignored", "remove it; a case is found by its file and name", "id")
	}
	return schema.Labels{
		ID: c.identity(), Name: c.test.Name, Description: c.test.Description, Tags: c.test.Tags,
		Difficulty: cmp.Or(c.test.Difficulty, difficultyNormal), Status: cmp.Or(c.test.Status, statusActive),
	}
}

// simulation returns everything that the simulator is told. The expectations of the
// agent are excluded.
func (c *compiler) simulation() *schema.Simulation {
	sim := &schema.Simulation{Persona: c.test.Persona}
	sim.Instructions = c.unlessBlank(c.test.PersonaContext, "persona_context", "the user is a neutral one")
	if len(c.Doc.Keys("user_context")) > 0 {
		sim.Context = c.test.UserContext
	}
	return sim
}

// policy follows the precedence: written in the case, its target, gavel.yaml's
// defaults, the product's own.
func (c *compiler) policy() schema.Policy {
	target := c.Settings.Targets[c.Settings.DefaultTarget]
	p := schema.Policy{
		Iterations: max(c.Settings.Iterations, 1), MaxToolRounds: maxToolRounds,
		Timeout: cmp.Or(target.Timeout, c.Settings.Timeout, defaultTimeout),
	}
	switch most := c.Settings.MaxTurnsCap; {
	case c.test.MaxTurns != nil:
		p.MaxTurns = *c.test.MaxTurns
	case !slices.Contains(c.Doc.Keys(), "max_turns") && cmp.Or(target.MaxTurns, c.Settings.MaxTurns) > 0:
		p.MaxTurns = cmp.Or(target.MaxTurns, c.Settings.MaxTurns)
	case most != nil:
		p.TurnCap = *most
	}
	return p
}

// evaluator returns the judge of the whole conversation.
func (c *compiler) evaluator(initial string) schema.Evaluator {
	spec := evaluator.Conversation{
		Criteria:       c.unlessBlank(c.test.Criteria, "evaluation_criteria_override", "the default criteria apply"),
		InitialMessage: initial,
		Calls:          c.calls(),
		Outcomes:       c.outcomes(),
	}
	threshold := defaultThreshold
	if t, ok := c.Settings.Thresholds[schema.DialectTestcase]; ok {
		threshold = t
	}
	return schema.Evaluator{Name: spec.Kind(), Weight: 1, Spec: spec, Rule: spec.Rule(threshold)}
}
