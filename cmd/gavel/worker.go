package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/worker"
	"github.com/gavel-evals/gavel/schema"
)

// workerCommand is gavel worker.
func workerCommand(app *App) *cobra.Command {
	w := &workerProcess{App: app}
	var check bool
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Judge the cases that gavel serve queues",
		Args:  noArgs,
		Example: `  GAVEL_DATABASE_URL=postgres://gavel@db.example.com/gavel gavel worker --config gavel-server.yaml
  gavel worker --config /etc/gavel/gavel-server.yaml --check
  gavel worker --interactive 16 --background 4`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check {
				return w.check(cmd.Context())
			}
			return w.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&w.path, "config", "gavel-server.yaml", "the operator's file, the one that gavel serve has, such as /etc/gavel/gavel-server.yaml")
	flags.StringVar(&w.database, "database-url", "", "PostgreSQL database of gavel serve, such as postgres://gavel@db/gavel; with a password in it, set "+databaseVariable+" instead, since other users of the machine see flags")
	flags.IntVar(&w.interactive, "interactive", 0, "cases of pull requests that are judged at once, such as 16; head and base of a case count as one (default: 32, and 8 that start programs)")
	flags.IntVar(&w.background, "background", 0, "cases of branches and schedules that are judged at once, such as 4 (default: 32, and 8 that start programs)")
	flags.StringVar(&w.listen, "listen", "", "address for /healthz and /readyz, such as 0.0.0.0:8081 (default: none)")
	flags.DurationVar(&w.drain, "drain", 20*time.Second, "how long cases in progress may take at the end, such as 1m; others are left to other workers")
	flags.BoolVar(&check, "check", false, "verify the file, the credentials, the sandbox and the database, then exit")
	return cmd
}

// A workerProcess is one worker with its configuration.
type workerProcess struct {
	*App
	path, database          string
	listen                  string
	interactive, background int
	drain                   time.Duration

	file     *config.Server
	operator *serve.Operator
	log      zerolog.Logger
	dir      string // for its clones

	mu       sync.Mutex
	fetchers map[forge.Repo]worker.Fetcher // guarded by mu
}

func (w *workerProcess) run(ctx context.Context) error {
	if err := w.setUp(); err != nil {
		return err
	}
	url, err := w.address()
	if err == nil {
		err = w.makeFolder()
	}
	if err != nil {
		return err
	}
	able, err := w.sandboxed(ctx)
	var store *ledger.Ledger
	var q *queue.Queue
	if err == nil {
		store, q, err = w.connect(ctx, url)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil // it was told to end before it judged anything
		}
		return err
	}
	defer q.Close()
	logClock(ctx, w.log, url)
	limiters := limit.Shared()
	judge := worker.New(worker.Config{
		Limiters: limiters,
		Ledger:   store, Repository: w.repository, Host: w.host, Making: w.Making(), LookupEnv: w.LookupEnv, Log: func(line string) { w.log.Info().Msg(line) },
	})
	w.log.Info().Int("interactive", cmp.Or(w.interactive, queue.UsualTasks)).Int("background", cmp.Or(w.background, queue.UsualTasks)).Bool("programs", able).Msg("waiting for cases")
	cases := queue.NewWorker(queue.WorkerConfig{
		Queue: q, Interactive: w.interactive, Background: w.background, Sandbox: able, Drain: w.drain, Tracer: w.Tracer, Limiters: limiters,
		Judge:  judge.Judge,
		Failed: func(err error) { w.log.Warn().AnErr("err", err).Msg("a task failed") },
		Outage: w.logOutage,
	})
	end, err := w.watched(cases)
	if err == nil {
		err = cases.Run(ctx)
		end()
	}
	err = errors.Join(err, judge.Close(), store.Close(), os.RemoveAll(w.dir))
	w.log.Info().Msg("stopped")
	return err
}

// logOutage logs the beginning and the end of an outage of the database.
func (w *workerProcess) logOutage(o queue.Outage) {
	if o.Duration == 0 {
		w.log.Warn().AnErr("err", o.Cause).Msg("the database cannot be reached; trying again until it can")
		return
	}
	w.log.Info().Float64("duration", o.Duration.Round(time.Millisecond).Seconds()).Int("failures", o.Failures).Msg("the database can be reached again")
}

// address returns the database's address.
func (w *workerProcess) address() (string, error) {
	url, err := w.databaseURL(w.database)
	if err == nil && url == "" {
		err = usageError("a worker needs the PostgreSQL database that gavel serve has; set %s to its address, such as postgres://user:password@host/name", databaseVariable)
	}
	return url, err
}

var errAway = errors.New("the database cannot be reached")

// watched serves health checks for the worker, if an address is configured. The caller
// calls end.
func (w *workerProcess) watched(cases *queue.Worker) (end func(), err error) {
	if w.listen == "" {
		return func() {}, nil
	}
	at, end, err := serveHealth(w.listen, func() error {
		if cases.Ready() {
			return nil
		}
		return errAway
	})
	if err != nil {
		return nil, usageError("--listen: %w", err)
	}
	w.log.Info().Str("listen", at.String()).Msg("answering /healthz and /readyz")
	return end, nil
}

