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
	for _, tt := range []struct {
		name  string
		fault forgetest.Fault
	}{
		{"away", forgetest.Fault{Path: "/permission", Status: http.StatusBadGateway, Times: 5}},
		{"limited", forgetest.Fault{Path: "/permission", Status: http.StatusTooManyRequests, Times: 5, Header: map[string]string{"Retry-After": "1"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.push("one")
			w.forge.Inject(tt.fault)
			w.start()
			for w.says("one") == "" && t.Context().Err() == nil {
				time.Sleep(time.Millisecond) // nothing reports another try
			}
			w.idle()
			w.want("one", "success success")
		})
	}
}
