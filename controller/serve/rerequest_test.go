package serve_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// permissions are all that the server asks of an App.
var permissions = map[string]string{
	"metadata": "read", "contents": "read", "pull_requests": "write", "statuses": "write", "checks": "write",
}

const appID = 5

// newAppFixture is a fixture whose server is a GitHub App. Its domain has a mistake
// that is a warning, so that every head has a check run.
func newAppFixture(t *testing.T) *fixture {
	t.Helper()
	return asApp(t, newFixtureOf(t, `{"id": "talk", "name": "Talk", "evaluator_id": "keyword", "nonsense": true}`))
}

func asApp(t *testing.T, w *fixture) *fixture {
	t.Helper()
	key := w.forge.AddApp(t, forgetest.App{ID: appID, Slug: "gavel-judge", Installation: 77, Permissions: permissions})
	w.app = &forge.AppConfig{ID: appID, Key: func() (forge.Token, error) { return forge.Token(key), nil }}
	return w
}

// check tells the check runs of a commit, how each ended and how often it was
// written.
func (w *fixture) check(commit string) string {
	var said []string
	for _, run := range w.forge.CheckRuns(w.commits[commit]) {
		said = append(said, fmt.Sprintf("%s %d", run.Conclusion, len(run.Requests)))
	}
	return strings.Join(said, ", ")
}

// rerequest asks for the check run of a commit again, and tells it.
func (w *fixture) rerequest(commit string) {
	w.t.Helper()
	w.forge.Rerequest(w.commits[commit])
	w.tell(commit)
	w.idle()
}

// tell is the news that somebody asked for the check run of a commit again.
func (w *fixture) tell(commit string) {
	w.t.Helper()
	if err := w.server.Enqueue(forge.Hint{Repository: 1, Rerequested: w.commits[commit]}); err != nil {
		w.t.Fatal(err)
	}
}

// TestAnAppWritesCheckRuns on heads and base, the same once, and more where
// somebody asks, without a call or a comment.
func TestAnAppWritesCheckRuns(t *testing.T) {
	w := newAppFixture(t)
	w.push("two")
	w.start()
	w.idle()
	w.want("two", "success failure")
	if w.check("two") != "failure 1" || w.check("main") != "success 1" {
		t.Errorf("the check runs are %q and %q", w.check("two"), w.check("main"))
	}
	if run := w.forge.CheckRuns(w.commits["two"])[0]; len(run.Output.Annotations) != 2 || run.Output.Annotations[1].Path != "test_definitions/talk/level_1/hello.json" {
		t.Errorf("annotations %+v", run.Output)
	}
	before := len(w.forge.Writes())
	w.hint()
	w.idle()
	if more := w.forge.Writes()[before:]; len(more) > 0 {
		t.Errorf("written without news: %v", more)
	}
	asked := len(w.agent.asked)
	w.rerequest("two")
	w.rerequest("main")
	w.rerequest("group") // which nobody knows
	if w.check("two") != "failure 1, failure 1" || w.check("main") != "success 1, success 1" {
		t.Errorf("asked for, the check runs are %q and %q", w.check("two"), w.check("main"))
	}
	if more := w.forge.Writes()[before:]; len(more) != 2 || len(w.agent.asked) != asked {
		t.Errorf("written %v, asked %q", more, w.agent.asked[asked:])
	}
}

// TestARerequestIsNotForgotten while the forge is away.
func TestARerequestIsNotForgotten(t *testing.T) {
	w := newAppFixture(t)
	w.push("one")
	w.start()
	w.idle()
	w.forge.Inject(forgetest.Fault{Method: "POST", Path: "/check-runs", Status: 500, Times: -1})
	w.rerequest("one")
	w.forge.Heal()
	w.hint()
	w.idle()
	if got := w.check("one"); got != "success 1, success 1" {
		t.Errorf("the check run is %q", got)
	}
}

// TestAnAppWithoutChecks is not a failure: statuses and comment say the same, and
// it is not asked for again at each head.
func TestAnAppWithoutChecks(t *testing.T) {
	w := newAppFixture(t)
	some := maps.Clone(permissions)
	delete(some, "checks")
	w.forge.Change(appID, func(a *forgetest.App) { a.Permissions = some })
	w.push("one")
	w.start()
	w.idle()
	tried := func() (n int) {
		for _, r := range w.forge.Requests() {
			if strings.Contains(r.Path, "/check-runs") {
				n++
			}
		}
		return n
	}
	before := tried() // main and one may have been at it at once
	w.push("two")
	w.hint()
	w.idle()
	w.want("two", "success failure")
	if now := tried(); before == 0 || now != before {
		t.Errorf("check runs were tried %d times, and %d times later", before, now-before)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if log := strings.Join(w.lines, "\n"); !strings.Contains(log, "checks: write") {
		t.Errorf("the log does not name the permission:\n%s", log)
	}
}

// TestNoEmptyCheckRun: where there is nothing to say at a line a head has none,
// unless somebody asks for one.
func TestNoEmptyCheckRun(t *testing.T) {
	w := asApp(t, newFixture(t))
	w.push("one")
	w.start()
	w.idle()
	w.want("one", "success success")
	if got := w.check("one") + w.check("main"); got != "" {
		t.Errorf("the check runs are %q", got)
	}
	w.push("two")
	w.hint()
	w.idle()
	if got := w.check("two"); got != "failure 1" {
		t.Errorf("the check run of a head with a regression is %q", got)
	}
}

// TestNoVerdictWaitsForAnOptionalQuestion: which check runs were requested again is
// asked when the verdict is there, and only where a delivery says so.
func TestNoVerdictWaitsForAnOptionalQuestion(t *testing.T) {
	w := newAppFixture(t)
	release := w.judging()
	asked := make(chan string, 10)
	w.forge.Inject(forgetest.Fault{Path: w.commits["one"] + "/check-suites", Times: -1, Status: http.StatusBadGateway, Hold: func() {
		select {
		case asked <- w.states("one"):
		default:
		}
	}})
	release()
	w.idle()
	if len(asked) > 0 {
		t.Errorf("the forge was asked who requested the check run again, and nobody did")
	}
	w.tell("one")
	w.idle()
	w.hint()
	w.idle()
	close(asked)
	n := 0
	for states := range asked {
		if n++; states != "success success" {
			t.Errorf("the question came while the states were %q, want it after the verdict", states)
		}
	}
	if n == 0 {
		t.Error("nobody asked, want the delivery to have the forge asked")
	}
	w.want("one", "success success")
}
