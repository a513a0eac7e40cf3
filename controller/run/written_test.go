package run_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestExamplesAreNoAnswer: what a prompt has the agent say before is not judged in the place of
// a reply that says nothing, be the prompt in the case or written by a program.
func TestExamplesAreNoAnswer(t *testing.T) {
	const printed = `[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}, {"role": "user", "content": "greet"}]`
	for _, program := range []*schema.PromptProgram{nil, {Argv: []string{"p.py"}}} {
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
		c.Drive.Messages, c.Drive.Program = nil, &schema.PromptProgram{Argv: []string{"p.py"}}
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

// TestWrittenPromptsAfterACrash: a sample whose reply is stored starts no program
// again, and an interrupted one is sent the program's current output. Programs that
// judge a stored reply get the prompt that was written for it.
func TestWrittenPromptsAfterACrash(t *testing.T) {
	s := newConversationFixture(t, []target.Reply{says("hello")})
	c := greeting("a")
	c.Drive.Messages, c.Drive.Program = nil, &schema.PromptProgram{Argv: []string{"p.py"}}
	c.Policy.Iterations = 2
	if out := s.written(t, c, `"first"`); !strings.Contains(out.Result.Reason, "1 of 2 samples ended in an error") {
		t.Fatalf("%+v, want an error of one sample, as the agent has one line alone", out.Result)
	}
	s.agent.answer = func(int, target.Request) (target.Reply, error) { return says("hello"), nil }
	before := len(s.agent.asked)
	out := s.written(t, c, `"second"`)
	if asked := s.agent.asked[before:]; out.Result.Verdict != verdict.Pass || len(asked) != 1 || asked[0].Messages[0].Content != "second" {
		t.Fatalf("%+v after %+v, want a pass after one call with what is written now", out.Result, asked)
	}
	c.Evaluators = []schema.Evaluator{{
		Name: "python", Weight: 1, Rule: schema.Rule{Required: []string{evaluator.GradedPass}},
		Spec: evaluator.Function{Program: evaluator.Program{Argv: []string{"judge.py"}}, Context: []byte(`{"prompt": ""}`)},
	}}
	s.told = nil
	if out = s.written(t, c, "true"); out.Result.Verdict != verdict.Pass || len(s.agent.asked) != before+1 || len(s.told) != 2 {
		t.Fatalf("%+v after %d calls and the programs %q, want what is stored to be judged", out.Result, len(s.agent.asked)-before-1, s.told)
	}
	for _, prompt := range []string{"first", "second"} {
		if told := strings.Join(s.told, " "); strings.Count(told, `"prompt":"`+prompt+`"`) != 1 {
			t.Errorf("programs that judge are told %s, want the prompt %q once", told, prompt)
		}
	}
}

// written runs a case with programs that print a text.
func (s *conversationFixture) written(t *testing.T, c *schema.Case, printed string) run.Outcome {
	t.Helper()
	operator := ledger.Trust{Level: ledger.LevelOperator}
	out, err := run.Run(t.Context(), run.Config{
		Ledger: s.store, Trust: operator, Clock: clock.Funcs{NowFunc: s.now()}, Targets: map[string]run.Target{"bot": {Target: s.agent, Config: s.cfg}},
		Programs: func(_ context.Context, start evaluate.Start) ([]byte, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told = append(s.told, string(start.Stdin))
			return []byte(printed), nil
		},
	}, []run.Job{{Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Digests: plan.Digest(c, s.environment())}})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}
