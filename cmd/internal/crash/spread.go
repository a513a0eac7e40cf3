package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
)

// places is how many cases of a class a worker judges at once.
const places = 8

// A spreadRun has its ledger in a database, and several processes judge it.
type spreadRun struct {
	*fixture
	file     string
	database *postgrestest.Server
	// controller and workers are the processes; started counts them.
	controller *process
	workers    []*process
	started    int
	// done reports whether everything is judged. early counts the kills before that.
	done  func() bool
	early int
}

// A process is a started process. ready is closed when it works, and ended has the
// result of Wait.
type process struct {
	*exec.Cmd
	ready chan struct{}
	ended chan error
}

// judge kills a server that judges by itself on PostgreSQL, and the database.
func (t *trial) judge(ctx context.Context) error { return t.spread(ctx, "judge", 0) }

// workers kills a server, two workers and the database.
func (t *trial) workers(ctx context.Context) error { return t.spread(ctx, "workers", 2) }

// spread kills so many workers, the server and the database of a run over a pull request,
// each kind as often as there are kills.
func (t *trial) spread(ctx context.Context, name string, workers int) (err error) {
	want, err := t.changed(ctx)
	if err != nil {
		return err
	}
	database, err := postgrestest.Open()
	if errors.Is(err, postgrestest.ErrMissing) {
		fmt.Fprintln(t.out, "not tried:", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	p := t.pull(name, concurrency)
	r, err := newSpread(p.fixture, p.operator(), database)
	if err != nil {
		return err
	}
	r.done = p.settled
	// Each case of a process has at most one call in flight, and a task has two cases.
	inFlight := 2 * 2 * places
	if workers == 0 {
		r.line = append(r.line, "--judge")
		inFlight = 2 * 2 * concurrency
	}
	t.server.forget()
	killed, err := r.rough(ctx, workers, want.calls)
	if err != nil {
		return fmt.Errorf("%w; the end of the log: %s", err, r.log.tail())
	}
	got, err := p.reported(ctx)
	if err != nil {
		return err
	}
	wrong := append(append(differences(got, want.verdicts), p.published(want)), r.left(ctx)...)
	more, err := r.repeats(want, func(key string) bool { return killed[key] })
	fmt.Fprintf(r.out, "%d kills of each kind, %d of all before the verdict; %d verdicts; calls made twice: %d\n", t.kills, r.early, len(got), more)
	if wrong = append(wrong, err, r.refused()); more > inFlight*len(killed) {
		wrong = append(wrong, fmt.Errorf("%d calls were made twice, and %d processes were killed that had at most %d in flight", more, len(killed), inFlight))
	}
	return errors.Join(wrong...)
}

// newSpread keeps the results of the server of a file in its own database.
func newSpread(p *fixture, file string, database *postgrestest.Server) (*spreadRun, error) {
	r := &spreadRun{fixture: p, file: file, database: database}
	p.serves(file)
	_, address, err := database.Database()
	p.ledger = address
	p.env = append(p.env, "GAVEL_DATABASE_URL="+address)
	return r, err
}

// rough judges while it kills, over so many calls, and returns the keys of the processes
// that were killed.
func (r *spreadRun) rough(ctx context.Context, workers, calls int) (killed map[string]bool, err error) {
	defer func() { err = errors.Join(err, r.stop()) }()
	r.controller, err = r.begin(ctx, r.line...)
	for range workers {
		if err == nil {
			err = r.add(ctx, places)
		}
	}
	if err != nil {
		return nil, err
	}
	killed = map[string]bool{}
	var victims []string
	for range r.kills {
		victims = append(victims, "server", "database")
		if workers > 0 {
			victims = append(victims, "worker")
		}
	}
	r.random.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for i, victim := range victims {
		// The kills are spread over the requests.
		r.await(ctx, r.server.received()+r.random.IntN(2*calls/len(victims)+1))
		if !r.done() {
			r.early++
		}
		if r.verbose {
			fmt.Fprintf(os.Stderr, "%v kill %d, of the %s\n", time.Now().Format(time.TimeOnly), i+1, victim)
		}
		if err := r.kill(ctx, victim, killed); err != nil {
			return nil, fmt.Errorf("kill %d, of the %s: %w", i+1, victim, err)
		}
	}
	if err := until(ctx, r.done, r.controller.ended); err != nil {
		return killed, err
	}
	return killed, r.finished(ctx)
}

// lease is a little longer than a lease of a process that is dead is kept.
const lease = 15 * time.Second

// await returns when the models got so many requests, or after a while, as after the end
// of the run. Some kills meet processes that wait for the leases of dead ones.
func (r *spreadRun) await(ctx context.Context, at int) {
	most := time.Duration(r.random.Int64N(int64(lease)))
	if r.done() {
		most = 10 * r.moment()
	}
	quiet, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	r.server.until(at, quiet.Done())
	select {
	case <-ctx.Done():
	case <-time.After(r.moment()):
	}
}

// kill kills one and starts it again.
func (r *spreadRun) kill(ctx context.Context, victim string, killed map[string]bool) (err error) {
	switch victim {
	case "worker":
		i := r.random.IntN(len(r.workers))
		killed[r.workers[i].key()] = true
		if err = r.workers[i].kill(r.end); err == nil {
			r.workers[i], err = r.worker(ctx, places)
		}
	case "server":
		killed[r.controller.key()] = true
		if err = r.controller.kill(r.end); err == nil {
			r.controller, err = r.begin(ctx, r.line...)
		}
	case "database":
		if err = r.database.Stop(); err == nil {
			err = r.database.Resume()
		}
	}
	return err
}

// add starts one more worker.
func (r *spreadRun) add(ctx context.Context, places int) error {
	w, err := r.worker(ctx, places)
	if err == nil {
		r.workers = append(r.workers, w)
	}
	return err
}

// worker starts a worker.
func (r *spreadRun) worker(ctx context.Context, places int) (*process, error) {
	return r.begin(ctx, "worker", "--config", r.file, "--background", fmt.Sprint(places), "--interactive", fmt.Sprint(places))
}

// begin starts a process with its own key, by which the models recognize it.
func (r *spreadRun) begin(ctx context.Context, args ...string) (*process, error) {
	r.started++
	cmd, _ := r.command(ctx, args...)
	cmd.Env = append(cmd.Env, fmt.Sprint("KEY=process-", r.started))
	p := &process{cmd, make(chan struct{}), make(chan error, 1)}
	cmd.Stderr = &startLog{log: &r.log, ready: sync.OnceFunc(func() { close(p.ready) })}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- cmd.Wait() }()
	return p, nil
}

// key is the key in the requests of the process.
func (p *process) key() string {
	return "Bearer " + strings.TrimPrefix(p.Env[len(p.Env)-1], "KEY=")
}

// kill demands that the process was still running.
func (p *process) kill(end func(*os.Process) error) error {
	select {
	case err := <-p.ended:
		return fmt.Errorf("gavel %s ended unexpectedly: %w", p.Args[1], err)
	default:
	}
	if err := end(p.Process); err != nil {
		return err
	}
	<-p.ended
	return nil
}

// stop asks all processes to end.
func (r *spreadRun) stop() error {
	var wrong []error
	for _, p := range append(r.workers, r.controller) {
		if p == nil {
			continue
		}
		select {
		case <-p.ready: // before, the signal ends it as any process
		case <-time.After(time.Minute):
		}
		if err := p.Process.Signal(os.Interrupt); err != nil {
			wrong = append(wrong, fmt.Errorf("gavel %s ended unexpectedly: %w", p.Args[1], err))
			continue
		}
		select {
		case err := <-p.ended:
			if err != nil {
				wrong = append(wrong, fmt.Errorf("gavel %s: %w", p.Args[1], err))
			}
		case <-time.After(time.Minute):
			wrong = append(wrong, fmt.Errorf("gavel %s does not end when it is asked to", p.Args[1]), p.Process.Kill())
		}
	}
	return errors.Join(wrong...)
}

// atWork is what a started process logs.
var atWork = regexp.MustCompile(`"message":"(waiting for cases|serving|another controller leads; this one waits)"`)

// A startLog is the log of one process.
type startLog struct {
	log   *logged
	ready func()
}

// Write takes a line.
func (l *startLog) Write(line []byte) (int, error) {
	if atWork.Match(line) {
		l.ready()
	}
	return l.log.Write(line)
}
