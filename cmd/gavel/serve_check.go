package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

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
	return []serve.Finding{checkFinding("the ledger "+path, serve.Lockable(path))}
}

// checkDatabase checks the database and its workers. It writes nothing.
func (s *server) checkDatabase(ctx context.Context) []serve.Finding {
	found := lookAtDatabase(ctx, s.database, "the server")
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
