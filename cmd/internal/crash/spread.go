package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
)

// places is how many cases a worker judges at once.
const places = 8

// A spread run is judged by two workers, and has its ledger in a database.
type spreadRun struct {
	*fixture
	file     string
	database *postgrestest.Server
	// controller and workers are the processes; started counts the workers.
	controller *process
	workers    []*process
	started    int
	log        watchedLog
	// before counts the kills before the branch was judged.
	before int
}

// A process is one that has begun. ready is closed when it is at work, and ended has
// what Wait returned.
type process struct {
	*exec.Cmd
	ready chan struct{}
	ended chan error
}

// spread kills the workers, the server and the database of a run, each as often as
// there are kills.
func (t *trial) spread(ctx context.Context, dir string, want map[string]caseVerdict) (err error) {
	database, err := postgrestest.Open()
	if errors.Is(err, postgrestest.ErrMissing) {
		fmt.Fprintln(t.out, "not tried with workers:", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	r, err := t.newSpread(ctx, filepath.Join(dir, "spread"), database, concurrency)
	if err != nil {
		return err
	}
	t.server.forget()
	start := time.Now()
	killed, err := r.rough(ctx)
	if err != nil {
		return fmt.Errorf("%w; the end of the log: %s", err, r.log.tail())
	}
	fmt.Fprintf(t.out, "spread over two workers: %d kills each of workers, the server and the database, %d of all before the verdict, %.1f s\n", t.kills, r.before, time.Since(start).Seconds())
	got, err := r.judge(ctx)
	if err != nil {
		return err
	}
	return errors.Join(append(append(differences(got, want), r.verify(ctx)), r.repeats(killed)...)...)
}

// newSpread is a run with a database of its own on a server. So many calls to a model
// may be in flight.
func (t *trial) newSpread(ctx context.Context, dir string, database *postgrestest.Server, inFlight int) (*spreadRun, error) {
	p, err := newPlace(ctx, dir, t)
	if err != nil {
		return nil, err
	}
	// Each worker has another key, by which the model knows it.
	settings := strings.ReplaceAll(fmt.Sprintf(configuration, t.server.URL+"/v1", inFlight), ", concurrency", ", api_key_env: WORKER, concurrency")
	if err := os.WriteFile(filepath.Join(p.dir, "gavel.yaml"), []byte(settings), 0o644); err != nil {
		return nil, err
	}
	r := &spreadRun{fixture: p, database: database, log: watchedLog{seen: make(chan struct{})}}
	if r.file, err = p.served(ctx); err != nil {
		return nil, err
	}
	_, address, err := database.Database()
	p.env = []string{"GAVEL_DATABASE_URL=" + address, "WORKER=none"}
	return r, err
}

// rough judges the branch while it kills, and returns the keys of the workers that
// were killed.
func (r *spreadRun) rough(ctx context.Context) (killed map[string]bool, err error) {
	defer func() { err = errors.Join(err, r.end()) }()
	r.controller, err = r.begin(ctx, "none", "serve", "--config", r.file)
	for range 2 {
		if err == nil {
			err = r.add(ctx, places)
		}
	}
	if err != nil {
		return nil, err
	}
	killed = map[string]bool{}
	victims := make([]string, 0, 3*r.kills)
	for range r.kills {
		victims = append(victims, "worker", "server", "database")
	}
	r.random.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for i, victim := range victims {
		// The kills are spread over what is to be asked.
		at := r.server.received() + r.random.IntN(2*r.cases*7/len(victims)+1)
		r.await(ctx, at)
		select {
		case <-r.log.seen:
		default:
			r.before++
		}
		if err := r.kill(ctx, victim, killed); err != nil {
			return nil, fmt.Errorf("kill %d, of the %s: %w", i+1, victim, err)
		}
	}
	select {
	case <-r.log.seen:
		return killed, nil
	case err := <-r.controller.ended:
		return nil, fmt.Errorf("gavel serve ended unexpectedly: %w", err)
	case <-time.After(10 * time.Minute):
		return nil, errors.New("gavel serve does not judge the branch")
	}
}

// await returns when the models got so many requests, or get none, as after the end of
// the run.
func (r *spreadRun) await(ctx context.Context, at int) {
	most := patience
	select {
	case <-r.log.seen:
		most = 100 * time.Millisecond
	default:
	}
	quiet, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	r.server.until(at, quiet.Done())
}

// kill kills one and starts it again.
func (r *spreadRun) kill(ctx context.Context, victim string, killed map[string]bool) (err error) {
	switch victim {
	case "worker":
		i := r.random.IntN(len(r.workers))
		killed[r.workers[i].key()] = true
		if err = r.workers[i].kill(); err == nil {
			r.workers[i], err = r.worker(ctx, places)
		}
	case "server":
		if err = r.controller.kill(); err == nil {
			r.controller, err = r.begin(ctx, "none", "serve", "--config", r.file)
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

// worker starts a worker with a key of its own.
func (r *spreadRun) worker(ctx context.Context, places int) (*process, error) {
	r.started++
	return r.begin(ctx, fmt.Sprint("worker-", r.started), "worker", "--config", r.file, "--background", fmt.Sprint(places))
}

func (r *spreadRun) begin(ctx context.Context, key string, args ...string) (*process, error) {
	cmd, _ := r.command(ctx, args...)
	cmd.Env = append(cmd.Env, "WORKER="+key)
	p := &process{cmd, make(chan struct{}), make(chan error, 1)}
	cmd.Stderr = &startLog{log: &r.log, ready: sync.OnceFunc(func() { close(p.ready) })}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- cmd.Wait() }()
	return p, nil
}

// key is what the process sends with its requests.
func (p *process) key() string {
	return "Bearer " + strings.TrimPrefix(p.Env[len(p.Env)-1], "WORKER=")
}

// kill demands that the process was still running.
func (p *process) kill() error {
	select {
	case err := <-p.ended:
		return fmt.Errorf("gavel %s ended unexpectedly: %w", p.Args[1], err)
	default:
	}
	if err := p.Process.Kill(); err != nil {
		return err
	}
	<-p.ended
	return nil
}

// end asks all processes to end.
func (r *spreadRun) end() error {
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

// repeats demands that only calls that a killed worker had in flight were made twice:
// each of its cases has one at a time.
func (r *spreadRun) repeats(killed map[string]bool) (wrong []error) {
	all, most := 0, 0
	for key, n := range r.server.repeated() {
		all, most = all+n, max(most, n)
		if !killed[key] {
			wrong = append(wrong, fmt.Errorf("%d calls of %s were made twice, and it was not killed", n, key))
		} else if n > places {
			wrong = append(wrong, fmt.Errorf("%d calls of %s were made twice, and it had at most %d in flight", n, key, places))
		}
	}
	fmt.Fprintf(r.out, "calls made twice: %d, at most %d of one worker\n", all, most)
	return wrong
}

// atWork is what a process says that has started.
var atWork = regexp.MustCompile(`"message":"(waiting for cases|serving|another controller leads; this one waits)"`)

// A startLog is the log of one process.
type startLog struct {
	log   *watchedLog
	ready func()
}

// Write takes a line.
func (l *startLog) Write(line []byte) (int, error) {
	if atWork.Match(line) {
		l.ready()
	}
	return l.log.Write(line)
}

// A watchedLog keeps a log, and closes seen when a branch is judged.
type watchedLog struct {
	seen chan struct{}
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
	done bool         // guarded by mu
}

// Write takes a line.
func (l *watchedLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done && verdict.Match(line) {
		l.done = true
		close(l.seen)
	}
	return l.text.Write(line)
}

// tail is the end of the log.
func (l *watchedLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text.Bytes()[max(0, l.text.Len()-3000):])
}
