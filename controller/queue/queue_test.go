package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/run/runtest"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// open connects to the queue of a database.
func open(t testing.TB, url string) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), url)
	if err == nil {
		err = q.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// tables are the tables of a queue and of a ledger, in a database that is copied for
// each test.
var tables = postgrestest.NewTemplate(func(url string) error {
	ctx := context.Background()
	q, err := queue.Open(ctx, url)
	if err != nil {
		return err
	}
	defer q.Close()
	if err := q.Migrate(ctx); err != nil {
		return err
	}
	return ledgertest.Make(url)
})

// orders are the orders for runs that workers of this process know, by a name in About.
type orders struct {
	mu   sync.Mutex
	of   map[string]runtest.Order // guarded by mu
	next int                      // guarded by mu
}

func (o *orders) add(order runtest.Order) json.RawMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[string]runtest.Order{}
	}
	o.next++
	name := fmt.Sprint("order ", o.next)
	o.of[name] = order
	about, err := json.Marshal(name)
	if err != nil {
		panic(err)
	}
	return about
}

func (o *orders) get(about json.RawMessage) (runtest.Order, error) {
	var name string
	if err := json.Unmarshal(about, &name); err != nil {
		return runtest.Order{}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	order, there := o.of[name]
	if !there {
		return order, errors.New("there is no such order")
	}
	return order, nil
}

// A judge does what a worker does with a task.
type judge = func(context.Context, queue.Task, json.RawMessage, queue.Completions) (queue.Judged, error)

// judge returns what a worker does with a task, within limits. A ledger in a file has
// no part in completing it.
func (o *orders) judge(t testing.TB, limiters *limit.Limiters) judge {
	return o.judgeBy(t, limiters, nil)
}

// judgeBy is judge for a worker that has a connection of its own to the ledger.
func (o *orders) judgeBy(t testing.TB, limiters *limit.Limiters, own *ledger.Ledger) judge {
	breakers := &limit.Breakers{}
	var mu sync.Mutex
	sessions := map[string]*run.Session{}
	session := func(ctx context.Context, id string, order runtest.Order) (*run.Session, error) {
		mu.Lock()
		defer mu.Unlock()
		if s := sessions[id]; s != nil {
			return s, nil
		}
		cfg := order.Config
		if own != nil {
			cfg.Ledger = own
		}
		cfg.Observe, cfg.Limiters, cfg.Breakers = nil, limiters, breakers
		cfg.Budget = run.NewBudget(run.BudgetConfig{Budget: order.Budget, Run: id})
		s, err := run.Begin(context.WithoutCancel(ctx), cfg)
		if err == nil {
			sessions[id] = s
			t.Cleanup(func() { _ = s.Close(context.Background()) })
		}
		return s, err
	}
	return func(ctx context.Context, task queue.Task, about json.RawMessage, done queue.Completions) (queue.Judged, error) {
		order, err := o.get(about)
		if err != nil {
			return queue.Judged{}, err
		}
		s, err := session(ctx, task.Run, order)
		if err != nil {
			return queue.Judged{}, err
		}
		if !postgres.IsURL(order.Config.Ledger.Path()) {
			done = queue.Completions{}
		}
		for _, job := range order.Jobs {
			if job.Digests.D == task.D {
				out, err := s.Judge(ctx, job, done[0])
				return queue.Judged{Outcome: out}, err
			}
		}
		return queue.Judged{}, errors.New("the run does not have the case")
	}
}

// start runs a worker until end.
func start(t testing.TB, cfg queue.WorkerConfig) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- queue.NewWorker(cfg).Run(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the worker ends with %v", err)
		}
	})
	t.Cleanup(end)
	return end
}

// TestConformance is of a run whose cases two workers judge, with a ledger in a file and
// in the database of the queue.
func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("file", func(t *testing.T) { conformance(t, func(string) ledger.Config { return ledger.Config{} }) })
	t.Run("database", func(t *testing.T) { conformance(t, func(url string) ledger.Config { return ledger.Config{Path: url} }) })
}

