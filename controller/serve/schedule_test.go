package serve_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/reporters/notify"
)

// A wallClock is set by hand, and a millisecond later whenever it is read.
type wallClock struct {
	mu   sync.Mutex
	time time.Time // guarded by mu
}

func (c *wallClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(time.Millisecond)
	return c.time
}

// set sets it to a day and hour.
func (c *wallClock) set(day, hour int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC)
}

// nightly is a fixture at one o'clock whose main is judged again at three.
func nightly(t *testing.T) (*fixture, *wallClock) {
	t.Helper()
	schedule, err := cron.ParseStandard("CRON_TZ=UTC 0 3 * * *")
	if err != nil {
		t.Fatal(err)
	}
	w, fake := newFixture(t), &wallClock{}
	fake.set(2, 1)
	w.now = fake.now
	w.configure = func(cfg *serve.Config) {
		cfg.Clock = clock.Funcs{NowFunc: fake.now}
		cfg.Repositories[0].Schedule, cfg.Repositories[0].DriftIssue.Number = schedule, 42
	}
	w.forge.AddIssue(42)
	w.start()
	w.idle()
	return w, fake
}

// TestDriftWithoutAnIssue is a status and no comment, and nothing is asked of any
// issue.
func TestDriftWithoutAnIssue(t *testing.T) {
	t.Parallel()
	schedule, err := cron.ParseStandard("CRON_TZ=UTC 0 3 * * *")
	if err != nil {
		t.Fatal(err)
	}
	w, fake := newFixture(t), &wallClock{}
	fake.set(2, 1)
	w.now = fake.now
	w.configure = func(cfg *serve.Config) {
		cfg.Clock, cfg.Repositories[0].Schedule = clock.Funcs{NowFunc: fake.now}, schedule
	}
	w.start()
	w.idle()
	before := len(w.forge.Requests())
	fake.set(2, 4)
	w.poll()
	w.idle()
	if got := w.drift("main"); !strings.HasPrefix(got, "success: ") {
		t.Errorf("it says %q", got)
	}
	for _, r := range w.forge.Requests()[before:] {
		if strings.Contains(r.Path, "/issues/") && !strings.HasSuffix(r.Path, "/issues/comments") {
			t.Errorf("an issue is asked for: %s", r)
		}
		if r.IsWrite() && !strings.Contains(r.Path, "/statuses/") {
			t.Errorf("written: %s %s", r, r.Body)
		}
	}
	if w.logged("Kind:scheduled") > 0 { // the look failed
		t.Errorf("log:\n%s", strings.Join(w.lines, "\n"))
	}
}

// drift is the last status about it.
func (w *fixture) drift(commit string) string {
	said := ""
	for _, s := range w.forge.Statuses(w.commits[commit]) {
		if s.Context == "gavel/drift" {
			said = s.State + ": " + s.Description
		}
	}
	return said
}

// rejudged demands what main says, in the status and in the one comment, and how
// often the bot was asked in all.
func (w *fixture) rejudged(asked int, says string) {
	w.t.Helper()
	if got := w.drift("main"); got != says {
		w.t.Errorf("main says %q, want %q", got, says)
	}
	_, words, _ := strings.Cut(says, ": ")
	comments := w.forge.Comments(42)
	if len(comments) != 1 || !strings.Contains(comments[0].Body, strings.Split(words, " · ")[0]) {
		w.t.Errorf("comments %+v; want one that says %q", comments, words)
	}
	if len(w.agent.asked) != asked {
		w.t.Errorf("asked %q, want %d questions", w.agent.asked, asked)
	}
	if got := w.states("main"); got != "success success" {
		w.t.Errorf("the states of main are %q", got)
	}
	if w.t.Failed() {
		w.t.Logf("log:\n%s", strings.Join(w.lines, "\n"))
	}
}

const unchanged = "success: no verdict of 1 case changed"

