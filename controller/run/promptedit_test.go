package run

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// TestRequest has exactly the texts that the editor may see.
func TestRequest(t *testing.T) {
	failed := failedAttempt{System: "Be brief.", Samples: []failedSample{
		{Output: "No.", Judged: verdict.Sample{Measurements: []verdict.Measurement{
			{Evaluator: "tone", Reason: "It is rude.", Criteria: []verdict.Criterion{{ID: "polite", Score: 0.25, Note: "Say please."}}},
			{Evaluator: "broken", Error: "no reply"},
		}}},
		{Output: "never judged", Judged: verdict.Sample{Error: "the target is down"}},
	}}
	for _, tt := range []struct {
		name        string
		edit        schema.Edit
		system      string
		has, hasNot []string
	}{
		{"with outputs", schema.Edit{ShowOutputs: true}, "Be brief.", []string{"Be brief.", "OUTPUT 1", "No.", "Output 1, by tone: It is rude.", "- polite: 2.5 of 10. Say please."}, []string{"OUTPUT 2", "never judged", "broken"}},
		{"without outputs", schema.Edit{}, "Be brief.", []string{"Be brief.", "It is rude."}, []string{"OUTPUT 1", "No."}},
		{"without a prompt", schema.Edit{}, "", []string{"was sent no system prompt"}, []string{"SYSTEM PROMPT"}},
	} {
		failed.System = tt.system
		req := editRequest(tt.edit, failed)
		text := req.Messages[0].Content
		for _, want := range tt.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", tt.name, want, text)
			}
		}
		for _, not := range tt.hasNot {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q in\n%s", tt.name, not, text)
			}
		}
		if req.Format == nil || req.Format.Name != "prompt" {
			t.Errorf("%s: the reply has the format %+v", tt.name, req.Format)
		}
	}
}

// TestRead has replies that are a prompt, and others that are not.
func TestRead(t *testing.T) {
	for _, tt := range []struct{ reply, want, wrong string }{
		{`{"prompt": " Be brief and polite.\n"}`, "Be brief and polite.", ""},
		{`{"prompt": "  "}`, "", `its "prompt" is empty`},
		{`{"prompt": "` + strings.Repeat("a", 64<<10+1) + `"}`, "", "has 65537 bytes, more than 65536"},
		{`Be brief.`, "", "JSON"},
	} {
		got, err := readPrompt(tt.reply)
		if got != tt.want || (tt.wrong == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%.40s gives %q, %v; want %q and an error with %q", tt.reply, got, err, tt.want, tt.wrong)
		}
	}
}
