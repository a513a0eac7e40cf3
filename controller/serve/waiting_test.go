package serve_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/serve"
)

// TestEveryHeadIsPendingAtOnce, however many others are judged and for however
// long, and a push that comes while it waits ends the wait.
func TestEveryHeadIsPendingAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.slow = true
	w.configure = func(cfg *serve.Config) { cfg.Workers = 1 }
	release := w.judging()
	at := func(number int, commit string) {
		w.move(fmt.Sprintf("refs/pull/%d/head", number), commit)
		w.forge.AddPull(forgetest.Pull{Number: number, HeadSHA: w.commits[commit], HeadRef: "other", BaseSHA: w.commits["main"]})
		w.poll()
	}
	says := w.becomes
	for _, tt := range []struct {
		number int
		commit string
	}{{2, "two"}, {3, "later"}} {
		at(tt.number, tt.commit)
		says(tt.commit, "pending pending")
		const turn = "waits for its turn behind other heads"
		for w.says(tt.commit) != turn && t.Context().Err() == nil {
			time.Sleep(time.Millisecond) // nothing tells that it is written
		}
		for _, s := range w.forge.Statuses(w.commits[tt.commit]) {
			if s.Context == "gavel/validate" && s.Description != turn && s.Description != "checking the definitions" {
				t.Errorf("validation of %s says %q while it waits for its turn", tt.commit, s.Description)
			}
		}
	}
	views := w.server.Repositories()
	slices.Sort(views[0].Queued)
	queued := []string{w.commits["later"], w.commits["two"]}
	slices.Sort(queued)
	if !slices.Equal(views[0].Queued, queued) || !slices.Equal(views[0].Judging, []string{w.commits["one"]}) {
		t.Errorf("%q are judged and %q wait for their turn, want %q and %q", views[0].Judging, views[0].Queued, w.commits["one"], queued)
	}
	w.until(3) // the sweep that a poll asks for ends
	if waiting, running := w.server.Depth(); waiting != 2 || running != 1 {
		t.Errorf("%d wait and %d run, want 2 and 1", waiting, running)
	}
	at(3, "after")
	says("later", "error error")
	says("after", "pending pending")
	release()
	w.idle()
	if now := w.server.Repositories()[0]; len(now.Queued) > 0 || len(now.Judging) > 0 {
		t.Errorf("%q are judged and %q wait after the end", now.Judging, now.Queued)
	}
	for _, tt := range []struct{ commit, want string }{{"one", "success success"}, {"two", "success failure"}, {"after", "success error"}} {
		if got := w.states(tt.commit); got != tt.want {
			t.Errorf("the states of %s are %q, want %q", tt.commit, got, tt.want)
		}
	}
	w.want("one", "success success")
}