// TestTheClock judges everything again once for every time, and the results are base's
// from then on.
func TestTheClock(t *testing.T) {
	t.Parallel()
	w, fake := nightly(t)
	w.poll()
	w.idle()
	if w.drift("main") != "" || len(w.agent.asked) != 1 {
		t.Fatalf("before its time: %q, asked %q", w.drift("main"), w.agent.asked)
	}
	for range 2 { // and only once
		fake.set(2, 4)
		w.poll()
		w.idle()
		w.rejudged(2, unchanged)
	}
	w.agent.says = "bye"
	fake.set(3, 4)
	w.poll()
	w.idle()
	w.rejudged(3, "failure: 1 verdict of 1 case got worse · score 1.000 → 0.000 (−1.000)")
	// A head that fails as base does now is not a regression.
	w.push("two")
	w.hint()
	w.idle()
	if got := w.states("two"); got != "success success" {
		t.Errorf("the states of two are %q", got)
	}
	if !slices.Equal(w.agent.asked[3:], []string{"two"}) {
		t.Errorf("asked %q for the pull request", w.agent.asked[3:])
	}
	w.agent.says = ""
	fake.set(4, 4)
	w.poll()
	w.idle()
	w.rejudged(5, "success: 1 verdict of 1 case got better · score 0.000 → 1.000 (+1.000)")
}

// TestABranchThatIsMadeAfterItsTime is judged for the time that it missed.
func TestABranchThatIsMadeAfterItsTime(t *testing.T) {
	t.Parallel()
	schedule, err := cron.ParseStandard("CRON_TZ=UTC 0 3 * * *")
	if err != nil {
		t.Fatal(err)
	}
	w, fake := newFixture(t), &wallClock{}
	fake.set(2, 1)
	w.now = fake.now
	w.configure = func(cfg *serve.Config) {
		cfg.Clock, cfg.Repositories[0].Schedule = clock.Funcs{NowFunc: fake.now}, schedule
		cfg.Repositories[0].Branches = []string{"main", "release"}
	}
	w.start()
	w.idle()
	fake.set(2, 4)
	w.poll()
	w.idle()
	w.move("refs/heads/release", "one")
	w.poll()
	w.idle()
	if got := w.drift("one"); !strings.HasPrefix(got, "success: ") {
		t.Errorf("the branch that is made after its time says %q, want success; log:\n%s", got, strings.Join(w.lines, "\n"))
	}
}

// TestMissedTimes are caught up on once.
func TestMissedTimes(t *testing.T) {
	t.Parallel()
	w, fake := nightly(t)
	w.end()
	fake.set(6, 12)
	for range 2 {
		w.start()
		w.idle()
		w.rejudged(2, unchanged)
		w.end()
	}
	if w.judged != 2 {
		t.Errorf("%d reports were made, want one of main and one of the schedule", w.judged)
	}
	w.state(func(state *ledger.ServerState) error {
		at, _, err := state.Judged(t.Context(), w.id(), "main")
		if want := time.Date(2026, 3, 6, 3, 0, 0, 0, time.UTC); !at.Equal(want) {
			t.Errorf("main is noted as judged until %v, want %v", at, want)
		}
		return err
	})
}

// TestWhatWasBrokenOffGoesOn: cases that were judged since the time are not paid for
// again, whether the server ended or the forge was away.
func TestWhatWasBrokenOffGoesOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		breaks func(w *fixture)
	}{
		{"in the middle", func(w *fixture) {
			release := w.agent.block()
			w.poll()
			<-w.agent.held
			w.end()
			release()
			if got := w.drift("main"); got != "error: gavel was stopped; judging resumes when it restarts" {
				w.t.Errorf("it says %q", got)
			}
		}},
		{"before it is published", func(w *fixture) {
			w.forge.Inject(forgetest.Fault{Method: "POST", Path: "/", Status: 500, Times: -1})
			w.poll()
			w.idle()
			w.end()
			w.forge.Heal()
		}},
		{"before it is noted", func(w *fixture) {
			w.poll()
			w.idle()
			w.end()
			noted(w, time.Date(2026, 3, 2, 2, 0, 0, 0, time.UTC))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, fake := nightly(t)
			fake.set(2, 4)
			tt.breaks(w)
			w.start()
			w.idle()
			w.rejudged(2, unchanged)
		})
	}
}

