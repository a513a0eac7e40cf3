package serve_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/serve"
)

// TestAbuseOneBadPullRequest blocks no other, whatever the forge says of it.
func TestAbuseOneBadPullRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		bad  forgetest.Pull
	}{
		{"null everywhere", forgetest.Pull{HeadRepo: "-", Author: "-", HeadSHA: strings.Repeat("5", 40), HeadRef: "x"}},
		{"no commit", forgetest.Pull{HeadRef: "x"}},
		{"a head that is a ref", forgetest.Pull{HeadSHA: "refs/heads/main", HeadRef: "x"}},
		{"no branch", forgetest.Pull{HeadSHA: strings.Repeat("5", 40)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			tt.bad.Number = 2
			w.forge.AddPull(tt.bad)
			w.push("one")
			w.start()
			w.hintOf(2)
			w.hint()
			w.poll()
			w.idle()
			w.want("one", "success success")
		})
	}
}

// TestAbuseAnotherRepository is not looked at, whatever a delivery says.
func TestAbuseAnotherRepository(t *testing.T) {
	t.Parallel()
	m := newWebhookFixture(t)
	requests := len(m.forge.Requests())
	for _, event := range []string{"pull_request", "push", "merge_group", "issue_comment", "check_run"} {
		m.deliver(step{name: event, event: event, body: `"repository": {"id": 99, "full_name": "octo/demo", "clone_url": "file:///etc", "git_url": "ext::sh -c true"},
			"number": 1, "pull_request": {"number": 1}, "ref": "refs/heads/main", "issue": {"number": 1, "pull_request": {}}, "action": "created"`})
	}
	m.idle()
	if more := m.forge.Requests()[requests:]; len(more) > 0 {
		t.Errorf("asked for %v", more)
	}
	if !strings.Contains(strings.Join(m.lines, "\n"), "ignored a delivery for repository 99: it is not configured") {
		t.Errorf("the log does not tell it: %q", m.lines)
	}
}

// TestAbuseNameInOtherCase is the same repository, and it is watched once.
func TestAbuseNameInOtherCase(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.configure = func(cfg *serve.Config) {
		again := *cfg.Repositories[0]
		again.Name = forge.Repo{Owner: "Octo", Name: "DEMO"}
		cfg.Repositories = append(cfg.Repositories, &again)
	}
	w.push("one")
	w.start()
	w.look()
	w.idle()
	w.want("one", "success success")
	if !strings.Contains(strings.Join(w.lines, "\n"), "octo/demo is listed twice") {
		t.Errorf("the log does not tell it: %q", w.lines)
	}
}

// TestAbuseConfigurationOfTheHead decides nothing: base's bot is asked, or nobody is.
func TestAbuseConfigurationOfTheHead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	w.idle()
	w.push("cheat")
	w.hint()
	w.idle()
	w.want("cheat", "success error")
	if n := w.agent.count("two"); n > 1 {
		t.Errorf("the bot was asked %d times", n)
	}
	if body := w.forge.Comments(1)[0].Body; !strings.Contains(body, "gavel.yaml") {
		t.Errorf("the comment does not tell of the change:\n%s", body)
	}
}

// TestAbuseNamesOfBranches are arguments of nothing.
func TestAbuseNamesOfBranches(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for i, ref := range []string{"--upload-pack=touch x", "-", "a..b", "x\x00y", "$(id)", "../../main", "a b", "refs/heads/main:refs/heads/x", "+main"} {
		w.forge.AddPull(forgetest.Pull{Number: 10 + i, HeadSHA: w.commits["two"], HeadRef: "x", BaseRef: ref, BaseSHA: w.commits["main"]})
	}
	w.push("one")
	w.start()
	for i := range 9 {
		w.hintOf(10 + i)
	}
	w.idle()
	w.want("one", "success success")
	for i := range 9 {
		for _, c := range w.forge.Comments(10 + i) {
			if !strings.Contains(c.Body, "### ⏸️ Not judged: the branch ") || !strings.Contains(c.Body, " is gone: ") {
				t.Errorf("the comment on a pull request into a branch that cannot be is\n%s", c.Body)
			}
		}
	}
	for _, branch := range []string{"--upload-pack=x", "-x"} {
		if err := w.server.Enqueue(forge.Hint{Repository: 1, Branch: branch}); err != nil {
			t.Error(err)
		}
	}
	w.idle()
}

