package queue_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	process "os/exec"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// remoteVariable has the database of a worker in a process of its own.
const remoteVariable = "GAVEL_TEST_REMOTE_WORKER"

func TestMain(m *testing.M) {
	if url := os.Getenv(remoteVariable); url != "" {
		remoteWorker(url)
		return
	}
	os.Exit(m.Run())
}

// remoteWorker judges until its input ends. Its cases end when they are cancelled; it
// prints a line when one begins and when one ends.
func remoteWorker(url string) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		cancel()
	}()
	q, err := queue.Open(ctx, url)
	if err != nil {
		panic(err)
	}
	defer q.Close()
	judge := func(ctx context.Context, task queue.Task, _ json.RawMessage, _ queue.Completions) (queue.Judged, error) {
		fmt.Println("begun")
		<-ctx.Done()
		fmt.Println("given up")
		return queue.Judged{Outcome: run.Outcome{Key: task.Case, Stopped: true}}, ctx.Err()
	}
	if err := queue.NewWorker(queue.WorkerConfig{Queue: q, Judge: judge, Drain: time.Millisecond}).Run(ctx); err != nil {
		panic(err)
	}
}

// A remote has a worker in another process judge, and cancels.
type remote struct {
	queue  *queue.Queue
	worker *os.Process
	said   *bufio.Scanner
}

func newRemote(t testing.TB) remote {
	t.Helper()
	url := postgrestest.URL(t)
	q := open(t, url)
	worker := process.Command(os.Args[0])
	worker.Env = append(os.Environ(), remoteVariable+"="+url)
	worker.Stderr = os.Stderr
	in, err := worker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := worker.StdoutPipe()
	if err == nil {
		err = worker.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := worker.Wait(); err != nil {
			t.Errorf("the other process ends with %v", err)
		}
	})
	return remote{q, worker.Process, bufio.NewScanner(out)}
}

// cancel has a case judged, cancels it, and returns how long the worker took to give
// it up.
func (r remote) cancel(t testing.TB, name string) time.Duration {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	judged := make(chan run.Outcome, 1)
	go func() {
		outs, err := judgeBatch(ctx, r.queue, batch(name))
		if err != nil {
			t.Error(err)
		}
		judged <- outs[0]
	}()
	await := func(want string) {
		// A worker that says nothing is ended, so that the test does not wait forever.
		silent := time.AfterFunc(time.Minute, func() { _ = r.worker.Kill() })
		defer silent.Stop()
		if !r.said.Scan() || r.said.Text() != want {
			t.Fatalf("the other process says %q, want %q", r.said.Text(), want)
		}
	}
	await("begun")
	cancelled := time.Now()
	cancel()
	await("given up")
	took := time.Since(cancelled)
	if out := <-judged; !out.Stopped || out.Result.Verdict != verdict.Error {
		t.Errorf("the outcome is %+v, want one that is stopped", out)
	}
	return took
}

// TestACancelReachesAnotherProcess whose case would go on forever.
func TestACancelReachesAnotherProcess(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	for i := range 3 { // the worker continues with tasks that are queued afterwards
		t.Logf("it took %s", r.cancel(t, fmt.Sprint("stuck", i)))
	}
}

// BenchmarkACancelInAnotherProcess reports the slowest, which has to be below a second.
func BenchmarkACancelInAnotherProcess(b *testing.B) {
	r := newRemote(b)
	var slowest time.Duration
	for n := 0; b.Loop(); n++ {
		slowest = max(slowest, r.cancel(b, fmt.Sprint("stuck", n)))
	}
	b.ReportMetric(slowest.Seconds(), "slowest-s")
	if slowest > time.Second {
		b.Errorf("a cancel took %s", slowest)
	}
}
