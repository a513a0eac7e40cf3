package portal

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/serve"
)

// TestAFormOpensWhileGitIsAway with the files of some time ago; nothing is written then.
func TestAFormOpensWhileGitIsAway(t *testing.T) {
	folder := t.TempDir()
	gittest.Init(t, folder, "main")
	gittest.Commit(t, folder, map[string]string{"gavel.yaml": "version: 1\n", "note.txt": "first"})
	behind, err := url.Parse(gittest.Serve(t, folder, ""))
	if err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: behind.Scheme, Host: behind.Host})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	server, err := serve.New(t.Context(), serve.Config{
		Repositories: []*serve.Repository{{URL: front.URL + behind.Path, Branches: []string{"main"}, ConfigFile: "gavel.yaml"}},
		Ledger:       ledgertest.Open(t, ledger.Config{}), Dir: t.TempDir(), LookupEnv: func(string) (string, bool) { return "", false }, Poll: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- server.Run(ctx) }()
	defer func() { end(); <-done }()
	for !server.Ready() {
		time.Sleep(time.Millisecond) // nothing tells that it was polled
	}
	watched := server.Repositories()[0]
	watched.Client = &forge.Client{} // only of a forge's repositories there are settings
	asked := context.WithValue(t.Context(), watchedKey{}, watched)
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	branch := &tips{now: func() time.Time { return now }}
	note := func(open func(context.Context) (fs.FS, func() error, error)) (string, error) {
		files, end, err := open(asked)
		if err != nil {
			return "", err
		}
		defer func() {
			if err := end(); err != nil {
				t.Error(err)
			}
		}()
		text, err := fs.ReadFile(files, "note.txt")
		return string(text), err
	}
	for _, step := range []struct {
		name   string
		later  time.Duration
		commit string // the new text of the note
		away   bool
		want   string
	}{
		{name: "at first", want: "first"},
		{name: "soon after a push", later: fresh - time.Second, commit: "second", want: "first"},
		{name: "later", later: 2 * time.Second, want: "second"},
		{name: "away, soon", later: fresh - time.Second, commit: "third", away: true, want: "second"},
		{name: "away, later", later: time.Hour, away: true, want: "second"},
		{name: "back", later: time.Second, want: "third"},
	} {
		if step.commit != "" {
			gittest.Commit(t, folder, map[string]string{"note.txt": step.commit})
		}
		now = now.Add(step.later)
		away.Store(step.away)
		if got, err := note(branch.open); err != nil || got != step.want {
			t.Errorf("%s: %q, %v; want %q", step.name, got, err, step.want)
		}
		if !step.away {
			continue
		}
		if _, err := note(branch.newestTip); err == nil {
			t.Errorf("%s: something would be written on files that are not the newest", step.name)
		}
	}
	away.Store(true)
	if _, err := note((&tips{now: time.Now}).open); err == nil {
		t.Error("files that were never read are opened")
	}
}