// TestAbusePoisonedLedger: what a pull request was told serves neither base nor another
// pull request.
func TestAbusePoisonedLedger(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	w.idle()
	w.agent.says = "bye"
	w.push("one")
	w.hint()
	w.idle()
	w.want("one", "success failure")
	w.agent.says = ""
	asked := len(w.agent.asked)
	w.move("refs/pull/2/head", "group") // asks the same
	w.forge.AddPull(forgetest.Pull{Number: 2, HeadSHA: w.commits["group"], HeadRef: "group", BaseSHA: w.commits["main"]})
	w.hintOf(2)
	w.idle()
	w.move("refs/heads/main", "one")
	w.hintPush()
	w.idle()
	if more := w.agent.asked[asked:]; !slices.Equal(more, []string{"one", "one"}) {
		t.Errorf("asked %q, and it was to be asked for each of them", more)
	}
	if w.states("group") != "success success" {
		t.Errorf("the other pull request is %q", w.states("group"))
	}
}

// TestAbuseFakeGreen: who removes what fails has nothing green to show.
func TestAbuseFakeGreen(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	w.idle()
	w.push("emptied")
	w.hint()
	w.idle()
	if got := w.states("emptied"); strings.HasSuffix(got, "success") || strings.Contains(got, "pending") {
		t.Errorf("the states are %q: %s", got, w.says("emptied"))
	}
}

// TestAbuseRollingRestart: the next server begins where the one before was, at
// whatever write to the forge that ended.
func TestAbuseRollingRestart(t *testing.T) {
	t.Parallel()
	for at := range 3 { // two statuses, the comment
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprint(at, applied), func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				w.start()
				w.idle()
				w.forge.Inject(forgetest.Fault{Method: "POST", Skip: at, Times: -1, Cut: true, Apply: applied})
				w.push("one")
				w.hint()
				w.idle()
				w.end()
				w.forge.Heal()
				w.start()
				w.idle()
				w.want("one", "success success")
			})
		}
	}
}

// TestAbuseTheDiskIsFull, or a clone is gone, and it comes back: nothing false is
// published, and all is well afterwards.
func TestAbuseTheDiskIsFull(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var full atomic.Bool
	w.configure = func(cfg *serve.Config) {
		inner := cfg.Execute
		cfg.Execute = func(ctx context.Context, p *controller.Prepared, e controller.RunOptions) (*report.Report, error) {
			if full.Load() {
				return nil, errors.New("store the report: database or disk is full")
			}
			return inner(ctx, p, e)
		}
	}
	w.start()
	w.idle()
	full.Store(true)
	w.push("one")
	w.hint()
	w.idle()
	if got := w.says("one"); w.states("one") != "success error" || !strings.Contains(got, "gavel failed at this head") || strings.Contains(got, "disk") {
		t.Errorf("one is %q and says %q", w.states("one"), got)
	}
	full.Store(false)
	w.hint()
	w.idle()
	w.want("one", "success success")
}

// TestACloneThatIsGone is made again while the server runs.
func TestACloneThatIsGone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		hurt func(clone string) error
	}{{"gone", removeAll}, {"corrupt", garble}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.push("one")
			w.start()
			w.idle()
			if err := tt.hurt(w.one("clones/*.git")); err != nil {
				t.Fatal(err)
			}
			w.push("two")
			w.hint()
			w.idle()
			w.want("two", "success failure")
		})
	}
}

// hintOf tells that something happened to a pull request.
func (w *fixture) hintOf(number int) {
	w.t.Helper()
	if err := w.server.Enqueue(forge.Hint{Repository: 1, Number: number}); err != nil {
		w.t.Fatal(err)
	}
}

func removeAll(clone string) error { return os.RemoveAll(clone) }

func garble(clone string) error {
	return os.WriteFile(filepath.Join(clone, "config"), []byte("[[["), 0o600)
}