func conformance(t *testing.T, config func(url string) ledger.Config) {
	runtest.Conformance(t, func(t *testing.T) runtest.Fixture {
		url := tables.URL(t)
		q := open(t, url)
		store := ledgertest.Open(t, config(url))
		known := &orders{}
		var ends []func()
		for range 2 {
			limiters := limit.Shared()
			ends = append(ends, start(t, queue.WorkerConfig{
				Queue: q, Judge: known.judge(t, limiters), Limiters: limiters, Drain: 50 * time.Millisecond, Failed: func(err error) { t.Log(err) },
			}))
		}
		return runtest.Fixture{
			Ledger: store, Processes: 2, Kill: func() { go ends[0]() },
			Execute: func(ctx context.Context, o runtest.Order) ([]run.Outcome, error) {
				class := queue.Interactive
				if o.Background {
					class = queue.Background
				}
				return judgeOrder(ctx, q, class, known.add(o), o)
			},
		}
	})
}

// An outsider changes the database as somebody else would, on one connection.
type outsider struct {
	*testing.T
	conn *pgx.Conn
}

func outside(t *testing.T, url string) outsider {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	o := outsider{t, conn}
	o.exec("SET search_path = gavel, public")
	return o
}

// as is the address of a database for another role.
func as(t *testing.T, address, role string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("user", role)
	u.RawQuery = query.Encode()
	if u.User != nil {
		u.User = url.User(role)
	}
	return u.String()
}

// TestATaskThatItsWorkerDoesNotHave: the database gave it to a worker, and the answer was
// lost, or the report of its end was. The worker gives it back, and nothing counts as a try.
func TestATaskThatItsWorkerDoesNotHave(t *testing.T) {
	t.Parallel()
	url := tables.URL(t)
	q, db := open(t, url), outside(t, url)
	judged := make(chan error, 1)
	go func() {
		outs, err := judgeBatch(t.Context(), q, batch("given"))
		if err == nil && outs[0].Stopped {
			err = errors.New("the case has no outcome")
		}
		judged <- err
	}()
	db.exec("INSERT INTO queue_workers (id, programs, until) VALUES ('other', false, 'infinity')")
	db.await("UPDATE river_job SET state = 'running', attempted_by = '{other}', attempt = max_attempts, attempted_at = now() WHERE state = 'available'")
	start(t, queue.WorkerConfig{Queue: q, Judge: polite})
	db.await("UPDATE river_job SET attempted_by = ARRAY[w.id] FROM queue_workers w WHERE w.id <> 'other'")
	select {
	case err := <-judged:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(40 * time.Second):
		t.Fatal("nobody judges the case")
	}
	if db.exec("SELECT FROM river_job WHERE state = 'completed' AND attempt = max_attempts") != 1 {
		t.Error("the task took a try that nobody made")
	}
}

// exec returns how many rows a statement is about.
func (o outsider) exec(text string, args ...any) int64 {
	o.Helper()
	tag, err := o.conn.Exec(o.Context(), text, args...)
	if err != nil {
		o.Fatal(err)
	}
	return tag.RowsAffected()
}

// await repeats a statement until it is about a row.
func (o outsider) await(text string, args ...any) {
	o.Helper()
	for o.exec(text, args...) == 0 {
		time.Sleep(time.Millisecond)
	}
}

// batch is one case that a worker says is polite.
func batch(name string) queue.Batch {
	return orderBatch(queue.Interactive, nil, runtest.Greetings(name, 1))
}

func orderBatch(class queue.Class, about json.RawMessage, o runtest.Order) queue.Batch {
	return queue.Batch{Class: class, About: about, Sides: []run.Side{{Name: "head", Config: o.Config, Jobs: o.Jobs}}}
}

// judgeBatch has workers judge a batch of one side.
func judgeBatch(ctx context.Context, q *queue.Queue, b queue.Batch) ([]run.Outcome, error) {
	sides, err := q.Judge(ctx, b)
	return sides[0], err
}

func judgeOrder(ctx context.Context, q *queue.Queue, class queue.Class, about json.RawMessage, o runtest.Order) ([]run.Outcome, error) {
	return judgeBatch(ctx, q, orderBatch(class, about, o))
}

