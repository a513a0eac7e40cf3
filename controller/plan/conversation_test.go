package plan

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// conversation is a case with everything that a simulated conversation has.
func conversation() *schema.Case {
	spec := evaluator.Conversation{
		InitialMessage: "Hi",
		Outcomes:       []evaluator.Outcome{{Label: "refunded", Want: json.RawMessage("true")}},
		Calls:          []evaluator.CallExpectation{{ID: "calls:refund", Tool: "refund"}},
	}
	return &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: "a", Dialect: schema.DialectTestcase, Origin: schema.Position{File: "a.json", Line: 1},
			Labels: schema.Labels{Name: "A", Status: "active", Difficulty: "normal"},
			Weight: 1,
		},
		Drive: schema.Drive{
			Messages: []schema.Message{{Role: schema.RoleUser, Content: "Hi"}},
			Simulation: &schema.Simulation{
				Persona: &schema.Persona{Type: "t", Description: "d", Instructions: "i"},
				Context: json.RawMessage(`{"order":1}`),
			},
		},
		Mocks: []schema.CallMock{
			{Tool: "refund", Params: json.RawMessage(`{"id":1}`), Response: json.RawMessage(`"ok"`)},
			{Tool: "refund", Response: json.RawMessage(`"no"`)},
		},
		Policy:     schema.Policy{Iterations: 1, Timeout: time.Minute, MaxToolRounds: 16, TurnCap: 50},
		Evaluators: []schema.Evaluator{{Name: "conversation", Weight: 1, Spec: spec, Rule: spec.Rule(0.75)}},
	}
}

func conversationIn(c *schema.Case, simulator string) Digests {
	return Digest(c, &Environment{
		Config: "gavel.yaml", DefaultTarget: "model",
		Targets: map[string]Target{
			"model":  {Facts: []Fact{{Name: "model", Value: "m"}}},
			"agent":  {Agent: true},
			"player": {Facts: []Fact{{Name: "model", Value: simulator}}},
		},
		Roles: map[schema.Role]string{schema.Simulator: "player"},
	})
}

// TestConversationDigests changes one thing at a time and says the outermost
// digest that has to follow, by the name of the part that tells why.
func TestConversationDigests(t *testing.T) {
	spec := func(c *schema.Case) evaluator.Conversation { return c.Evaluators[0].Spec.(evaluator.Conversation) }
	for _, tt := range []struct {
		name   string
		change func(*schema.Case)
		layer  Layer // the first digest that changes; empty for none
		part   string
	}{
		{"persona", func(c *schema.Case) { c.Drive.Simulation.Persona.Instructions = "j" }, Execution, "persona"},
		{"no persona", func(c *schema.Case) { c.Drive.Simulation.Persona = nil }, Execution, "persona"},
		{"user context", func(c *schema.Case) { c.Drive.Simulation.Context = json.RawMessage(`{"order":2}`) }, Execution, "user context"},
		{"no user context", func(c *schema.Case) { c.Drive.Simulation.Context = nil }, Execution, "user context"},
		{"initial message", func(c *schema.Case) { c.Drive.Messages[0].Content = "Hello" }, Execution, "messages"},
		{"max turns", func(c *schema.Case) { c.Policy.MaxTurns = 3 }, Execution, "max turns"},
		{"turn cap", func(c *schema.Case) { c.Policy.TurnCap = 0 }, Execution, "turn cap"},
		{"no simulation", func(c *schema.Case) { c.Drive.Simulation = nil }, Execution, "simulator version"},
		{"mock", func(c *schema.Case) { c.Mocks[1].Response = json.RawMessage(`"never"`) }, Execution, "mocks of refund"},
		{"mocks' order", func(c *schema.Case) { c.Mocks[0], c.Mocks[1] = c.Mocks[1], c.Mocks[0] }, Execution, "mocks of refund"},
		{"tool rounds", func(c *schema.Case) { c.Policy.MaxToolRounds = 3 }, Execution, "tool rounds"},
		{"outcome", func(c *schema.Case) { spec(c).Outcomes[0].Want = json.RawMessage("false") }, Judgement, "evaluator conversation"},
		{"call", func(c *schema.Case) { spec(c).Calls[0].Forbidden = true }, Judgement, "evaluator conversation"},
		{"threshold", func(c *schema.Case) { c.Evaluators[0].Rule.Threshold = 0.8 }, Decision, "threshold of conversation"},
		{"labels", func(c *schema.Case) { c.Labels = schema.Labels{Name: "B", Status: "draft", Difficulty: "hard"} }, "", ""},
		{"weight", func(c *schema.Case) { c.Weight = 2 }, "", ""},
		{"key and place", func(c *schema.Case) { c.Key, c.Origin = "b", schema.Position{File: "b.json", Line: 9} }, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := conversation()
			tt.change(changed)
			before, after := conversationIn(conversation(), "s"), conversationIn(changed, "s")
			wantChange(t, before, after, tt.layer, tt.part)
		})
	}
}

