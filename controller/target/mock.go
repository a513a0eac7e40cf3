package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
)

// A mock answers from the configuration, for examples and tests.
type mock struct {
	base
	replies []mockReply
}

type mockReply struct {
	match *regexp.Regexp
	config.MockReply
}

func newMock(cfg config.Target, b base) (*mock, error) {
	if len(cfg.Replies) == 0 {
		return nil, errors.New("replies is empty; a mock answers only what it is told to")
	}
	m := &mock{base: b}
	for i, r := range cfg.Replies {
		re, err := regexp.Compile(r.Match)
		if err != nil {
			return nil, fmt.Errorf("replies[%d].match: %w", i, err)
		}
		m.replies = append(m.replies, mockReply{re, r})
	}
	return m, nil
}

// Respond returns the first reply whose pattern is found in the last message.
func (m *mock) Respond(ctx context.Context, req Request) (Reply, error) {
	if ctx.Err() != nil {
		return Reply{}, m.ended(ctx)
	}
	var last string
	if n := len(req.Messages); n > 0 {
		last = req.Messages[n-1].Content
	}
	for _, r := range m.replies {
		if r.match.MatchString(last) {
			return r.reply(req), nil
		}
	}
	return Reply{}, m.fail(Error{Message: fmt.Sprintf("none of the %d replies matches the last message of case %s: %q",
		len(m.replies), req.Case, last)})
}

func (r mockReply) reply(req Request) Reply {
	said := schema.Message{Role: schema.RoleAssistant, Content: r.Reply}
	if n := len(req.Messages); r.Echo && n > 0 {
		said.Content = req.Messages[n-1].Content
		if r.EchoChat {
			said.Content = chat.Prompt{System: req.System, Messages: req.Messages}.Indented()
		}
	}
	if n := len(r.Again); n > 0 && req.Again > 0 {
		said.Content = r.Again[(req.Again-1)%n]
	}
	for i, c := range r.ToolCalls {
		said.ToolCalls = append(said.ToolCalls, functionCall(callID(req, i), c.Name, cmp.Or(string(c.Arguments), "{}")))
	}
	finish := "stop"
	if len(said.ToolCalls) > 0 {
		finish = "tool_calls"
	}
	if r.EchoChat { // promptfoo's echo gives no reason
		finish = ""
	}
	return Reply{Messages: []schema.Message{said}, Finish: finish, Traced: true, Usage: verdict.Usage{Calls: 1}}
}
