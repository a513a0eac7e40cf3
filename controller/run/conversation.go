package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/controller/workspaces"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
)

// targetRole is the role under which calls to the case's target are journaled.
const targetRole = "target"

// A conversation is the exchange of a user and a case's target in one sample.
type conversation struct {
	log    *callLog
	tc     *schema.Case
	name   string // the target's
	target Target
	user   *simulator // nil if the case has all of the user's messages
	mocks  *mockDispatcher
	// workspace is the target's working folder, or nil.
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
		// It shares the sample's timeout, while judges have their own.
		c.user = newSimulator(*sim, func(ctx context.Context, role schema.Role, req target.Request) (target.Reply, error) {
			req.Case = tc.Key
			return log.ask(ctx, string(role), player, req)
		})
	}
	return c, nil
}

// offered converts tools for the target.
func offered(tools []schema.Tool) []schema.Tool {
	tools = slices.Clone(tools)
	for i := range tools {
		tools[i].Mock = nil
	}
	return tools
}

// run runs the conversation. Its errors end the sample without a judgement.
//
// The user speaks first, with the case's messages or else the simulator's. If the case
// lets the target open, the target's first message is the first reply. The target
// replies, which may take several calls while it asks for tools. Without a simulator
// the conversation then ends, unless the case has further user messages. With one the
// conversation ends, checked in this order after every reply,
//   - by the target: its reply says so, or it has called a tool that its
//     configuration lists under ends_conversation;
//   - after MaxTurns replies: no message of the user follows the last one;
//   - by the user: the simulator says that it is done.
//
// A case with its own answer calls nobody.
//
// After TurnCap replies the simulator has a last chance to be done; if it is not, the
// conversation has no natural end and cannot be judged. The same holds without MaxTurns if the
// timeout ends it.
func (c *conversation) run(ctx context.Context) error {
	if given := c.tc.Drive.Given; given != nil {
		c.transcript.Traced = false // its tools are unknown
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

// open adds the first messages that the target does not answer, and reports whether
// they were the last: a simulated user's, or the case's messages of the target.
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

// afterReply lets the user speak after a reply of the target, and reports whether the
// conversation is over. ended means that the target ended it with the reply.
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

// scriptedTurn adds the case's next messages after a reply of the target, and reports
// whether there are any.
func (c *conversation) scriptedTurn() bool {
	if c.replies == len(c.tc.Drive.Turns()) {
		return false
	}
	c.add(c.tc.Drive.Turns()[c.replies]...)
	c.replies++
	return true
}

// turn records the start of a scripted conversation's next turn; the returned function
// records the complete turn.
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

// userSpeaks lets the user speak, and reports whether the message was the last. Such a
// message is in the transcript without an answer.
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

// reply lets the target reply, and answers from the mocks while it asks for tools. It
// reports whether the target ended the conversation.
func (c *conversation) reply(ctx context.Context) (ended bool, err error) {
	defer c.turn()()
	for round := 0; ; round++ {
		req := target.Request{System: c.tc.System, Tools: c.tools(), Messages: c.transcript.Messages[c.transcript.SentFrom(c.replies, c.tc.Drive.Window()):], Case: c.tc.Key, Turn: c.replies, Workspace: c.workspace, Row: c.tc.Drive.Row}
		if choice := c.workspace.Choice(); choice != nil {
			req.Loads = func(said []schema.Message) (asked, another bool) { return evaluate.Loads(said, choice) }
		}
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

// tools returns the tools to send to the target: an agent gets none, since it runs its
// own.
func (c *conversation) tools() []schema.Tool {
	if !c.target.Config.RunsTools() {
		return nil
	}
	return c.tc.Tools
}

func (c *conversation) add(messages ...schema.Message) {
	c.transcript.Messages = append(slices.Clip(c.transcript.Messages), messages...)
}

// addReply adds a reply of the target to the transcript.
func (c *conversation) addReply(reply target.Reply) {
	t := &c.transcript
	c.add(reply.Messages...)
	t.Model = cmp.Or(reply.Model, t.Model)
	t.Finish = reply.Finish
	if c.target.Config.Revision == config.RevisionAny {
		t.Revision = reply.Revision
	}
	// The instructions reported by an agent are the ones that it used.
	t.System = cmp.Or(reply.System, t.System)
	if len(reply.Tools) > 0 {
		t.Tools = offered(reply.Tools)
	}
	if reply.Changes != nil {
		t.Changes = reply.Changes
		c.workspace.Keep(reply.Changes) // for a stored reply
	}
	t.Traced = t.Traced && reply.Traced
	t.Latency += reply.Latency
	t.Usage = t.Usage.Add(reply.Usage)
}

// answerToolCall answers a tool call from a mock. A call without a mock is recorded: it
// is a mistake in the definitions and not in the target.
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

// workspace returns the workspace of a sample, if the target works in one.
func (t Target) workspace(c *schema.Case) *workspaces.Session {
	if !t.Config.HasWorkspace() {
		return nil
	}
	definition := c.Drive.Workspace
	if definition == nil && t.Config.CodingAgent != "" {
		definition = &schema.Workspace{} // an empty folder
	}
	return workspaces.New(definition, c.Drive.Messages)
}

// root returns the digest by which recordings identify a sample, see [target.Request].
func root(c *schema.Case, t Target) string {
	req := openingRequest(c)
	if !t.Config.RunsTools() {
		req.Tools = nil
	}
	req.Workspace = t.workspace(c)
	return target.Digest(req)
}

// pendingCalls returns the tool calls of a reply's last message.
func pendingCalls(r target.Reply) []schema.ToolCall {
	if n := len(r.Messages); n > 0 {
		return r.Messages[n-1].ToolCalls
	}
	return nil
}
