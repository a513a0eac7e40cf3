package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/serve"
)

// check tries everything that the server will do without writing, and reports the
// result of each check. It continues after a failed check.
func (s *server) check(ctx context.Context) error {
	if err := s.findDatabase(); err != nil {
		return err
	}
	list := newChecklist(s.App, s.redact)
	s.checkSecrets(list)
	s.checkPlaces(ctx, list)
	for _, f := range s.checkLedger(ctx) {
		list.Say("", f)
	}
	for _, r := range s.now.Load().file.Repositories {
		name := cmp.Or(r.Name, r.URL)
		repo, err := s.operator.Repository(r)
		if err != nil {
			what := "credential " + r.Credential
			list.Say(name, serve.Finding{What: what, State: serve.StateMissing, Message: strings.TrimPrefix(err.Error(), what+": ")})
			continue
		}
		say := func(f serve.Finding) { list.Say(name, f) }
		serve.Check(ctx, repo, say)
		if s.now.Load().file.Pages.Editable(name) {
			serve.CheckSave(ctx, repo, say)
		}
	}
	return errors.Join(list.End(), ctx.Err())
}

// checkSecrets checks the secrets of the webhook and of the users.
func (s *server) checkSecrets(list *checklist) {
	file := s.now.Load().file
	hook := forge.WebhookConfig{Take: s.enqueue}
	if file.Webhook != nil {
		var err error
		if _, hook.Secrets, err = s.webhook(file); err == nil {
			_, err = forge.NewWebhook(hook)
		}
		list.Say("", checkFinding("the secret of the webhook", err))
	}
	if file.Pages != nil {
		_, err := s.gate(file.Pages, hook.Secrets)
		list.Say("", checkFinding("the users of the pages", err))
	}
}

// checkLedger checks the ledger, and looks for workers.
func (s *server) checkLedger(ctx context.Context) []serve.Finding {
	if s.database != "" {
		return s.checkDatabase(ctx)
	}
	path := s.now.Load().file.Ledger
	return []serve.Finding{checkFinding("the ledger "+path, errors.Join(serve.CheckFile(path), serve.CheckFile(path+"-server")))}
}

// checkPlaces checks the folder and the addresses of the server.
func (s *server) checkPlaces(ctx context.Context, list *checklist) {
	file := s.now.Load().file
	list.Say("", checkFinding("the folder "+file.Data, serve.CheckFolder(file.Data)))
	list.Say("", s.checkAddress(ctx, "listen", file.Listen))
	if file.Probes != "" {
		list.Say("", s.checkAddress(ctx, "probes", file.Probes))
	}
}

// checkAddress checks that the server can listen at an address. A server that runs with
// the same ledger may have it until it ends.
func (s *server) checkAddress(ctx context.Context, field, address string) serve.Finding {
	err := tryListen(ctx, address)
	found := checkFinding(field+" "+address, err)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return found
	}
	switch {
	case s.database != "":
		found.State, found.Message = serve.StateOptional, "another program has the port, which may be the server that runs with this database"
	case serve.Locked(s.now.Load().file.Ledger):
		found.State, found.Message = serve.StateOK, "the server that runs with this ledger has the port"
	default:
		found.Message = inUse(s.path, field)
	}
	return found
}

// tryListen listens at an address for a moment.
func tryListen(ctx context.Context, address string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return listener.Close()
}

// checkDatabase checks the database and its workers. It writes nothing.
func (s *server) checkDatabase(ctx context.Context) []serve.Finding {
	found := lookAtDatabase(ctx, s.database, "the server", time.Now)
	if s.here || found.Findings[0].State == serve.StateMissing {
		return found.Findings
	}
	workers := serve.Finding{What: "workers", State: serve.StateOK, Message: fmt.Sprintf("%d running", found.Workers)}
	switch {
	case found.Fault != nil:
		workers = checkFinding("workers", found.Fault)
	case found.Workers == 0:
		workers.State, workers.Message = serve.StateOptional, noWorker
	}
	return append(found.Findings, workers)
}
