package run_test

import (
	"context"
	"strings"
	"testing"

	programs "github.com/gavel-evals/gavel/controller/evaluate/suite"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/promptprogram"
)

// TestExamplesAreNoAnswer: what a prompt has the agent say before is not judged in the place of
// a reply that says nothing, be the prompt in the case or written by a program.
func TestExamplesAreNoAnswer(t *testing.T) {
	const printed = `[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}, {"role": "user", "content": "greet"}]`
	for _, program := range []*promptprogram.Program{nil, {Argv: []string{"p.py"}}} {
		for _, tt := range []struct {
			reply string
			want  verdict.Verdict
		}{{"hello", verdict.Pass}, {"", verdict.Fail}} {
			s := newConversationFixture(t, []target.Reply{says(tt.reply)})
			c := greeting("a")
			c.Drive.Messages = []schema.Message{{Role: "user", Content: "hi"}, {Role: "assistant", Content: "hello"}, {Role: "user", Content: "greet"}}
			if c.Drive.Program = program; program != nil {
				c.Drive.Messages = nil
			}
			out := s.written(t, c, printed)
			if out.Result.Verdict != tt.want || len(s.agent.asked) != 1 || len(s.agent.asked[0].Messages) != 3 {
				t.Errorf("the reply %q is judged as %+v, want %s", tt.reply, out.Result, tt.want)
			}
		}
	}
}

// TestWrittenImages reach a target, unless gavel.yaml says that it takes none.
func TestWrittenImages(t *testing.T) {
	const printed = `[{"role": "user", "content": [{"type": "image_url", "image_url": "data:image/gif;base64,R0lGODlh"}]}]`
	yes, no := true, false
	for _, takes := range []*bool{&yes, &no, nil} {
		s := newConversationFixture(t, []target.Reply{says("hello")})
		s.cfg.AcceptsImages = takes
		c := greeting("a")
		c.Drive.Messages, c.Drive.Program = nil, &promptprogram.Program{Argv: []string{"p.py"}}
		out := s.written(t, c, printed)
		const want = "the program of the prompt (p.py) writes an image, and bot takes none"
		if takes == &no {
			if len(s.agent.asked) != 0 || out.Result.Verdict != verdict.Error || !strings.Contains(out.Result.Reason, want) {
				t.Errorf("%+v after %d calls, want an error with %q before any", out.Result, len(s.agent.asked), want)
			}
		} else if out.Result.Verdict != verdict.Pass || len(s.agent.asked) != 1 || len(s.agent.asked[0].Messages[0].Blocks) != 1 {
			t.Errorf("%+v, want the target to be sent the image", out.Result)
		}
	}
}

// written runs a case with programs that print a text.
func (s *conversationFixture) written(t *testing.T, c *schema.Case, printed string) run.Outcome {
	t.Helper()
	operator := ledger.Trust{Level: ledger.LevelOperator}
	out, err := run.Run(t.Context(), run.Config{
		Ledger: s.store, Trust: operator, Now: s.now(), Targets: map[string]run.Target{"bot": {Target: s.agent, Config: s.cfg}},
		Programs: func(context.Context, programs.Start) ([]byte, error) { return []byte(printed), nil },
	}, []run.Job{{Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Digests: plan.Digest(c, s.environment())}})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}
