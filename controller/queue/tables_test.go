package queue_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// schemas are those that have tables of gavel in a database.
func (o outsider) schemas() string {
	o.Helper()
	var found string
	err := o.conn.QueryRow(o.Context(), `SELECT coalesce(string_agg(DISTINCT schemaname, ', '), '') FROM pg_tables
		WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`).Scan(&found)
	if err != nil {
		o.Fatal(err)
	}
	return found
}

// TestTheTablesAreInOneSchema, whichever process makes them first, and also where
// several do at once and the role is called like the schema.
func TestTheTablesAreInOneSchema(t *testing.T) {
	t.Parallel()
	makeQueue := func(t *testing.T, url string) { open(t, url) }
	makeLedger := func(t *testing.T, url string) { ledgertest.Open(t, ledger.Config{Path: url}) }
	together := func(t *testing.T, url string) {
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() { makeQueue(t, url) })
			group.Go(func() { makeLedger(t, url) })
		}
		group.Wait()
	}
	server := postgrestest.Start(t) // roles are of all databases
	outside(t, server.URL(t)).exec("CREATE ROLE gavel LOGIN SUPERUSER")
	for _, tt := range []struct {
		name, role string
		steps      []func(*testing.T, string)
	}{
		{"queue", "", []func(*testing.T, string){makeQueue, makeLedger, makeQueue}},
		{"ledger", "", []func(*testing.T, string){makeLedger, makeQueue, makeLedger}},
		{"together", "", []func(*testing.T, string){together}},
		{"a role that is called like the schema, queue", "gavel", []func(*testing.T, string){makeQueue, makeLedger, makeQueue}},
		{"a role that is called like the schema, ledger", "gavel", []func(*testing.T, string){makeLedger, makeQueue, makeQueue}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := server.URL(t)
			if tt.role != "" {
				url = as(t, url, tt.role)
			}
			for _, step := range tt.steps {
				step(t, url)
			}
			if found := outside(t, url).schemas(); found != "gavel" {
				t.Errorf("the tables are in %s, want gavel", found)
			}
		})
	}
}

// TestTablesOfAnotherProgram have the names of the library's, in another schema, and stay
// as they are.
func TestTablesOfAnotherProgram(t *testing.T) {
	url := postgrestest.URL(t)
	db := outside(t, url)
	db.exec("CREATE TABLE public.river_migration (line text, version bigint, created_at timestamptz)")
	db.exec("INSERT INTO public.river_migration SELECT 'main', n, now() FROM generate_series(1, 99) n")
	q := open(t, url)
	start(t, queue.WorkerConfig{Queue: q, Judge: polite})
	if outs, err := judgeBatch(t.Context(), q, batch("mine")); err != nil || outs[0].Stopped {
		t.Errorf("the outcome is %+v, %v", outs, err)
	}
	if n := db.exec("SELECT FROM public.river_migration"); n != 99 {
		t.Errorf("the other program has %d rows, want 99", n)
	}
}

// TestARoleThatMayOnlyUseTheTables begins where another one has made them.
func TestARoleThatMayOnlyUseTheTables(t *testing.T) {
	server := postgrestest.Start(t) // roles are of all databases
	url := server.URL(t)
	open(t, url)
	db := outside(t, url)
	for _, text := range []string{
		"CREATE ROLE guest LOGIN", "GRANT USAGE ON SCHEMA gavel TO guest", "GRANT ALL ON ALL TABLES IN SCHEMA gavel TO guest", "GRANT ALL ON ALL SEQUENCES IN SCHEMA gavel TO guest",
	} {
		db.exec(text)
	}
	q := open(t, as(t, url, "guest"))
	start(t, queue.WorkerConfig{Queue: q, Judge: polite})
	if outs, err := judgeBatch(t.Context(), q, batch("of a guest")); err != nil || outs[0].Stopped {
		t.Errorf("the outcome is %+v, %v", outs, err)
	}
}

