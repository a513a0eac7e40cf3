package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/cmd/internal/collector"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/reporters/notify"
	"github.com/gavel-evals/gavel/schema"
)

// The limits of open event streams, below the number of connections.
const (
	streams     = 400
	streamsEach = 50
)

// serveCommand returns the command serve.
func serveCommand(app *App) *cobra.Command {
	var file, database string
	var check, here bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Keep every pull request of some repositories judged",
		Args:  noArgs,
		Example: `  gavel serve --config /etc/gavel/gavel-server.yaml --check
  gavel serve --config /etc/gavel/gavel-server.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := newServer(app, file)
			if err != nil {
				return err
			}
			s.database, s.here = database, here
			if check {
				return s.check(cmd.Context())
			}
			return s.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&file, "config", "gavel-server.yaml", "the operator's file, such as /etc/gavel/gavel-server.yaml")
	cmd.Flags().StringVar(&database, "database-url", "", "PostgreSQL database in place of the ledger's file, such as postgres://gavel@db/gavel; with a password in it, set "+databaseVariable+" instead, since other users of the machine see flags")
	cmd.Flags().BoolVar(&here, "judge", false, "judge in this process with a database too; without it, gavel worker processes judge what a server with a database plans")
	cmd.Flags().BoolVar(&check, "check", false, "verify the file, the credentials and their permissions, then exit")
	return cmd
}

// A server is a [serve.Server] with the files, secrets and ledger that the command
// opens.
type server struct {
	*App
	path string // the operator's file
	// database is the address of the ledger's database; empty for a file.
	database string
	// here means that this process judges even with a database. Otherwise workers do,
	// by remote.
	here   bool
	remote Remote
	// warning returns why nothing is judged; nil if this process judges.
	warning func(context.Context) string
	// now is the active configuration.
	now      atomic.Pointer[configState]
	operator *serve.Operator
	log      zerolog.Logger
	metrics  *serve.Metrics
	server   atomic.Pointer[serve.Server]
	hook     atomic.Pointer[http.Handler]
	store    atomic.Pointer[ledger.Ledger]
	board    dashboard.Board
	// sessions is the key that signs browsers' cookies while the process runs.
	sessions []byte
	// ended are the sessions of signed-out users.
	ended access.Ended
	// streams bounds the pages that follow changes.
	streams access.StreamLimit
	// looked is the file's content at the last look; used only by the reloading
	// goroutine.
	looked []byte
}

// A configState is one state of the operator's file.
type configState struct {
	// app has the file's sandbox.
	app  *App
	file *config.Server
	data []byte
}

// newServer reads the operator's file and the secrets that it names.
func newServer(a *App, file string) (*server, error) {
	file = a.Path(file)
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usageError("read the operator's file: %w; name it with --config", err)
	}
	now, problems := newSetting(a, file, data)
	for _, p := range problems {
		fmt.Fprintln(a.Stderr, p)
	}
	if now == nil {
		return nil, usageError("%s is invalid", file)
	}
	s := &server{App: a, path: file, sessions: make([]byte, 32)}
	s.streams = access.StreamLimit{All: streams, Each: streamsEach, Proxied: s.proxied}
	_, _ = rand.Read(s.sessions) // it never fails
	s.now.Store(now)
	s.looked = data
	s.metrics = serve.NewMetrics(func() (int, int) { return s.server.Load().Depth() })
	s.operator = &serve.Operator{
		File: now.file, LookupEnv: a.LookupEnv, Clock: a.Clock,
		Transport: func(credential string) http.RoundTripper {
			return s.metrics.Transport(credential, http.DefaultTransport)
		},
	}
	s.log = newLog(a.Stderr, s.redact)
	return s, nil
}

// newSetting reads an operator's file; it returns nil for an invalid one.
func newSetting(a *App, path string, data []byte) (*configState, []schema.Problem) {
	file, problems := config.ParseServer(filepath.Base(path), data)
	if schema.HasErrors(problems) {
		return nil, problems
	}
	own := *a
	box := file.Trust.Sandbox
	own.Sandbox = Sandbox{Accept: box.Accept, Read: box.Read, Path: box.Path, Network: box.Network}
	return &configState{&own, file, data}, problems
}

// redact removes secrets from a text, by their values and their forms.
func (s *server) redact(text string) string { return s.Secrets.Text(s.operator.Redact(text)) }

// findDatabase sets the database named by a flag or the environment; without one the
// ledger is a file.
func (s *server) findDatabase() (err error) {
	s.database, err = s.databaseURL(s.database)
	return err
}

// run serves until ctx is cancelled.
func (s *server) run(ctx context.Context) error {
	collector.Serve()
	if err := s.findDatabase(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.now.Load().file.Data, 0o700); err != nil {
		return usageError("make the folder for clones: %w; name another one with data in %s", err, s.path)
	}
	if s.database != "" {
		end, err := s.queued(ctx)
		if err != nil {
			return err
		}
		defer end()
		return s.lead(ctx)
	}
	file, named := s.now.Load().file, "ledger in "+s.path
	release, err := serve.Lock(file.Ledger)
	if errors.Is(err, serve.ErrLocked) {
		return err
	}
	if err != nil {
		return usageError("%w; name another file with %s", err, named)
	}
	defer release()
	return s.serveLedger(ctx, ledger.Config{Path: file.Ledger, NamedBy: named})
}

// serveLedger serves with a ledger until ctx is cancelled.
func (s *server) serveLedger(ctx context.Context, where ledger.Config) error {
	where.Unconfined = s.now.Load().app.Unconfined(ctx)
	repos, err := s.operator.Repositories()
	if err != nil {
		return usageError("%w", err)
	}
	var store *ledger.Ledger
	open := func() (err error) { store, err = ledger.OpenOrReplace(ctx, where); return err }
	if s.database == "" {
		err = open()
	} else {
		err = postgres.Patiently(ctx, patience, open)
	}
	for err == nil {
		if store.Notice() != "" {
			s.log.Error().Msg(store.Notice())
		}
		broken, failed := s.round(ctx, repos, store)
		if broken == nil {
			return errors.Join(failed, store.Close())
		}
		s.log.Error().AnErr("err", broken).Msg("the ledger is broken; the next one takes its place")
		if repos, err = s.operator.Repositories(); err == nil {
			store, err = ledger.Reopen(ctx, where, store, broken)
		}
	}
	// No later server completes the open work of an earlier one.
	return errors.Join(err, serve.Abandon(ctx, s.config(repos), "the server cannot use its ledger; see its log"))
}

func (s *server) config(repos []*serve.Repository) serve.Config {
	start := s.operator.File // see config.Server.UntilRestart
	return serve.Config{
		Repositories: repos, Policy: policyOf(s.now.Load().file), Dir: start.Data, Poll: start.Poll, Making: s.making(), Execute: s.execute, LookupEnv: s.LookupEnv, Tracer: s.Tracer,
		Notices: &notify.Sender{URL: s.notified, Transport: s.Notices, Clock: s.Clock},
		Redact:  s.redact, Trial: s.judgeApart, Proxied: s.proxied,
	}
}

// notified returns the address in a variable that the operator's file lists for notices.
func (s *server) notified(variable string) (string, error) {
	if !slices.Contains(s.now.Load().file.Notify, variable) {
		return "", fmt.Errorf("%s is not in the notify of the operator's file: add it there, or remove it from gavel.yaml", variable)
	}
	address, err := s.operator.Secret("notify", config.Secret{Env: variable})
	return string(address), err
}

// proxied reports whether an address is on this machine, or a proxy of the operator's
// file, which acts for many people.
func (s *server) proxied(addr netip.Addr) bool {
	if addr.IsLoopback() {
		return true
	}
	pages := s.now.Load().file.Pages
	return pages != nil && pages.Proxy != nil && slices.ContainsFunc(pages.Proxy.From, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// round serves with one ledger, until it turns out to be broken.
func (s *server) round(ctx context.Context, repos []*serve.Repository, store *ledger.Ledger) (broken, err error) {
	cfg := s.config(repos)
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	cfg.Ledger, cfg.Observer = store, serverObserver{s, func(err error) {
		if err == nil {
			err = store.Vanished()
		}
		if ledger.IsBroken(err) {
			end(err)
		}
	}}
	server, err := serve.New(ctx, cfg)
	if ledger.IsBroken(err) {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	s.server.Store(server)
	s.store.Store(store)
	handler, err := s.handler()
	if err != nil {
		return nil, err
	}
	s.hook.Store(&handler)
	listener, err := net.Listen("tcp", s.operator.File.Listen)
	if err != nil {
		return nil, s.cannotListen("listen", err)
	}
	endProbes, err := s.probes()
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	defer endProbes()
	defer s.reloading(ctx)()
	s.log.Info().Str("listen", listener.Addr().String()).Int("repositories", len(repos)).Msg("serving")
	err = server.Serve(inner, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.hook.Load()).ServeHTTP(w, r) }))
	if err != nil {
		return nil, err
	}
	if ctx.Err() == nil {
		return context.Cause(inner), nil
	}
	s.log.Info().Msg("stopped")
	return nil, nil
}

// cannotListen returns the error of a field with an address.
func (s *server) cannotListen(field string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return usageError("%s: %w: %s", field, err, inUse(s.path, field))
	}
	return usageError("%s: %w; write another address as %s in %s", field, err, field, s.path)
}

// inUse says what to do about a port that another program has.
func inUse(file, field string) string {
	return fmt.Sprintf("another program has the port, which may be a server that still runs: end it, or write another address as %s in %s", field, file)
}

func policyOf(file *config.Server) serve.Policy {
	return serve.Policy{Forks: file.Trust.Forks, Programs: file.Trust.Programs, Targets: file.Trust.Targets, Bots: file.Bots, Labels: file.Labels, Deadline: file.Deadline, Day: dayOf(file)}
}

// dayOf returns a repository's daily budget: an equal share, so that all together stay
// within the operator's budget.
func dayOf(file *config.Server) config.Limits {
	return config.Limits{}.Stricter(file.Budget, len(file.Repositories))
}

// making returns how programs run that make parts of definitions, under the operator's latest
// settings.
func (s *server) making() controller.Making {
	return controller.Making{Programs: func(ctx context.Context) (*controller.ProgramRunner, error) { return s.now.Load().app.Programs(ctx) }}
}

// execute executes a plan within the operator's limits.
func (s *server) execute(ctx context.Context, p *controller.Prepared, opts controller.RunOptions) (*report.Report, error) {
	now := s.now.Load()
	step, end := s.board.Track(p.Head().Commit) // several runs would overwrite each other's line
	defer end()
	opts.Observe = func(p controller.Progress) { step(p.Done, p.Total, p.Again) }
	if waits := opts.Waits; waits != nil {
		opts.Waits = func(w controller.WaitingCases) {
			s.board.Waits(p.Head().Commit, w.Cases, w.String())
			waits(w)
		}
	}
	budget := p.Head().Config.Budget
	budget.Day = budget.Day.Stricter(dayOf(now.file), 1)
	p.SetBudget(budget)
	app := *now.app
	app.Remote = s.remote
	return app.Execute(ctx, p, opts)
}
