package serve_test

import (
	"fmt"
	"testing"

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
	for _, tt := range []struct{ commit, want string }{{"one", "success success"}, {"two", "success failure"}, {"after", "success success"}} {
		if got := w.states(tt.commit); got != tt.want {
			t.Errorf("the states of %s are %q, want %q", tt.commit, got, tt.want)
		}
	}
	w.want("one", "success success")
}
