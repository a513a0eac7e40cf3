package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/controller/workspaces"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
)

// targetRole is the role under which calls to the case's target are journaled.
const targetRole = "target"

// A conversation is what a user and the target of a case say to each other in
// one sample.
type conversation struct {
	log    *callLog
	tc     *schema.Case
	name   string // of the target
	target Target
	user   *simulator // nil where all that the user says is in the case
	mocks  *mockDispatcher
	// workspace is what the target works in; nil for none.
	workspace *workspaces.Session

	transcript verdict.Transcript
	replies    int
}

func newConversation(ctx context.Context, log *callLog) (*conversation, error) {
	tc, err := writePrompt(ctx, log.tc, log.caseRun.runner.cfg.Programs)
	if err != nil {
		return nil, err
	}
	name := log.caseRun.job.Target
	t := log.caseRun.runner.cfg.Targets[name]
	if images := t.Config.AcceptsImages; tc.Drive.Program != nil && images != nil && !*images && (chat.Prompt{Messages: tc.Drive.Messages}).Shows() {
		return nil, fmt.Errorf("the program of the prompt (%s) writes an image, and %s takes none; limit the prompt to other providers, or set accepts_images: true in gavel.yaml", tc.Drive.Program.Name(), name)
	}
	c := &conversation{log: log, tc: tc, name: name, target: t, mocks: newMockDispatcher(tc, t.Config), workspace: t.workspace(tc)}
	c.transcript = verdict.Transcript{System: tc.System, Traced: true, Messages: slices.Clone(tc.Drive.Messages)}
	if tc.Drive.Program != nil {
		c.transcript.Written = len(tc.Drive.Messages)
	}
	if t.Config.RunsTools() {
		c.transcript.Tools = offered(tc.Tools)
	}
	if sim := tc.Drive.Simulation; sim != nil {
		player, err := log.caseRun.runner.targetName(schema.Simulator)
		if err != nil {
			return nil, err
		}
		// Within the timeout of the sample, not one of its own as judges have.
		c.user = newSimulator(*sim, func(ctx context.Context, role schema.Role, req target.Request) (target.Reply, error) {
			req.Case = tc.Key
			return log.ask(ctx, string(role), player, req)
		})
	}
	return c, nil
}

// offered are tools as the target sees them.
func offered(tools []schema.Tool) []schema.Tool {
	tools = slices.Clone(tools)
	for i := range tools {
		tools[i].Mock = nil
	}
	return tools
}

// run has the conversation. Its errors end the sample without a judgement.
//
// The user speaks first: what the case says, else what the simulator writes. Where
// the case has the target open, its first words are the first reply.
// The target replies, which may take several calls while it asks for tools.
// Without a simulator that is all, unless the case says what the user says next. With
// one the conversation ends, looked at in this order after every reply,
//   - by the target: it says so with its reply, or has called a tool that its
//     configuration lists under ends_conversation;
//   - after MaxTurns replies: no message of the user follows the last one;
//   - by the user: the simulator says that it is done.
//
// A case that has the answer itself asks nobody.
//
// After TurnCap replies the simulator has a last chance to be done; if it is not, there is no natural
// end and nothing to judge. The same holds where there is no MaxTurns and the timeout ends it.
func (c *conversation) run(ctx context.Context) error {
	if given := c.tc.Drive.Given; given != nil {
		c.transcript.Traced = false // nobody knows which tools it took
		c.add(schema.Message{Role: schema.RoleAssistant, Content: *given})
		return nil
	}
	c.log.caller.Allow(c.tc.Policy.Timeout)
	over, err := c.open(ctx)
	for ended := false; !over && err == nil; {
		switch ended, err = c.reply(ctx); {
		case err != nil:
		case c.user == nil:
			over = !c.scriptedTurn()
		default:
			over, err = c.afterReply(ctx, ended)
		}
	}
	if c.user != nil && c.tc.Policy.MaxTurns == 0 && c.replies > 0 && cutOff(err) {
		return fmt.Errorf("no natural end: neither side ended the conversation after %d replies: %w", c.replies, err)
	}
	return err
}

// cutOff reports whether an error is the end of the timeout or of the budget.
func cutOff(err error) bool {
	_, late := errors.AsType[lateError](err)
	_, short := errors.AsType[*Shortage](err)
	return late || short
}

// open has the first words said where they are not the target's to answer, and
// reports whether they were the last: those of a user that is simulated, or those
// that the case gives the target.
func (c *conversation) open(ctx context.Context) (over bool, err error) {
	n := len(c.transcript.Messages)
	switch {
	case c.user == nil || c.tc.Drive.TargetOpens && n == 0:
		return false, nil
	case n == 0:
		_, err = c.userSpeaks(ctx)
		return false, err
	case c.transcript.Messages[n-1].Role == schema.RoleAssistant:
		return c.afterReply(ctx, false)
	}
	return false, nil
}

// afterReply has the user speak after a reply of the target, and reports whether the
// conversation is over. ended says that the target ended it with the reply.
func (c *conversation) afterReply(ctx context.Context, ended bool) (over bool, err error) {
	c.replies++
	switch limit := c.tc.Policy.MaxTurns; {
	case ended:
		c.transcript.Ended = verdict.EndedByTarget
		return true, nil
	case limit > 0 && c.replies >= limit:
		c.transcript.Ended = verdict.EndedByLimit
		return true, nil
	}
	done, err := c.userSpeaks(ctx)
	if err != nil {
		return false, err
	}
	if done {
		c.transcript.Ended = verdict.EndedByUser
		return true, nil
	}
	if limit := c.tc.Policy.TurnCap; limit > 0 && c.replies >= limit {
		return true, fmt.Errorf("no natural end: neither side ended the conversation within %d replies; give the case max_turns, or raise defaults: max_turns_cap", limit)
	}
	return false, nil
}

