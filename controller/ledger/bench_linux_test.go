package ledger_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
)

// BenchmarkWrite reads and writes for each of n one-call cases what a run does, 20 at a
// time: a lease, what is stored, a journal entry and an outcome.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var spent time.Duration
			for b.Loop() {
				before := processorTime(b)
				writeRun(b, n)
				spent += processorTime(b) - before
			}
			b.ReportMetric(float64(spent.Microseconds())/float64(n*b.N), "cpu-µs/case")
		})
	}
}

func writeRun(b *testing.B, n int) {
	l := open(b, filepath.Join(b.TempDir(), "ledger.db"))
	all, list, judgements := make([]plan.Digests, n), make([]string, n), make([]string, n)
	for i := range all {
		all[i] = digestsOf(fmt.Sprint(i))
		list[i], judgements[i] = all[i].E, all[i].J
	}
	run, err := l.BeginRun(b.Context(), base, list, judgements...)
	if err != nil {
		b.Fatal(err)
	}
	cases := make(chan plan.Digests)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for d := range cases {
				if err := writeCase(b, l, run, d); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for _, d := range all {
		cases <- d
	}
	close(cases)
	group.Wait()
	if err := run.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func writeCase(b *testing.B, l *ledger.Ledger, run *ledger.RunHandle, d plan.Digests) error {
	lease, err := run.Lease(b.Context(), d.E, d.J)
	if err != nil {
		return err
	}
	if _, err := ledger.LoadCase(b.Context(), l, ledger.Scope{Trust: base}, d.E, d.J); err != nil {
		return err
	}
	entry, outcome := call(d), realistic(d)
	entry.Lease, outcome.Lease = lease, lease
	if err := l.SaveCall(b.Context(), base, entry); err != nil {
		return err
	}
	return l.Save(b.Context(), outcome)
}

// processorTime is how long the process has kept processors busy.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
