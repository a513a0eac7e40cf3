package serve_test

import (
	"context"
	"sync"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/serve"
)

// TestAbuseStrangersTakeTurns: only one unaccepted head is in memory at a time, and
// heads of people who may write do not wait for it.
func TestAbuseStrangersTakeTurns(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	begun, hold := make(chan string, 2), make(chan struct{})
	var mu sync.Mutex
	now, most := 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		now += n
		most = max(most, now)
	}
	w.configure = func(cfg *serve.Config) {
		inner := cfg.Execute
		cfg.Execute = func(ctx context.Context, p *controller.Prepared, e controller.RunOptions) (*report.Report, error) {
			if e.PullRequest > 1 {
				count(1)
				defer count(-1)
				begun <- p.Head().Commit
				<-hold
			}
			return inner(ctx, p, e)
		}
	}
	w.start()
	w.idle()
	for _, tt := range []struct {
		number int
		commit string
	}{{2, "two"}, {3, "later"}} {
		ref := map[int]string{2: "refs/pull/2/head", 3: "refs/pull/3/head"}[tt.number]
		w.move(ref, tt.commit)
		w.forge.AddPull(forgetest.Pull{
			Number: tt.number, HeadSHA: w.commits[tt.commit], HeadRef: "other", BaseSHA: w.commits["main"], Author: "stranger", HeadRepo: "stranger/demo",
		})
	}
	w.poll()
	<-begun
	w.push("one")
	w.hint()
	w.becomes("one", "success success")
	close(hold)
	w.idle()
	if most != 1 || len(begun) != 1 {
		t.Errorf("%d heads of strangers were looked at at once, and %d after the first; want one and one", most, len(begun))
	}
	for _, commit := range []string{"two", "later"} {
		if got := w.states(commit); got == "" || got == "pending pending" {
			t.Errorf("the states of %s are %q, not terminal", commit, got)
		}
	}
}