func polite(_ context.Context, task queue.Task, _ json.RawMessage, _ queue.Completions) (queue.Judged, error) {
	return queue.Judged{Outcome: run.Outcome{Key: task.Case}}, nil
}

// TestAnOrphan is taken up after its worker gave no sign of life, and a task that
// always ends its worker is an error of its case.
func TestAnOrphan(t *testing.T) {
	t.Parallel()
	url := tables.URL(t)
	q := open(t, url)
	for _, tt := range []struct {
		name    string
		attempt int
		want    string
	}{{"first", 1, ""}, {"last", 5, "5 workers ended while they judged it"}} {
		t.Run(tt.name, func(t *testing.T) {
			db := outside(t, url)
			got := make(chan run.Outcome, 1)
			go func() {
				outs, err := judgeBatch(t.Context(), q, batch(tt.name))
				if err != nil {
					t.Error(err)
				}
				got <- outs[0]
			}()
			db.await("UPDATE river_job SET state = 'running', attempted_by = '{gone}', attempt = $1 WHERE state = 'available'", tt.attempt)
			start(t, queue.WorkerConfig{Queue: q, Judge: polite})
			out := <-got
			if out.Stopped || tt.want == "" && out.Result.Reason != "" || tt.want != "" && out.Result.Reason != "no worker could judge it: "+tt.want {
				t.Errorf("the outcome is %+v", out)
			}
		})
	}
}

// TestAWorkerWithoutASandbox takes no case that starts programs. Where there is no
// other worker the case says so.
func TestAWorkerWithoutASandbox(t *testing.T) {
	q := open(t, tables.URL(t))
	end := start(t, queue.WorkerConfig{Queue: q, Judge: polite})
	b := batch("program")
	b.Programs = func(run.Config, run.Job) bool { return true }
	outs, err := judgeBatch(t.Context(), q, b)
	if err != nil || outs[0].Unrun != "it starts a program, and no worker that is running has a sandbox" {
		t.Errorf("without a sandbox the outcome is %+v, error %v", outs, err)
	}
	taken := make(chan string, 1)
	with := queue.WorkerConfig{Queue: q, Sandbox: true, Judge: func(ctx context.Context, task queue.Task, about json.RawMessage, completion queue.Completions) (queue.Judged, error) {
		taken <- "with"
		return polite(ctx, task, about, completion)
	}}
	defer start(t, with)()
	for outs[0].Unrun != "" { // until the other has given its first sign of life
		if outs, err = judgeBatch(t.Context(), q, b); err != nil {
			t.Fatal(err)
		}
	}
	if len(taken) != 1 {
		t.Error("the worker with a sandbox has not taken it")
	}
	end()
}

// TestCasesThatWait: a run says that its cases wait as long as no worker runs, and while the
// one that runs judges others, and that they do not once it judges one of them.
func TestCasesThatWait(t *testing.T) {
	t.Parallel()
	q := open(t, tables.URL(t))
	said := map[string]chan queue.Standstill{"first": make(chan queue.Standstill, 9), "second": make(chan queue.Standstill, 9)}
	want := func(name string, w queue.Standstill) {
		t.Helper()
		if got := <-said[name]; got != w {
			t.Errorf("the cases of the %s run are said to wait as %+v, want %+v", name, got, w)
		}
	}
	var group sync.WaitGroup
	defer group.Wait()
	judge := func(name string) {
		group.Go(func() {
			b := batch(name)
			b.Waits = func(w queue.Standstill) { said[name] <- w }
			if outs, err := judgeBatch(t.Context(), q, b); err != nil || outs[0].Stopped {
				t.Errorf("the outcome of the %s run is %+v, %v", name, outs, err)
			}
		})
	}
	judge("first")
	want("first", queue.Standstill{Cases: 1})
	begun, free := make(chan struct{}, 2), make(chan struct{})
	start(t, queue.WorkerConfig{Queue: q, Interactive: 1, Judge: func(ctx context.Context, task queue.Task, about json.RawMessage, completion queue.Completions) (queue.Judged, error) {
		begun <- struct{}{}
		<-free
		return polite(ctx, task, about, completion)
	}})
	<-begun
	want("first", queue.Standstill{})
	judge("second")
	want("second", queue.Standstill{Cases: 1, Workers: 1})
	close(free)
	want("second", queue.Standstill{})
}

