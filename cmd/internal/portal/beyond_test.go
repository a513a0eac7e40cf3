package portal

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/cmd/internal/editor"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/serve"
)

// TestPullsBeyondTheList are counted, on the page and in both answers of the API.
func TestPullsBeyondTheList(t *testing.T) {
	w := serve.RepositoryView{ID: 1, Name: forge.Repo{Owner: "octo", Name: "shop"}, Known: "octo/shop", Branch: "main", WebURL: "https://forge.example", Client: &forge.Client{}}
	for n := range mostPulls + 37 {
		w.Pulls = append(w.Pulls, forge.Pull{Number: n + 1, Title: "Kinder words", Author: "ada", HeadSHA: strings.Repeat("a", 40)})
	}
	site := New(Config{
		Server: watching{w}, Ledger: ledgertest.Open(t, ledger.Config{}), Gate: access.NewGate(access.GateConfig{}),
		Hide: func(s string) string { return s },
	})
	get := func(path string) string {
		answer := httptest.NewRecorder()
		site.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		return answer.Body.String()
	}
	page := get("/r/octo/shop/pulls")
	if n := strings.Count(page, "Kinder words"); n != mostPulls || !strings.Contains(page, `<p class="note">and 37 more</p>`) {
		t.Errorf("the page lists %d pull requests, want %d and 37 more", n, mostPulls)
	}
	var pulls struct {
		Pulls []json.RawMessage `json:"pull_requests"`
		More  int
	}
	var all struct {
		Repositories []struct {
			Pulls []json.RawMessage `json:"pull_requests"`
			More  int
		}
	}
	if err := json.Unmarshal([]byte(get("/r/octo/shop"+pullsPath)), &pulls); err != nil || len(pulls.Pulls) != mostPulls || pulls.More != 37 {
		t.Errorf("the API lists %d pull requests and %d more, %v; want %d and 37", len(pulls.Pulls), pulls.More, err, mostPulls)
	}
	if err := json.Unmarshal([]byte(get(repositoriesPath)), &all); err != nil || len(all.Repositories) != 1 || len(all.Repositories[0].Pulls) != mostPulls || all.Repositories[0].More != 37 {
		t.Errorf("the API says of the repositories %+v, %v; want %d pull requests and 37 more", len(all.Repositories), err, mostPulls)
	}
}

// watching is a server of these repositories, which forecasts nothing.
type watching []serve.RepositoryView

func (w watching) Repositories() []serve.RepositoryView { return w }

func (watching) Recheck(serve.RepositoryView, int) {}

func (watching) Forecast(context.Context, serve.RepositoryView, fs.FS, fs.FS) (*editor.Forecast, error) {
	return nil, nil
}

func (watching) Digests(context.Context, serve.RepositoryView, fs.FS) (map[string]string, error) {
	return nil, nil
}

// A counted server counts the plans that it was asked for.
type counted struct {
	watching
	plans *int
}

func (c counted) Digests(context.Context, serve.RepositoryView, fs.FS) (map[string]string, error) {
	*c.plans++
	return map[string]string{"a": fmt.Sprint("digest ", *c.plans)}, nil
}

// TestDigestsOfATip holds that a commit is planned once, and the next one again.
func TestDigestsOfATip(t *testing.T) {
	plans, seen := 0, &tips{now: time.Now}
	for _, tt := range []struct{ commit, want string }{{"one", "digest 1"}, {"one", "digest 1"}, {"two", "digest 2"}, {"two", "digest 2"}} {
		got, err := seen.digestsOf(t.Context(), counted{plans: &plans}, tip{commit: tt.commit})
		if err != nil || got["a"] != tt.want {
			t.Errorf("the digest at %s is %q (%v), want %q", tt.commit, got["a"], err, tt.want)
		}
	}
}
