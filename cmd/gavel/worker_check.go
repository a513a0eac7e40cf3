package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/serve"
)

// check tries everything that the worker will do without writing, and reports the
// result of each check. It continues after a failed check.
func (w *workerProcess) check(ctx context.Context) error {
	if err := w.setUp(); err != nil {
		return err
	}
	url, err := w.address()
	if err != nil {
		return err
	}
	list := newChecklist(w.App, func(text string) string { return w.Secrets.Text(w.operator.Redact(text)) })
	for _, f := range lookAtDatabase(ctx, url, "the worker", time.Now).Findings {
		list.Say("", f)
	}
	list.Say("", checkFinding("the folder "+w.file.Data, serve.CheckFolder(w.file.Data)))
	if w.listen != "" {
		list.Say("", checkFinding("--listen "+w.listen, tryListen(ctx, w.listen)))
	}
	list.Say("", w.checkSandbox(ctx))
	for _, r := range w.file.Repositories {
		list.Say(cmp.Or(r.Name, r.URL), w.checkRepository(ctx, r))
	}
	return errors.Join(list.End(), ctx.Err())
}

func (w *workerProcess) checkSandbox(ctx context.Context) serve.Finding {
	why, err := w.unsandboxed(ctx)
	if err != nil {
		return checkFinding("the sandbox", err)
	}
	if why != nil {
		return serve.Finding{What: "the sandbox", State: serve.StateOptional, Message: why.Error() + "; cases that start a program are left to other workers"}
	}
	return serve.Finding{What: "the sandbox", State: serve.StateOK}
}

// checkRepository checks that a repository is accessible with its credential.
func (w *workerProcess) checkRepository(ctx context.Context, r config.Repository) serve.Finding {
	listed, err := w.operator.Repository(r)
	if err != nil {
		what := "credential " + r.Credential
		return serve.Finding{What: what, State: serve.StateMissing, Message: strings.TrimPrefix(err.Error(), what+": ")}
	}
	_, _, _, err = listed.Locate(ctx)
	return checkFinding("metadata: read", err)
}
