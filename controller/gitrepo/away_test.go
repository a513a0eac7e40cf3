package gitrepo_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo"
)

// TestARemoteThatIsAway says so by the type of its error, and one that refuses
// does not.
func TestARemoteThatIsAway(t *testing.T) {
	for _, tt := range []struct {
		status int
		want   bool
	}{{http.StatusBadGateway, true}, {http.StatusNotFound, false}, {http.StatusForbidden, false}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.status) }))
		mirror, err := gitrepo.NewMirror(gitrepo.MirrorConfig{Dir: filepath.Join(t.TempDir(), "clone.git"), URL: server.URL + "/octo/demo.git"})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = mirror.Fetch(t.Context(), gitrepo.OfBase, "refs/heads/main")
		if _, away := errors.AsType[*gitrepo.AwayError](err); err == nil || away != tt.want {
			t.Errorf("%d: %T %v, want that it is away: %v", tt.status, err, err, tt.want)
		}
		server.Close()
	}
}
