package serve_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/serve"
)

const matrixSecret = "a-secret-of-the-matrix"

// A webhookFixture is a fixture that learns of events by deliveries over HTTP.
type webhookFixture struct {
	*fixture
	hook string
	// sender has its own connections. The default client's are closed whenever a server
	// of a test ends.
	sender *http.Client
	// want are the states of the commits that were heads when all was quiet.
	want map[string]string
	// comments are how many of ours are on the pull requests, about which head.
	about map[int]string
}

// A step is an action of people, the forge's deliveries about it, and the state
// afterwards.
type step struct {
	name  string
	do    func(m *webhookFixture)
	event string
	body  string
	// commit gets the states; empty if no commit is concerned.
	commit, states string
	// number is the pull request whose comment is about the commit then; 0 for none.
	number int
}

func pullEvent(action string, number int) (event, body string) {
	return "pull_request", fmt.Sprintf(`"action": %q, "number": %d, "pull_request": {"number": %d}`, action, number, number)
}

func commentEvent(number int) (event, body string) {
	return "issue_comment", fmt.Sprintf(`"action": "created", "issue": {"number": %d, "pull_request": {}}, "comment": {"id": 5}`, number)
}

// fork makes pull request 2, whose head comes from a repository of a stranger.
func (m *webhookFixture) fork(from string) {
	m.move("refs/pull/2/head", "later")
	m.forge.AddPull(forgetest.Pull{
		Number: 2, HeadSHA: m.commits["later"], HeadRef: "later", HeadRepo: from, Author: "stranger", BaseSHA: m.commits["main"],
	})
}

// allSteps are the possible events of two pull requests, in this order.
func allSteps() []step {
	var all []step
	on := func(name, event, body string, do func(*webhookFixture)) *step {
		all = append(all, step{name: name, event: event, body: body, do: do})
		return &all[len(all)-1]
	}
	pull := func(name, action, head, states string, closed bool) {
		event, body := pullEvent(action, 1)
		h := on(name, event, body, func(m *webhookFixture) { m.pull(head, forgetest.Pull{Closed: closed}) })
		h.commit, h.states, h.number = head, states, 1
	}
	stranger := func(name, event, body, states string, do func(*webhookFixture)) {
		h := on(name, event, body, do)
		h.commit, h.states, h.number = "later", states, 2
	}
	pull("open", "opened", "one", "success success", false)
	pull("push", "synchronize", "two", "success failure", false)
	pull("edit", "edited", "two", "success failure", false)
	pull("force back", "synchronize", "one", "success success", false)
	event, body := commentEvent(1)
	on("comment", event, body, func(m *webhookFixture) { m.forge.AddComment(1, "reader", "Nice work, /gavel run it") })
	pull("close", "closed", "one", "success success", true)
	pull("reopen", "reopened", "one", "success success", false)
	on("rename", "repository", `"action": "renamed"`, func(m *webhookFixture) { m.forge.Rename("octo/renamed") })
	pull("push broken", "synchronize", "broken", "failure failure", false)
	pull("push back", "synchronize", "one", "success success", false)
	queue := on("merge queue", "merge_group", "", func(m *webhookFixture) { m.queue("group") })
	queue.commit, queue.states = "group", "success success"
	event, body = pullEvent("opened", 2)
	stranger("fork", event, body, "success error", func(m *webhookFixture) { m.fork("stranger/demo") })
	event, body = commentEvent(2)
	stranger("approve", event, body, "success success", func(m *webhookFixture) {
		m.forge.AddComment(2, "alice", "/gavel approve "+m.commits["later"])
	})
	event, body = pullEvent("edited", 2)
	stranger("fork deleted", event, body, "success success", func(m *webhookFixture) { m.fork("-") })
	return all
}

