package forge_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// endless answers every page of a listing with one item and the address of the next.
func endless(t *testing.T, item string) *forge.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=%d>; rel="next"`, r.Host, r.URL.Path, page+1))
		_, _ = io.WriteString(w, "["+item+"]") // the client reports the error
	}))
	t.Cleanup(server.Close)
	fake := &forgetest.Clock{}
	c, err := forge.New(forge.Config{BaseURL: server.URL, Token: forgetest.TokenUser, Clock: fake})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestListingsWithoutEnd: a listing of more pages than are read is an error, and never the pages
// that were read.
func TestListingsWithoutEnd(t *testing.T) {
	pull := fmt.Sprintf(`{"number": 1, "state": "open", "head": {"sha": "%040x", "ref": "x"}, "base": {"sha": "%040x", "ref": "main"}}`, 1, 2)
	for _, tt := range []struct {
		name, item string
		list       func(*forge.Client) (int, error)
	}{
		{"pulls", pull, func(c *forge.Client) (int, error) {
			found, _, err := c.OpenPulls(t.Context(), demo, "")
			return len(found), err
		}},
		{"issues/comments", `{"id": 1, "body": "x"}`, func(c *forge.Client) (int, error) {
			found, _, err := c.RecentComments(t.Context(), demo, time.Time{}, "")
			return len(found), err
		}},
		{"issues/comments/5/reactions", `{"content": "eyes", "user": {"login": "other"}}`, func(c *forge.Client) (int, error) {
			found, err := c.Reactions(t.Context(), demo, 5, "bot")
			return len(found), err
		}},
		{"commits/abc/statuses", `{"context": "gavel/verdict", "created_at": "2026-01-01T00:00:00Z"}`, func(c *forge.Client) (int, error) {
			first, err := c.FirstStatus(t.Context(), demo, "abc", func(string, string) bool { return false })
			if !first.IsZero() {
				return 1, err
			}
			return 0, err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, err := tt.list(endless(t, tt.item))
			if want := "list " + tt.name + " of octo/demo: there are more than 1000 pages"; n > 0 || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d items and the error %v; want none, and %s", n, err, want)
			}
		})
	}
}
