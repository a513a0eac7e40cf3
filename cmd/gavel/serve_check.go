package main

import (
	"cmp"
	"context"
	"fmt"

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
		repo, err := s.operator.Repository(r)
		if err != nil {
			say(name, err)
			continue
		}
		serve.Check(ctx, repo, func(permission string, err error) { say(name+": "+permission, err) })
	}
	if failed > 0 {
		return usageError("%d of these are missing", failed)
	}
	return ctx.Err()
}