// TestDriftOpensAnIssue: the first drift opens the one issue, in which later changes are
// reported until somebody closes it, and a night without a change writes nothing there.
func TestDriftOpensAnIssue(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/api/v1"} {
		t.Run("base"+strings.ReplaceAll(base, "/", " "), func(t *testing.T) {
			t.Parallel()
			w, fake := opening(t, base)
			w.forge.Inject(forgetest.Fault{Method: "POST", Path: "/issues", Apply: true, Cut: true})
			for night, step := range []struct {
				says    string
				close   int // an issue that a person closes before
				issues  int
				comment string // of the last issue, empty without one
				edits   int
				lists   int
			}{
				{says: ""},
				{says: "bye", issues: 1, comment: "got worse", lists: 2}, // the reply to the first issue is lost
				{says: "bye", issues: 1, comment: "got worse"},
				{says: "", issues: 1, comment: "got better", edits: 1},
				{says: "bye", issues: 1, comment: "got worse", edits: 2},
				{says: "", close: 2, issues: 1, comment: "got worse", edits: 2, lists: 1},
				{says: "bye", issues: 2, comment: "got worse", lists: 2},
			} {
				if step.close != 0 {
					w.forge.PutIssue(forgetest.Issue{Number: step.close, Closed: true})
				}
				w.agent.says = step.says
				before := len(w.forge.Requests())
				fake.set(2+night, 4)
				w.poll()
				w.idle()
				if n := lists(w.forge.Requests()[before:]); n != step.lists {
					t.Errorf("night %d: issues were listed %d times, want %d", night, n, step.lists)
				}
				issues := w.forge.Issues()
				if len(issues) != step.issues {
					t.Fatalf("night %d: %d issues, want %d\n%s", night, len(issues), step.issues, strings.Join(w.lines, "\n"))
				}
				if step.issues == 0 {
					continue
				}
				last := issues[len(issues)-1]
				comments := w.forge.Comments(last.Number)
				if len(comments) != 1 || !strings.Contains(comments[0].Body, step.comment) || comments[0].Edits != step.edits {
					t.Errorf("night %d: issue %d has %+v, want %q after %d edits", night, last.Number, comments, step.comment, step.edits)
				}
			}
			if first := w.forge.Issues()[0]; first.Number != 2 {
				t.Errorf("the issue is %+v", first)
			}
		})
	}
}

// lists counts the requests for all issues.
func lists(requests []forgetest.Request) (n int) {
	for _, r := range requests {
		if r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/octo/demo/issues") {
			n++
		}
	}
	return n
}

// opening is a fixture whose main is judged again at three, and whose drift opens an issue.
func opening(t *testing.T, base string) (*fixture, *wallClock) {
	t.Helper()
	schedule, err := cron.ParseStandard("CRON_TZ=UTC 0 3 * * *")
	if err != nil {
		t.Fatal(err)
	}
	w, fake := newFixture(t), &wallClock{}
	w.forge.URL += base
	fake.set(2, 1)
	w.now = fake.now
	w.configure = func(cfg *serve.Config) {
		cfg.Clock = clock.Funcs{NowFunc: fake.now}
		cfg.Repositories[0].Schedule, cfg.Repositories[0].DriftIssue.New = schedule, true
	}
	w.push("one") // issues and pull requests share their numbers
	w.start()
	w.idle()
	return w, fake
}

// TestDriftOpensNoIssueAgain after a crash between the issue and its comment, or after a
// forge that was away.
func TestDriftOpensNoIssueAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault forgetest.Fault
	}{
		{"no comment", forgetest.Fault{Method: "POST", Path: "/comments", Status: 500, Times: -1}},
		{"no list", forgetest.Fault{Method: "GET", Path: "/octo/demo/issues", Status: 500, Times: -1}},
		{"no issue", forgetest.Fault{Method: "POST", Path: "/octo/demo/issues", Status: 500, Times: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, fake := opening(t, "")
			fake.set(2, 4) // the first results
			w.poll()
			w.idle()
			w.agent.says = "bye"
			w.forge.Inject(tt.fault)
			fake.set(3, 4)
			w.poll()
			w.idle()
			if got := w.drift("main"); !strings.HasPrefix(got, "failure: 1 verdict") {
				t.Errorf("the status says %q", got)
			}
			w.end()
			w.forge.Heal()
			w.start()
			w.idle()
			issues := w.forge.Issues()
			if len(issues) != 1 || len(w.forge.Comments(issues[0].Number)) != 1 {
				t.Errorf("issues %+v, want one with a comment\n%s", issues, strings.Join(w.lines, "\n"))
			}
		})
	}
}

