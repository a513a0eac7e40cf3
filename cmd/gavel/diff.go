package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/files"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// flags are the flags of the command.
type flags struct {
	confirm  bool
	markdown string
}

// diffCommand is gavel diff.
func diffCommand(a *App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "diff A [B]",
		Short: "Compare the results of two commits, runs or result files",
		Example: `  gavel diff main HEAD
  gavel diff main worktree --confirm
  gavel diff before.json after.json --markdown diff.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return usageError("diff takes two commits, runs or result files, such as gavel diff main HEAD")
			}
			use := func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
				return diff(ctx, &diffRun{a, w, store, f}, args)
			}
			if f.confirm {
				return a.WithLedger(cmd.Context(), use)
			}
			return a.WithStored(cmd.Context(), a.WithRead, use)
		},
	}
	cmd.Flags().BoolVar(&f.confirm, "confirm", false, "judge what is not stored, and measure cases that differ again until it is clear whether they do, improvements too")
	cmd.Flags().StringVar(&f.markdown, "markdown", "", "also write the comparison as Markdown to this file, such as diff.md")
	cmd.ValidArgsFunction = a.CompleteSides
	a.Sandbox.Bind(cmd)
	return cmd
}

// A diffRun is one call of gavel diff.
type diffRun struct {
	*App
	w     *workspace
	store *ledger.Ledger
	flags flags
}

// A diffSide is one of the two compared sides: results, or a state of the repository.
type diffSide struct {
	results *report.Report
	// commit is 40 hex digits, or worktree; empty for results alone.
	commit string
}

func diff(ctx context.Context, c *diffRun, args []string) error {
	var sides [2]diffSide
	for i, arg := range args {
		var err error
		if sides[i], err = c.find(ctx, arg); err != nil {
			return err
		}
	}
	if len(args) == 1 {
		if sides[0].results == nil || sides[0].results.Baseline == nil || c.flags.confirm {
			return usageError("diff takes two commits, runs or result files, or one benchmark.json of a skill with runs of two configurations")
		}
		sides[1], sides[0] = sides[0], diffSide{results: sides[0].results.Baseline}
		args = []string{args[0], args[0]}
	}
	requested := files.WithPaths(c.Path, files.Markdown(c.flags.markdown))
	if err := files.Check(requested...); err != nil {
		return usageError("%w", err)
	}
	var out *report.Report
	var err error
	results := sides[0].results != nil || sides[1].results != nil
	switch {
	case !results || c.flags.confirm:
		out, err = c.states(ctx, sides, args)
	default:
		out, err = c.results(ctx, sides, args)
	}
	if out == nil {
		return err
	}
	err = errors.Join(err, c.PrintReport(out), files.Write(out, requested...))
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return &exitError{Code: max(ExitInternal, out.ExitCode()), Err: err}
	}
	return exitOf(out.ExitCode())
}

// find resolves an argument: a file, the working tree, a run, or a commit.
func (c *diffRun) find(ctx context.Context, arg string) (diffSide, error) {
	if arg == controller.Worktree {
		return diffSide{commit: arg}, nil
	}
	data, err := os.ReadFile(c.Path(arg))
	if err == nil {
		results, err := report.ReadResults(data)
		if err != nil {
			return diffSide{}, usageError("%s: %w", arg, err)
		}
		return diffSide{results: results}, nil
	}
	run, err := c.store.Run(ctx, arg)
	if err == nil && arg != "" {
		results, err := decode(run)
		return diffSide{results: results, commit: run.Head}, err
	}
	if !errors.Is(err, ledger.ErrNoRun) && err != nil {
		return diffSide{}, err
	}
	commit, err := c.w.Repo.Resolve(ctx, arg)
	if err != nil && (filepath.IsAbs(arg) || filepath.Ext(arg) == ".json") {
		return diffSide{}, usageError("%s is neither a file nor a run, commit, branch or tag", arg)
	}
	if err != nil {
		return diffSide{}, usageError("%s is not a file, and not a run that the ledger keeps; as a commit: %w", arg, err)
	}
	return diffSide{commit: commit}, nil
}

func decode(run ledger.Run) (*report.Report, error) {
	var r report.Report
	if err := json.Unmarshal(run.Report, &r); err != nil {
		return nil, fmt.Errorf("report of run %s: %w", run.ID, err)
	}
	return &r, nil
}

// results compares the results of both sides; a commit has its stored ones.
func (c *diffRun) results(ctx context.Context, sides [2]diffSide, args []string) (*report.Report, error) {
	for i := range sides {
		if sides[i].results != nil {
			continue
		}
		state, err := c.state(sides[i].commit)
		if err != nil {
			return nil, err
		}
		prepared, err := controller.Prepare(ctx, c.request(state))
		if err != nil {
			return nil, err
		}
		if sides[i].results, err = prepared.Preview(ctx, ""); err != nil {
			return nil, err
		}
	}
	why := "stored results are compared; with --confirm, gavel diff measures commits again"
	if sides[0].commit == "" || sides[1].commit == "" {
		why = fmt.Sprintf("the results in %s and %s cannot be measured again; compare commits with gavel diff --confirm", args[0], args[1])
	}
	return report.CompareResults(sides[0].results, sides[1].results, why), nil
}

// states compares two states of the repository.
func (c *diffRun) states(ctx context.Context, sides [2]diffSide, args []string) (*report.Report, error) {
	var states [2]controller.Checkout
	for i, s := range sides {
		if s.commit == "" {
			return nil, usageError("%s has results alone, which cannot be measured again; --confirm takes commits, and runs of commits", args[i])
		}
		var err error
		if states[i], err = c.state(s.commit); err != nil {
			return nil, err
		}
	}
	req := c.request(states[1])
	base := states[0]
	req.Base, req.Improvements, req.Once = &base, c.flags.confirm, !c.flags.confirm
	req.Changed = func(ctx context.Context, _ []string) ([]string, error) { return c.changed(ctx, states) }
	prepared, err := controller.Prepare(ctx, req)
	if err != nil {
		return nil, err
	}
	if !c.flags.confirm {
		if err := c.PrintProblems(states[1].FS, prepared.Problems); err != nil {
			return nil, err
		}
		return c.storedReport(ctx, prepared)
	}
	if err := c.PrintPrevented(states[1].FS, prepared, append(prepared.Problems, prepared.Requirements()...)); err != nil {
		return nil, err
	}
	return c.Execute(ctx, prepared, controller.RunOptions{ConfigDiff: prepared.ConfigChange()})
}

// storedReport returns the report on stored results, which also lists the missing ones.
func (c *diffRun) storedReport(ctx context.Context, prepared *controller.Prepared) (*report.Report, error) {
	out, err := prepared.Preview(ctx, "")
	if err != nil {
		return nil, err
	}
	lacking := 0
	for i := range out.Cases {
		if out.Cases[i].Unrun() {
			lacking++
		}
	}
	if lacking > 0 {
		c.Note(fmt.Sprintf("%s without a stored verdict; gavel diff --confirm judges what is missing", textfmt.Count(lacking, "case")))
	}
	return out, nil
}

// request returns the request for a state, without a base.
func (c *diffRun) request(head controller.Checkout) controller.Request {
	return controller.Request{
		Head: head, Making: c.Making(), ConfigFile: c.ConfigFile, Ledger: c.store, LookupEnv: c.LookupEnv,
		HeadTrust: ledger.Trust{Level: ledger.LevelOperator}, BaseTrust: ledger.Trust{Level: ledger.LevelOperator},
	}
}

// state loads a commit or the working tree.
func (c *diffRun) state(commit string) (controller.Checkout, error) {
	head, err := c.Worktree(c.w)
	if err != nil || commit == controller.Worktree {
		return head, err
	}
	return c.Checkout(c.w, commit, head.Config)
}

// changed returns the files that differ between two states.
func (c *diffRun) changed(ctx context.Context, states [2]controller.Checkout) ([]string, error) {
	base, head := states[0].Commit, states[1].Commit
	switch {
	case base == head:
		return nil, nil
	case base == controller.Worktree:
		base, head = head, base
	}
	if head != controller.Worktree {
		return c.w.Repo.Changed(ctx, base, head)
	}
	return c.w.Repo.ChangedWork(ctx, base, []string{"."})
}
