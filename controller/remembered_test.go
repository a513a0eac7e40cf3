package controller_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// TestOnlyCasesThatAreDueAreLoaded plans one edit from memory.
func TestOnlyCasesThatAreDueAreLoaded(t *testing.T) {
	const edited = "test_definitions/a/level_1/alpha.json"
	base := oracleFiles("http://127.0.0.1:1")
	head := maps.Clone(base)
	head[edited] = strings.Replace(base[edited], "alpha?", "beta?", 1)
	p := remembered(t, stateOf(t, strings.Repeat("b", 40), base), stateOf(t, controller.Worktree, head))
	var loaded []string
	for _, row := range p.Plan.Rows {
		if row.HeadCase != nil {
			loaded = append(loaded, row.Key)
		}
	}
	if diff := cmp.Diff([]string{"a/level_1/alpha"}, loaded); diff != "" {
		t.Errorf("of %d cases, those loaded (-want +got):\n%s", len(p.Plan.Rows), diff)
	}
}

// TestAllWithoutABaseIsTheDefault plans every case from memory, as without All.
func TestAllWithoutABaseIsTheDefault(t *testing.T) {
	head := stateOf(t, controller.Worktree, oracleFiles("http://127.0.0.1:1"))
	var plans [][]string
	for _, all := range []bool{false, true} {
		asked := 0
		p, err := controller.Prepare(t.Context(), controller.Request{
			Head: head, ConfigFile: "gavel.yaml", LookupEnv: nowhere, All: all,
			Remembered: func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
				asked++
				return load.Scan(ctx, head.FS, load.Options{Settings: head.Config.Settings(), Note: notes.Take})
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if asked != 1 {
			t.Errorf("with All = %t memory is asked %d times, want once", all, asked)
		}
		plans = append(plans, listed(p.Plan))
	}
	if diff := cmp.Diff(plans[0], plans[1]); diff != "" {
		t.Errorf("by default, all (-default +all):\n%s", diff)
	}
}

// memoryOf returns what an earlier process remembered of a state.
func memoryOf(t *testing.T, req controller.Request, state controller.Checkout) *load.Snapshot {
	t.Helper()
	var known *load.Snapshot
	req.Head, req.Remembered = state, func(ctx context.Context, notes snapshot.Notes) (_ *load.Snapshot, err error) {
		known, err = load.Scan(ctx, state.FS, load.Options{Settings: state.Config.Settings(), Note: notes.Take})
		return known, err
	}
	if _, err := controller.Prepare(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return known
}

// TestWhatIsRememberedWronglyIsLoaded gives a plan the memory of other files, as
// when one is saved while the plan is made.
func TestWhatIsRememberedWronglyIsLoaded(t *testing.T) {
	files := oracleFiles("http://127.0.0.1:1")
	head := stateOf(t, controller.Worktree, files)
	other := maps.Clone(files)
	for name, text := range other {
		other[name] = strings.ReplaceAll(text, "alpha?", "beta?")
	}
	before := stateOf(t, controller.Worktree, other)
	req := controller.Request{Head: head, ConfigFile: "gavel.yaml", LookupEnv: nowhere}
	want, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	known := memoryOf(t, req, before)
	req.Remembered = func(context.Context, snapshot.Notes) (*load.Snapshot, error) { return known, nil }
	got, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(listed(want.Plan), listed(got.Plan)); diff != "" {
		t.Errorf("loaded, remembered wrongly (-loaded +remembered):\n%s", diff)
	}
}

// TestACaseThatAnotherFileHas is invalid, also where only its file is loaded again.
func TestACaseThatAnotherFileHas(t *testing.T) {
	base := oracleFiles("http://127.0.0.1:1")
	base["test_definitions/a/level_1/omega.json"] = strings.ReplaceAll(base["test_definitions/a/level_1/alpha.json"], `"alpha"`, `"omega"`)
	head := maps.Clone(base)
	head["test_definitions/a/level_1/omega.json"] = strings.Replace(base["test_definitions/a/level_1/alpha.json"], "alpha?", "beta?", 1)
	before, after := stateOf(t, strings.Repeat("b", 40), base), stateOf(t, controller.Worktree, head)
	p := remembered(t, before, after)
	for _, row := range p.Plan.Rows {
		if row.Key == "a/level_1/omega" && row.Action != plan.Skip {
			t.Errorf("%s is to %s, want it skipped: its definition has the id of another one", row.Key, row.Action)
		}
	}
	if !schema.HasErrors(p.Problems) {
		t.Error("there is no error")
	}
}

// TestNotesAreTakenOfEachEnvironment holds that notes serve the environment that
// they were taken in, that validation without one keeps them, and that a case is
// noted once.
func TestNotesAreTakenOfEachEnvironment(t *testing.T) {
	dir := t.TempDir()
	for name, text := range oracleFiles("http://127.0.0.1:1") {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Init(t, dir, "main")
	gittest.Run(t, dir, "add", "-A")
	gittest.Run(t, dir, "commit", "-q", "-m", "state")
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
	state := stateOf(t, controller.Worktree, oracleFiles("http://127.0.0.1:1"))
	stored := snapshot.Store{Path: filepath.Join(t.TempDir(), "definitions"), Changed: repo.Changed}
	for _, step := range []struct {
		environment string
		taken       bool
	}{{"one", true}, {"one", false}, {"", false}, {"one", false}, {"two", true}, {"one", true}} {
		made := make(chan string, 1000)
		notes := snapshot.Notes{Environment: step.environment, Take: func(c *schema.Case) string {
			made <- c.Key
			return step.environment + c.Key
		}}
		if step.environment == "" {
			notes = snapshot.Notes{}
		}
		known, err := stored.Worktree(t.Context(), repo, snapshot.State{FS: work, Settings: state.Config.Settings()}, notes)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if step.taken {
			want = known.Totals().Cases
		}
		if len(made) != want {
			t.Errorf("environment %q: %d notes were taken, want %d", step.environment, len(made), want)
		}
		if step.environment == "" {
			continue
		}
		complete := known.Cases(func(c load.StoredCase) {
			if c.Note != step.environment+c.Info.Key {
				t.Errorf("environment %q: the note of %s is %q", step.environment, c.Info.Key, c.Note)
			}
		})
		if !complete {
			t.Errorf("environment %q: not every case has a note", step.environment)
		}
	}
}

// TestAPlanThatEndsBetweenMemoryAndFiles is an error: the due cases have to be loaded.
// Files that are gone by then are planned in their remembered state.
func TestAPlanThatEndsBetweenMemoryAndFiles(t *testing.T) {
	files := oracleFiles("http://127.0.0.1:1")
	head := stateOf(t, controller.Worktree, files)
	req := controller.Request{Head: head, ConfigFile: "gavel.yaml", LookupEnv: nowhere}
	known := memoryOf(t, req, head)
	for name, read := range map[string]func(snapshot.Notes) (*load.Snapshot, error){
		"remembered": func(snapshot.Notes) (*load.Snapshot, error) { return known, nil },
		"read": func(notes snapshot.Notes) (*load.Snapshot, error) {
			return load.Scan(t.Context(), head.FS, load.Options{Settings: head.Config.Settings(), Note: notes.Take})
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		req.Remembered = func(_ context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
			defer cancel()
			return read(notes)
		}
		if p, err := controller.Prepare(ctx, req); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the plan of a run that ended is %+v with the error %v, want that it was canceled", name, p, err)
		}
	}

	less := maps.Clone(files)
	delete(less, "test_definitions/a/level_1/alpha.json")
	want, err := controller.Prepare(t.Context(), controller.Request{Head: stateOf(t, controller.Worktree, less), ConfigFile: "gavel.yaml", LookupEnv: nowhere})
	if err != nil {
		t.Fatal(err)
	}
	req.Head.FS = stateOf(t, controller.Worktree, less).FS
	req.Remembered = func(context.Context, snapshot.Notes) (*load.Snapshot, error) { return known, nil }
	got, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(listed(want.Plan), listed(got.Plan)); diff != "" {
		t.Errorf("loaded, remembered before a file went (-loaded +remembered):\n%s", diff)
	}
}

// TestCasesThatWereCompiledForTheirNotes are not compiled again: the definitions are read once.
func TestCasesThatWereCompiledForTheirNotes(t *testing.T) {
	files := oracleFiles("http://127.0.0.1:1")
	head := stateOf(t, controller.Worktree, files)
	req := controller.Request{Head: head, ConfigFile: "gavel.yaml", LookupEnv: nowhere}
	want, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req.Remembered = func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
		known, err := load.Scan(ctx, head.FS, load.Options{Settings: head.Config.Settings(), Note: notes.Take})
		for name := range files { // what is read later is not there
			if strings.HasPrefix(name, "test_definitions/") {
				delete(head.FS.(fstest.MapFS), name)
			}
		}
		return known, err
	}
	got, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(listed(want.Plan), listed(got.Plan)); diff != "" || len(got.Plan.Rows) == 0 {
		t.Errorf("loaded, compiled for notes (-loaded +compiled):\n%s", diff)
	}
}
