package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/maintenance"
	"github.com/gavel-evals/gavel/controller/plan"
)

// gcFlags are the flags of ledger gc.
type gcFlags struct {
	maintenance.Limits
	bases []string
}

func (c ledgerApp) gcCommand() *cobra.Command {
	var f gcFlags
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove old entries that are not needed any more",
		Example: `  gavel ledger gc --max-age 90d
  gavel ledger gc --max-bytes 500MB --closed octo/demo#7
  gavel ledger gc --max-age 30d --dry-run`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithStored(cmd.Context(), c.WithLedger, func(ctx context.Context, w *workspace, l *ledger.Ledger) error {
				return c.gc(ctx, w, l, f)
			})
		},
	}
	flags := cmd.Flags()
	durationVar(flags, &f.MaxAge, "max-age", "remove entries older than this, such as 90d (default: no limit)")
	flags.StringVar(&f.MaxBytes, "max-bytes", "", "greatest size of the remaining entries, such as 500MB or 2GB (default: no limit)")
	flags.StringArrayVar(&f.bases, "base", nil, "another ref whose verdicts are kept, such as release; repeatable")
	flags.StringArrayVar(&f.Closed, "closed", nil, "a closed pull request, such as octo/demo#7; repeatable")
	flags.BoolVar(&f.DryRun, "dry-run", false, "only report what --max-age would remove")
	return cmd
}

func (c ledgerApp) gc(ctx context.Context, w *workspace, l *ledger.Ledger, f gcFlags) error {
	what, err := f.Collection(time.Now())
	if err != nil {
		return usageError("%w", err)
	}
	if what.Needed, err = c.liveDigests(ctx, w, l, maintenance.Roots{Bases: f.bases, Closed: what.Closed}); err != nil {
		return err
	}
	out, err := maintenance.Collect(ctx, l, what)
	if err != nil {
		return err
	}
	return c.PrintOr(out, out.Text())
}

// otherTrees opens the other working trees of the repository, which share its ledger. The
// caller closes them, also after an error.
func (c ledgerApp) otherTrees(w *workspace) (trees []*workspace, err error) {
	roots, err := w.Repo.OtherRoots()
	for _, root := range roots {
		other := *c.App
		other.Dir = root
		t, err := other.Workspace()
		if err != nil {
			return trees, err
		}
		trees = append(trees, t)
	}
	return trees, err
}

// liveDigests returns the digests that bases and open pull requests need.
func (c ledgerApp) liveDigests(ctx context.Context, w *workspace, l *ledger.Ledger, roots maintenance.Roots) (_ []plan.Digests, err error) {
	roots.Repo, roots.Ledger, roots.ConfigFile, roots.LookupEnv = w.Repo, l, c.ConfigFile, c.LookupEnv
	if roots.Head, err = c.Worktree(w); err != nil {
		return nil, err
	}
	others, err := c.otherTrees(w)
	defer func() {
		for _, t := range others {
			err = errors.Join(err, t.Close())
		}
	}()
	if err != nil {
		return nil, err
	}
	for _, t := range others {
		head, err := c.Worktree(t)
		if err != nil {
			return nil, fmt.Errorf("the verdicts of the working tree %s are kept, too, and it cannot be read: %w", t.Repo.Root(), err)
		}
		roots.Linked = append(roots.Linked, head)
		if commit, err := t.Repo.Resolve(ctx, "HEAD"); err == nil { // else it has no commit
			roots.Bases = append(roots.Bases, commit)
		}
	}
	store := filepath.Join(w.Repo.MainRoot(), gitrepo.OwnFolder, "objects.git")
	if _, err := os.Stat(store); err == nil {
		if roots.Fetched, err = gitrepo.Open(store); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, roots.Fetched.Close()) }()
	}
	roots.Making = c.Making()
	all, err := roots.LiveDigests(ctx)
	var missing *maintenance.MissingError
	if errors.As(err, &missing) {
		return nil, usageError("%w", err)
	}
	return all, err
}
