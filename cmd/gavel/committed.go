package main

import (
	"context"
	"slices"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// commits are the two sides of a pull request.
type commits struct {
	// head is a commit, base a ref whose merge base with head is compared with.
	head, base string
	// trust is what head is judged under; base is always LevelBase then. Zero
	// means that both are the operator's.
	trust ledger.Trust
}

// committed plans one commit against another. The configuration of base
// decides for both sides.
func (a *app) committed(ctx context.Context, w *workspace, book *ledger.Ledger, c commits) (*controller.Prepared, error) {
	tip, err := w.repo.Resolve(ctx, c.base)
	if err != nil {
		return nil, err
	}
	mergeBase, err := w.repo.MergeBase(ctx, tip, c.head)
	if err != nil {
		return nil, err
	}
	files, err := w.repo.FS(mergeBase)
	if err != nil {
		return nil, err
	}
	cfg, _, _, err := a.readConfig(files)
	if err != nil {
		return nil, err
	}
	base := controller.State{Commit: mergeBase, FS: files, Config: cfg}
	headFiles, err := w.repo.FS(c.head)
	if err != nil {
		return nil, err
	}
	head := controller.State{Commit: c.head, FS: headFiles, Config: cfg}
	baseTrust := ledger.Trust{Level: ledger.LevelBase, Repository: c.trust.Repository}
	if c.trust == (ledger.Trust{}) {
		c.trust = ledger.Trust{Level: ledger.LevelOperator}
		baseTrust = c.trust
	}
	return controller.Prepare(ctx, controller.Request{
		Head: head, Base: &base, ConfigFile: a.configFile,
		Changed: func(ctx context.Context, _ []string) ([]string, error) {
			changed, err := w.repo.Changed(ctx, mergeBase, c.head)
			return slices.Clip(changed), err
		},
		Ledger: book, HeadTrust: c.trust, BaseTrust: baseTrust, LookupEnv: a.lookupEnv,
	})
}
