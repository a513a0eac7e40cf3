package gitrepo

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// TestAbuseRedirectsTakeNoCredential along: it is for the address that the operator or the
// forge named, and for no other.
func TestAbuseRedirectsTakeNoCredential(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		with := " with"
		if r.Header.Get("Authorization") == "" {
			with = " without"
		}
		seen = append(seen, r.Method+with)
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte("001e# service=git-upload-pack\n0000004795dcfa3633004da0049d3d0fa03f80589cbcaf31 refs/heads/main\x00ofs-delta\n0000"))
			return
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer elsewhere.Close()
	front := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/x.git/info/refs?service=git-upload-pack", http.StatusMovedPermanently))
	defer front.Close()
	if _, _, err := newMirror(t, front.URL+"/x.git").Fetch(t.Context(), OfBase, "refs/heads/main"); err == nil {
		t.Error("what is elsewhere was fetched")
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"GET without", "POST without"}; !slices.Equal(seen, want) {
		t.Errorf("the other server saw %q, want %q", seen, want)
	}
}