// TestATaskThatIsGoneIsQueuedAgain: somebody removed the run with its outcomes, or its
// tasks, while it waits.
func TestATaskThatIsGoneIsQueuedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spoil func(outsider)
	}{
		{"the run", func(db outsider) { db.exec("DELETE FROM queue_runs") }},
		{"the tasks", func(db outsider) { db.exec("DELETE FROM river_job") }},
		{"tasks that were cancelled", func(db outsider) { db.exec("UPDATE river_job SET state = 'cancelled', finalized_at = now()") }},
		{"the run, after its cases were judged", func(db outsider) {
			db.exec("UPDATE river_job SET state = 'completed', finalized_at = now()")
			db.exec("DELETE FROM queue_runs")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := tables.URL(t)
			q, db := open(t, url), outside(t, url)
			judged := make(chan run.Outcome, 1)
			go func() {
				outs, err := judgeBatch(t.Context(), q, batch("gone"))
				if err != nil {
					t.Error(err)
				}
				judged <- outs[0]
			}()
			db.await("SELECT FROM river_job")
			tt.spoil(db)
			start(t, queue.WorkerConfig{Queue: q, Judge: polite})
			select {
			case out := <-judged:
				if out.Stopped || out.Result.Verdict != "" {
					t.Errorf("the outcome is %+v, want that of the worker", out)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the run waits for a task that nobody has")
			}
		})
	}
}

// TestATaskThatIsGoneAgainAndAgain is an error of its case that says so.
func TestATaskThatIsGoneAgainAndAgain(t *testing.T) {
	t.Parallel()
	url := tables.URL(t)
	q, db := open(t, url), outside(t, url)
	db.exec("CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.state = 'cancelled'; NEW.finalized_at = now(); RETURN NEW; END $$")
	db.exec("CREATE TRIGGER nothing BEFORE INSERT ON river_job FOR EACH ROW EXECUTE FUNCTION nothing()")
	outs, err := judgeBatch(t.Context(), q, batch("gone"))
	if err != nil || outs[0].Result.Verdict != verdict.Error || !strings.HasPrefix(outs[0].Result.Reason, "it was queued 4 times") {
		t.Errorf("the outcome is %+v, %v", outs, err)
	}
}

// TestProgramsWaitForTheFirstWorker: where no worker runs yet, nobody knows that none will
// have a sandbox.
func TestProgramsWaitForTheFirstWorker(t *testing.T) {
	t.Parallel()
	url := tables.URL(t)
	q, db := open(t, url), outside(t, url)
	b := batch("program")
	b.Programs = func(run.Config, run.Job) bool { return true }
	judged := make(chan run.Outcome, 1)
	go func() {
		outs, err := judgeBatch(t.Context(), q, b)
		if err != nil {
			t.Error(err)
		}
		judged <- outs[0]
	}()
	db.await("SELECT FROM river_job")
	start(t, queue.WorkerConfig{Queue: q, Sandbox: true, Judge: polite})
	if out := <-judged; out.Unrun != "" || out.Stopped {
		t.Errorf("the outcome is %+v, want that of the worker", out)
	}
}

// TestTwoBatchesAtOnce: a worker learns of both sides of a comparison, which are queued
// at the same moment, and of the next ones. If it only looked by itself, every half
// second, twenty rounds would take seven seconds.
func TestTwoBatchesAtOnce(t *testing.T) {
	const rounds, most = 20, 4500 * time.Millisecond
	q := open(t, tables.URL(t))
	start(t, queue.WorkerConfig{Queue: q, Judge: polite})
	judge := func() {
		var group sync.WaitGroup
		for _, name := range []string{"head", "base"} {
			group.Go(func() {
				if outs, err := judgeBatch(t.Context(), q, batch(name)); err != nil || outs[0].Stopped {
					t.Errorf("the outcome is %+v, %v", outs, err)
				}
			})
			time.Sleep(2 * time.Millisecond) // the second one is queued a moment later
		}
		group.Wait()
	}
	judge() // the worker begins
	began := time.Now()
	for range rounds {
		judge()
	}
	if took := time.Since(began); took > most {
		t.Errorf("%d rounds take %v, want at most %v", rounds, took, most)
	} else {
		t.Logf("%d rounds take %v", rounds, took)
	}
}

// TestADatabaseThatGoesForGood is the error of the run that waits, with what it has.
func TestADatabaseThatGoesForGood(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	url := server.URL(t)
	q, db := open(t, url), outside(t, url)
	type end struct {
		outs []run.Outcome
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		outs, err := judgeBatch(t.Context(), q, batch("waits"))
		ended <- end{outs, err}
	}()
	db.await("SELECT FROM river_job")
	server.Kill(t)
	got := <-ended
	if got.err == nil || !strings.HasPrefix(got.err.Error(), "queue: ") || len(got.outs) != 1 || !got.outs[0].Stopped {
		t.Errorf("the run ends with %+v, %v, want the error of the queue", got.outs, got.err)
	}
	if _, err := judgeBatch(t.Context(), q, batch("begins")); err == nil {
		t.Error("a run that cannot begin has no error")
	}
}
