package serve_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/serve"
)

// settle commits files to main, and waits until all work for it is done.
func (w *fixture) settle(files map[string]string, tell func()) {
	w.t.Helper()
	gittest.Run(w.t, w.folder, "checkout", "-q", "-f", "main")
	gittest.Commit(w.t, w.folder, files)
	tell()
	w.idle()
}

// strict are the settings of the fixture without others.
const strict = "version: 1\ntargets:\n  bot: {provider: mock, replies: [{match: two, reply: bye}, {reply: hello}]}\n"

// TestRulesChange decides open heads again when the settings at the tip of their base
// branch change, without a call, and only then.
func TestRulesChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, api string }{{"GitHub", ""}, {"Gitea", "/api/v1"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, "gate: {fail_on: never}")
			w.forge.URL += tt.api
			w.push("two")
			w.start()
			w.idle()
			w.want("two", "success success")
			asked := len(w.agent.asked)
			w.settle(map[string]string{"docs.md": "words", "gavel.yaml": "# A remark.\ngate: {fail_on: never}\n" + strict}, w.poll)
			w.want("two", "success success")
			w.settle(map[string]string{"gavel.yaml": strict}, func() {
				if err := w.server.Enqueue(forge.Hint{Repository: 1, Branch: "main", Event: forge.EventPush}); err != nil {
					t.Fatal(err)
				}
			})
			w.want("two", "success failure")
			if body := w.forge.Comments(1)[0].Body; !strings.Contains(body, "is another one at main") {
				t.Errorf("the comment does not say whose rules hold:\n%s", body)
			}
			w.end()
			w.settle(map[string]string{"gavel.yaml": "gate: {fail_on: never}\n" + strict}, func() { w.start() })
			w.want("two", "success success")
			w.settle(map[string]string{"gavel.yaml": strict}, w.poll)
			w.want("two", "success failure")
			if n := len(w.agent.asked); n != asked {
				t.Errorf("the agent was asked %d times for other rules", n-asked)
			}
		})
	}
}

// TestRulesOfAnotherBranch: the rules of the default branch hold for a pull request to
// a branch that is not listed, and it is decided again when they change.
func TestRulesOfAnotherBranch(t *testing.T) {
	t.Parallel()
	w := asApp(t, newFixture(t))
	w.pull("two", forgetest.Pull{BaseRef: "one", BaseSHA: w.commits["one"]})
	gittest.Run(t, w.folder, "checkout", "-q", "-f", "one")
	gittest.Commit(t, w.folder, map[string]string{"gavel.yaml": "gate: {fail_on: never}\n" + strict})
	w.start()
	w.idle()
	w.want("two", "success failure")
	if body := w.forge.Comments(1)[0].Body; !strings.Contains(body, "this goes to one, which is neither the default branch nor listed") {
		t.Errorf("the comment does not say whose rules hold:\n%s", body)
	}
	w.settle(map[string]string{"gavel.yaml": "gate: {fail_on: never}\n" + strict}, w.poll)
	w.want("two", "success success")
}

// TestPromotion: main is the next state of production, and the last change of main
// affects no case. The verdict of the pull request stays on that commit after a
// restart.
func TestPromotion(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.configure = func(cfg *serve.Config) { cfg.Repositories[0].Branches = []string{"main", "production"} }
	w.move("refs/heads/production", "main")
	w.start()
	w.idle()
	w.move("refs/heads/main", "two")
	w.poll()
	w.idle()
	gittest.Run(t, w.folder, "checkout", "-q", "-f", "main")
	w.commits["words"] = gittest.Commit(t, w.folder, map[string]string{"docs.md": "words"})
	w.poll()
	w.idle()
	if got := w.states("words"); got != "success success" {
		t.Errorf("the states of the branch are %q", got)
	}
	w.pull("words", forgetest.Pull{BaseRef: "production", BaseSHA: w.commits["main"]})
	w.hint()
	w.idle()
	w.want("words", "success failure")
	w.end()
	w.start()
	w.idle()
	w.want("words", "success failure")
	w.poll()
	w.idle()
	w.want("words", "success failure")
}
