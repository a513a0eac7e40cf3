package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/controller/worker"
)

// TestTasksOfARunShareASession, tasks of another run have their own, and all of them
// end.
func TestTasksOfARunShareASession(t *testing.T) {
	b := newFixture(t)
	j := worker.New(b.cfg)
	for i, step := range []struct {
		run  string
		want int
	}{{"one", 1}, {"one", 1}, {"two", 2}, {"one", 2}} {
		b.task.Run = step.run
		if out, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{}); err != nil || out.Result.Verdict != verdict.Pass {
			t.Fatalf("task %d: %+v, %v", i+1, out, err)
		}
		if n := j.Sessions(); n != step.want {
			t.Errorf("after task %d there are %d sessions, want %d", i+1, n, step.want)
		}
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if n := j.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// TestAnIdleSessionEnds, although its plan is kept: nothing is a run in progress without
// a task, and the next task begins another one.
func TestAnIdleSessionEnds(t *testing.T) {
	b := newFixture(t)
	b.cfg.Idle = time.Millisecond
	j := worker.New(b.cfg)
	for range 2 {
		if out, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{}); err != nil || out.Result.Verdict != verdict.Pass {
			t.Fatalf("%+v, %v", out, err)
		}
		if err := ledgertest.Finished(t.Context(), b.cfg.Ledger); err != nil {
			t.Error(err)
		}
		if n := j.Sessions(); n != 0 {
			t.Errorf("%d sessions have no task", n)
		}
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// TestASessionWithATask outlasts another task that ends.
func TestASessionWithATask(t *testing.T) {
	b := newFixture(t)
	b.cfg.Idle = time.Millisecond
	j := worker.New(b.cfg)
	asked, goOn := make(chan struct{}), make(chan struct{})
	b.before = func(prompt string) {
		if prompt == "Hello" {
			close(asked)
			<-goOn
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{})
		done <- err
	}()
	<-asked
	if _, err := j.Judge(t.Context(), b.later, b.about, queue.Completions{}); err != nil {
		t.Error(err)
	}
	time.Sleep(20 * time.Millisecond)
	if n := j.Sessions(); n != 1 {
		t.Errorf("%d sessions while a case is judged, want 1", n)
	}
	close(goOn)
	if err := errors.Join(<-done, j.Close()); err != nil {
		t.Error(err)
	}
}

// TestASessionThatCannotBegin is an error of the task, and one that cannot be closed is
// one of the end: the ledger is gone.
func TestASessionThatCannotBegin(t *testing.T) {
	b := newFixture(t)
	j := worker.New(b.cfg)
	if _, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{}); err != nil {
		t.Fatal(err)
	}
	if err := b.cfg.Ledger.Close(); err != nil {
		t.Fatal(err)
	}
	b.task.Run = "another"
	out, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{})
	if err == nil || !strings.Contains(err.Error(), "begin a run: it is closed") {
		t.Errorf("the outcome is %+v, %v, want the error of the ledger", out, err)
	}
	if n := j.Sessions(); n != 1 {
		t.Errorf("there are %d sessions, want the one that began", n)
	}
	if err := j.Close(); err == nil {
		t.Error("a session that cannot be closed is not said")
	}
}

// TestAHostThatCannotEnd is reported at the end.
func TestAHostThatCannotEnd(t *testing.T) {
	b := newFixture(t)
	errStuck := errors.New("a program does not end")
	host := b.cfg.Host
	b.cfg.Host = func(ctx context.Context, p *controller.Prepared, pull int) (controller.Host, func() error, error) {
		made, _, err := host(ctx, p, pull)
		return made, func() error { return errStuck }, err
	}
	j := worker.New(b.cfg)
	if _, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); !errors.Is(err, errStuck) {
		t.Errorf("the end says %v, want %v", err, errStuck)
	}
}

// TestAHostThatCannotBeHad is an error of the task.
func TestAHostThatCannotBeHad(t *testing.T) {
	b := newFixture(t)
	errNone := errors.New("there is no sandbox")
	b.cfg.Host = func(context.Context, *controller.Prepared, int) (controller.Host, func() error, error) {
		return nil, nil, errNone
	}
	j := worker.New(b.cfg)
	if out, err := j.Judge(t.Context(), b.task, b.about, queue.Completions{}); !errors.Is(err, errNone) {
		t.Errorf("the outcome is %+v, %v, want %v", out, err, errNone)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// TestACommitThatIsGone is an error of its task, which names it, and so is a task that
// cannot be read.
func TestACommitThatIsGone(t *testing.T) {
	for _, tt := range []struct{ name, about, want string }{
		{"commit", "", "plan octo/demo at 0000"},
		{"text", `{"subject": 1}`, "read the task"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			about := json.RawMessage(tt.about)
			if tt.about == "" {
				var a worker.About
				if err := json.Unmarshal(b.about, &a); err != nil {
					t.Fatal(err)
				}
				a.Subject.Head = strings.Repeat("0", 40)
				var err error
				if about, err = json.Marshal(a); err != nil {
					t.Fatal(err)
				}
			}
			j := worker.New(b.cfg)
			if out, err := j.Judge(t.Context(), b.task, about, queue.Completions{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the outcome is %+v, %v, want an error with %q", out, err, tt.want)
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
