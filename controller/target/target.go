// Package target speaks to the agents and models under test and to the models that
// judge them.
//
// Most callers want [New], which opens a configured target. A Target holds no
// conversation: every [Request] carries all of it, so one Target serves all cases at
// once. Targets never retry: they say in an [Error] whether it would help, and run
// decides.
package target

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/controller/workspaces"
	"github.com/gavel-evals/gavel/schema"
)

// Mark is in the messages of a judge's request where the delimiter of the call
// is inserted before it is sent. It cannot occur in subject text, from
// which evaluators strip it.
const Mark = "\x00"

// A Target answers requests. Implementations are safe for concurrent use.
type Target interface {
	// Respond sends one request and waits for the reply. It gives up when ctx ends.
	// Errors caused by the outside world are of type *Error.
	Respond(ctx context.Context, req Request) (Reply, error)
}

// Paid is called once when a request that was paid for has ended, with what it took, where
// that is known.
type Paid func(u verdict.Usage, known bool)

// A Request is one call to a target. Only System, Messages, Tools, Format and
// Temperature are the question and are in its digest; the other fields say who asks.
type Request struct {
	System   string
	Messages []schema.Message
	Tools    []schema.Tool
	// Format asks for a reply that is JSON of this schema; nil for free text.
	Format *Format
	// Temperature is set by judges and extractors; a temperature in the target's own
	// configuration wins. Nil leaves it to the provider.
	Temperature *float64

	// Room doubles the limit on the tokens of a reply so many times. It is not 0 where a
	// judge's reply was cut off at that limit.
	Room int

	// Case is the key of the case; Turn counts the agent's turns from 0.
	Case string
	Turn int
	// Session is the same in every turn of a conversation of one sample, and in no
	// other one. A resumed run continues with it. Empty for targets that take none.
	Session string
	// Sample is the ordinal of the sample, Occurrence counts the earlier
	// requests of the sample with the same digest. A replay finds its reply by
	// the digest and these two.
	Sample     int
	Occurrence int
	// Root is the digest of the first request that the sample sent to its
	// target; a recording keeps it, so that a plan knows which of its lines a
	// case can be answered from.
	Root string
	// Again counts further measurements of the case from 1; 0 is the first.
	Again int

	// Pay asks for the budget of a request that a coding agent has passed on, of so many
	// bytes and with at most out tokens in its reply, or 0 if it does not say. The error is
	// why it must not be sent, and why the call must end.
	Pay func(ctx context.Context, in, out int64) (Paid, error)

	// Row is the matrix row that a command gets; empty for none.
	Row json.RawMessage

	// Workspace is the folder that a command works in; nil for none. The digest covers
	// its definition.
	Workspace *workspaces.Session

	// Loads reports whether calls in messages load the skill that Workspace asks about, or
	// another one; a coding agent is ended once it has chosen. Nil leaves the end to the
	// agent.
	Loads func(messages []schema.Message) (asked, another bool)

	// Digest is the request's digest before its delimiter was inserted; empty if there
	// was none.
	Digest string
}

// A Format is a JSON Schema that a reply must follow.
type Format struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// A Reply is the answer of a target.
type Reply struct {
	// Messages are the messages that the target added in this turn: one assistant
	// message of a model; for an agent also its tool calls and their results.
	Messages []schema.Message `json:"messages"`
	// Model is the model as it names itself; empty when unknown.
	Model string `json:"model,omitempty"`
	// Revision is the version that a deployed agent reports; empty if it reports none.
	Revision string `json:"revision,omitempty"`
	// Finish is the reason why the model ended its reply, as OpenAI names it: stop,
	// length, tool_calls or content_filter; empty if it is not known.
	Finish string `json:"finish,omitempty"`
	// End is true when the agent says that the conversation is over.
	End bool `json:"end,omitempty"`
	// System and Tools are the inputs that an agent reports, by system_prompt and tools
	// of its metadata. Empty if it reports none, and for models.
	System string        `json:"system,omitempty"`
	Tools  []schema.Tool `json:"tools,omitempty"`
	// Changes are the changes that the conversation so far made to its workspace; nil
	// for targets that have none.
	Changes *schema.WorkspaceChanges `json:"changes,omitempty"`
	// Traced reports whether the tool calls of the turn are known.
	Traced bool `json:"traced"`
	// Usage has Calls = 1 and the tokens by the provider's count.
	Usage verdict.Usage `json:"usage"`
	// Latency is the time from sending to the last byte.
	Latency time.Duration `json:"latency"`
}

// An Error is a call that brought no usable reply.
type Error struct {
	// Target is the name of the target.
	Target string
	// Status is the HTTP status, 0 if there was none.
	Status int
	// Retry reports whether the same call may succeed later: transport errors,
	// 408, 429 and 5xx. A refusal or a malformed request is final.
	Retry bool
	// After is how long the provider asks to wait; 0 if it does not.
	After time.Duration
	// Message says what happened, without credentials.
	Message string
	// Hint is the repair, without credentials; empty if none is known.
	Hint string
	// Err is the cause if it is the end of the context, else nil: text from the outside
	// is only in Message, which has no credentials.
	Err error
}

// Error names the target and what happened.
func (e *Error) Error() string { return "target " + e.Target + ": " + e.Said() }

// Said returns the message and the repair.
func (e *Error) Said() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
