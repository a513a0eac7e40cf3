package serve_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/serve"
)

// TestAPermissionThatIsGivenLater: what the forge refused is true a while after
// somebody repaired that, without any news; until then it is not asked all the
// time.
func TestAPermissionThatIsGivenLater(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault forgetest.Fault
	}{
		{"statuses", forgetest.Fault{Method: "POST", Path: "/statuses", Status: http.StatusForbidden}},
		{"comments", forgetest.Fault{Method: "POST", Path: "/comments", Status: http.StatusForbidden}},
		{"the pull request", forgetest.Fault{Method: "GET", Path: "/pulls/1", Status: http.StatusNotFound}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
			w.configure = func(cfg *serve.Config) { cfg.Clock = clock.Funcs{NowFunc: func() time.Time { return now }} }
			w.push("one")
			tt.fault.Times = -1
			w.forge.Inject(tt.fault)
			w.start()
			w.idle()
			w.writesNothing(func() { w.poll(); w.idle() }) // not again at once
			w.forge.Heal()
			now = now.Add(15 * time.Minute)
			w.poll()
			w.idle()
			w.want("one", "success success")
			if got := w.states("main"); got != "success success" {
				t.Errorf("the states of main are %q", got)
			}
		})
	}
}