func newWebhookFixture(t *testing.T) *webhookFixture {
	t.Helper()
	m := &webhookFixture{fixture: newFixture(t, ofGroups), want: map[string]string{}, about: map[int]string{}}
	m.forge.SetPermission("alice", "write")
	var minutes atomic.Int64 // an edit is a minute later, and a forge's clock does not go back
	began := time.Now()
	m.forge.Now = func() time.Time { return began.Add(time.Duration(minutes.Add(2)) * time.Minute) }
	handler, err := serve.NewHandler(serve.HandlerConfig{
		Path: "/hooks", Ready: func() bool { return true }, Metrics: http.NotFoundHandler(),
		Webhook: forge.WebhookConfig{
			Secrets: []forge.Token{matrixSecret}, Take: func(h forge.Hint) error { return m.server.Enqueue(h) },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	hook := httptest.NewServer(handler)
	t.Cleanup(hook.Close)
	m.hook, m.sender = hook.URL+"/hooks", hook.Client()
	m.start()
	m.idle()
	return m
}

// deliver sends what the forge would.
func (m *webhookFixture) deliver(h step) {
	m.t.Helper()
	if h.event == "merge_group" {
		h.body = fmt.Sprintf(`"action": "checks_requested", "merge_group": {"head_ref": "refs/heads/gh-readonly-queue/main/pr-1-%s", "base_ref": "refs/heads/main"}`, m.commits["main"])
	}
	body := []byte(`{"repository": {"id": 1, "full_name": "octo/demo"}, ` + h.body + `}`)
	mac := hmac.New(sha256.New, []byte(matrixSecret))
	mac.Write(body)
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, m.hook, bytes.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", h.event)
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := m.sender.Do(req)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusAccepted {
		m.t.Fatalf("%s = %d, %v, want 202", h.name, resp.StatusCode, err)
	}
}

// does lets something happen and notes what has to be true of it.
func (m *webhookFixture) does(h step) {
	h.do(m)
	if h.commit != "" {
		m.want[h.commit] = h.states
	}
	if h.number != 0 {
		m.about[h.number] = h.commit
	}
}

// underWay waits until the agent is asked, nothing is due, or the forge was asked more
// often than so many times.
func (m *webhookFixture) underWay(asked int) {
	m.t.Helper()
	for {
		select {
		case <-m.agent.held:
			return
		case <-m.t.Context().Done():
			m.t.Fatal("it never ends")
		case <-time.After(time.Millisecond): // nothing tells that the last key is done
		}
		if waiting, running := m.server.Depth(); waiting+running == 0 || len(m.forge.Requests()) > asked {
			return
		}
	}
}

// holds demands what has to be true whenever all is quiet. Heads that were passed
// over may have no verdict, and say why or nothing.
func (m *webhookFixture) holds(after string, passed ...string) {
	m.t.Helper()
	m.idle()
	for commit, want := range m.want {
		got := m.states(commit)
		over := false
		for _, name := range passed {
			over = over || name == commit && (got == " " || got == " error" || got == "error error")
		}
		_, verdict, _ := strings.Cut(got, " ")
		if group, _, _ := strings.Cut(m.group(commit), ":"); group != verdict && (!over || group != "") {
			m.t.Errorf("after %s the group of %s is %q, the verdict %q", after, commit, group, verdict)
		}
		if got != want && !over {
			m.t.Errorf("after %s the states of %s are %q (%s), want %q", after, commit, got, m.says(commit), want)
		}
	}
	for number, head := range m.about {
		ours := 0
		for _, c := range m.forge.Comments(number) {
			if c.Login == "maintainer" {
				ours++
				if !strings.Contains(c.Body, m.commits[head][:7]) {
					m.t.Errorf("after %s the comment of %d is not about %s (%s):\n%s", after, number, head, m.commits[head], c.Body)
				}
			}
		}
		if ours != 1 {
			m.t.Errorf("after %s there are %d comments of ours on %d", after, ours, number)
		}
	}
	if twice := m.agent.twice(); len(twice) > 0 {
		m.t.Errorf("after %s: paid for twice: %q", after, twice)
	}
	if m.t.Failed() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.t.Fatalf("log:\n%s", strings.Join(m.lines, "\n"))
	}
}

// TestEventMatrix has every event of pull requests, each delivered in another way. The
// end is always the same: one comment, the right statuses on every head, no verdict
// lost, no call paid for twice.
func TestEventMatrix(t *testing.T) {
	t.Parallel()
	restart := func(m *webhookFixture) {
		m.end()
		m.start()
	}
	for _, tt := range []struct {
		name string
		tell func(m *webhookFixture, h step)
	}{
		{"once", (*webhookFixture).deliver},
		{"twice", func(m *webhookFixture, h step) { m.deliver(h); m.deliver(h); m.idle(); m.deliver(h) }},
		{"lost", func(m *webhookFixture, _ step) { m.poll() }},
		{"after a restart", func(m *webhookFixture, h step) {
			restart(m)
			m.deliver(h)
		}},
		{"before a restart", func(m *webhookFixture, h step) {
			m.deliver(h)
			restart(m)
		}},
		{"restart in the middle", func(m *webhookFixture, h step) {
			release := m.agent.block()
			m.deliver(h)
			m.underWay(math.MaxInt)
			m.end()
			release()
			m.start()
		}},
		{"the forge is away", func(m *webhookFixture, h step) {
			m.forge.Inject(forgetest.Fault{Method: "POST", Status: 500, Times: -1, Body: "{}"})
			m.deliver(h)
			m.idle()
			m.forge.Heal()
			restart(m)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newWebhookFixture(t)
			for _, h := range allSteps() {
				m.does(h)
				tt.tell(m, h)
				m.holds(h.name)
			}
		})
	}
}

// TestEventMatrixInPairs: two events happen before the server has finished the first,
// and are delivered in that order, the other way round, late or not at all.
func TestEventMatrixInPairs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		tell func(m *webhookFixture, first, second step)
	}{
		{"in order", func(m *webhookFixture, first, second step) {
			m.does(first)
			m.does(second)
			m.deliver(first)
			m.deliver(second)
		}},
		{"reverse", func(m *webhookFixture, first, second step) {
			m.does(first)
			m.does(second)
			m.deliver(second)
			m.deliver(first)
		}},
		{"first is lost", func(m *webhookFixture, first, second step) {
			m.does(first)
			m.does(second)
			m.poll()
			m.deliver(second)
		}},
		{"while the first runs", func(m *webhookFixture, first, second step) {
			release := m.agent.block()
			m.does(first)
			m.deliver(first)
			m.underWay(math.MaxInt)
			m.does(second)
			asked := math.MaxInt
			if first.commit == second.commit { // which is judged once
				asked = len(m.forge.Requests())
			}
			m.deliver(second)
			m.underWay(asked)
			release()
		}},
	} {
		for _, from := range []int{0, 1} {
			t.Run(fmt.Sprint(tt.name, " from ", from), func(t *testing.T) {
				t.Parallel()
				m := newWebhookFixture(t)
				all := allSteps()
				for _, h := range all[:from] {
					m.does(h)
					m.deliver(h)
					m.holds(h.name)
				}
				for rest := all[from:]; len(rest) > 1; rest = rest[2:] {
					tt.tell(m, rest[0], rest[1])
					m.holds(rest[0].name+" and "+rest[1].name, rest[0].commit)
					if rest[0].commit != rest[1].commit {
						delete(m.want, rest[0].commit)
					}
				}
			})
		}
	}
}
