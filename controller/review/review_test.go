package review_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
)

func TestMain(m *testing.M) {
	if cueeval.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

// A fixture is a repository with a forge and a ledger.
type fixture struct {
	t     *testing.T
	forge *forgetest.Forge
	cfg   review.Config
	dir   string
	runs  int
	// head and base belong to the last pull request.
	head, base string
}

// newFixture has the given commits, one upon the other, and every pull request has the
// branch of the last one.
func newFixture(t *testing.T, changes ...gitrepo.NewCommit) *fixture {
	t.Helper()
	d := &fixture{t: t, forge: forgetest.New(t), dir: t.TempDir()}
	for i := range changes {
		changes[i].Message, changes[i].At = fmt.Sprint("change ", i), time.Date(2026, 3, 2, 9+i, 0, 0, 0, time.UTC)
	}
	if err := gitrepo.Create(t.Context(), d.dir, changes); err != nil {
		t.Fatal(err)
	}
	store := ledgertest.Open(t, ledger.Config{})
	fake := &forgetest.Clock{}
	client, err := forge.New(forge.Config{BaseURL: d.forge.URL, Token: forgetest.TokenUser, Clock: fake})
	if err != nil {
		t.Fatal(err)
	}
	d.cfg = review.Config{
		Client: client, Repository: forge.Repo{Owner: "octo", Name: "demo"}, Ledger: store, Fetch: d.fetch, Execute: d.execute,
		ConfigFile: "gavel.yaml", LookupEnv: func(string) (string, bool) { return "", false }, WebURL: "https://github.com",
		Log: func(line string) { t.Log(line) },
	}
	return d
}

// fetch gives main for the base branch and topic for every pull request.
func (d *fixture) fetch(ctx context.Context, src gitrepo.Source) (*gitrepo.Repository, []string, error) {
	repo, err := gitrepo.Open(d.dir)
	if err != nil {
		return nil, nil, err
	}
	commits := make([]string, len(src.Refs))
	for i, ref := range src.Refs {
		branch := "topic"
		if ref == "refs/heads/main" {
			branch = "main"
		}
		if commits[i], err = repo.Resolve(ctx, branch); err != nil {
			return nil, nil, err
		}
	}
	return repo, commits, nil
}

func (d *fixture) execute(ctx context.Context, p *controller.Prepared, o controller.RunOptions) (*report.Report, error) {
	d.runs++
	o.ID = fmt.Sprint("run-", d.runs)
	return p.Execute(ctx, controller.Opener(func(t config.Target, c controller.Checkout) (target.Target, error) {
		return target.New(t, target.Env{Files: c.FS})
	}), o)
}

// pull makes a pull request of topic.
func (d *fixture) pull(number int) {
	d.t.Helper()
	repo, commits, err := d.fetch(d.t.Context(), gitrepo.Source{Refs: []string{"refs/heads/topic", "refs/heads/main"}})
	if err != nil {
		d.t.Fatal(err)
	}
	if err := repo.Close(); err != nil {
		d.t.Fatal(err)
	}
	d.head, d.base = commits[0], commits[1]
	d.forge.AddPull(forgetest.Pull{Number: number, HeadSHA: d.head, HeadRef: "topic", BaseSHA: d.base})
}

// review judges a pull request and gives what could not be published.
func (d *fixture) review(number int) error {
	d.t.Helper()
	r, err := review.New(d.cfg).Pull(d.t.Context(), number, "")
	if err != nil {
		d.t.Fatal(err)
	}
	_, unpublished, err := r.Run(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return unpublished
}

// TestOwnOnly: if several reviews are in progress at once, none publishes another's
// result.
func TestOwnOnly(t *testing.T) {
	for _, tt := range []struct {
		own  bool
		want int
	}{{true, 0}, {false, 1}} {
		t.Run(fmt.Sprint(tt.own), func(t *testing.T) {
			d := newFixture(t, gitrepo.NewCommit{Write: map[string][]byte{"gavel.yaml": []byte("version: 1\n")}},
				gitrepo.NewCommit{Branch: "topic", Write: map[string][]byte{"README.md": []byte("hello\n")}})
			d.cfg.OwnOnly = tt.own
			d.pull(1)
			d.pull(2)
			d.forge.Inject(forgetest.Fault{Method: "POST", Path: "/issues/1/comments", Status: 500, Times: -1})
			if err := d.review(1); err == nil {
				t.Fatal("the forge took what it refuses")
			}
			d.forge.Heal()
			if err := d.review(2); err != nil {
				t.Fatal(err)
			}
			if n := len(d.forge.Comments(1)); n != tt.want {
				t.Errorf("%d comments on the other pull request, want %d", n, tt.want)
			}
			if err := review.New(d.cfg).Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, number := range []int{1, 2} {
				if n := len(d.forge.Comments(number)); n != 1 {
					t.Errorf("%d comments on pull request %d after all was delivered", n, number)
				}
			}
		})
	}
}

// TestAnOutboxOverARename is the repository's, whatever that is called now, and
// no other's that takes its name.
func TestAnOutboxOverARename(t *testing.T) {
	d := newFixture(t, gitrepo.NewCommit{Write: map[string][]byte{"gavel.yaml": []byte("version: 1\n")}},
		gitrepo.NewCommit{Branch: "topic", Write: map[string][]byte{"README.md": []byte("hello\n")}})
	d.cfg.Known = "octo/demo"
	d.pull(1)
	d.forge.Inject(forgetest.Fault{Method: "POST", Path: "/issues/1/comments", Status: 500, Times: -1})
	if err := d.review(1); err == nil {
		t.Fatal("the forge took what it refuses")
	}
	d.forge.Heal()
	another, renamed := d.cfg, d.cfg
	another.Known = "octo/demo (2)"
	renamed.Repository.Name = "renamed"
	if err := review.New(another).Deliver(t.Context()); err != nil || len(d.forge.Comments(1)) != 0 {
		t.Errorf("%v: another repository has %d comments", err, len(d.forge.Comments(1)))
	}
	d.forge.Rename("octo/renamed")
	if err := review.New(renamed).Deliver(t.Context()); err != nil || len(d.forge.Comments(1)) != 1 {
		t.Errorf("%v: there are %d comments", err, len(d.forge.Comments(1)))
	}
	if left, err := d.cfg.Ledger.Pending(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%v: left over: %v", err, left)
	}
}
