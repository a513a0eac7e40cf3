package controller_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// talkative answers at length.
type talkative struct{ length int }

func (a talkative) Respond(_ context.Context, req target.Request) (target.Reply, error) {
	text := strings.Repeat("hello ", a.length/6) + req.Case
	return target.Reply{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text}}, Traced: true}, nil
}

// TestARunDoesNotKeepWhatWasSaid measures the memory in use after the first and
// after the last of many cases that pass. The replies have 32 KiB each.
func TestARunDoesNotKeepWhatWasSaid(t *testing.T) {
	const n, length = 200, 32 << 10
	b, talk := newFixture(t), talkative{length}
	all := fstest.MapFS{"test_definitions/talk/domain.json": {Data: []byte(`{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`)}}
	for i := range n {
		all[fmt.Sprintf("test_definitions/talk/level_1/t%d.json", i)] = &fstest.MapFile{
			Data: fmt.Appendf(nil, `{"id": "t%d", "name": "T", "prompt": "hello %d", "expected": {"keywords": ["hello"]}}`, i, i),
		}
	}
	p, err := controller.Prepare(t.Context(), controller.Request{
		Head: controller.Checkout{Commit: controller.Worktree, FS: all, Config: settings()}, ConfigFile: "gavel.yaml",
		Ledger: b.store, HeadTrust: operator, LookupEnv: nowhere,
	})
	if err != nil {
		t.Fatal(err)
	}
	var first, last int64
	report, err := p.Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return talk, nil }), controller.RunOptions{
		Observe: func(p controller.Progress) {
			switch p.Done {
			case 1:
				first = heap()
			case p.Total:
				last = heap()
			}
		},
	})
	if err != nil || report.Summary.Pass != n {
		t.Fatal(err, report.Summary)
	}
	if grown := last - first; grown > n*length/4 {
		t.Errorf("%d replies of %d bytes leave %d bytes in memory, want less than a quarter of them", n, length, grown)
	}
}

// TestWhatIsExplainedKeepsWhatWasSaid judges a case that fails, and later again
// under the same digests, when it passes: the report shows both conversations.
func TestWhatIsExplainedKeepsWhatWasSaid(t *testing.T) {
	now := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	b := fixture{&calculator{}, ledgertest.Open(t, ledger.Config{Now: func() time.Time { return now }}), operator}
	judge := func(before time.Time, answer target.Target) map[string]*report.Class {
		req := controller.Request{
			Head: controller.Checkout{Commit: controller.Worktree, FS: files(), Config: settings()}, ConfigFile: "gavel.yaml",
			Ledger: b.store, HeadTrust: operator, BaseTrust: operator, LookupEnv: nowhere, Before: before,
		}
		if !before.IsZero() {
			req.IgnoreBefore = func(string) (time.Time, plan.Reason) { return before, plan.Reason{Part: "rerun"} }
		}
		p, err := controller.Prepare(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := p.Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return answer, nil }), controller.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		shown := map[string]*report.Class{}
		for _, row := range rep.Cases {
			if row.Detail != nil && len(row.Detail.Messages) > 0 {
				shown[row.Key] = row.Class
			}
		}
		return shown
	}
	const key = "talk/level_1/hello"
	if class, shown := judge(time.Time{}, talkative{6})[key]; !shown || class != nil {
		t.Error("the conversation of what fails is not shown")
	}
	now = now.Add(time.Minute)
	if class, shown := judge(now, b.calculator)[key]; !shown || class == nil || *class != report.Flaky {
		t.Error("the conversation of what passes now is not shown as a flaky one")
	}
}

