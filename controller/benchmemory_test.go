package controller_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema/load"
)

// BenchmarkUnchanged plans and reports a working tree in which nothing changed and
// whose verdicts are stored, with every case loaded and from memory. held-B/case is the
// size of a plan.
func BenchmarkUnchanged(b *testing.B) {
	const n = 10_000
	dir := generated(b, n, domains)
	r := openBench(b, dir)
	defer r.repo.Close()
	work, err := r.repo.WorkFS()
	if err != nil {
		b.Fatal(err)
	}
	defer work.Close()
	l, err := ledger.Open(b.Context(), ledger.Config{Path: filepath.Join(b.TempDir(), "ledger.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	store := r.snapshots(filepath.Join(b.TempDir(), "definitions"))
	req := controller.Request{
		Head:   controller.Checkout{Commit: controller.Worktree, FS: work, Config: r.config, Dir: dir},
		Ledger: l, HeadTrust: ledger.Trust{Level: ledger.LevelOperator}, ConfigFile: "gavel.yaml", LookupEnv: nowhere,
	}
	remembered := req
	remembered.Remembered = func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
		return store.Worktree(ctx, r.repo, snapshot.State{FS: work, Settings: r.config.Settings()}, notes)
	}
	execute := func(b *testing.B, req controller.Request) *controller.Prepared {
		prepared, err := controller.Prepare(b.Context(), req)
		if err != nil || len(prepared.Plan.Rows) != n {
			b.Fatal(err, len(prepared.Plan.Rows))
		}
		host := controller.Opener(func(t config.Target, s controller.Checkout) (target.Target, error) {
			return target.New(t, target.Env{Files: s.FS})
		})
		if _, err := prepared.Execute(b.Context(), host, controller.RunOptions{}); err != nil {
			b.Fatal(err)
		}
		return prepared
	}
	execute(b, remembered)
	for _, tt := range []struct {
		name string
		req  controller.Request
	}{{"loaded", req}, {"remembered", remembered}} {
		b.Run(tt.name, func(b *testing.B) {
			before := heap()
			var prepared *controller.Prepared
			for b.Loop() {
				prepared = execute(b, tt.req)
			}
			b.ReportMetric(float64(heap()-before)/n, "held-B/case")
			runtime.KeepAlive(prepared)
		})
	}
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the first one keeps what is in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
