package servecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/cmd/internal/cli"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/queue"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A checkLine is one line of the report of --check.
type checkLine struct {
	// Repository is empty for what concerns all of them.
	Repository string `json:"repository"`
	What       string `json:"check"`
	State      string `json:"state"`
	Message    string `json:"message"`
}

// check tries what the server will do, as far as nothing is written, and says
// of each thing whether it works. It goes on after a failed check.
func (s *server) check(ctx context.Context) error {
	if err := s.findDatabase(); err != nil {
		return err
	}
	all := []checkLine{}
	say := func(repository string, f serve.Finding) {
		c := checkLine{repository, f.What, f.State, textfmt.Line(s.redact(f.Message))}
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
	for _, f := range s.checkLedger(ctx) {
		say("", f)
	}
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

// checkLedger tries where verdicts are kept, and looks for those who judge.
func (s *server) checkLedger(ctx context.Context) []serve.Finding {
	if s.database != "" {
		return s.checkDatabase(ctx)
	}
	path := s.now.Load().file.Ledger
	release, err := serve.Lock(path)
	if err == nil {
		release()
	} else if errors.Is(err, serve.ErrLocked) {
		err = nil // a running server has it, which does not prevent a look
	}
	return []serve.Finding{found("the ledger "+path, err)}
}

// lookFor is how long the database may take to answer.
const lookFor = 15 * time.Second

// checkDatabase looks at the database and the workers that have it. Nothing is written.
func (s *server) checkDatabase(ctx context.Context) []serve.Finding {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	pending, err := postgres.Pending(ctx, s.database)
	database := found("the database "+postgres.Redacted(s.database), err)
	if err != nil {
		return []serve.Finding{database}
	}
	if pending > 0 {
		database.Message = "the server makes its tables, or brings them up to date, when it starts"
	}
	if s.here {
		return []serve.Finding{database}
	}
	return []serve.Finding{database, s.checkWorkers(ctx)}
}

func (s *server) checkWorkers(ctx context.Context) serve.Finding {
	q, err := queue.Open(ctx, s.database)
	if err != nil {
		return found("workers", err)
	}
	defer q.Close()
	running, err := q.Workers(ctx)
	switch {
	case err != nil:
		return found("workers", err)
	case running == 0:
		return serve.Finding{What: "workers", State: serve.StateOptional, Message: "none is running, and cases wait for one: start gavel worker with the same database, or gavel serve with --judge"}
	}
	return serve.Finding{What: "workers", State: serve.StateOK, Message: fmt.Sprintf("%d running", running)}
}

// end prints what has to be one document, and fails for what is missing.
func (s *server) end(all []checkLine) error {
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