// TestTheOrderOfMocks is in the digest if the case and its target have mocks of one
// tool: there the answers changed when the case's came first.
func TestTheOrderOfMocks(t *testing.T) {
	for _, tt := range []struct {
		tool string
		want bool
	}{{"refund", true}, {"bye", false}} {
		c := conversation()
		c.Tools = []schema.Tool{{Name: "refund"}, {Name: "bye"}}
		d := Digest(c, &Environment{DefaultTarget: "model", Targets: map[string]Target{
			"model": {Facts: []Fact{{Name: "mock " + tt.tool, Value: "[]", Tool: tt.tool}}},
		}})
		got := slices.ContainsFunc(d.Parts(), func(p Part) bool { return p.Name == "order of the mocks of refund" && p.Show == "case, target" })
		if got != tt.want {
			t.Errorf("with mocks of the target for %s the order of mocks is a part: %v, want %v", tt.tool, got, tt.want)
		}
	}
}

// wantChange demands the outermost digest that changes, and the name of a part that
// explains it; both are empty if nothing may change.
func wantChange(t *testing.T, before, after Digests, layer Layer, part string) {
	t.Helper()
	if got := firstChange(before, after); got != layer {
		t.Errorf("the first digest that changes is %q, want %q", got, layer)
	}
	if got := changedParts(before, after); part != "" && !got[part] || part == "" && len(got) > 0 {
		t.Errorf("changed parts are %v, want %q", got, part)
	}
}

func firstChange(a, b Digests) Layer {
	switch {
	case a.E != b.E:
		return Execution
	case a.J != b.J:
		return Judgement
	case a.D != b.D:
		return Decision
	}
	return ""
}

func changedParts(a, b Digests) map[string]bool {
	out, had := map[string]bool{}, map[string]string{}
	for _, p := range a.Parts() {
		had[p.Title()] = p.Digest
	}
	for _, p := range b.Parts() {
		if had[p.Title()] != p.Digest {
			out[p.Title()] = true
		}
		delete(had, p.Title())
	}
	for name := range had {
		out[name] = true
	}
	return out
}

func TestTheSimulatorsModelIsExecution(t *testing.T) {
	if got := firstChange(conversationIn(conversation(), "s"), conversationIn(conversation(), "other")); got != Execution {
		t.Errorf("another simulator changes %q", got)
	}
	fixed := conversation()
	fixed.Drive.Simulation = nil
	if got := firstChange(conversationIn(fixed, "s"), conversationIn(fixed, "other")); got != "" {
		t.Errorf("another simulator changes %q of a case that has none", got)
	}
}

// TestWhatEndsAConversation has the tools that end one bear on cases that have
// a conversation, and on no other.
func TestWhatEndsAConversation(t *testing.T) {
	with := func(c *schema.Case, ends ...string) Digests {
		return Digest(c, &Environment{DefaultTarget: "model", Targets: map[string]Target{"model": {Ends: ends}}})
	}
	if got := firstChange(with(conversation()), with(conversation(), "hang_up")); got != Execution {
		t.Errorf("a tool that ends the conversation changes %q", got)
	}
	fixed := conversation()
	fixed.Drive.Simulation = nil
	if got := firstChange(with(fixed), with(fixed, "hang_up")); got != "" {
		t.Errorf("it changes %q of a case that has none", got)
	}
}

func TestMocksOfACaseNeverReachAnAgent(t *testing.T) {
	with, without := conversation(), conversation()
	with.Target, without.Target, without.Mocks = "agent", "agent", nil
	if got := firstChange(conversationIn(with, "s"), conversationIn(without, "s")); got != "" {
		t.Errorf("mocks change %q", got)
	}
}

// TestOldDigestsStay holds the digests of a case without a simulation: what
// ledgers have stored must be found again. Write the digest again only with a
// version that counts up.
func TestOldDigestsStay(t *testing.T) {
	const want = "4e515bb108b085cb4159a156ae0df2b9ef48d524bebb088073c7652416189ec0"
	if got := Digest(tc("a", "1", 1), &Environment{Config: "gavel.yaml"}).E; got != want {
		t.Errorf("E is %s, was %s", got, want)
	}
}
