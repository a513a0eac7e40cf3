package serve_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/controller/serve/crashguard"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/reporters/notify"
)

// killSelf ends this process as nothing but the system can.
func killSelf() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Kill()
}

// deadly is a target that ends the process which asks it one question.
type deadly struct {
	target.Target
	question string
}

func (d deadly) Respond(ctx context.Context, req target.Request) (target.Reply, error) {
	if req.Messages[0].Content == d.question {
		if err := killSelf(); err != nil {
			return target.Reply{}, err
		}
		select {}
	}
	return d.Target.Respond(ctx, req)
}

// judgeApart judges in a child. The host of its job is a question that ends it.
func judgeApart(ctx context.Context, job crashguard.Job, steps crashguard.Steps) (run string, err error) {
	return crashguard.Examine(ctx, job, crashguard.Judging{Execute: func(ctx context.Context, p *controller.Prepared, o controller.RunOptions) (*report.Report, error) {
		return p.Execute(ctx, controller.Opener(func(t config.Target, c controller.Checkout) (target.Target, error) {
			inner, err := target.New(t, target.Env{Files: c.FS})
			return deadly{inner, string(job.Host)}, err
		}), o)
	}}, steps)
}

// children counts the processes in which heads are judged.
type children struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	judged []string // heads
	fatal  string   // the question that ends a child
}

// try judges a head in a process of its own.
func (c *children) try(ctx context.Context, job crashguard.Job, fetched func()) (crashguard.Outcome, error) {
	c.mu.Lock()
	c.judged = append(c.judged, job.Subject.Head)
	job.Host = []byte(c.fatal)
	c.mu.Unlock()
	return crashguard.Run(ctx, job, fetched)
}

// want demands how often each head was judged by a child.
func (c *children) want(w *fixture, want map[string]int) {
	w.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range want {
		got := 0
		for _, head := range c.judged {
			if head == w.commits[name] {
				got++
			}
		}
		if got != n {
			w.t.Errorf("%s was judged by %d children, want %d", name, got, n)
		}
	}
}

// TestAbuseAHeadThatEndsTheServerWhileItIsJudged is refused after two children,
// which judge as the server does, until somebody who may write asks again. The
// others go on, and what their children judged is not judged again.
func TestAbuseAHeadThatEndsTheServerWhileItIsJudged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	c := &children{fatal: "one"}
	w.configure = func(cfg *serve.Config) { cfg.Trial = c.try }
	w.start()
	w.idle()
	w.end()
	w.forge.SetPermission("mona", "write")
	w.push("one")
	w.another("two")
	w.suspect(1, "one")
	w.suspect(2, "two")
	w.start()
	w.idle()
	w.want("one", "error error")
	w.report("looking at this commit ended the server", "/gavel run")
	w.wantStates("two", "success failure")
	c.want(w, map[string]int{"one": 2, "two": 1})
	if slices.Contains(w.agent.asked, "one") || slices.Contains(w.agent.asked, "two") {
		t.Errorf("the server asked %q, want only its children to ask what the suspects ask", w.agent.asked)
	}
	if body := w.forge.Comments(2)[0].Body; !strings.Contains(body, "1 regression") {
		t.Errorf("the comment does not have the report of the child:\n%s", body)
	}
	w.end()
	w.start()
	w.idle()
	w.writesNothing(func() { w.hint(); w.idle(); w.poll(); w.idle() })
	c.want(w, map[string]int{"one": 2, "two": 1})
	c.mu.Lock()
	c.fatal = "" // as after an upgrade
	c.mu.Unlock()
	w.comment("mona", "/gavel run")
	w.wantStates("one", "success success")
	w.report("No regressions")
	c.want(w, map[string]int{"one": 3})
	if slices.Contains(w.agent.asked, "one") {
		t.Errorf("the server asked %q, want the child to ask it", w.agent.asked)
	}
}

// TestAHeadOfAChildIsNotified once, as a head is that the server judged, and its comment is
// watched for changes by people.
func TestAHeadOfAChildIsNotified(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "notify: [{url_env: CHAT, on: [regression]}]")
	c := &children{}
	var got []string
	w.configure = func(cfg *serve.Config) {
		cfg.Trial = c.try
		cfg.Notices = &notify.Sender{
			URL: func(variable string) (string, error) { return "https://chat.example/" + variable, nil },
			Transport: carrier(func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				got = append(got, string(body))
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, err
			}),
		}
	}
	w.start()
	w.idle()
	w.end()
	w.push("two")
	w.suspect(1, "two")
	w.start()
	w.idle()
	c.want(w, map[string]int{"two": 1})
	w.wantStates("two", "success failure")
	for range 2 {
		if len(got) != 1 || !strings.Contains(got[0], w.commits["two"]) || !strings.Contains(got[0], "1 regression") {
			t.Fatalf("notified %q, want the regression of two once\n%s", got, strings.Join(w.lines, "\n"))
		}
		w.end()
		w.start()
		w.hint()
		w.idle()
	}
	id := w.forge.Comments(1)[0].ID
	w.forge.EditComment(id, "### all is good")
	w.poll()
	w.idle()
	if body := w.forge.Comments(1)[0].Body; !strings.Contains(body, "1 regression") {
		t.Errorf("the comment that a person edited says\n%s", body)
	}
}
