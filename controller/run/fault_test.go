package run_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A hazard is a ledger that something happens to while cases are judged.
type hazard struct {
	path  string
	wait  time.Duration
	now   func() time.Time
	cases []*schema.Case
	*script
}

// newHazard has cases whose replies take some room.
func newHazard(folder string) *hazard {
	h := &hazard{path: filepath.Join(folder, "ledger.db")}
	for i := range 60 {
		h.cases = append(h.cases, greeting(fmt.Sprint(i)))
	}
	h.script = &script{answer: always("hello " + strings.Repeat("and so on ", 2000))}
	return h
}

// workers is how many cases are at work at once.
const workers = 8

// run judges the cases on a newly opened ledger.
func (h *hazard) run(t *testing.T) ([]run.Outcome, error) {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{Path: h.path, Wait: h.wait, Now: h.now})
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // it may not be able to
	operator := ledger.Trust{Level: ledger.LevelOperator}
	var jobs []run.Job
	for _, c := range h.cases {
		jobs = append(jobs, run.Job{
			Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Digests: plan.Digest(c, &plan.Environment{DefaultTarget: "bot"}),
		})
	}
	return run.Run(t.Context(), run.Config{
		Ledger: store, Trust: operator,
		Targets: map[string]run.Target{"bot": {Target: h, Config: config.Target{Name: "bot", Kind: config.Model, Concurrency: workers / 2}}},
	}, jobs)
}

// fails demands that a run names its error, and a remedy.
func (h *hazard) fails(t *testing.T, hints ...string) {
	t.Helper()
	_, err := h.run(t)
	if err == nil || !slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(err.Error(), hint) }) {
		t.Fatalf("error %v, want a hint such as %q", err, hints[0])
	}
}

// recovers demands that a run has every verdict, and did not pay again for kept ones.
func (h *hazard) recovers(t *testing.T, most int) {
	t.Helper()
	outcomes, err := h.run(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Result.Verdict != verdict.Pass {
			t.Errorf("%s: %+v, want a pass", o.Key, o.Result)
		}
	}
	if len(h.asked) < len(h.cases) || len(h.asked) > most {
		t.Errorf("%d calls for %d cases, want at most %d", len(h.asked), len(h.cases), most)
	}
}

// hold takes the lock that writers need.
func (h *hazard) hold(t *testing.T) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", h.path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, text := range []string{"PRAGMA busy_timeout = 10000", "BEGIN IMMEDIATE"} {
		if _, err := db.Exec(text); err != nil {
			t.Error(err)
		}
	}
	return func() {
		if _, err := db.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestALockedLedger has another program hold the file for too long, and then
// for as long as a writer waits.
func TestALockedLedger(t *testing.T) {
	h := newHazard(t.TempDir())
	h.wait = 20 * time.Millisecond
	var release func()
	var once sync.Once
	answer := h.answer
	h.answer = func(n int, req target.Request) (target.Reply, error) {
		if n == 20 {
			once.Do(func() { release = h.hold(t) })
		}
		return answer(n, req)
	}
	h.fails(t, "another process is writing to it: wait for it to end")
	release()
	h.recovers(t, len(h.cases)+workers)

	h = newHazard(t.TempDir())
	h.wait = time.Hour
	h.answer = func(n int, req target.Request) (target.Reply, error) {
		if n == 20 {
			release := h.hold(t)
			time.AfterFunc(50*time.Millisecond, release)
		}
		return answer(n, req)
	}
	h.recovers(t, len(h.cases))
}

// TestACorruptLedger overwrites the stored data. Nothing of it is used, and without the
// file all is judged again.
func TestACorruptLedger(t *testing.T) {
	h := newHazard(t.TempDir())
	h.recovers(t, len(h.cases))
	data, err := os.ReadFile(h.path)
	if err != nil {
		t.Fatal(err)
	}
	for page := range slices.Chunk(data, 4096) {
		if !bytes.Contains(page, []byte("SQLite format")) && !bytes.Contains(page, []byte("CREATE ")) {
			copy(page, bytes.Repeat([]byte{0xee}, len(page)))
		}
	}
	if err := os.WriteFile(h.path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	h.fails(t, "puts it aside and starts with a new one")
	if err := os.Rename(h.path, h.path+".damaged"); err != nil {
		t.Fatal(err)
	}
	h.recovers(t, 2*len(h.cases))
}

// TestAClockThatJumps sets the clock of the ledger by days while cases are
// judged, back and forward.
func TestAClockThatJumps(t *testing.T) {
	var mu sync.Mutex
	shift := time.Duration(0)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(shift)
	}
	h := newHazard(t.TempDir())
	h.now = clock
	answer := h.answer
	h.answer = func(n int, req target.Request) (target.Reply, error) {
		mu.Lock()
		shift = []time.Duration{0, -72 * time.Hour, 96 * time.Hour}[n%3]
		mu.Unlock()
		return answer(n, req)
	}
	h.recovers(t, len(h.cases))
	h.recovers(t, len(h.cases))

	// With another run next to it, leases seem to end long before their time.
	h = &hazard{path: filepath.Join(t.TempDir(), "ledger.db"), now: clock, cases: h.cases, script: &script{answer: h.answer}}
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { h.recovers(t, 3*len(h.cases)) })
	}
	group.Wait()
	h.recovers(t, 3*len(h.cases))
}

// TestAnUnreadableSampleCostsNothing damages the entries of one case, in each of the
// two places that are read before it is judged: the run ends with that and without a
// call, since it is unknown which calls were paid for.
func TestAnUnreadableSampleCostsNothing(t *testing.T) {
	for _, tt := range []struct{ what, damage string }{
		{"read the samples of", "UPDATE transcripts SET body = X'7B'"},
		{"read the judgements of", "UPDATE judgements SET body = X'7B'"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			h := newHazard(t.TempDir())
			h.cases = h.cases[:1]
			h.recovers(t, 1)
			db, err := sql.Open("sqlite", h.path)
			if err != nil {
				t.Fatal(err)
			}
			done, err := db.Exec(tt.damage)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := done.RowsAffected(); n != 1 || err != nil {
				t.Fatalf("%d rows are damaged, %v", n, err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			h.fails(t, tt.what)
			if len(h.asked) != 1 {
				t.Errorf("%d calls after what was stored could not be read", len(h.asked)-1)
			}
		})
	}
}
