package evaluate_test

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

func TestLLMJudge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		reply  string
		score  float64
		reason string
	}{
		{"all of it", `{"score":0.7,"hits":["polite"],"misses":["no date","no name"],"reasoning":"Nearly."}`, 0.7, "Nearly. (missed: no date; no name)"},
		{"score alone", `{"score":1}`, 1, ""},
		{"misses alone", `{"score":0.5,"misses":["no date"]}`, 0.5, "missed: no date"},
		{"in a fence", "```json\n{\"score\":0.25}\n```", 0.25, ""},
		{"more fields", `{"score":0.5,"details":{"a":1},"confidence":"high"}`, 0.5, ""},
	} {
		m := measure(t, evaluator.LLMJudge{}, "An answer.", &script{replies: []string{tt.reply}})
		if m.Error != "" || m.Criteria[0].Score != tt.score || m.Reason != tt.reason {
			t.Errorf("%s: %+v, want %v %q", tt.name, m, tt.score, tt.reason)
		}
	}
	for _, tt := range []struct{ name, reply, want string }{
		{"empty", "", "empty"},
		{"a number alone", "0.9", "not the JSON"},
		{"prose", "I would say 0.9.", "not the JSON"},
		{"no score", `{"reasoning":"Great."}`, `no number under "score"`},
		{"null", `{"score":null}`, `no number under "score"`},
		{"a word", `{"score":"high"}`, "not the JSON"},
		{"on another scale", `{"score":8}`, "the score 8 is out of range"},
		{"more than it gave", `{"score":0.5} {"score":1}`, "text after the JSON"},
	} {
		s := &script{replies: []string{tt.reply, tt.reply, tt.reply, `{"score":1}`}}
		fails(t, measure(t, evaluator.LLMJudge{}, "An answer.", s), tt.want)
		if len(s.asked) != 3 {
			t.Errorf("%s: %d attempts", tt.name, len(s.asked))
		}
	}
	fails(t, measure(t, evaluator.LLMJudge{}, "x", &script{err: errors.New("503")}), "503")
}

// TestTemplate fills in every variable, each in its place.
func TestTemplate(t *testing.T) {
	spec := evaluator.LLMJudge{Template: "Q {{question}} E {{ expected_outcome }} A {{candidate_answer}} R {{reference_answer}} " +
		"I {{input_messages}} X {{expected_messages}} O {{output_messages}} N {{note}} {{unknown}}"}
	spec.Subject = evaluator.Subject{
		ExpectedOutcome: "be right", Reference: "it is 4", Note: "in base 10 {{question}}",
		ExpectedMessages: []schema.Message{{Role: schema.RoleAssistant, Content: "4"}},
	}
	s := &script{replies: []string{`{"score":1}`}}
	m := measure(t, spec, "four {{note}}", s)
	for _, want := range []string{
		"Q <<<QUESTION \nWhat is it?\n QUESTION>>> E be right A <<<CANDIDATE ANSWER \nfour {{note}}\n CANDIDATE ANSWER>>> R it is 4 ",
		`[{"content":"What is it?","role":"user"}]`, `X [{"content":"4","role":"assistant"}] O`,
		`[{"content":"four {{note}}","role":"assistant"}]`, "N in base 10 {{question}} {{unknown}}\n",
	} {
		if !strings.Contains(m.Asked, want) {
			t.Errorf("the question lacks %q:\n%s", want, m.Asked)
		}
	}
	if strings.Count(m.Asked, "CANDIDATE ANSWER>>>") != 1 || strings.Contains(m.Asked, "NOTE.") {
		t.Errorf("what the template shows is added again:\n%s", m.Asked)
	}
	s = &script{replies: []string{`{"score":1}`}}
	m = measure(t, evaluator.LLMJudge{Template: "Is it polite?", Subject: evaluator.Subject{Note: "Be lenient."}}, "Hi!", s)
	if !strings.Contains(m.Asked, "<<<CANDIDATE ANSWER \nHi!\n CANDIDATE ANSWER>>>") || !strings.Contains(m.Asked, "Be lenient.") {
		t.Errorf("a template that shows nothing:\n%s", m.Asked)
	}
}

