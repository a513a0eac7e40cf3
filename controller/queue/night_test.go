package queue_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/run/runtest"
)

// BenchmarkAPullRequestBesideANight reports how long ten cases of a pull request take
// until all of them have begun, while 100,000 of a nightly run are queued and fill the
// places that two workers have for them. A call takes 200 ms.
func BenchmarkAPullRequestBesideANight(b *testing.B) {
	const nightly, ten = 100_000, 10
	url := postgrestest.Start(b).URL(b)
	q, store := open(b, url), ledgertest.Open(b, ledger.Config{Path: url})
	known := &orders{}
	for range 2 {
		limiters := limit.Shared()
		start(b, queue.WorkerConfig{Queue: q, Judge: known.judge(b, limiters), Limiters: limiters, Drain: time.Millisecond, Failed: func(err error) { b.Log(err) }})
	}
	ctx, cancel := context.WithCancel(b.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	slow := func(ctx context.Context) {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	judge := func(class queue.Class, o runtest.Order) {
		if _, err := judgeOrder(ctx, q, class, known.add(o), o); err != nil {
			b.Error(err)
		}
	}
	group.Go(func() { judge(queue.Background, runtest.Waiting(store, "night", nightly, slow)) })
	queued := func() bool {
		_, waiting, judging, err := q.Depth(ctx)
		if err != nil {
			b.Fatal(err)
		}
		return waiting > nightly*9/10 && judging > 0
	}
	for !queued() {
		time.Sleep(100 * time.Millisecond)
	}
	var slowest time.Duration
	for n := 0; b.Loop(); n++ {
		var begun sync.WaitGroup
		begun.Add(ten)
		pull := runtest.Waiting(store, fmt.Sprintf("pull%d-", n), ten, func(ctx context.Context) { begun.Done(); slow(ctx) })
		asked := time.Now()
		group.Go(func() { judge(queue.Interactive, pull) })
		begun.Wait()
		slowest = max(slowest, time.Since(asked))
	}
	b.ReportMetric(float64(slowest.Milliseconds()), "ms/slowest-of-ten")
}
