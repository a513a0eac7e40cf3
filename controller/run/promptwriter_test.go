package run

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// written is a case whose prompt a program writes.
func written() *schema.Case {
	c := &schema.Case{Drive: schema.Drive{Program: &schema.PromptProgram{
		Argv: []string{"python3", "-c", "…", "p.py", "f"}, Dir: "tests", Files: []string{"p.py"},
		Stdin: json.RawMessage(`{"vars": {"q": "one"}, "provider": {"id": "bot"}, "config": {}}`), Prefix: "<", Suffix: "{{ q }}>",
	}}}
	context := json.RawMessage(`{"vars": {"q": "one"}, "prompt": ""}`)
	inner := evaluator.Function{Context: context}
	c.Evaluators = []schema.Evaluator{
		{Spec: evaluator.JavaScript{Code: "true", Context: context}},
		{Spec: evaluator.Composite{Members: []evaluator.Member{{ID: "a", Spec: evaluator.Transformed{Context: context, Spec: inner}}}}},
	}
	return c
}

// TestWrite has outputs of programs, and the target's input for each.
func TestWrite(t *testing.T) {
	user := func(text string) []schema.Message { return []schema.Message{{Role: "user", Content: text}} }
	for _, tt := range []struct {
		printed, system string
		messages        []schema.Message
	}{
		{`"Say {{q}} "`, "", user("<Say one one>")},
		{`[{"role": "system", "content": "short"}, {"role": "user", "content": "{{ q }}"}]`, "short", user("one")},
		{`{"prompt": "x", "config": {"temperature": 1}}`, "", user("<xone>")},
		{`{"prompt": [{"role": "user", "content": "y"}]}`, "", user("y")},
		{`{"topic": "x"}`, "", user(`<{"topic":"x"}one>`)},
	} {
		var read evaluate.Start
		c, err := writePrompt(t.Context(), written(), func(_ context.Context, start evaluate.Start) ([]byte, error) {
			read = start
			return []byte(tt.printed), nil
		})
		if err != nil {
			t.Errorf("%s is not read as a prompt: %v", tt.printed, err)
			continue
		}
		if diff := cmp.Diff(tt.messages, c.Drive.Messages); diff != "" || c.System != tt.system {
			t.Errorf("%s: system %q, messages (-want +got):\n%s", tt.printed, c.System, diff)
		}
		if read.Dir != "tests" || string(read.Stdin) != string(written().Drive.Program.Stdin) {
			t.Errorf("%s: the program was started in %s with %s", tt.printed, read.Dir, read.Stdin)
		}
	}
}

// TestWritesNothing has programs that write no prompt: an error with the mistake.
func TestWritesNothing(t *testing.T) {
	for _, tt := range []struct{ printed, want string }{
		{"", "(p.py:f): what it prints is not JSON"},
		{"null", "(p.py:f): it writes nothing; return a text or a list of messages"},
		{`{"prompt": ""}`, "it writes nothing"},
		{`"{{ env.KEY }}"`, "(p.py:f): it writes what needs the environment variable KEY; have the program write the value itself"},
		{`"{% include 'x' %}"`, "include"},
		{`[{"role": "tool", "content": "x"}]`, `it writes what needs a message of the role "tool"`},
	} {
		_, err := writePrompt(t.Context(), written(), func(context.Context, evaluate.Start) ([]byte, error) { return []byte(tt.printed), nil })
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.printed, err, tt.want)
		}
	}
	_, err := writePrompt(t.Context(), written(), func(context.Context, evaluate.Start) ([]byte, error) { return nil, errors.New("it says no") })
	if err == nil || err.Error() != "the prompt is not written: it says no" {
		t.Errorf("error %v, want the program's words", err)
	}
	if _, err = writePrompt(t.Context(), written(), nil); err == nil || !strings.Contains(err.Error(), "programs are not run here") {
		t.Errorf("error %v, want that programs are not run", err)
	}
	plain := &schema.Case{System: "s"}
	if c, err := writePrompt(t.Context(), plain, nil); c != plain || err != nil {
		t.Errorf("a case without a program became %v, %v", c, err)
	}
}

// TestSeen: evaluators of a sample see its written prompt as the question, and its
// functions get the prompt.
func TestSeen(t *testing.T) {
	c := written()
	transcript := &verdict.Transcript{System: "short", Written: 1, Messages: []schema.Message{{Role: "user", Content: "Q"}, {Role: "assistant", Content: "A"}}}
	seen := withWrittenPrompt(c, transcript)
	if diff := cmp.Diff(transcript.Messages[:1], seen.Drive.Messages); diff != "" || seen.System != "short" {
		t.Errorf("system %q, messages (-want +got):\n%s", seen.System, diff)
	}
	const prompt = `[{"role":"system","content":"short"},{"role":"user","content":"Q"}]`
	told := func(context json.RawMessage) string {
		var said struct {
			Prompt string
			Vars   map[string]string
		}
		if err := json.Unmarshal(context, &said); err != nil || said.Vars["q"] != "one" {
			t.Errorf("the context is %s, %v", context, err)
		}
		return said.Prompt
	}
	member := seen.Evaluators[1].Spec.(evaluator.Composite).Members[0].Spec.(evaluator.Transformed)
	for i, context := range []json.RawMessage{seen.Evaluators[0].Spec.(evaluator.JavaScript).Context, member.Context, member.Spec.(evaluator.Function).Context} {
		if got := told(context); got != prompt {
			t.Errorf("function %d is told %q, want %q", i, got, prompt)
		}
	}
	if told(c.Evaluators[0].Spec.(evaluator.JavaScript).Context) != "" {
		t.Error("the case itself was changed")
	}
}
