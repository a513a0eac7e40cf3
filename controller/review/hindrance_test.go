package review_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
)

// TestWhyAHeadIsNotJudged: each cause has its own words in both statuses, with the repair and
// without what only the log may say. A comment that shows an earlier verdict says it, too,
// and where people of the repository can fix the cause, a comment is made for it.
func TestWhyAHeadIsNotJudged(t *testing.T) {
	const secret = "/srv/secret"
	noon := time.Date(2026, 3, 2, 12, 34, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		err    error
		words  string
		theirs bool
		final  bool
		server bool
	}{
		{"the base branch is gone", &gitrepo.MissingRefError{Ref: "refs/heads/release"}, "the branch release is gone: give the pull request another base, or restore it", true, true, true},
		{"a branch with a long name", &gitrepo.MissingRefError{Ref: "refs/heads/" + strings.Repeat("a", 300)}, "is gone: give the pull request another base", true, true, true},
		{"the head is gone", &gitrepo.MissingRefError{Ref: "refs/pull/1/head"}, "the git server has no refs/pull/1/head: push again", true, true, true},
		{"no answer, in a job", &gitrepo.AwayError{}, "the git server did not answer; run the job again", false, false, false},
		{"no answer, on a server", &gitrepo.AwayError{}, "the git server did not answer; gavel tries again", false, false, true},
		{"a partial clone", &gitrepo.LostError{Object: strings.Repeat("0", 40)}, "git objects are missing or damaged: check out without a filter and with fetch-depth: 0", true, false, false},
		{"a damaged mirror", &gitrepo.LostError{Object: strings.Repeat("0", 40)}, "git objects are missing or damaged; gavel tries again", false, false, true},
		{"a shallow clone", fmt.Errorf("%s: %w", secret, gitrepo.ErrShallow), "the clone is shallow: set fetch-depth: 0 in the checkout of the job", true, false, false},
		{"the credential", fmt.Errorf("%s: %w", secret, gitrepo.ErrRefused), "the git server refuses gavel's credential, which has to be allowed to read contents", false, false, true},
		{"the repository", fmt.Errorf("%s: %w", secret, gitrepo.ErrNoRemote), "the repository cannot be fetched: it is gone, or gavel's credential may not see it", false, false, true},
		{"a permission", &forge.DeniedError{Op: secret, Status: 403, Permission: "contents: read"}, "gavel's credential lacks a permission at the forge: contents: read", false, false, true},
		{"the rate limit", &forge.LimitError{Until: noon}, "the rate limit of the forge is used up until 12:34 UTC; gavel tries again", false, false, true},
		{"the ledger", fmt.Errorf("%s: %w", secret, &store.FaultError{}), "the ledger cannot be read or written; see the log of gavel's run", false, false, true},
		{"the time", fmt.Errorf("%s: %w", secret, context.DeadlineExceeded), "it took too long; gavel tries again", false, false, true},
		{"anything else", errors.New(secret), "gavel failed at this head; see the log of its run", false, false, true},
	} {
		for _, judged := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, ", judged before ", judged), func(t *testing.T) {
				d := groupFixture(t, "total", 1)
				if judged {
					if err := d.review(1); err != nil {
						t.Fatal(err)
					}
					if text := d.forge.Comments(1)[0].Body; !strings.Contains(text, "### ✅") {
						t.Fatalf("the comment is\n%s", text)
					}
				}
				d.cfg.Execute = func(context.Context, *controller.Prepared, controller.RunOptions) (*report.Report, error) {
					return nil, tt.err
				}
				if tt.server {
					d.cfg.Turn = func(context.Context, review.QueuedHead) (review.Turn, error) { return review.Turn{End: func() {}}, nil }
				}
				r, err := review.New(d.cfg).Pull(t.Context(), 1, "")
				if err != nil {
					t.Fatal(err)
				}
				_, _, err = r.Run(t.Context())
				var hindered *review.HinderedError
				if !errors.Is(err, tt.err) || errors.As(err, &hindered) != tt.final {
					t.Errorf("Run = %v, want %v, final %v", err, tt.err, tt.final)
				}
				said := d.states()["gavel/verdict"]
				if !strings.HasPrefix(said, "error: ") || !strings.Contains(said, tt.words) || utf8.RuneCountInString(said) > len("error: ")+140 || strings.HasSuffix(said, "…") {
					t.Errorf("the status says %q, want %q", said, tt.words)
				}
				comments := d.forge.Comments(1)
				if want := judged || tt.theirs; (len(comments) == 1) != want {
					t.Fatalf("%d comments, want one: %v", len(comments), want)
				}
				all := said
				for _, c := range comments {
					text := strings.NewReplacer("<wbr>", "", "\\", "", "Not judged", "not judged").Replace(c.Body)
					if all += text; !strings.Contains(text, strings.TrimPrefix(said, "error: ")) || strings.Contains(text, "✅") || !strings.Contains(text, d.head[:7]) {
						t.Errorf("the comment is\n%s", text)
					}
				}
				if strings.Contains(all, secret) {
					t.Errorf("the log's words are public: %s", all)
				}
			})
		}
	}
}
