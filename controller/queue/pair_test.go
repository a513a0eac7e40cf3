package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/runtest"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// pairs is a batch of n cases at both sides, whose jobs are pairs.
func pairs(n int) queue.Batch {
	b := queue.Batch{Class: queue.Interactive}
	for _, name := range []string{"head", "base"} {
		o := runtest.Greetings(name+" ", n)
		b.Sides = append(b.Sides, run.Side{Name: name, Config: o.Config, Jobs: o.Jobs})
	}
	run.Pair(b.Sides[0].Jobs, b.Sides[1].Jobs)
	return b
}

// judgedPair is what a worker says of a task and of its partner.
func judgedPair(_ context.Context, task queue.Task, _ json.RawMessage, _ queue.Completions) (queue.Judged, error) {
	out := queue.Judged{Outcome: run.Outcome{Key: task.Side + " " + task.Case}}
	if task.Partner != nil {
		out.Partner = &run.Outcome{Key: task.Partner.Side + " " + task.Partner.Case}
	}
	return out, nil
}

// wantBoth demands that every job of both sides has its own outcome.
func wantBoth(t *testing.T, b queue.Batch, outcomes [][]run.Outcome) {
	t.Helper()
	for i, side := range b.Sides {
		for k, job := range side.Jobs {
			if got, want := outcomes[i][k].Key, side.Name+" "+job.Case.ID(); got != want {
				t.Errorf("case %d of %s has the outcome of %q, want %q", k, side.Name, got, want)
			}
		}
	}
}

