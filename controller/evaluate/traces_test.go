package evaluate_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// worked is an agent's work: it wrote out/new.txt, deleted old.txt, left kept.txt alone,
// and ran a command with a result.
func worked(s *script) evaluate.Input {
	in := input("Do it.", "All is Done.", s)
	in.Case.Drive.Workspace = &schema.Workspace{Staged: []schema.StagedFile{{WorkspaceFile: schema.WorkspaceFile{Path: "in/kept.txt"}}, {WorkspaceFile: schema.WorkspaceFile{Path: "old.txt"}}}}
	in.Transcript.Changes = &schema.WorkspaceChanges{
		Files: []schema.ChangedFile{{Path: "old.txt", Deleted: true}, {Path: "out/new.txt", Text: "new"}},
		Diff:  "diff --git a/out/new.txt b/out/new.txt\n+new\n",
	}
	in.Transcript.Messages = append(in.Transcript.Messages,
		schema.Message{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "bash", Arguments: `{"command": "make Report"}`}}}},
		schema.Message{Role: schema.RoleTool, ToolCallID: "1", Content: "BUILT 3 files"},
	)
	return in
}

// TestTraces: a file counts by the last segments of its path, and a text wherever the
// agent said, called or got it, whatever the case of its letters.
func TestTraces(t *testing.T) {
	spec := evaluator.Traces{
		Files: []string{"new.txt", "out/new.txt", "./out/new.txt", "kept.txt", "ew.txt", "old.txt", "other/new.txt"},
		Logs:  []string{"done", "make report", "built 3", "nothing"},
	}
	m := measured(t.Context(), t, schema.Evaluator{Name: "main", Spec: spec}, worked(&script{}))
	var got []float64
	for i, c := range m.Criteria {
		got = append(got, c.Score)
		if c.ID != spec.IDs()[i] {
			t.Errorf("criterion %d is %s", i, c.ID)
		}
	}
	if diff := cmp.Diff([]float64{1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0}, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", m.Error, diff)
	}
	if want := "missing: file ew.txt; file old.txt; file other/new.txt; log nothing"; m.Reason != want {
		t.Errorf("reason %q, want %q", m.Reason, want)
	}
}

// TestTracesOfUnknownCalls: a text that is not in the answer may be in calls that the
// target does not report, so that it is an error and no fail.
func TestTracesOfUnknownCalls(t *testing.T) {
	for text, isError := range map[string]bool{"done": false, "nothing": true} {
		in := worked(&script{})
		in.Transcript.Traced = false
		m := measured(t.Context(), t, schema.Evaluator{Name: "main", Spec: evaluator.Traces{Logs: []string{text}}}, in)
		if (m.Error != "") != isError {
			t.Errorf("%s: %+v", text, m)
		}
	}
}

// TestTheJudgeSeesChanges where the evaluator says so, and otherwise not: other formats
// ask as they did.
func TestTheJudgeSeesChanges(t *testing.T) {
	for _, tt := range []struct {
		shown   bool
		changes *schema.WorkspaceChanges
		want    string
	}{
		{true, worked(nil).Transcript.Changes, "+new"},
		{true, nil, "The agent changed no file of the folder that it worked in."},
		{false, worked(nil).Transcript.Changes, ""},
	} {
		s := &script{replies: []string{`{"criteria":[{"id":"a","met":true}]}`}}
		in := worked(s)
		in.Transcript.Changes = tt.changes
		spec := criteriaOf("a")
		spec.Changes = tt.shown
		if m := measured(t.Context(), t, schema.Evaluator{Name: "main", Spec: spec}, in); m.Error != "" {
			t.Fatal(m.Error)
		}
		var asked strings.Builder
		for _, message := range s.asked[0].Messages {
			asked.WriteString(message.Content)
		}
		if !strings.Contains(asked.String(), tt.want) || !tt.shown && strings.Contains(asked.String(), "FILE CHANGES") {
			t.Errorf("shown %v: the judge is asked %s", tt.shown, asked.String())
		}
	}
}
