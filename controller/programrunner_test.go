package controller

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestTrees exports a commit once, shows programs base's files if they may not see the
// head's, and removes its exports.
func TestTrees(t *testing.T) {
	r := NewProgramRunner(t.Context(), ProgramsConfig{Policy: sandbox.Policy{Accept: sandbox.Off}})
	base := Checkout{Commit: "b", FS: fstest.MapFS{"judges/say.sh": {Data: []byte("cat ../word"), Mode: 0o644}, "word": {Data: []byte("base")}}}
	head := Checkout{Commit: "h", FS: fstest.MapFS{"judges/say.sh": base.FS.(fstest.MapFS)["judges/say.sh"], "word": {Data: []byte("head")}}}
	careful := head
	careful.Programs = &base
	for _, tt := range []struct {
		state Checkout
		want  string
	}{{base, "base"}, {head, "head"}, {careful, "base"}} {
		out, err := r.Judges(tt.state)(t.Context(), evaluate.Start{Program: evaluator.Program{Argv: []string{"sh", "say.sh"}, Dir: "judges"}})
		if err != nil || string(out) != tt.want {
			t.Errorf("%s: %q, %v, want %s", tt.state.Commit, out, err, tt.want)
		}
	}
	if len(r.trees) != 2 {
		t.Errorf("%d trees, want 2", len(r.trees))
	}
	here := t.TempDir()
	if _, dir, err := r.Box(t.Context(), Checkout{Commit: Worktree, Dir: here}); err != nil || dir != here {
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

// TestTimeoutOfTheCase bounds the programs that judge it, and says so.
func TestTimeoutOfTheCase(t *testing.T) {
	r := NewProgramRunner(t.Context(), ProgramsConfig{Policy: sandbox.Policy{Accept: sandbox.Off}})
	defer r.Close()
	checkout := Checkout{Commit: "b", FS: fstest.MapFS{"hang.sh": {Data: []byte("while :; do :; done"), Mode: 0o644}}}
	_, err := r.Judges(checkout)(t.Context(), evaluate.Start{Program: evaluator.Program{Argv: []string{"sh", "hang.sh"}, Timeout: 50 * time.Millisecond}})
	if want := "sh: it timed out after 50ms: nothing on stderr; timeout_seconds of the case bounds its programs"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestWithhold keeps from running only what cannot run here.
func TestWithhold(t *testing.T) {
	cfg := config.Default()
	cfg.Targets = map[string]config.Target{
		"agent": {Name: "agent", Provider: config.Command, Argv: []string{"sh"}},
		"bot":   {Name: "bot", Provider: config.Mock},
	}
	p := Unplanned(Request{Head: Checkout{Config: cfg}})
	row := func(target string) plan.Row {
		return plan.Row{Key: "k", Target: target, Action: plan.Run, Head: &schema.CaseInfo{Key: "k"}, HeadCase: &schema.Case{}}
	}
	broken := NewProgramRunner(t.Context(), ProgramsConfig{Policy: sandbox.Policy{Accept: "nowhere"}}).Withhold(p, nil)
	if broken(row("agent")) == "" || broken(row("bot")) != "" {
		t.Errorf("withheld the agent with %q and the model with %q", broken(row("agent")), broken(row("bot")))
	}
	works := NewProgramRunner(t.Context(), ProgramsConfig{Policy: sandbox.Policy{Accept: sandbox.Off}})
	if reason := works.Withhold(p, nil)(row("agent")); reason != "" {
		t.Errorf("withheld the agent: %s", reason)
	}
	other := func(plan.Row) string { return "for another reason" }
	if reason := works.Withhold(p, other)(row("bot")); reason != "for another reason" {
		t.Errorf("got %q", reason)
	}
}

// TestHiddenInWorkTrees gives programs of a working tree the files that git has or
// would take, determines them once, and gives programs of a commit everything.
func TestHiddenInWorkTrees(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	dir, elsewhere := t.TempDir(), t.TempDir()
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, map[string]string{".gitignore": "a.env\nb.env\nc.env\nd.env\ne.env\nlink\n", "kept": ""})
	for _, name := range []string{"a.env", "b.env", "c.env", "d.env", "e.env", "book.db", "book.db-wal", "book.db.definitions", "book.dbx"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	repo, err := gitrepo.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	work, err := repo.WorkFS()
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	at := func(name string) string { return filepath.Join(dir, name) }
	r := NewProgramRunner(t.Context(), ProgramsConfig{
		Policy: sandbox.Policy{Read: []string{at("a.env"), at("link"), elsewhere, filepath.Dir(dir)}}, Own: []string{at("book.db")}, Give: "give",
	})
	state := Checkout{Commit: Worktree, Dir: dir, FS: work}
	hidden, err := r.hiddenIn(state)
	want := sandbox.Hidden{
		Names: []string{".git", "b.env", "book.db", "book.db-wal", "book.db.definitions", "c.env", "d.env", "e.env"},
		Hint:  "files that git ignores are not there (b.env, c.env, d.env and 1 more); give",
	}
	if diff := cmp.Diff(want, hidden); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := os.Remove(at("e.env")); err != nil {
		t.Fatal(err)
	}
	if again, err := r.hiddenIn(state); err != nil || !cmp.Equal(hidden, again) {
		t.Errorf("the second time: %v, %v", again, err)
	}
	state.FS = fstest.MapFS{}
	if hidden, err := NewProgramRunner(t.Context(), ProgramsConfig{}).hiddenIn(state); err != nil || len(hidden.Names) > 0 {
		t.Errorf("without git: %v, %v", hidden, err)
	}
}