// read is a runner that keeps what its program read.
func read(into *[]byte, answer string) evaluate.Programs {
	return func(_ context.Context, start evaluate.Start) ([]byte, error) {
		*into = start.Stdin
		return []byte(answer), nil
	}
}

// run measures by a program.
func run(t *testing.T, spec schema.Spec, in evaluate.Input, programs evaluate.Programs) verdict.Measurement {
	t.Helper()
	in.Programs = programs
	return measured(t.Context(), t, schema.Evaluator{Name: "main", Spec: spec}, in)
}

func TestCodeJudge(t *testing.T) {
	spec := evaluator.CodeJudge{Program: evaluator.Program{Argv: []string{"python", "check.py"}}}
	in := input("What is it?", "An answer.", &script{})
	for _, tt := range []struct {
		name            string
		printed, reason string
		score           float64
	}{
		{"all of it", `{"score":0.5,"hits":["a"],"misses":["b"],"reasoning":"Half.","details":{"x":1}}`, "Half. (missed: b)", 0.5},
		{"score alone", "{\"score\": 1}\n", "", 1},
		{"zero", `{"score":0,"reasoning":"No."}`, "No.", 0},
	} {
		m := run(t, spec, in, printed(tt.printed, nil))
		if m.Error != "" || m.Criteria[0].Score != tt.score || m.Reason != tt.reason || m.Usage.Calls != 0 {
			t.Errorf("%s: %+v, want %v %q", tt.name, m, tt.score, tt.reason)
		}
	}
	for _, tt := range []struct{ printedText, want string }{
		{"", "empty"}, {"ok\n{\"score\":1}", "cannot be read"}, {`{"score":1} done`, "text after"}, {`{"score":"1"}`, "cannot be read"}, {`{}`, `no number under "score"`},
		{`{"score":85}`, "from 0 to 1"}, {`{"score":-1}`, "from 0 to 1"}, {`{"score":NaN}`, "cannot be read"}, {`[1]`, "cannot be read"}, {"\x00\xff", "cannot be read"},
	} {
		m := run(t, spec, in, printed(tt.printedText, nil))
		if fails(t, m, tt.want); !strings.Contains(m.Error, "python check.py") {
			t.Errorf("%q: the error %q does not name the program", tt.printedText, m.Error)
		}
	}
	fails(t, run(t, spec, in, printed(`{"score":1}`, errors.New("python: exit status 3"))), "exit status 3")
	fails(t, run(t, spec, in, nil), "programs are not run here: python check.py")
}

