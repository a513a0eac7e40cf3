package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// targetRole is the role under which calls to the case's target are journaled.
const targetRole = "target"

// drive sends the messages of a case to its target and, while the target asks
// for tools, answers from the mocks. Its errors end the sample without a
// judgement.
func drive(ctx context.Context, s *session, t Target, job Job) (*verdict.Transcript, error) {
	c := job.Case
	tr := &verdict.Transcript{System: c.System, Traced: true, Messages: slices.Clone(c.Drive.Messages)}
	mocks := dispatcher{target: t.Config.Mocks, tools: c.Tools, used: map[string]int{}}
	for round := 0; ; round++ {
		req := firstRequest(c, t)
		req.Messages, req.Turn = tr.Messages, round
		reply, err := s.ask(ctx, targetRole, job.Target, req)
		if err != nil {
			return nil, err
		}
		tr.Messages = append(slices.Clip(tr.Messages), reply.Messages...)
		tr.Model = cmp.Or(reply.Model, tr.Model)
		tr.Traced = tr.Traced && reply.Traced
		tr.Latency += reply.Latency
		tr.Usage = tr.Usage.Add(reply.Usage)
		calls := pendingCalls(reply)
		if !t.Config.RunsTools() || len(calls) == 0 {
			return tr, nil
		}
		if round == c.Policy.MaxToolRounds {
			return nil, fmt.Errorf("the target still asks for tools after %d rounds", c.Policy.MaxToolRounds)
		}
		for _, call := range calls {
			m, err := mocks.answer(call)
			if err != nil {
				return nil, err
			}
			tr.Messages = append(tr.Messages, m)
		}
	}
}

// firstRequest is what a case sends first. An agent is not sent the tools: it
// runs its own.
func firstRequest(c *schema.Case, t Target) target.Request {
	req := target.Request{System: c.System, Messages: c.Drive.Messages, Case: c.Key}
	if t.Config.RunsTools() {
		req.Tools = c.Tools
	}
	return req
}

// pendingCalls are the tool calls of the last message of a reply.
func pendingCalls(r target.Reply) []schema.ToolCall {
	if len(r.Messages) == 0 {
		return nil
	}
	return r.Messages[len(r.Messages)-1].ToolCalls
}

// A dispatcher answers tool calls: first by the mocks of the target, then by
// the tool's own.
type dispatcher struct {
	target map[string][]config.ToolMock
	tools  []schema.Tool
	// used counts, by tool and index, how often a mock of the target answered.
	used map[string]int
}

// answer gives the tool message for a call. A call to a tool whose mock is
// code is an error, because code from a repository is not executed.
func (d *dispatcher) answer(call schema.ToolCall) (schema.Message, error) {
	name := call.Function.Name
	msg := schema.Message{Role: schema.RoleTool, ToolCallID: call.ID, Name: name}
	if body, ok := d.fromTarget(call.Function); ok {
		msg.Content = body
		return msg, nil
	}
	i := slices.IndexFunc(d.tools, func(t schema.Tool) bool { return t.Name == name })
	switch {
	case i < 0:
		msg.Content = toolError("there is no tool " + name)
	case d.tools[i].Mock.IsCode():
		return msg, fmt.Errorf("tool %s was called, but its mock is %s code, which is not executed; give the target a mock for it (targets: mocks: %s) or a json mock in %s",
			name, d.tools[i].Mock.Kind, name, d.tools[i].File)
	case d.tools[i].Mock == nil:
		msg.Content = toolError("tool " + name + " has no mock response")
	default:
		msg.Content = d.tools[i].Mock.Body
	}
	return msg, nil
}

func toolError(text string) string {
	raw, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		return text
	}
	return string(raw)
}

// fromTarget finds the first unused mock of the target whose listed params
// equal the call's; when all that match are used, the last of them repeats.
func (d *dispatcher) fromTarget(call schema.FunctionCall) (string, bool) {
	var args map[string]json.RawMessage
	// Arguments that are no object match only mocks that list no params.
	_ = json.Unmarshal([]byte(call.Arguments), &args)
	last := -1
	for i, m := range d.target[call.Name] {
		if !paramsMatch(m.Params, args) {
			continue
		}
		last = i
		if d.used[usedKey(call.Name, i)] == 0 {
			break
		}
	}
	if last < 0 {
		return "", false
	}
	d.used[usedKey(call.Name, last)]++
	return mockBody(d.target[call.Name][last].Response), true
}

func usedKey(tool string, i int) string { return fmt.Sprintf("%s %d", tool, i) }

// mockBody gives a JSON string as its text and everything else as JSON.
func mockBody(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// paramsMatch reports whether all wanted params equal those of the call.
// Strings are compared trimmed and without regard to case.
func paramsMatch(want, got map[string]json.RawMessage) bool {
	for name, w := range want {
		g, ok := got[name]
		if !ok || !sameValue(w, g) {
			return false
		}
	}
	return true
}

func sameValue(a, b json.RawMessage) bool {
	var x, y string
	if json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil {
		return strings.EqualFold(strings.TrimSpace(x), strings.TrimSpace(y))
	}
	ca, errA := schema.Canonical(a)
	cb, errB := schema.Canonical(b)
	return errA == nil && errB == nil && string(ca) == string(cb)
}
