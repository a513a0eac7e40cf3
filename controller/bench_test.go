package controller_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/schema/load"
)

const benchConfig = `
version: 1
default_target: bot
targets: {bot: {provider: mock, kind: agent, replies: [{reply: "yes"}]}}
roles: {judge: bot}
`

// mixed has every dialect, domains only the first of them, whose cases need no
// judge.
const (
	mixed   = 1
	domains = 4
)

// generated makes a repository of n files of one case each, mixed or of domains,
// with a second commit that changes one of them, checked out.
func generated(b testing.TB, n, kind int) string {
	b.Helper()
	dir := b.TempDir()
	git(b, dir, nil, "init", "-q", "-b", "main")
	in, out := io.Pipe()
	go func() {
		w := bufio.NewWriter(out)
		out.CloseWithError(errors.Join(stream(w, n, kind), w.Flush()))
	}()
	git(b, dir, in, "fast-import", "--quiet")
	git(b, dir, nil, "reset", "-q", "--hard", "main")
	return dir
}

// stream writes the two commits for git fast-import.
func stream(w io.Writer, n, kind int) error {
	file := func(name, text string) error {
		_, err := fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
		return err
	}
	commit := func(message string) error {
		_, err := fmt.Fprintf(w, "commit refs/heads/main\ncommitter Gavel <gavel@localhost> 1700000000 +0000\ndata %d\n%s\n", len(message), message)
		return err
	}
	err := errors.Join(commit("all"), file("gavel.yaml", benchConfig))
	for d := range 10 {
		err = errors.Join(err, file(fmt.Sprintf("test_definitions/d%d/domain.json", d),
			fmt.Sprintf(`{"id": "d%d", "name": "D", "evaluator_id": "keyword", "system_prompt": "Be brief."}`, d)))
	}
	for i := range n {
		err = errors.Join(err, file(benchFile(i*kind, "is")))
	}
	return errors.Join(err, commit("one"), file(benchFile(n/2*kind, "was")))
}

// benchFile gives the name and the text of a definition.
func benchFile(i int, verb string) (name, text string) {
	name = fmt.Sprintf("test_definitions/f%d/x%d", i%100, i)
	switch i % 4 {
	case 0:
		return fmt.Sprintf("test_definitions/d%d/level_%d/t%d.json", i/4%10, 1+i/40%10, i), benchTest(i, verb)
	case 1:
		return name + ".json", fmt.Sprintf(`{"name": "Case %d", "tags": ["owner:me"], "persona": {"type": "polite", "description": "buys hats", "instructions": "be brief"},
  "initial_message": "My hat %s number %d", "max_turns": 4, "expected_outcomes": {"refunded": true},
  "expected_tool_calls": [{"tool": "refund", "expected_params": {"order": %d}}]}
`, i, verb, i, i)
	case 2:
		return name + ".json", fmt.Sprintf(`{"test_type": "agent", "name": "bot", "user_input": ["What %s %d?", "Bye"], "testing_prompt": "Is it kind?", "evaluation_type": "numeric", "threshold": 7,
  "rubric": {"criteria": [{"name": "tone", "weight": 0.5}, {"name": "facts", "weight": 0.5}]}}
`, verb, i)
	}
	return name + ".yaml", fmt.Sprintf(`name: suite %d
evalcases:
- id: greets
  expected_outcome: A greeting
  input: What %s %d?
  rubrics: [It is kind, {id: short, expected_outcome: It is short, weight: 2}]
`, i, verb, i)
}

func benchTest(i int, verb string) string {
	return fmt.Sprintf(`{
  "id": "t%d",
  "name": "Test %d",
  "description": "a generated test",
  "prompt": "What %s %d?",
  "expected": {"keywords": ["%d", "number"], "forbidden": ["error"]},
  "timeout_ms": 20000,
  "weight": 1.5
}
`, i, i, verb, i, i)
}

