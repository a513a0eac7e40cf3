package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/controller/serve/metrics"
	"github.com/gavel-evals/gavel/controller/target/secret"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

func (a *app) serveCommand() *cobra.Command {
	var file string
	var check bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Keep every pull request of some repositories judged",
		Long: `Keep every pull request of some repositories judged: webhooks and polling tell of
changes, and each head gets its statuses and its pull request one comment.

What is served stands in the operator's file, which lies outside of every
repository; examples/server/gavel-server.yaml shows all of it.`,
		Args: noArgs,
		Example: `  gavel serve --config /etc/gavel/gavel-server.yaml --check
  gavel serve --config /etc/gavel/gavel-server.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.newServing(file)
			if err != nil {
				return err
			}
			if check {
				return s.check(cmd.Context())
			}
			return s.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&file, "config", "gavel-server.yaml", "the operator's file, such as /etc/gavel/gavel-server.yaml")
	cmd.Flags().BoolVar(&check, "check", false, "verify the file, the credentials and what they may do, and end")
	return cmd
}

// A serving is a server with what the command brings to it.
type serving struct {
	*app
	file    *config.Server
	secrets []string
	// hideKeys takes out what looks like a provider's key.
	hideKeys func(string) string
	log      zerolog.Logger
	metrics  *metrics.Metrics
	server   *serve.Server
	clients  map[string]*forge.Client // by forge and credential
}

// newServing reads the operator's file and the secrets that it names.
func (a *app) newServing(file string) (*serving, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(a.dir, file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usageError("read the operator's file: %w; name it with --config", err)
	}
	server, problems := config.ParseServer(filepath.Base(file), data)
	for _, p := range problems {
		fmt.Fprintln(a.stderr, p)
		if p.Hint != "" {
			fmt.Fprintln(a.stderr, "  "+p.Hint)
		}
	}
	if schema.HasErrors(problems) {
		return nil, usageError("%s is invalid", file)
	}
	own := *a
	box := server.Trust.Sandbox
	own.sandbox = sandboxFlags{accept: box.Accept, read: box.Read, path: box.Path, network: box.Network}
	s := &serving{app: &own, file: server, clients: map[string]*forge.Client{}, hideKeys: secret.Scrub(nil, a.lookupEnv)}
	s.metrics = metrics.New(func() (int, int) { return s.server.Depth() })
	s.log = newLog(a.stderr, s.redact)
	return s, nil
}

// secret reads a secret from where it is. From then on it is in no log.
func (s *serving) secret(what string, from config.Secret) (string, error) {
	value, where := "", "the variable "+from.Env
	if from.File != "" {
		where = "the file " + from.File
		data, err := os.ReadFile(from.File)
		if err != nil {
			return "", usageError("%s: %w", what, err)
		}
		value = strings.TrimSpace(string(data))
	} else {
		value = strings.TrimSpace(s.env(from.Env))
	}
	if value == "" {
		return "", usageError("%s: %s holds nothing", what, where)
	}
	s.secrets = append(s.secrets, value)
	return value, nil
}

// redact takes the secrets of the server out of a text.
func (s *serving) redact(text string) string {
	const short = 8 // shorter ones stand in ordinary words
	for _, value := range s.secrets {
		if len(value) >= short {
			text = strings.ReplaceAll(text, value, secret.Redacted)
		}
	}
	return s.hideKeys(text)
}

// repository is one of the file's with its client and credential.
func (s *serving) repository(r config.Repository) (serve.Repository, error) {
	out := serve.Repository{URL: r.URL, Branches: r.Branches, ConfigFile: r.Config}
	// What the file asks for and nobody does must not look as if it were done.
	if r.Schedule != nil || r.DriftIssue != 0 {
		return out, usageError("schedule and drift_issue: gavel serve runs nothing by the clock; remove them, and run gavel run --all in a job of your own")
	}
	token := ""
	if r.Credential != "" {
		c := s.file.Credentials[r.Credential]
		if c.AppID != 0 {
			return out, usageError("credential %s is a GitHub App, and gavel serve takes tokens: write token_env or token_file", r.Credential)
		}
		var err error
		if token, err = s.secret("credential "+r.Credential, c.Token); err != nil {
			return out, err
		}
		out.Token = func() string { return token }
	}
	if r.Name == "" {
		return out, nil
	}
	var err error
	if out.Name, err = forge.ParseRepo(r.Name); err != nil {
		return out, usageError("%w", err)
	}
	out.WebURL = forge.WebURL(r.Forge)
	// Two clients of one credential would write at the same time.
	id := r.Forge + " " + r.Credential
	if s.clients[id] == nil {
		s.clients[id], err = forge.New(forge.Config{
			BaseURL: r.Forge, Token: forge.Token(token), Now: s.now, Wait: s.wait,
			Transport: s.metrics.Transport(cmp.Or(r.Credential, "none"), http.DefaultTransport),
		})
	}
	out.Client = s.clients[id]
	return out, err
}

// repositories are those of the file that can be made ready, and what is wrong
// with the others.
func (s *serving) repositories() (ready []serve.Repository, err error) {
	var errs []error
	for _, r := range s.file.Repositories {
		repo, err := s.repository(r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", cmp.Or(r.Name, r.URL), err))
			continue
		}
		ready = append(ready, repo)
	}
	return ready, errors.Join(errs...)
}

// run serves until it is told to end.
func (s *serving) run(ctx context.Context) error {
	repos, err := s.repositories()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	release, err := serve.Lock(s.file.Ledger)
	if err != nil {
		return err
	}
	defer release()
	book, err := ledger.Open(ctx, ledger.Config{Path: s.file.Ledger})
	if err != nil {
		return err
	}
	defer book.Close()
	s.server, err = serve.New(ctx, serve.Config{
		Repositories: repos, Ledger: book, Dir: s.file.Data, Execute: s.execute, LookupEnv: s.lookupEnv,
		Forks: s.file.Trust.Forks, Poll: s.file.Poll, Observer: s.observer(),
	})
	if err != nil {
		return err
	}
	handler, err := s.handler()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.file.Listen)
	if err != nil {
		return usageError("listen: %w", err)
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		failed <- web.Serve(listener)
		cancel() // without webhooks and metrics it is not what was asked for
	}()
	s.log.Info().Str("listen", listener.Addr().String()).Int("repositories", len(repos)).Msg("serving")
	err = s.server.Run(ctx)
	// Deliveries are only hints, so that none has to be waited for.
	err = errors.Join(err, web.Close())
	if broken := <-failed; !errors.Is(broken, http.ErrServerClosed) {
		return broken
	}
	s.log.Info().Msg("stopped")
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// execute carries a plan out within what the operator allows.
func (s *serving) execute(ctx context.Context, p *controller.Prepared, e controller.Execution) (*reporters.Report, error) {
	e.Observe = func(controller.Progress) {} // several runs would draw over one another
	if s.file.Trust.Programs == "never" {
		inner := e.Withhold
		e.Withhold = func(row plan.Row) string {
			if _, starts := p.Starts(row); starts {
				return "it starts a program, and the operator of this server allows none"
			}
			if inner == nil {
				return ""
			}
			return inner(row)
		}
	}
	// The accounts of a day are by repository: each gets an equal share, so that
	// all together stay within the operator's budget.
	cfg := *p.Head.Config
	cfg.Budget.Day = cfg.Budget.Day.Within(s.file.Budget, len(s.file.Repositories))
	p.Head.Config = &cfg
	return s.app.execute(ctx, p, "", e)
}
