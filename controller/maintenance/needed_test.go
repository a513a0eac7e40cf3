package maintenance_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/maintenance"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
)

func TestMain(m *testing.M) {
	if !cueeval.ServeChild() {
		m.Run()
	}
}

const settings = "version: 1\ntargets: {bot: {provider: mock, replies: [{reply: hello}]}}\n"

func files(prompt string) map[string][]byte {
	return map[string][]byte{
		"gavel.yaml":                               []byte(settings),
		"test_definitions/talk/domain.json":        []byte(`{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`),
		"test_definitions/talk/level_1/hello.json": []byte(`{"id": "hello", "name": "Hello", "prompt": "` + prompt + `", "expected": {"keywords": ["hello"]}}`),
	}
}

// TestNeeded has a branch besides main, on which a pull request was judged.
func TestNeeded(t *testing.T) {
	dir := t.TempDir()
	err := gitrepo.Create(t.Context(), dir, []gitrepo.NewCommit{
		{Branch: "main", Message: "main", Write: files("hello")},
		{Branch: "feature", Message: "feature", Write: files("hello you")},
		{Branch: "main", Message: "again", Write: files("hello there")},
	})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := gitrepo.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close() //nolint:errcheck // it is only read
	store := ledgertest.Open(t, ledger.Config{})
	commit := func(ref string) string {
		t.Helper()
		hash, err := repo.Resolve(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	roots := maintenance.Roots{
		Repo: repo, Ledger: store, ConfigFile: "gavel.yaml", LookupEnv: func(string) (string, bool) { return "", false },
	}
	roots.Head = state(t, repo, commit("main"))
	// prompts are the needed prompts, by the digests of the states.
	prompts := map[string]string{}
	for _, tt := range []struct{ ref, prompt string }{{"main", "hello there"}, {"feature", "hello you"}, {"feature~1", "hello"}} {
		r := roots
		r.Head = state(t, repo, commit(tt.ref))
		prepared, err := controller.Prepare(t.Context(), controller.Request{Head: r.Head, Ledger: store, ConfigFile: "gavel.yaml", LookupEnv: r.LookupEnv, HeadTrust: ledger.Trust{Level: ledger.LevelOperator}})
		if err != nil {
			t.Fatal(err)
		}
		prompts[prepared.Plan.Rows[0].HeadDigests.E] = tt.prompt
	}
	want := func(expected ...string) {
		t.Helper()
		needed, err := roots.LiveDigests(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := told(prompts, needed); !slices.Equal(got, expected) {
			t.Errorf("needed are %q, want %q", got, expected)
		}
	}
	want("hello there")
	roots.Bases = []string{"feature"}
	want("hello there", "hello you")
	roots.Bases = []string{"nowhere"}
	var missing *maintenance.MissingError
	if _, err := roots.LiveDigests(t.Context()); !errors.As(err, &missing) {
		t.Errorf("a base that is not there: %v", err)
	}
	roots.Bases = nil

	save := func(id, base, head string) {
		t.Helper()
		err := store.SaveReport(t.Context(), ledger.Run{ID: id, Repository: "o/r", PullRequest: 7, Base: base, Head: head, Report: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
	}
	save("1", commit("feature~1"), commit("feature"))
	want("hello", "hello there", "hello you")
	roots.Closed = []ledger.Trust{{Level: ledger.LevelPull, Repository: "o/r", PullRequest: 7}}
	want("hello there")
	roots.Closed = nil
	save("2", commit("feature~1"), strings.Repeat("1", 40))
	if _, err := roots.LiveDigests(t.Context()); !errors.As(err, &missing) || !strings.Contains(err.Error(), "--closed o/r#7") {
		t.Errorf("commits that are not there: %v", err)
	}
}

func state(t *testing.T, repo *gitrepo.Repository, commit string) controller.Checkout {
	t.Helper()
	fsys, err := repo.FS(commit)
	if err != nil {
		t.Fatal(err)
	}
	cfg, problems, _, err := configfile.Read(fsys, "gavel.yaml", nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return controller.Checkout{Commit: commit, FS: fsys, Config: cfg}
}

func told(prompts map[string]string, needed []plan.Digests) []string {
	var out []string
	for _, d := range needed {
		out = append(out, prompts[d.E])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestControlsAreNeeded: a run of a skill without it stays, although the settings do not
// ask for one: --lift may have.
func TestControlsAreNeeded(t *testing.T) {
	dir := t.TempDir()
	err := gitrepo.Create(t.Context(), dir, []gitrepo.NewCommit{{Branch: "main", Message: "main", Write: map[string][]byte{
		"gavel.yaml":                []byte("version: 1\ntargets: {coder: {provider: command, argv: [sh, run.sh], inputs: [run.sh]}}\nskills: {target: coder}\n"),
		"run.sh":                    []byte("true\n"),
		"skills/a/SKILL.md":         []byte("---\nname: a\n---\n"),
		"skills/a/evals/evals.json": []byte(`{"evals": [{"id": 1, "prompt": "Open.", "assertions": [{"type": "contains", "value": "a"}]}]}`),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := gitrepo.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close() //nolint:errcheck // it is only read
	hash, err := repo.Resolve(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	roots := maintenance.Roots{
		Repo: repo, Ledger: ledgertest.Open(t, ledger.Config{}), ConfigFile: "gavel.yaml", LookupEnv: func(string) (string, bool) { return "", false },
		Head: state(t, repo, hash),
	}
	needed, err := roots.LiveDigests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for _, d := range needed {
		digests[d.E] = true
	}
	if len(digests) != 4 {
		t.Errorf("%d executions are needed, want one with the skill and one without, each with a sandbox and without one", len(digests))
	}
}
