package comment_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// TestListingsWithoutEnd: if a commit or a pull request has more pages than are read,
// nothing is written, since the content of the rest would count as missing.
func TestListingsWithoutEnd(t *testing.T) {
	for _, tt := range []struct {
		name, list, answer, want string
		write                    func(*comment.Publisher) error
	}{
		{
			"statuses", "/statuses", `[{"id": 1, "context": "other", "state": "success"}]`, "there are more than 10000",
			func(p *comment.Publisher) error {
				return p.SetStatuses(t.Context(), sha, comment.Status{Context: comment.ContextVerdict, State: comment.StateSuccess, Description: "good"})
			},
		},
		{
			"check runs", "/check-runs", `{"total_count": 1, "check_runs": [{"id": 1, "name": "other", "external_id": "other"}]}`, "there are more than 10000",
			func(p *comment.Publisher) error {
				return p.SetCheck(t.Context(), sha, comment.Check{Conclusion: "success", Title: "good", Summary: "good", Again: true})
			},
		},
		{
			"comments", "/comments", `[{"id": 1, "body": "a remark", "user": {"id": 9}}]`, "more than 10000 comments",
			func(p *comment.Publisher) error { _, err := p.UpsertComment(t.Context(), text("new")); return err },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fake, written := newForge(t), 0
			at, err := url.Parse(fake.URL)
			if err != nil {
				t.Fatal(err)
			}
			forward := httputil.NewSingleHostReverseProxy(at)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					written++
				}
				if !strings.HasSuffix(r.URL.Path, tt.list) {
					forward.ServeHTTP(w, r)
					return
				}
				page, _ := strconv.Atoi(r.URL.Query().Get("page"))
				w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=%d>; rel="next"`, r.Host, r.URL.Path, max(page, 1)+1))
				_, _ = io.WriteString(w, tt.answer) // the client reports the error
			}))
			t.Cleanup(server.Close)
			err = tt.write(publisher(t, server.URL, forgetest.TokenUser, nil))
			if err == nil || !strings.Contains(err.Error(), tt.want) || written > 0 {
				t.Errorf("%d writes and the error %v; want none, and %s", written, err, tt.want)
			}
		})
	}
}
