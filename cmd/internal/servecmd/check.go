package servecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/cli"
	"github.com/gavel-evals/gavel/controller/serve"
)

// A checked is one line of what --check says.
type checked struct {
	// Repository is empty for what concerns all of them.
	Repository string `json:"repository"`
	What       string `json:"check"`
	State      string `json:"state"`
	Message    string `json:"message"`
}

// check tries what the server will do, as far as nothing is written, and says
// of each thing whether it works. It goes on after a failed check.
func (s *serving) check(ctx context.Context) error {
	all := []checked{}
	say := func(repository string, f serve.Finding) {
		c := checked{repository, f.What, f.State, s.redact(f.Message)}
		all = append(all, c)
		if s.JSON {
			return
		}
		line := fmt.Sprintf("%-8s %s", c.State, c.What)
		if c.Repository != "" {
			line = fmt.Sprintf("%-8s %s: %s", c.State, c.Repository, c.What)
		}
		if c.Message != "" {
			line += ": " + c.Message
		}
		fmt.Fprintln(s.Stdout, line)
	}
	_, err := s.handler()
	if s.now.Load().file.Webhook != nil {
		say("", found("the secret of the webhook", err))
	}
	release, err := serve.Lock(s.now.Load().file.Ledger)
	if err == nil {
		defer release()
	} else if errors.Is(err, serve.ErrLocked) {
		err = nil // a running server has it, which does not prevent a look
	}
	say("", found("the ledger "+s.now.Load().file.Ledger, err))
	for _, r := range s.now.Load().file.Repositories {
		name := cmp.Or(r.Name, r.URL)
		repo, err := s.operator.Repository(r)
		if err != nil {
			what := "credential " + r.Credential
			say(name, serve.Finding{What: what, State: serve.StateMissing, Message: strings.TrimPrefix(err.Error(), what+": ")})
			continue
		}
		serve.Check(ctx, repo, func(f serve.Finding) { say(name, f) })
	}
	return errors.Join(s.end(all), ctx.Err())
}

// end prints what has to be one document, and fails for what is missing.
func (s *serving) end(all []checked) error {
	if s.JSON {
		if err := s.Print(map[string]any{"checks": all}); err != nil {
			return err
		}
	}
	missing := 0
	for _, c := range all {
		if c.State == serve.StateMissing {
			missing++
		}
	}
	if missing > 0 {
		return cli.UsageError("%d of these are missing", missing)
	}
	return nil
}

func found(what string, err error) serve.Finding {
	if err != nil {
		return serve.Finding{What: what, State: serve.StateMissing, Message: err.Error()}
	}
	return serve.Finding{What: what, State: serve.StateOK}
}
