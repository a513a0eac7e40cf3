package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// tryCommand returns the command try.
func tryCommand(app *App) *cobra.Command {
	t := tryRun{App: app}
	cmd := &cobra.Command{
		Use:   "try [TARGET] [MESSAGE]",
		Short: "Send one message to a target, and show the request and the reply",
		Example: `  gavel try support "How long for a refund?"
  gavel try "hello"
  gavel try support --system "Answer in French." --json | jq '.read.text'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usageError("try takes a target and a message, but got %d arguments; put the message in quotes", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			t.args, t.hasSystem = args, cmd.Flags().Changed("system")
			return app.WithWorkspace(func(w *workspace) error { return t.run(cmd.Context(), w) })
		},
	}
	app.Sandbox.Bind(cmd)
	cmd.Flags().StringVar(&t.system, "system", "", `system prompt to send, such as "Answer in French." (default: that of the target)`)
	return cmd
}

// A tryRun is one call of the command.
type tryRun struct {
	*App
	args      []string
	system    string
	hasSystem bool
}

// longest bounds a trial of a target without a timeout.
const longest = 2 * time.Minute

func (t *tryRun) run(ctx context.Context, w *workspace) error {
	at, err := t.Worktree(w)
	if err != nil {
		return err
	}
	cfg, message, err := t.subject(at.Config)
	if err != nil {
		return err
	}
	t.Secrets.Add(target.Secrets(slices.Collect(maps.Values(at.Config.Targets)), t.LookupEnv)...)
	system := t.system
	if !t.hasSystem {
		p := document.NewPromptReader(w.Files, at.Config.Settings()).Prompt(cfg.Name)
		if p.Err != nil {
			return usageError("the system prompt of the target %s: %w", cfg.Name, p.Err)
		}
		system = p.Layer.Text
	}
	programs, err := t.Programs(ctx)
	if err != nil {
		return err
	}
	defer programs.Close()
	base := target.Transport()
	defer base.CloseIdleConnections()
	wire := &wire{base: base, hide: t.hider(cfg)}
	opener := Opener{Programs: programs, Transport: wire}
	if strings.Contains(cfg.URLTemplate, "{sha}") {
		if opener.Commit, err = w.Repo.Resolve(ctx, "HEAD"); err != nil {
			return usageError("the target %s is at a URL with {sha}: %w", cfg.Name, err)
		}
	}
	opened, err := t.OpenTarget(ctx, opener, cfg, at)
	if err != nil {
		return usageError("%w", err)
	}
	within, cancel := context.WithTimeout(ctx, cmp.Or(cfg.Timeout, longest))
	defer cancel()
	reply, failed := opened.Respond(within, target.Request{
		System: system, Messages: []schema.Message{{Role: schema.RoleUser, Content: message}}, Case: "gavel/try", Session: rand.Text(),
	})
	if ctx.Err() != nil {
		return errInterrupted
	}
	return t.printOutcome(newOutcome(cfg, wire, reply, failed))
}

// printOutcome prints the outcome, and returns an error if the target did not reply.
func (t *tryRun) printOutcome(o tryOutcome) error {
	var err error
	if t.JSON {
		err = t.Print(o)
	} else {
		err = o.write(t.Stdout)
	}
	if err != nil || o.Error == "" {
		return err
	}
	return errors.Join(err, exitOf(ExitGate))
}

// subject returns the target and the message in the arguments. A single argument is a
// target if one of that name exists.
func (t *tryRun) subject(cfg *config.Config) (config.Target, string, error) {
	name, message := cfg.DefaultTarget, "hello"
	switch {
	case len(t.args) == 2:
		name, message = t.args[0], t.args[1]
	case len(t.args) == 1 && hasTarget(cfg, t.args[0]):
		name = t.args[0]
	case len(t.args) == 1:
		message = t.args[0]
	}
	if of, ok := cfg.Aliases[name]; ok {
		name = of
	}
	found, ok := cfg.Targets[name]
	if ok {
		return found, message, nil
	}
	known := slices.Sorted(maps.Keys(cfg.Targets))
	switch hint := suggest.DidYouMean(name, known); {
	case len(known) == 0:
		return found, "", usageError("%s has no targets; gavel init writes one", t.ConfigFile)
	case name == "":
		return found, "", usageError("name a target, since %s has no default_target: %s", t.ConfigFile, strings.Join(known, ", "))
	case hint != "":
		return found, "", usageError("unknown target %q; %s", name, hint)
	}
	return found, "", usageError("unknown target %q; known: %s", name, strings.Join(known, ", "))
}

func hasTarget(cfg *config.Config, name string) bool {
	_, target := cfg.Targets[name]
	_, alias := cfg.Aliases[name]
	return target || alias
}

// hider returns a function that removes the values of a target's variables from
// headers, however short they are.
func (t *tryRun) hider(cfg config.Target) func(string) string {
	var pairs []string
	for _, name := range cfg.Variables() {
		if value := strings.TrimSpace(t.Env(name)); value != "" {
			pairs = append(pairs, value, target.Redacted)
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
