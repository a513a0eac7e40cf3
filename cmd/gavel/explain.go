package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/controller/ledger"
)

func explainCommand(a *App) *cobra.Command {
	var e explanation
	cmd := &cobra.Command{
		Use:   "explain CASE",
		Short: "Show everything that is known about one case",
		Example: `  gavel explain support/level_1/test_refund_window
  gavel explain test_definitions/refund.yaml
  gavel explain support/level_1/test_refund_window --base main --prompts`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("explain takes the key of one case, such as math/level_1/test_sum")
			}
			asked, err := e.forCase(args[0])
			if err != nil {
				return err
			}
			return a.WithStored(cmd.Context(), a.WithPlan, func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
				asked.store = store
				return explainCase(ctx, a, w, asked)
			})
		},
	}
	flags := cmd.Flags()
	flags.Var((*refValue)(&e.base), "base", "also say what changed since the merge base of this ref and HEAD, such as main")
	flags.StringVar(&e.target, "target", "", "explain the case as it runs against this target, such as small (default: its own)")
	flags.BoolVar(&e.more.Digests, "digests", false, "also print the digests and what they consist of")
	flags.BoolVar(&e.more.Prompts, "prompts", false, "also print what judges were asked and what they answered")
	a.Sandbox.BindMode(cmd, "sandbox that the case was judged in: isolated, partial or off, whose verdicts of programs are stored apart")
	return cmd
}

// An explanation is the explanation of one case.
type explanation struct {
	store             *ledger.Ledger
	key, base, target string
	more              explain.Detail
}

// forCase adds the key, which may be followed by its target in the form of reports: KEY
// @ TARGET.
func (e explanation) forCase(key string) (explanation, error) {
	e.key = key
	own, target, ok := strings.Cut(key, " @ ")
	if ok && (strings.TrimSpace(own) == "" || strings.TrimSpace(target) == "") {
		return e, usageError("%q lacks its case or its target; write both, such as \"math/level_1/test_sum @ small\"", key)
	}
	if ok && e.target == "" {
		e.key, e.target = own, target
	}
	return e, nil
}

func explainCase(ctx context.Context, a *App, w *workspace, e explanation) error {
	s := selection{Base: e.base}
	if e.target != "" {
		s.Targets = []string{e.target}
	}
	prepared, err := a.Local(ctx, w, e.store, s)
	if err != nil {
		return err
	}
	named, folder := a.Named(w, []string{e.key})
	row, err := explain.Find(prepared.Plan, prepared.Problems, named[0], folder)
	if err != nil {
		return usageError("%w", err)
	}
	out, err := explain.Explain(ctx, e.store, row)
	if err != nil {
		return err
	}
	if row.Head != nil && row.Head.Traits().Identified {
		if out.Identity, err = explain.IdentityAt(ctx, w.Repo, row.HeadCase, prepared.Head().Config.Settings()); err != nil {
			return err
		}
	}
	out = controller.Redacted(prepared, out)
	if a.JSON {
		return a.Print(out)
	}
	return out.Write(a.Stdout, e.more)
}
