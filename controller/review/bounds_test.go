package review_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/gitrepo/pack"
)

const small = `{"name": "a", "initial_message": "hello", "expected_outcomes": {"greets": true}}`

// TestAbuseABombIsReported: whatever its files are called, a head with more
// paths than are looked at gets its statuses and a comment that names the bound.
func TestAbuseABombIsReported(t *testing.T) {
	for _, extension := range []string{".json", ".txt"} {
		t.Run(extension, func(t *testing.T) {
			d := newFixture(t, gitrepo.NewCommit{Write: map[string][]byte{"gavel.yaml": []byte("version: 1\n"), "test_definitions/a.json": []byte(small)}},
				gitrepo.NewCommit{Branch: "topic", Write: map[string][]byte{"README": []byte("1")}})
			blob := gittest.Blob(t, d.dir, strings.NewReader("{}"))
			bomb := gittest.Bomb{Levels: 10, Names: 10, Extension: extension, Blob: blob}.Store(t, d.dir)
			head := gittest.Graft(t, d.dir, "topic", "040000 tree "+bomb+"\ttest_definitions/bomb")
			gittest.Run(t, d.dir, "update-ref", "refs/heads/topic", head)
			d.pull(1)
			for range 2 { // the second finds what the first has stored
				if err := d.review(1); err != nil {
					t.Fatal(err)
				}
			}
			d.isRefused("11111111112 paths are added or changed; the bound is 200000", "test_definitions/bomb")
		})
	}
}

// isRefused checks that the statuses of the pull request's head and one comment say
// that it is refused, and why.
func (d *fixture) isRefused(words ...string) {
	d.t.Helper()
	states := d.states()
	if got := states["gavel/validate"]; !strings.HasPrefix(got, "failure: ") {
		d.t.Errorf("gavel/validate is %q, not a failure", got)
	}
	if got := states["gavel/verdict"]; !strings.HasPrefix(got, "failure: ") && !strings.HasPrefix(got, "error: ") {
		d.t.Errorf("gavel/verdict is %q, not terminal", got)
	}
	comments := d.forge.Comments(1)
	if len(comments) != 1 {
		d.t.Fatalf("%d comments, want one", len(comments))
	}
	for _, want := range words {
		if !strings.Contains(comments[0].Body, want) {
			d.t.Errorf("the comment does not say %q:\n%s", want, comments[0].Body)
		}
	}
}

// TestADeadlineBoundsWhatIsDoneForAHead: one that is still looked at then is
// reported, and the next one is not held up.
func TestADeadlineBoundsWhatIsDoneForAHead(t *testing.T) {
	d := newFixture(t, gitrepo.NewCommit{Write: map[string][]byte{"gavel.yaml": []byte("version: 1\n"), "test_definitions/a.json": []byte(small)}},
		gitrepo.NewCommit{Branch: "topic", Write: map[string][]byte{"README": []byte("1")}})
	d.pull(1)
	var fetched [][]string
	d.cfg.Deadline = time.Millisecond
	d.cfg.Fetch = func(ctx context.Context, src gitrepo.Source) (*gitrepo.Repository, []string, error) {
		fetched = append(fetched, src.Refs)
		if len(src.Refs) == 1 { // what base has may take its time
			if _, bounded := ctx.Deadline(); bounded {
				t.Errorf("fetching %v has a deadline", src.Refs)
			}
			return d.fetch(ctx, src)
		}
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	if err := d.review(1); err != nil {
		t.Fatal(err)
	}
	if len(fetched) != 2 || len(fetched[0]) != 1 || fetched[0][0] != "refs/heads/main" {
		t.Errorf("fetched %v; want the base branch, and then both", fetched)
	}
	d.isRefused("took longer than 1ms")
	if n := len(d.forge.Statuses(d.head)); n > 4 {
		t.Errorf("%d statuses: %+v", n, d.forge.Statuses(d.head))
	}
}

// TestAbuseAPackOutOfBoundsIsReported: what base has may be of any size, and
// what a head brings may not.
func TestAbuseAPackOutOfBoundsIsReported(t *testing.T) {
	d := newFixture(t, gitrepo.NewCommit{Write: map[string][]byte{"gavel.yaml": []byte("version: 1\n"), "test_definitions/a.json": []byte(small)}},
		gitrepo.NewCommit{Branch: "topic", Write: map[string][]byte{"README": []byte("1")}})
	d.pull(1)
	d.cfg.Fetch = func(ctx context.Context, src gitrepo.Source) (*gitrepo.Repository, []string, error) {
		switch {
		case len(src.Refs) == 1 && src.Most == gitrepo.OfBase:
			return d.fetch(ctx, src)
		case len(src.Refs) == 2 && src.Most == gitrepo.OfHead:
			return nil, nil, fmt.Errorf("fetching: %w", &pack.ExcessError{Path: ".", Message: "a new object has 9 bytes; the bound is 8", Hint: "keep it small"})
		}
		t.Errorf("%v is fetched within %+v", src.Refs, src.Most)
		return nil, nil, context.Canceled
	}
	if err := d.review(1); err != nil {
		t.Fatal(err)
	}
	d.isRefused("a new object has 9 bytes; the bound is 8; keep it small")
}
