package terminal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

func text(t *testing.T, write func(*strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProblemsShowTheLineWithACaret(t *testing.T) {
	line := strings.Repeat("x", 100) + "\there" + strings.Repeat("y", 100)
	problems := []schema.Problem{
		{Position: schema.Position{File: "a.json", Line: 3, Column: 3}, Severity: schema.Error, Rule: "unknown-field", Message: "unknown field `a`", Hint: "did you mean `b`?"},
		{Position: schema.Position{File: "b.json", Line: 1, Column: 102}, Severity: schema.Warning, Rule: "x", Message: "far to the right"},
		{Position: schema.Position{File: "c\x1b[31m.json"}, Severity: schema.Error, Rule: "x", Message: "evil\x1b]0;title\x07 \u202etext"},
	}
	got := text(t, func(b *strings.Builder) error {
		return Problems(b, problems, func(file string, n int) (string, bool) {
			return map[string]string{"a.json": `  "a": 1`, "b.json": line}[file], file != "c\x1b[31m.json"
		}, Options{Width: 60})
	})
	lines := strings.Split(got, "\n")
	if diff := cmp.Diff([]string{"a.json:3:3: error: unknown field `a` [unknown-field]", `   3 |   "a": 1`, "     |   ^", "    = did you mean `b`?"}, lines[:4]); diff != "" {
		t.Error(diff)
	}
	if i := strings.IndexByte(lines[7], '^'); i < 0 || len(lines[6]) > 60 || lines[6][i] != 'h' {
		t.Errorf("the caret does not point to the place:\n%s\n%s", lines[6], lines[7])
	}
	if strings.ContainsAny(got, "\x1b\x07\u202e") {
		t.Errorf("control characters get through: %q", got)
	}
}

func TestAnnotationsEscape(t *testing.T) {
	got := text(t, func(b *strings.Builder) error {
		return Annotations(b, []schema.Problem{{
			Position: schema.Position{File: "a,b:c.json", Line: 2, Column: 1}, Severity: schema.Warning, Rule: "r", Message: "50%\n::error::x",
		}})
	})
	want := "::warning file=a%2Cb%3Ac.json,line=2,col=1,title=r::50%25%0A::error::x\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlan(t *testing.T) {
	p := &plan.Plan{Rows: []plan.Row{
		{Key: "a", Action: plan.Reuse},
		{Key: "b", Action: plan.Run, Reasons: []plan.Reason{{Part: "messages", File: "b.json", Message: "messages changed"}}},
		{Key: "c", Action: plan.Redecide, Reasons: []plan.Reason{{Part: "threshold", File: "gavel.yaml", Message: "threshold 0.7 → 0.8"}}},
	}}
	got := text(t, func(b *strings.Builder) error { return Plan(b, p, Options{}) })
	want := `run      b
         messages changed in b.json
redecide c
         threshold 0.7 → 0.8 in gavel.yaml

1 to run, 1 to decide again; 1 other case unaffected
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReportPutsFailuresFirst(t *testing.T) {
	pass, fail, regression, improvement := verdict.Pass, verdict.Fail, reporters.Regression, reporters.Improvement
	half, one := 0.5, 1.0
	r := &reporters.Report{
		Cases: []reporters.Row{
			{Key: "better", Class: &improvement, Verdict: &pass, Score: &one, BaseScore: &half, Reason: "good"},
			{Key: "worse", Class: &regression, Verdict: &fail, Score: &half, BaseScore: &one, Reason: "bad"},
		},
		Summary: reporters.Summary{Cases: 2, Pass: 1, Fail: 1, Run: 2},
		Gate:    reporters.Gate{Result: reporters.GateFail, Reason: "1 case regressed"},
	}
	got := text(t, func(b *strings.Builder) error { return Report(b, r, Options{}) })
	if w, i := strings.Index(got, "✗ regression  worse  1.00 → 0.50"), strings.Index(got, "✓ improvement better  0.50 → 1.00"); w < 0 || i < w {
		t.Errorf("regression at %d, improvement at %d:\n%s", w, i, got)
	}
	if !strings.HasSuffix(got, "gate fail: 1 case regressed\n") {
		t.Error(got)
	}
	coloured := text(t, func(b *strings.Builder) error { return Report(b, r, Options{Color: true}) })
	if !strings.Contains(coloured, "\x1b[31m✗") {
		t.Error("no colour where it was asked for")
	}
}