// TestTheIssueIsClosedToUs: the refusal names the permission, and the status says
// the result.
func TestTheIssueIsClosedToUs(t *testing.T) {
	t.Parallel()
	w, fake := nightly(t)
	w.forge.Inject(forgetest.Fault{Method: "POST", Path: "/issues/42/comments", Status: 403, Times: -1, Body: `{"message": "Resource not accessible"}`})
	fake.set(2, 4)
	w.poll()
	w.idle()
	w.mu.Lock()
	defer w.mu.Unlock()
	if log := strings.Join(w.lines, "\n"); w.drift("main") != unchanged || !strings.Contains(log, "issues: write") {
		t.Errorf("it says %q\n%s", w.drift("main"), log)
	}
}

// TestAHeadThatWasReplaced while it was judged again says so, and the new one is
// judged.
func TestAHeadThatWasReplaced(t *testing.T) {
	t.Parallel()
	w, fake := nightly(t)
	w.slow = true
	fake.set(2, 4)
	w.agent.block()
	w.poll()
	<-w.agent.held
	for !strings.HasPrefix(w.drift("main"), "pending") {
		if t.Context().Err() != nil {
			t.Fatalf("it says %q", w.drift("main"))
		}
		time.Sleep(time.Millisecond) // nothing tells that it is written
	}
	w.forge.Inject(forgetest.Fault{Method: "POST", Path: "/statuses/", Status: 500, Times: -1})
	w.end()
	w.forge.Heal()
	w.agent.mu.Lock()
	w.agent.hold = nil
	w.agent.mu.Unlock()
	w.move("refs/heads/main", "one")
	w.start()
	w.idle()
	if got := w.drift("one"); !strings.HasPrefix(got, "success") {
		t.Errorf("one says %q", got)
	}
	if got := w.drift("main"); got != "error: superseded by "+w.commits["one"][:7] {
		t.Errorf("main says %q", got)
	}
}

// noted puts back up to when main was judged again.
func noted(w *fixture, at time.Time) {
	w.t.Helper()
	w.state(func(state *ledger.ServerState) error { return state.SetJudged(w.t.Context(), w.id(), "main", at) })
}

// TestDriftIsNotified: each time that verdicts got worse, and no other time, and the notice
// has what the gavel.yaml of the branch asks for.
func TestDriftIsNotified(t *testing.T) {
	t.Parallel()
	schedule, err := cron.ParseStandard("CRON_TZ=UTC 0 3 * * *")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	w, fake := newFixture(t, "notify: [{url_env: CHAT, on: [drift], form: slack}, {url_env: OTHER, on: [regression, undetermined]}]"), &wallClock{}
	fake.set(2, 1)
	w.now = fake.now
	w.configure = func(cfg *serve.Config) {
		cfg.Clock, cfg.Repositories[0].Schedule = clock.Funcs{NowFunc: fake.now}, schedule
		cfg.Notices = &notify.Sender{
			URL: func(variable string) (string, error) { return "https://chat.example/" + variable, nil },
			Transport: carrier(func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				got = append(got, r.URL.Path+" "+string(body))
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, err
			}),
		}
	}
	w.start()
	w.idle()
	for i, step := range []struct {
		says    string
		notices int
	}{{"", 0}, {"bye", 1}, {"bye", 1}, {"", 1}, {"bye", 2}} {
		w.agent.says = step.says
		fake.set(2+i, 4)
		w.poll()
		w.idle()
		if len(got) != step.notices {
			t.Fatalf("%d notices after night %d, want %d: %q\n%s", len(got), i, step.notices, got, strings.Join(w.lines, "\n"))
		}
	}
	for _, notice := range got {
		for _, part := range []string{"/CHAT ", "Drift in octo/demo main at " + w.commits["main"][:7], "1 verdict of 1 case got worse", "/octo/demo/commit/" + w.commits["main"], "talk/level_1/hello"} {
			if !strings.Contains(notice, part) {
				t.Errorf("no %q in the notice %s", part, notice)
			}
		}
	}
}

// A carrier answers requests.
type carrier func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }
