package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/serve"
)

// check tries what the server will do, as far as nothing is written, and says
// of each thing whether it works. Whatever fails, the rest is tried.
func (s *serving) check(ctx context.Context) error {
	failed := 0
	say := func(what string, err error) {
		if err != nil {
			failed++
			fmt.Fprintf(s.stdout, "missing  %s: %s\n", what, s.redact(err.Error()))
			return
		}
		fmt.Fprintf(s.stdout, "ok       %s\n", what)
	}
	_, err := s.handler()
	if s.file.Webhook != nil {
		say("the secret of the webhook", err)
	}
	release, err := serve.Lock(s.file.Ledger)
	say("the ledger "+s.file.Ledger, err)
	if err == nil {
		defer release()
	}
	for _, r := range s.file.Repositories {
		name := cmp.Or(r.Name, r.URL)
		repo, err := s.repository(r)
		if err != nil {
			say(name, err)
			continue
		}
		s.checkRepository(ctx, name, repo, say)
	}
	if failed > 0 {
		return usageError("%d of these are missing", failed)
	}
	return ctx.Err()
}

func (s *serving) checkRepository(ctx context.Context, name string, repo serve.Repository, say func(string, error)) {
	url, branches := repo.URL, repo.Branches
	if repo.Client != nil {
		said, err := repo.Client.Repository(ctx, repo.Name)
		say(name+": metadata: read", err)
		if err != nil {
			return
		}
		_, _, err = repo.Client.OpenPulls(ctx, repo.Name, "")
		say(name+": pull-requests: read", err)
		say(name+": statuses: write, pull-requests: write", mayWrite(ctx, repo))
		url = cmp.Or(url, said.CloneURL)
		if len(branches) == 0 {
			branches = []string{said.DefaultBranch}
		}
	}
	for _, branch := range branches {
		say(name+": contents: read, branch "+branch, gitrepo.Reach(ctx, gitrepo.MirrorConfig{URL: url, Token: repo.Token}, "refs/heads/"+branch))
	}
	if len(branches) == 0 {
		say(name+": branches", fmt.Errorf("without a forge its branches have to be listed"))
	}
}

// mayWrite asks who the credential is and what that account may do.
func mayWrite(ctx context.Context, repo serve.Repository) error {
	login, err := repo.Client.Login(ctx)
	if err != nil {
		return err
	}
	permission, err := repo.Client.Permission(ctx, repo.Name, login)
	if err == nil && !permission.CanWrite() {
		err = fmt.Errorf("%s has the permission %q, and %q is needed", login, permission, forge.PermissionWrite)
	}
	return err
}