// connect opens the ledger and the queue of a database, which may be unavailable for a
// minute at the start, since both may start together. The caller closes both.
func (w *workerProcess) connect(ctx context.Context, url string) (store *ledger.Ledger, q *queue.Queue, err error) {
	if q, err = queue.Open(ctx, url); err != nil {
		return nil, nil, err
	}
	err = postgres.Patiently(ctx, time.Minute, Away(w.log, time.Minute, func() (err error) {
		if err = q.Migrate(ctx); err == nil {
			store, err = ledger.Open(ctx, ledger.Config{Path: url, Unconfined: w.Unconfined(ctx)})
		}
		return err
	}))
	if err != nil {
		q.Close()
		return nil, nil, err
	}
	return store, q, nil
}

// setUp reads the operator's file.
func (w *workerProcess) setUp() error {
	path := w.Path(w.path)
	data, err := os.ReadFile(path)
	if err != nil {
		return usageError("read the operator's file: %w; name it with --config", err)
	}
	file, problems := config.ParseServer(filepath.Base(path), data)
	for _, p := range problems {
		fmt.Fprintln(w.Stderr, p)
	}
	if schema.HasErrors(problems) {
		return usageError("%s is invalid", path)
	}
	box := file.Trust.Sandbox
	w.App.Sandbox = Sandbox{Accept: box.Accept, Read: box.Read, Path: box.Path, Network: box.Network}
	w.file, w.fetchers = file, map[forge.Repo]worker.Fetcher{}
	w.operator = &serve.Operator{File: file, LookupEnv: w.LookupEnv, Clock: w.Clock, Transport: func(string) http.RoundTripper { return http.DefaultTransport }}
	w.log = newLog(w.Stderr, func(text string) string { return w.Secrets.Text(w.operator.Redact(text)) })
	return nil
}

// makeFolder creates the folder for clones.
func (w *workerProcess) makeFolder() (err error) {
	if err := os.MkdirAll(w.file.Data, 0o700); err != nil {
		return usageError("make the folder for clones: %w; name another one with data in %s", err, w.path)
	}
	if w.dir, err = os.MkdirTemp(w.file.Data, "worker-"); err != nil {
		return usageError("make a folder for clones: %w", err)
	}
	return nil
}

// sandboxed reports whether this machine can run programs as the operator requires. If
// it cannot, the reason is logged.
func (w *workerProcess) sandboxed(ctx context.Context) (bool, error) {
	why, err := w.unsandboxed(ctx)
	if err != nil {
		return false, err
	}
	if why != nil {
		w.log.Warn().AnErr("err", why).Msg("this worker has no sandbox and takes no case that starts a program")
	}
	return why == nil, nil
}

// unsandboxed returns the reason why this machine cannot run programs as the operator
// requires, or nil.
func (w *workerProcess) unsandboxed(ctx context.Context) (why, err error) {
	programs, err := w.Programs(ctx)
	if err != nil {
		return nil, err
	}
	why = programs.Available()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return why, programs.Close()
}

// repository finds a repository in the operator's file by its current name, and clones
// it into a folder of this worker.
func (w *workerProcess) repository(ctx context.Context, name forge.Repo) (worker.Fetcher, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.fetchers[name]; f != nil {
		return f, nil
	}
	for _, r := range w.file.Repositories {
		listed, err := w.operator.Repository(r)
		if err != nil {
			w.log.Warn().Str("repo", cmp.Or(r.Name, r.URL)).AnErr("err", err).Msg("cannot be read")
			continue
		}
		called, url, id, err := listed.Locate(ctx)
		if err != nil || called != name {
			continue
		}
		mirror, err := gitrepo.NewMirror(gitrepo.MirrorConfig{Dir: filepath.Join(w.dir, fmt.Sprintf("%d.git", id)), URL: url, Token: listed.Token})
		if err != nil {
			return nil, err
		}
		var fetching sync.Mutex
		w.fetchers[name] = func(ctx context.Context, src gitrepo.Source) (*gitrepo.Repository, []string, error) {
			fetching.Lock()
			defer fetching.Unlock()
			return mirror.FetchSource(ctx, src)
		}
		return w.fetchers[name], nil
	}
	return nil, fmt.Errorf("%s is not a repository of the operator's file of this worker, or cannot be read with its credential", name)
}

// host opens targets and runs programs for one plan.
func (w *workerProcess) host(ctx context.Context, p *controller.Prepared, pull int) (controller.Host, func() error, error) {
	programs, err := w.Programs(ctx)
	if err != nil {
		return nil, nil, err
	}
	transport := target.Transport()
	host := w.Host(ctx, p, Opener{Programs: programs, Transport: transport, PullRequest: pull})
	return host, func() error {
		transport.CloseIdleConnections()
		return programs.Close()
	}, nil
}
