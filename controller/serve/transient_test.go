package serve_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestWhoMayWriteIsAskedAgain where the forge could not say it: nobody has less
// trust because of that.
func TestWhoMayWriteIsAskedAgain(t *testing.T) {
	for name, fault := range map[string]forgetest.Fault{
		"away":    {Path: "/permission", Status: http.StatusBadGateway, Times: 5},
		"limited": {Path: "/permission", Status: http.StatusTooManyRequests, Times: 5, Header: map[string]string{"Retry-After": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.push("one")
			w.forge.Inject(fault)
			w.start()
			for w.says("one") == "" && t.Context().Err() == nil {
				time.Sleep(time.Millisecond) // nothing reports another try
			}
			w.idle()
			w.want("one", "success success")
		})
	}
}