func git(b testing.TB, dir string, in io.Reader, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = dir, in
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// A benchRepo is an open repository with the two commits of generated.
type benchRepo struct {
	repo       *gitrepo.Repository
	base, head string
	config     *config.Config
}

func openBench(b testing.TB, dir string) benchRepo {
	b.Helper()
	repo, err := gitrepo.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	r := benchRepo{repo: repo}
	for _, tt := range []struct {
		ref  string
		into *string
	}{{"main~1", &r.base}, {"main", &r.head}} {
		if *tt.into, err = repo.Resolve(b.Context(), tt.ref); err != nil {
			b.Fatal(err)
		}
	}
	r.config, _ = config.Parse("gavel.yaml", []byte(benchConfig))
	return r
}

func (r benchRepo) at(b *testing.B, commit string) controller.Checkout {
	b.Helper()
	files, err := r.repo.FS(commit)
	if err != nil {
		b.Fatal(err)
	}
	return controller.Checkout{Commit: commit, FS: files, Config: r.config}
}

func (r benchRepo) defined(b *testing.B, commit string) snapshot.State {
	at := r.at(b, commit)
	return snapshot.State{Commit: commit, FS: at.FS, Settings: at.Config.Settings()}
}

func (r benchRepo) snapshots(path string) snapshot.Store {
	return snapshot.Store{Path: path, Changed: r.repo.Changed}
}

// plan does the work of gavel plan --base for one changed file.
func (r benchRepo) plan(b *testing.B, snapshot *load.Snapshot) {
	b.Helper()
	base := r.at(b, r.base)
	prepared, err := controller.Prepare(b.Context(), controller.Request{
		Head: r.at(b, r.head), Base: &base, ConfigFile: "gavel.yaml", Snapshot: snapshot,
		LookupEnv: nowhere,
		Changed: func(ctx context.Context, _ []string) ([]string, error) {
			return r.repo.Changed(ctx, r.base, r.head)
		},
	})
	if err != nil || len(prepared.Plan.Rows) != 1 {
		b.Fatal(err, prepared.Plan)
	}
}

// BenchmarkPlan is the affected set of one changed file among 100,000: with the
// repository open, as in a watch, and in a process that opens it and reads the
// remembered base.
func BenchmarkPlan(b *testing.B) {
	dir := generated(b, 100_000, mixed)
	stored := filepath.Join(b.TempDir(), "definitions")
	open := openBench(b, dir)
	known, err := open.snapshots(stored).Commit(b.Context(), open.defined(b, open.base), snapshot.Notes{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			open.plan(b, known)
		}
	})
	b.Run("fresh", func(b *testing.B) {
		for b.Loop() {
			r := openBench(b, dir)
			known, err := r.snapshots(stored).Commit(b.Context(), r.defined(b, r.base), snapshot.Notes{})
			if err != nil {
				b.Fatal(err)
			}
			r.plan(b, known)
			if err := r.repo.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkValidate checks all definitions: cold, with nothing remembered, and
// warm, where the working tree has one file that differs from HEAD.
func BenchmarkValidate(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		dir := generated(b, n, mixed)
		changed, text := benchFile(8, "will be")
		if err := os.WriteFile(filepath.Join(dir, changed), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		stored := filepath.Join(b.TempDir(), "definitions")
		validate := func(b *testing.B) {
			r := openBench(b, dir)
			defer r.repo.Close()
			work, err := r.repo.WorkFS()
			if err != nil {
				b.Fatal(err)
			}
			defer work.Close()
			is, err := r.snapshots(stored).Worktree(b.Context(), r.repo, snapshot.State{FS: work, Settings: r.config.Settings()}, snapshot.Notes{})
			if err != nil || is.Totals().Cases != n || len(is.Problems()) > 0 {
				b.Fatal(err, is.Totals(), is.Problems())
			}
		}
		b.Run(fmt.Sprintf("cold-%d", n), func(b *testing.B) {
			for b.Loop() {
				if err := os.RemoveAll(stored); err != nil {
					b.Fatal(err)
				}
				validate(b)
			}
		})
		b.Run(fmt.Sprintf("warm-%d", n), func(b *testing.B) {
			for b.Loop() {
				validate(b)
			}
		})
	}
}