// TestAPairIsOneTask: a worker gets both sides of a case at once, and they take turns at
// going first. A case without a partner is a task of its own.
func TestAPairIsOneTask(t *testing.T) {
	t.Parallel()
	q := open(t, tables.URL(t))
	b := pairs(4)
	alone := runtest.Greetings("alone ", 1)
	b.Sides[1].Jobs = append(alone.Jobs, b.Sides[1].Jobs...)
	var mu sync.Mutex
	var got []string
	start(t, queue.WorkerConfig{Queue: q, Judge: func(ctx context.Context, task queue.Task, about json.RawMessage, c queue.Completions) (queue.Judged, error) {
		mu.Lock()
		defer mu.Unlock()
		said := task.Side + " " + task.Case
		if task.Partner != nil {
			said += ", " + task.Partner.Side + " " + task.Partner.Case
		}
		got = append(got, said)
		return judgedPair(ctx, task, about, c)
	}})
	outcomes, err := q.Judge(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	wantBoth(t, b, outcomes)
	var want []string
	head, base := b.Sides[0].Jobs, b.Sides[1].Jobs[1:]
	for i := range head {
		pair := []string{"head " + head[i].Case.ID(), "base " + base[i].Case.ID()}
		if i%2 == 1 {
			slices.Reverse(pair)
		}
		want = append(want, strings.Join(pair, ", "))
	}
	want = append(want, "base "+b.Sides[1].Jobs[0].Case.ID())
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the tasks are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAPairCountsAsTwoCases where the waiting ones are counted.
func TestAPairCountsAsTwoCases(t *testing.T) {
	t.Parallel()
	url := tables.URL(t)
	q, db := open(t, url), outside(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	said, done := make(chan queue.Standstill, 9), make(chan struct{})
	b := pairs(3)
	b.Waits = func(w queue.Standstill) { said <- w }
	go func() {
		defer close(done)
		_, _ = q.Judge(ctx, b)
	}()
	if got := <-said; got != (queue.Standstill{Cases: 6}) {
		t.Errorf("%+v is said to wait, want 6 cases", got)
	}
	db.exec("UPDATE river_job SET state = 'running' WHERE id = (SELECT min(id) FROM river_job)")
	if _, waiting, judging, err := q.Depth(t.Context()); waiting != 4 || judging != 2 || err != nil {
		t.Errorf("%d cases wait and %d are judged, %v; want 4 and 2", waiting, judging, err)
	}
	cancel()
	<-done
	if _, waiting, judging, err := q.Depth(t.Context()); waiting != 0 || judging != 2 || err != nil {
		t.Errorf("in the end %d cases wait and %d are judged, %v; want none and 2", waiting, judging, err)
	}
}

// TestAWorkerThatKnowsNoPairs judges the first case of a task only; the other one is
// queued alone.
func TestAWorkerThatKnowsNoPairs(t *testing.T) {
	t.Parallel()
	q := open(t, tables.URL(t))
	start(t, queue.WorkerConfig{Queue: q, Judge: func(ctx context.Context, task queue.Task, about json.RawMessage, c queue.Completions) (queue.Judged, error) {
		task.Partner = nil
		return judgedPair(ctx, task, about, c)
	}})
	b := pairs(3)
	outcomes, err := q.Judge(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	wantBoth(t, b, outcomes)
}

// TestAPairThatEndsItsWorkers, or that none can judge, is an error of both cases.
func TestAPairThatEndsItsWorkers(t *testing.T) {
	t.Parallel()
	url := tables.URL(t)
	q := open(t, url)
	for _, tt := range []struct{ name, state, want string }{
		{"ends them", "state = 'running', attempted_by = '{gone}', attempt = 5", "5 workers ended while they judged it"},
		{"cannot be judged", "attempt = 4", "it is not known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db := outside(t, url)
			got := make(chan [][]run.Outcome, 1)
			b := pairs(1)
			go func() {
				outcomes, err := q.Judge(t.Context(), b)
				if err != nil {
					t.Error(err)
				}
				got <- outcomes
			}()
			db.await("UPDATE river_job SET " + tt.state + " WHERE state = 'available'")
			defer start(t, queue.WorkerConfig{Queue: q, Judge: func(context.Context, queue.Task, json.RawMessage, queue.Completions) (queue.Judged, error) {
				return queue.Judged{}, errors.New("it is not known")
			}})()
			for i, outcomes := range <-got {
				id := b.Sides[i].Jobs[0].Case.ID()
				if o := outcomes[0]; o.Key != id || o.Result.Reason != "no worker could judge it: "+tt.want {
					t.Errorf("%s: %q, %q", b.Sides[i].Name, o.Key, o.Result.Reason)
				}
			}
		})
	}
}

// TestAPairOfWhichAHalfIsStopped is judged again: both cases are.
func TestAPairOfWhichAHalfIsStopped(t *testing.T) {
	t.Parallel()
	q := open(t, tables.URL(t))
	for half := range 2 {
		t.Run(fmt.Sprint(half), func(t *testing.T) {
			tries := 0
			defer start(t, queue.WorkerConfig{Queue: q, Judge: func(ctx context.Context, task queue.Task, about json.RawMessage, c queue.Completions) (queue.Judged, error) {
				out, err := judgedPair(ctx, task, about, c)
				if tries++; tries == 1 {
					[]*run.Outcome{&out.Outcome, out.Partner}[half].Stopped = true
				}
				return out, err
			}})()
			b := pairs(1)
			outcomes, err := q.Judge(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			wantBoth(t, b, outcomes)
			if tries != 2 {
				t.Errorf("it is judged in %d tries, want 2", tries)
			}
		})
	}
}

// TestAPairWhoseWorkerEndsInBetween: one case has its verdict when its worker ends. Its cost
// is in the outcome of the task all the same, and if nobody can judge the other case,
// it keeps its verdict.
func TestAPairWhoseWorkerEndsInBetween(t *testing.T) {
	t.Parallel()
	for _, half := range []int{0, 1} {
		for _, atOnce := range []bool{true, false} {
			for _, isLost := range []bool{true, false} {
				t.Run(fmt.Sprintf("half %d, at once %v, lost %v", half, atOnce, isLost), func(t *testing.T) {
					t.Parallel()
					testPairInBetween(t, half, atOnce, isLost)
				})
			}
		}
	}
}

// testPairInBetween has a worker judge one half and end. isLost means that its end is the
// last that the task may have.
func testPairInBetween(t *testing.T, half int, atOnce, isLost bool) {
	url := tables.URL(t)
	q, store := open(t, url), ledgertest.Open(t, ledger.Config{Path: url})
	db, taking := outside(t, url), outside(t, url) // a connection serves one goroutine
	b := queue.Batch{Class: queue.Interactive}
	sessions := map[string]*run.Session{}
	for _, name := range []string{"head", "base"} {
		o := runtest.Passing(store, name, 1)
		s, err := run.Begin(t.Context(), o.Config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close(context.Background()) })
		b.Sides, sessions[name] = append(b.Sides, run.Side{Name: name, Config: o.Config, Jobs: o.Jobs}), s
	}
	run.Pair(b.Sides[0].Jobs, b.Sides[1].Jobs)
	judgeHalf := func(ctx context.Context, part queue.Part, done *run.Completion) (run.Outcome, error) {
		if !atOnce && done != nil {
			done.Statement = nil
		}
		side := b.Sides[map[string]int{"head": 0, "base": 1}[part.Side]]
		job := side.Jobs[0]
		job.Half = nil
		return sessions[part.Side].Judge(ctx, job, done)
	}
	tries := 0
	start(t, queue.WorkerConfig{Queue: q, Judge: func(ctx context.Context, task queue.Task, _ json.RawMessage, done queue.Completions) (queue.Judged, error) {
		parts := []queue.Part{task.Part, *task.Partner}
		if tries++; tries == 1 {
			_, err := judgeHalf(ctx, parts[half], done[half])
			if isLost { // it is as if its workers had ended
				taking.exec("UPDATE river_job SET attempted_by = '{gone}', attempt = max_attempts")
				<-ctx.Done()
			}
			return queue.Judged{}, errors.Join(err, errors.New("the worker ends"))
		}
		own, err := judgeHalf(ctx, parts[0], done[0])
		other, also := judgeHalf(ctx, parts[1], done[1])
		return queue.Judged{Outcome: own, Partner: &other}, errors.Join(err, also)
	}, Drain: time.Millisecond})
	outcomes, err := q.Judge(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for i, side := range outcomes {
		want := verdict.Pass
		if isLost && i != half {
			want = verdict.Error
		}
		calls := map[verdict.Verdict]int{verdict.Pass: 1}[want]
		if o := side[0]; o.Result.Verdict != want || o.Spent.Calls != calls {
			t.Errorf("%s is %s (%s) and cost %d calls, want %s and %d", b.Sides[i].Name, o.Result.Verdict, o.Result.Reason, o.Spent.Calls, want, calls)
		}
	}
	if n := db.exec("SELECT FROM queue_halves"); n != 0 {
		t.Errorf("%d halves are left", n)
	}
}

// TestAPairThatStartsPrograms is for a worker with a sandbox if one of its cases is. Where
// none has one, the other case is judged alone.
func TestAPairThatStartsPrograms(t *testing.T) {
	t.Parallel()
	q := open(t, tables.URL(t))
	end := start(t, queue.WorkerConfig{Queue: q, Judge: judgedPair})
	for n := 0; n == 0; { // until it has given its first sign of life
		var err error
		if n, err = q.Workers(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b := pairs(2)
	b.Programs = func(_ run.Config, job run.Job) bool { return job.Case == b.Sides[1].Jobs[1].Case }
	outcomes, err := q.Judge(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for i, side := range b.Sides {
		for k, o := range outcomes[i] {
			want := ""
			if i == 1 && k == 1 {
				want = "it starts a program, and no worker that is running has a sandbox"
			}
			if o.Unrun != want || o.Stopped {
				t.Errorf("case %d of %s: %+v, want %q", k, side.Name, o, want)
			}
		}
	}
	end()
	start(t, queue.WorkerConfig{Queue: q, Sandbox: true, Judge: func(ctx context.Context, task queue.Task, about json.RawMessage, c queue.Completions) (queue.Judged, error) {
		if task.Partner == nil {
			t.Errorf("%s %s has no partner", task.Side, task.Case)
		}
		return judgedPair(ctx, task, about, c)
	}})
	for n := 1; n > 0; { // until it is seen
		if outcomes, err = q.Judge(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		n = len(outcomes[1][1].Unrun)
	}
	wantBoth(t, b, outcomes)
}
