package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/gavel-evals/gavel/cmd/internal/editor"
	"github.com/gavel-evals/gavel/cmd/internal/portal"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/controller/dashboard/access"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/schema"
)

// shortest is the minimum length of a user's token in bytes.
const shortest = 16

// pages returns the pages configured in the operator's file, or nil.
func (s *server) pages(file *config.Server, hooks []forge.Token) (http.Handler, error) {
	if file.Pages == nil {
		return nil, nil
	}
	gate, err := s.gate(file.Pages, hooks)
	if err != nil {
		return nil, err
	}
	return portal.New(portal.Config{
		Server: shownServer{s},
		Ledger: s.store.Load(), Gate: gate, Hosts: file.Hosts, Hide: s.redact, Board: &s.board, Streams: &s.streams, Secret: s.sessions, Now: clock.Or(s.Clock).Now,
	}), nil
}

// A shownServer is the server as its pages show it.
type shownServer struct{ s *server }

// Repositories implements [portal.Server].
func (w shownServer) Repositories() []serve.RepositoryView { return w.s.server.Load().Repositories() }

// Recheck implements [portal.Server].
func (w shownServer) Recheck(repo serve.RepositoryView, number int) {
	w.s.server.Load().Recheck(repo, number)
}

// Forecast implements [portal.Server].
func (w shownServer) Forecast(ctx context.Context, repo serve.RepositoryView, before, after fs.FS) (*editor.Forecast, error) {
	return makeForecast(ctx, before, after, w.s.planner(repo))
}

// Digests implements [portal.Server].
func (w shownServer) Digests(ctx context.Context, repo serve.RepositoryView, files fs.FS) (map[string]string, error) {
	planned, err := w.s.planner(repo)(ctx, files, nil)
	return digestsOf(planned), err
}

// gate returns the access control for the users in the operator's file. Their tokens
// differ from each other and from the secrets of the webhook.
func (s *server) gate(pages *config.Pages, hooks []forge.Token) (*access.Gate, error) {
	cfg := access.GateConfig{Secret: s.sessions, Ended: &s.ended, Now: clock.Or(s.Clock).Now}
	owners := map[string]string{}
	for _, secret := range hooks {
		owners[string(secret)] = "the webhook"
	}
	for _, u := range pages.Users {
		user := access.User{Name: u.Name, Role: access.RoleNamed(u.Role), Repositories: u.Repositories}
		if u.Token != (config.Secret{}) {
			token, err := s.operator.Secret("pages, user "+u.Name, u.Token)
			if err != nil {
				return nil, usageError("%w", err)
			}
			if user.Token = string(token); len(user.Token) < shortest {
				return nil, usageError("pages: the token of user %s has %d bytes; make one of at least %d, such as by openssl rand -hex 16", u.Name, len(user.Token), shortest)
			}
			if other := owners[user.Token]; other != "" {
				return nil, usageError("pages: the token of user %s is also the secret of %s; make one for each, such as by openssl rand -hex 16", u.Name, other)
			}
			owners[user.Token] = "user " + u.Name
		}
		cfg.Users = append(cfg.Users, user)
	}
	if p := pages.Proxy; p != nil {
		cfg.Header, cfg.From, cfg.Others = p.Header, p.From, access.RoleNamed(p.Role)
	}
	return access.NewGate(cfg), nil
}

// planner plans unsaved definitions of a repository, as its base branch would judge
// them.
func (s *server) planner(w serve.RepositoryView) forecastPrepare {
	return func(ctx context.Context, files fs.FS, selected func(*schema.CaseInfo) bool) (*controller.Prepared, error) {
		cfg, problems, _, err := configfile.Read(files, w.ConfigFile, s.LookupEnv)
		if err != nil || schema.HasErrors(problems) {
			return nil, err
		}
		trust := ledger.Trust{Level: ledger.LevelBase, Repository: w.Known}
		prepared, err := controller.Prepare(ctx, controller.Request{
			Head:   controller.Checkout{Commit: controller.Worktree, FS: files, Config: cfg},
			Making: s.now.Load().app.Making(), ConfigFile: w.ConfigFile, Ledger: s.store.Load(), LookupEnv: s.LookupEnv, Select: selected, HeadTrust: trust, BaseTrust: trust,
		})
		if err != nil {
			return nil, fmt.Errorf("plan the change: %w", err)
		}
		return prepared, nil
	}
}