// TestOfCommitsOnlyCasesThatAreDueAreLoaded plans a commit with one edited case.
func TestOfCommitsOnlyCasesThatAreDueAreLoaded(t *testing.T) {
	const edited = "test_definitions/a/level_1/alpha.json"
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	texts := oracleFiles("http://127.0.0.1:1")
	gittest.Commit(t, dir, texts)
	gittest.Run(t, dir, "branch", "base")
	gittest.Commit(t, dir, map[string]string{edited: strings.Replace(texts[edited], "alpha?", "beta?", 1)})
	repo, err := gitrepo.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	head, err := repo.Resolve(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	p, err := controller.PrepareCommits(t.Context(), controller.CommitSides{Repo: repo, Head: head, Base: "base", ConfigFile: "gavel.yaml", LookupEnv: nowhere})
	if err != nil {
		t.Fatal(err)
	}
	var loaded []string
	for _, row := range p.Plan.Rows {
		if row.HeadCase != nil {
			loaded = append(loaded, row.Key)
		}
	}
	if diff := cmp.Diff([]string{"a/level_1/alpha"}, loaded); diff != "" || len(p.Plan.Rows) < 4 {
		t.Errorf("of %d cases, those loaded (-want +got):\n%s", len(p.Plan.Rows), diff)
	}
}

// remembering returns a request to plan the working tree of a new repository with n cases,
// whose definitions are remembered.
func remembering(t *testing.T, n int) controller.Request {
	b, dir := newFixture(t), generated(t, n, domains)
	r := openBench(t, dir)
	t.Cleanup(func() { _ = r.repo.Close() })
	work, err := r.repo.WorkFS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = work.Close() })
	store := r.snapshots(filepath.Join(t.TempDir(), "definitions"))
	return controller.Request{
		Head:   controller.Checkout{Commit: controller.Worktree, FS: work, Config: r.config, Dir: dir},
		Ledger: b.store, HeadTrust: operator, ConfigFile: "gavel.yaml", LookupEnv: nowhere,
		Remembered: func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
			return store.Worktree(ctx, r.repo, snapshot.State{FS: work, Settings: r.config.Settings()}, notes)
		},
	}
}

// TestAnUnchangedRunTakesLittle bounds what a run holds of each case whose verdict
// is stored, and what it allocates for it.
func TestAnUnchangedRunTakesLittle(t *testing.T) {
	const n, mostHeld, mostAllocated = 1000, 3000, 16_500
	req := remembering(t, n)
	run := func() *controller.Prepared {
		p, err := controller.Prepare(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		report, err := p.Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return talkative{6}, nil }), controller.RunOptions{})
		if err != nil || report.Summary.Cases != n || report.Summary.Error > 0 {
			t.Fatal(err, report.Summary)
		}
		return p
	}
	run()
	run()
	before := heap()
	// A collection empties pools, which are then allocated again.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	allocated := allocation()
	p := run()
	if each := (allocation() - allocated) / n; each > mostAllocated {
		t.Errorf("an unchanged run allocates %d bytes a case, want at most %d", each, mostAllocated)
	}
	if each := (heap() - before) / n; each > mostHeld {
		t.Errorf("an unchanged run holds %d bytes a case, want at most %d", each, mostHeld)
	}
	runtime.KeepAlive(p)
}

// TestAFirstRunTakesLittle bounds what a run holds of each case that it judges: at its last
// case, and with the report.
func TestAFirstRunTakesLittle(t *testing.T) {
	const n, mostHeld = 2000, 7200
	req := remembering(t, n)
	before := heap()
	p, err := controller.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	opts := controller.RunOptions{Observe: func(p controller.Progress) {
		if p.Done == p.Total {
			last = heap()
		}
	}}
	report, err := p.Execute(t.Context(), controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return talkative{6}, nil }), opts)
	if err != nil || report.Summary.Cases != n || report.Summary.Error > 0 || last == 0 {
		t.Fatal(err, report.Summary, last)
	}
	for when, held := range map[string]int64{"at its last case": last - before, "with its report": heap() - before} {
		if each := held / n; each > mostHeld {
			t.Errorf("%s a first run holds %d bytes a case, want at most %d", when, each, mostHeld)
		}
	}
	runtime.KeepAlive(p)
	runtime.KeepAlive(report)
}

// TestAPlanTakesLittle bounds what a plan holds of each case that was never judged,
// and what it allocates for it once the definitions are remembered: none is loaded
// again.
func TestAPlanTakesLittle(t *testing.T) {
	const n, mostHeld, mostAllocated = 2000, 1700, 8000
	req := remembering(t, n)
	req.Brief = true
	plan := func() *controller.Prepared {
		p, err := controller.Prepare(t.Context(), req)
		if err != nil || len(p.Plan.Rows) != n || p.Estimate().Cases != n {
			t.Fatal(err, len(p.Plan.Rows))
		}
		return p
	}
	plan()
	before, allocated := heap(), allocation()
	p := plan()
	if each := (allocation() - allocated) / n; each > mostAllocated {
		t.Errorf("a plan allocates %d bytes a case, want at most %d", each, mostAllocated)
	}
	if each := (heap() - before) / n; each > mostHeld {
		t.Errorf("a plan holds %d bytes a case, want at most %d", each, mostHeld)
	}
	runtime.KeepAlive(p)
}

// allocation is how many bytes were allocated so far.
func allocation() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}
