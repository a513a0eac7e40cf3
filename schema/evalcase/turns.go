package evalcase

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// agrees is the criterion of a turn with an expected answer and no assertions, if the
// test has no criteria.
const agrees = "The answer says the same as the reference answer."

// maxTurns bounds a conversation, each turn of which is a call.
const maxTurns = 200

// turnKeys steer a conversation of turns, and mean nothing without them.
var turnKeys = []string{"mode", "aggregation", "on_turn_failure", "window_size"}

// hasTurns reports whether a test is a conversation with the user's messages.
func (c *compiler) hasTurns() bool { return c.isTests && len(c.tc.List("turns")) > 0 }

// readTurns reads the user's messages of each turn.
func (c *compiler) readTurns() [][]schema.Message {
	var out [][]schema.Message
	if n := len(c.tc.List("turns")); n > maxTurns {
		c.fail(c.tc.Problem("too-many-turns", fmt.Sprintf("the conversation has %d turns", n), fmt.Sprintf("it may have %d; make several tests of it", maxTurns), "turns"))
		return nil
	}
	for _, p := range c.tc.List("turns") {
		found := p.Check("#EvalcaseTurn", schema.Error)
		if c.problems = append(c.problems, found...); schema.HasErrors(found) {
			continue
		}
		said := c.said(p.Sub("input"))
		if said.system != "" {
			c.fail(p.Problem("misplaced-field", "a turn has no system prompt", "write it into the input of the test", "input"))
		}
		out = append(out, said.messages)
	}
	if len(out) > 0 {
		return out
	}
	for _, key := range turnKeys {
		if !c.tc.Has(key) || c.tc.Has("turns") {
			continue
		}
		problem := c.tc.Problem("missing-field", fmt.Sprintf("`%s` means nothing without turns", key), `add "turns": [{"input": …}]`, key)
		if key == "mode" {
			c.fail(problem)
			continue
		}
		c.warn(problem)
	}
	return nil
}

// turns are the evaluators of a conversation of turns: one, whose members are the turns and,
// where the test or its suite has assertions, the whole conversation. A turn without
// assertions scores 1.
func (c *compiler) turns(threshold float64) []schema.Evaluator {
	rule := schema.Rule{Threshold: threshold, Aggregate: map[string]schema.Aggregate{"min": schema.Minimum, "max": schema.Maximum}[c.tc.Text("aggregation")]}
	var spec evaluator.Composite
	if c.tc.Text("on_turn_failure") == "stop" {
		spec.Stop = threshold
	}
	ofTest := c.answer
	for i, p := range c.tc.List("turns") {
		c.answer = c.answerWith(p.Sub("expected_output"))
		m := c.part(fmt.Sprintf("turn-%d", i+1), i+1, c.turn(p, threshold))
		m.Rule.Threshold = threshold
		spec.Members = append(spec.Members, m)
	}
	c.answer = ofTest
	if evs := c.assertions(threshold); len(evs) > 0 && !evs[0].Fallback {
		m := c.part("conversation", 0, evs)
		m.Rule.Threshold = threshold
		spec.Members = append(spec.Members, m)
	} else if !slices.ContainsFunc(c.tc.List("turns"), isJudged) {
		c.warn(c.tc.Problem("no-check", "nothing is asserted of the conversation, so that it passes whatever the target says", `add "assertions": […] to a turn or to the test; criteria are not judged where there are turns`, "turns"))
	}
	return []schema.Evaluator{{Name: "turns", File: c.file, Weight: 1, Spec: spec, Rule: rule}}
}

// isJudged reports whether anything is asserted of a turn.
func isJudged(p document.Place) bool {
	return len(p.List("assertions")) > 0 || p.Has("expected_output")
}

// turn are the evaluators of one turn.
func (c *compiler) turn(p document.Place, threshold float64) []schema.Evaluator {
	switch {
	case len(p.List("assertions")) > 0:
		return c.listOf(p.List("assertions"), threshold)
	case p.Has("expected_output"):
		subject := c.subject()
		subject.ExpectedOutcome = cmp.Or(subject.ExpectedOutcome, agrees)
		return []schema.Evaluator{{Name: "llm-grader", Weight: 1, Spec: evaluator.LLMJudge{Target: c.standardJudge(), Subject: subject}, Rule: schema.Rule{Threshold: threshold}}}
	}
	return []schema.Evaluator{{Name: "unasserted", Weight: 1, Spec: evaluator.ToolCounts{}}}
}

// part is a member of a conversation, with the evaluators that look at a turn, or at
// the whole of it at 0. A required one that does not hold makes the score of the member 0.
func (c *compiler) part(name string, turn int, evs []schema.Evaluator) evaluator.Member {
	spec := evaluator.Composite{View: &evaluator.View{Turn: turn}}
	rule := schema.Rule{Contained: true}
	for _, ev := range evs {
		spec.Members = append(spec.Members, evaluator.Member{ID: ev.Name, Spec: ev.Spec, Rule: ev.Rule})
		if ev.Weight != 1 {
			rule.Weights = putNumber(rule.Weights, ev.Name, ev.Weight)
		}
	}
	if !slices.ContainsFunc(evs, func(ev schema.Evaluator) bool { return ev.Weight > 0 }) {
		c.weightless(c.tc.Sub("turns"), "assertions of "+name, &rule)
	}
	return evaluator.Member{ID: name, Spec: spec, Rule: rule}
}