// TestProgramsReadAllThereIs in both ways of names, and null where something is
// not known.
func TestProgramsReadAllThereIs(t *testing.T) {
	in := input("What is it?", "It is fine.", &script{})
	in.Case.Drive.Messages[0].Blocks = []schema.Block{{Type: "file", Path: "suites/data/a.csv"}, {Type: "file", Path: "shared.csv"},
		{Type: "file", Path: "suites/style.instructions.md"}, {Type: "file", Path: "prompts/de/tone.md"}}
	in.Transcript.Messages[1].ToolCalls = []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "look", Arguments: "{}"}}}
	in.Transcript.Messages[1].Opaque = json.RawMessage(`"hidden"`)
	in.Transcript.Usage = verdict.Usage{Calls: 1, InputTokens: 7, OutputTokens: 3, Unpriced: 1}
	spec := evaluator.CodeJudge{
		Program: evaluator.Program{Argv: []string{"check"}, Dir: "suites/data", Config: raw(`{"limit":2}`)},
		Subject: evaluator.Subject{ExpectedOutcome: "Right.", Reference: "Fine.", Note: "Be kind.", ExpectedMessages: []schema.Message{{Role: "assistant", Content: "Fine."}}},
	}
	var stdin []byte
	if m := run(t, spec, in, read(&stdin, `{"score":1}`)); m.Error != "" {
		t.Fatal(m.Error)
	}
	var got map[string]any
	if err := json.Unmarshal(stdin, &got); err != nil {
		t.Fatal(err)
	}
	assistant := map[string]any{"role": "assistant", "content": "It is fine.", "tool_calls": []any{map[string]any{
		"id": "1", "type": "", "function": map[string]any{"name": "look", "arguments": "{}"},
	}}}
	want := map[string]any{
		"question": "What is it?", "candidate_answer": "It is fine.", "expected_outcome": "Right.", "reference_answer": "Fine.", "note": "Be kind.",
		"input_messages":    []any{map[string]any{"role": "user", "content": "What is it?"}},
		"output_messages":   []any{assistant},
		"expected_messages": []any{map[string]any{"role": "assistant", "content": "Fine."}},
		"input_files":       []any{"a.csv", "../../shared.csv"},
		"guideline_files":   []any{"../style.instructions.md", "../../prompts/de/tone.md"},
		"config":            map[string]any{"limit": 2.},
		"trace_summary": both(map[string]any{
			"event_count": 1., "tool_names": []any{"look"}, "tool_calls_by_name": map[string]any{"look": 1.},
			"input_tokens": 7., "output_tokens": 3., "cost_usd": nil, "duration_ms": nil,
		}),
	}
	if diff := cmp.Diff(both(want), got); diff != "" {
		t.Errorf("stdin (-want +got):\n%s", diff)
	}
	in.Transcript.Traced = false
	run(t, spec, in, read(&stdin, `{"score":1}`))
	if !strings.Contains(string(stdin), `"trace_summary":null`) {
		t.Errorf("what is not known is told:\n%s", stdin)
	}
}

// both adds to the snake_case names of an object the camelCase ones.
func both(object map[string]any) map[string]any {
	for _, tt := range []struct{ name, camel string }{
		{"candidate_answer", "candidateAnswer"}, {"expected_outcome", "expectedOutcome"}, {"reference_answer", "referenceAnswer"},
		{"input_messages", "inputMessages"}, {"output_messages", "outputMessages"}, {"expected_messages", "expectedMessages"},
		{"input_files", "inputFiles"}, {"guideline_files", "guidelineFiles"}, {"trace_summary", "traceSummary"}, {"event_count", "eventCount"}, {"tool_names", "toolNames"},
		{"tool_calls_by_name", "toolCallsByName"}, {"input_tokens", "inputTokens"}, {"output_tokens", "outputTokens"}, {"cost_usd", "costUsd"}, {"duration_ms", "durationMs"},
	} {
		if value, ok := object[tt.name]; ok {
			object[tt.camel] = value
		}
	}
	return object
}

func TestProgramWritesPrompt(t *testing.T) {
	spec := evaluator.LLMJudge{Program: &evaluator.Program{Argv: []string{"prompt"}}}
	s := &script{replies: []string{`{"score":0.5}`, `{"score":0.5}`}}
	in := input("Why?", "Because it rains in winter.", s)
	m := run(t, spec, in, printed("Is this true: Because it rains in winter.", nil))
	if m.Error != "" || strings.Count(m.Asked, "Because it rains") != 1 || !strings.Contains(m.Asked, "<<<CANDIDATE ANSWER \nBecause it rains in winter.\n") {
		t.Errorf("error %q, asked:\n%s\nwant the answer in it once, between its marks", m.Error, m.Asked)
	}
	m = run(t, spec, in, printed("Is it polite?", nil))
	if !strings.Contains(m.Asked, "Is it polite?\n\n<<<CANDIDATE ANSWER \nBecause") {
		t.Errorf("the answer is not shown:\n%s", m.Asked)
	}
	fails(t, run(t, spec, in, printed(" \n", nil)), "printed nothing")
	fails(t, run(t, spec, in, printed("", errors.New("exit status 1"))), "exit status 1")
	fails(t, run(t, spec, in, nil), "programs are not run here")
}