// scriptedTurn adds what the case says after a reply of the target, and reports whether
// there is anything.
func (c *conversation) scriptedTurn() bool {
	if c.replies == len(c.tc.Drive.Turns()) {
		return false
	}
	c.add(c.tc.Drive.Turns()[c.replies]...)
	c.replies++
	return true
}

// turn notes where a scripted conversation's next reply begins; what it returns notes the whole of it.
func (c *conversation) turn() (end func()) {
	if c.tc.Drive.Script == nil {
		return func() {}
	}
	t := &c.transcript
	from, latency, usage := len(t.Messages), t.Latency, t.Usage
	t.Usage = verdict.Usage{}
	return func() {
		t.Turns = append(t.Turns, verdict.Turn{From: from, To: len(t.Messages), Latency: t.Latency - latency, Usage: t.Usage})
		t.Usage = usage.Add(t.Usage)
	}
}

// userSpeaks has the user speak, and reports whether those were the last words.
// Such words are in the transcript, and nobody answers them.
func (c *conversation) userSpeaks(ctx context.Context) (done bool, err error) {
	said, err := c.user.Speak(ctx, c.transcript.Messages)
	c.transcript.Simulated = c.user.Usage
	if err != nil {
		return false, err
	}
	if said.Message != "" {
		c.add(schema.Message{Role: schema.RoleUser, Content: said.Message})
	}
	return said.Done, nil
}

// reply has the target reply, and answers from the mocks while it asks for
// tools. It reports whether the target ended the conversation.
func (c *conversation) reply(ctx context.Context) (ended bool, err error) {
	defer c.turn()()
	for round := 0; ; round++ {
		req := target.Request{System: c.tc.System, Tools: c.tools(), Messages: c.transcript.Messages[c.transcript.SentFrom(c.replies, c.tc.Drive.Window()):], Case: c.tc.Key, Turn: c.replies, Workspace: c.workspace, Row: c.tc.Drive.Row}
		reply, err := c.log.ask(ctx, targetRole, c.name, req)
		if err != nil {
			return false, err
		}
		c.addReply(reply)
		ended := c.user != nil && (reply.End || c.endsIn(reply.Messages))
		calls := pendingCalls(reply)
		if c.tc.Drive.CallsAnswer || !c.target.Config.RunsTools() || len(calls) == 0 {
			return ended, nil
		}
		if round == c.tc.Policy.MaxToolRounds {
			return false, fmt.Errorf("the target still asks for tools after %d rounds", c.tc.Policy.MaxToolRounds)
		}
		for _, call := range calls {
			if err := c.answerToolCall(call); err != nil {
				return false, err
			}
		}
		if ended {
			return true, nil
		}
	}
}

// tools are what the target is sent: an agent gets none, it runs its own.
func (c *conversation) tools() []schema.Tool {
	if !c.target.Config.RunsTools() {
		return nil
	}
	return c.tc.Tools
}

func (c *conversation) add(messages ...schema.Message) {
	c.transcript.Messages = append(slices.Clip(c.transcript.Messages), messages...)
}

// addReply takes a reply of the target into the transcript.
func (c *conversation) addReply(reply target.Reply) {
	t := &c.transcript
	c.add(reply.Messages...)
	t.Model = cmp.Or(reply.Model, t.Model)
	t.Finish = reply.Finish
	// The instructions that an agent reports are those that it had.
	t.System = cmp.Or(reply.System, t.System)
	if len(reply.Tools) > 0 {
		t.Tools = offered(reply.Tools)
	}
	if reply.Changes != nil {
		t.Changes = reply.Changes
		c.workspace.Keep(reply.Changes) // for a reply that was stored
	}
	t.Traced = t.Traced && reply.Traced
	t.Latency += reply.Latency
	t.Usage = t.Usage.Add(reply.Usage)
}

// answerToolCall answers a tool call from a mock. A call that no mock answers is noted: it
// says something about the definitions and not about the target.
func (c *conversation) answerToolCall(call schema.ToolCall) error {
	m, missing, err := c.mocks.Answer(call)
	if err != nil {
		return err
	}
	c.add(m)
	if missing != "" {
		c.transcript.Notes = append(c.transcript.Notes, fmt.Sprintf("turn %d: %s", len(c.transcript.Messages), missing))
	}
	return nil
}

// endsIn reports whether a tool that ends the conversation was called.
func (c *conversation) endsIn(messages []schema.Message) bool {
	return slices.ContainsFunc(messages, func(m schema.Message) bool {
		return slices.ContainsFunc(m.ToolCalls, func(call schema.ToolCall) bool {
			return slices.Contains(c.target.Config.EndsConversation, call.Function.Name)
		})
	})
}

// workspace is that of a sample, where the target works in one.
func (t Target) workspace(c *schema.Case) *workspaces.Session {
	if !t.Config.HasWorkspace() {
		return nil
	}
	return workspaces.New(c.Drive.Workspace, c.Drive.Messages)
}

// root is the digest by which recordings know a sample, see [target.Request].
func root(c *schema.Case, t Target) string {
	req := openingRequest(c)
	if !t.Config.RunsTools() {
		req.Tools = nil
	}
	req.Workspace = t.workspace(c)
	return target.Digest(req)
}

// pendingCalls are the tool calls of the last message of a reply.
func pendingCalls(r target.Reply) []schema.ToolCall {
	if n := len(r.Messages); n > 0 {
		return r.Messages[n-1].ToolCalls
	}
	return nil
}
