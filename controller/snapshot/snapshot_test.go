package snapshot_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/schema/load"
)

// TestWorktreeIsWhatIsThere: the remembered HEAD, brought up to the working tree,
// equals a look at every file.
func TestWorktreeIsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	const suite, prompt = "test_definitions/suite.yaml", "prompts/talk.md"
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commit := func() {
		gittest.Run(t, dir, "add", "-A")
		gittest.Run(t, dir, "commit", "-q", "--allow-empty", "-m", "state")
	}
	remove := func(name string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Init(t, dir, "main")
	write(suite, `evalcases: [{id: a, expected_outcome: Greets, input_messages: [{role: user, content: [{type: file, value: /prompts/talk.md}]}]}]`)
	write("test_definitions/one.json", `{"name": "one", "persona": null}`)
	write(prompt, "Hello\n")
	commit()
	stored := filepath.Join(t.TempDir(), "definitions")
	for _, step := range []struct {
		name   string
		change func()
		errors int
	}{
		{"nothing", func() {}, 0},
		{"a definition changed", func() { write("test_definitions/one.json", `{"name": "one", "persona": null, "max_turns": 0}`) }, 1},
		{"a definition added", func() { write("test_definitions/two.json", `{"name": "two", "persona": 5}`) }, 2},
		{"a file elsewhere gone", func() { remove(prompt) }, 3},
		{"all of it committed", commit, 3},
		{"and the file back", func() { write(prompt, "Hello\n") }, 2},
		{"definitions gone", func() { remove("test_definitions/one.json"); remove("test_definitions/two.json") }, 0},
	} {
		step.change()
		repo, err := gitrepo.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		work, err := repo.WorkFS()
		if err != nil {
			t.Fatal(err)
		}
		state := snapshot.State{FS: work, Settings: config.Default().Settings()}
		got, err := snapshot.Store{Path: stored, Changed: repo.Changed}.Worktree(t.Context(), repo, state, snapshot.Notes{})
		if err != nil {
			t.Fatal(step.name, err)
		}
		want, err := load.Scan(t.Context(), work, load.Options{Settings: state.Settings})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Collect(want.Definitions), slices.Collect(got.Definitions)); diff != "" {
			t.Errorf("%s: definitions (-there +got):\n%s", step.name, diff)
		}
		if diff := cmp.Diff(want.Problems(), got.Problems()); diff != "" {
			t.Errorf("%s: problems (-there +got):\n%s", step.name, diff)
		}
		if len(want.Problems()) != step.errors {
			t.Errorf("%s: %d problems, want %d: %v", step.name, len(want.Problems()), step.errors, want.Problems())
		}
		if err := work.Close(); err != nil {
			t.Error(err)
		}
		if err := repo.Close(); err != nil {
			t.Error(err)
		}
	}
}