// TestATaskIsCompletedWithItsVerdict: where one of both cannot be stored, neither is.
func TestATaskIsCompletedWithItsVerdict(t *testing.T) {
	t.Parallel()
	url := tables.URL(t)
	q, store := open(t, url), ledgertest.Open(t, ledger.Config{Path: url})
	db := outside(t, url)
	order := runtest.Passing(store, "one", 1)
	known := &orders{}
	limiters := limit.Shared()
	failed := make(chan error, 10)
	db.exec("ALTER TABLE queue_outcomes ADD CONSTRAINT nothing CHECK (false)")
	start(t, queue.WorkerConfig{Queue: q, Limiters: limiters, Judge: known.judge(t, limiters), Failed: func(err error) { failed <- err }})
	judged := make(chan run.Outcome, 1)
	go func() {
		outs, err := judgeOrder(t.Context(), q, queue.Interactive, known.add(order), order)
		if err != nil {
			t.Error(err)
		}
		judged <- outs[0]
	}()
	select {
	case err := <-failed:
		if !strings.Contains(err.Error(), "nothing") {
			t.Errorf("the worker fails with %v, want the constraint", err)
		}
	case out := <-judged:
		t.Fatalf("it is judged although its outcome cannot be stored: %+v", out)
	}
	stored := func() (verdicts, completed int64) {
		return db.exec("SELECT FROM gavel.verdicts"), db.exec("SELECT FROM river_job WHERE state = 'completed'")
	}
	if verdicts, completed := stored(); verdicts != 0 || completed != 0 {
		t.Errorf("%d verdicts and %d completed tasks are stored although the outcome is not", verdicts, completed)
	}
	db.exec("ALTER TABLE queue_outcomes DROP CONSTRAINT nothing")
	if out := <-judged; out.Result.Verdict != verdict.Pass {
		t.Errorf("the outcome is %+v", out)
	}
	if verdicts, completed := stored(); verdicts != 1 || completed != 1 {
		t.Errorf("%d verdicts and %d completed tasks are stored, want one each", verdicts, completed)
	}
}

// TestARunThatNobodyWaitsFor is not judged: its controller is gone.
func TestARunThatNobodyWaitsFor(t *testing.T) {
	url := tables.URL(t)
	q := open(t, url)
	db := outside(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, _ = judgeBatch(ctx, q, batch("left")) }()
	db.await("SELECT FROM river_job")
	db.exec("UPDATE queue_runs SET until = now() - interval '1 second'")
	start(t, queue.WorkerConfig{Queue: q, Judge: func(context.Context, queue.Task, json.RawMessage, queue.Completions) (queue.Judged, error) {
		t.Error("it is judged")
		return queue.Judged{}, nil
	}})
	db.await("SELECT FROM river_job WHERE state = 'cancelled'")
}

// TestWhatIsInTheQueue: neither texts of a case nor secrets.
func TestWhatIsInTheQueue(t *testing.T) {
	url := tables.URL(t)
	q := open(t, url)
	db := outside(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool)
	go func() {
		defer close(done)
		_, _ = judgeBatch(ctx, q, batch("a-key"))
	}()
	db.await("SELECT FROM river_job")
	if db.exec("SELECT FROM river_job j WHERE to_jsonb(j)::text LIKE '%a-key000%'") != 1 || db.exec("SELECT FROM river_job j WHERE to_jsonb(j)::text LIKE '%greet%'") != 0 {
		t.Error("the queue has the text of a case")
	}
	cancel()
	<-done
	if db.exec("SELECT FROM river_job WHERE state = 'available'") != 0 || db.exec("SELECT FROM queue_runs") != 0 {
		t.Error("what nobody waits for is still queued")
	}
}
