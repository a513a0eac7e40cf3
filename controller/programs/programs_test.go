package programs

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestTrees exports a commit once, shows programs that of base where they may
// not see the head's, and removes what it made.
func TestTrees(t *testing.T) {
	r := New(t.Context(), Config{Policy: sandbox.Policy{Accept: sandbox.Off}})
	base := controller.State{Commit: "b", FS: fstest.MapFS{"judges/say.sh": {Data: []byte("cat ../word"), Mode: 0o644}, "word": {Data: []byte("base")}}}
	head := controller.State{Commit: "h", FS: fstest.MapFS{"judges/say.sh": base.FS.(fstest.MapFS)["judges/say.sh"], "word": {Data: []byte("head")}}}
	careful := head
	careful.Programs = &base
	for _, tt := range []struct {
		state controller.State
		want  string
	}{{base, "base"}, {head, "head"}, {careful, "base"}} {
		out, err := r.Judges(tt.state)(t.Context(), evaluator.Program{Argv: []string{"sh", "say.sh"}, Dir: "judges"}, nil)
		if err != nil || string(out) != tt.want {
			t.Errorf("%s: %q, %v, want %s", tt.state.Commit, out, err, tt.want)
		}
	}
	if len(r.trees) != 2 {
		t.Errorf("%d trees, want 2", len(r.trees))
	}
	here := t.TempDir()
	if _, dir, err := r.In(t.Context(), controller.State{Commit: controller.Worktree, Dir: here}); err != nil || dir != here {
		t.Errorf("the working tree is %s, %v, want it where it is", dir, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range r.trees {
		if _, err := os.Stat(filepath.Join(dir.Path, "word")); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", dir.Path, err)
		}
	}
}

// TestWithhold keeps from running only what cannot run here.
func TestWithhold(t *testing.T) {
	cfg := config.Default()
	cfg.Targets = map[string]config.Target{
		"agent": {Name: "agent", Provider: config.Command, Argv: []string{"sh"}},
		"bot":   {Name: "bot", Provider: config.Mock},
	}
	p := &controller.Prepared{Request: controller.Request{Head: controller.State{Config: cfg}}}
	row := func(target string) plan.Row {
		return plan.Row{Key: "k", Target: target, Action: plan.Run, Head: &schema.CaseInfo{Key: "k"}, HeadCase: &schema.Case{}}
	}
	broken := New(t.Context(), Config{Policy: sandbox.Policy{Accept: "nowhere"}}).Withhold(p, nil)
	if broken(row("agent")) == "" || broken(row("bot")) != "" {
		t.Errorf("withheld the agent with %q and the model with %q", broken(row("agent")), broken(row("bot")))
	}
	works := New(t.Context(), Config{Policy: sandbox.Policy{Accept: sandbox.Off}})
	if reason := works.Withhold(p, nil)(row("agent")); reason != "" {
		t.Errorf("withheld the agent: %s", reason)
	}
	other := func(plan.Row) string { return "for another reason" }
	if reason := works.Withhold(p, other)(row("bot")); reason != "for another reason" {
		t.Errorf("got %q", reason)
	}
}
