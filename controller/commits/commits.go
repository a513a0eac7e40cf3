// Package commits plans one commit of a repository against another.
//
// Most callers want [Prepare].
package commits

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
)

// Sides are two sides that are both committed.
type Sides struct {
	Repo *gitrepo.Repository
	// Head is a commit, Base a commit or ref whose merge base with head is
	// compared with; empty compares with nothing.
	Head, Base string
	// Accepted says that head is what a base branch has: then its own
	// configuration decides for it.
	Accepted bool
	// Complete is that of the [controller.Request].
	Complete bool
	// Unasked is that of the [controller.Request].
	Unasked string
	// Loaded keeps every case that is loaded, also those that are not judged.
	Loaded bool
	// Trust is what head is judged under; base is then always LevelBase of the
	// same repository. Zero means that both are the operator's.
	Trust      ledger.Trust
	Ledger     *ledger.Ledger
	ConfigFile string
	LookupEnv  func(name string) (string, bool)
	// Rules is the commit whose configuration decides for both sides. Defaults to the
	// merge base.
	Rules string
	// HeadConfig lets head's configuration decide where that of Rules has none.
	HeadConfig bool
	// HeadTargets judges head with what it changes of the data under test of the
	// targets, such as another model.
	HeadTargets bool
	// Accept judges head without what it changes of the targets and may not, which
	// somebody accepted.
	Accept bool
	// IgnoreBefore and Before are those of the [controller.Request].
	IgnoreBefore func(key string) (since time.Time, why plan.Reason)
	Before       time.Time
	// MaxNew is that of the [controller.Request].
	MaxNew int64
	// FirstSeen is when head was seen first: a case whose agent's version nobody knows
	// is asked once for each head. The zero time asks again.
	FirstSeen time.Time
}

// Prepare plans one commit against another. The configuration of Rules
// decides for both sides, unless head's is accepted. The error wraps an
// excess.Error where head is larger than what is looked at.
func Prepare(ctx context.Context, c Sides) (*controller.Prepared, error) {
	head, err := c.checkout(c.Head)
	if err != nil {
		return nil, err
	}
	req := controller.Request{
		Head: head, Complete: c.Complete, Unasked: c.Unasked, MaxNew: c.MaxNew, IgnoreBefore: c.IgnoreBefore, Before: c.Before, ConfigFile: c.ConfigFile, Ledger: c.Ledger, LookupEnv: c.LookupEnv,
		HeadTrust: c.Trust, BaseTrust: ledger.Trust{Level: ledger.LevelBase, Repository: c.Trust.Repository},
	}
	if !c.FirstSeen.IsZero() {
		req.ReuseSince = func(plan.Row) time.Time { return c.FirstSeen }
	}
	if c.Trust == (ledger.Trust{}) {
		req.HeadTrust = ledger.Trust{Level: ledger.LevelOperator}
		req.BaseTrust = req.HeadTrust
	}
	if c.Base == "" {
		if err := c.Repo.CheckBounds(ctx, "", c.Head); err != nil {
			return nil, err
		}
		return c.prepare(ctx, req)
	}
	base, err := c.base(ctx)
	if err != nil {
		return nil, err
	}
	// Everything below goes through the head's folders.
	if err := c.Repo.CheckBounds(ctx, base.Commit, c.Head); err != nil {
		return nil, err
	}
	if !c.Accepted {
		was := base.FS
		if base.Config, err = c.rules(base, head); err != nil {
			return nil, err
		}
		req.Head.Config, req.TargetChanges, err = configfile.UnderTest(base.Config, was, head.FS, c.ConfigFile, c.HeadTargets)
		if err != nil {
			return nil, err
		}
		if c.Accept {
			req.TargetChanges.Accept()
		}
	}
	req.Base = &base
	req.Changed = func(ctx context.Context, _ []string) ([]string, error) {
		changed, err := c.Repo.Changed(ctx, base.Commit, c.Head)
		return slices.Clip(changed), err
	}
	return c.prepare(ctx, req)
}

func (c Sides) prepare(ctx context.Context, req controller.Request) (*controller.Prepared, error) {
	if !c.Loaded {
		req.ScanHead()
	}
	return controller.Prepare(ctx, req)
}

// rules is the configuration that decides for both sides.
func (c Sides) rules(decides, head controller.Checkout) (*config.Config, error) {
	if c.Rules != "" {
		var err error
		if decides, err = c.checkout(c.Rules); err != nil {
			return nil, fmt.Errorf("read the rules: %w", err)
		}
	}
	if c.HeadConfig && !hasFile(decides.FS, c.ConfigFile) {
		return head.Config, nil
	}
	return decides.Config, nil
}

func hasFile(fsys fs.FS, file string) bool {
	_, err := fs.Stat(fsys, file)
	return err == nil
}

// base is the checkout that head is compared with.
func (c Sides) base(ctx context.Context) (controller.Checkout, error) {
	tip, err := c.Repo.Resolve(ctx, c.Base)
	if err != nil {
		return controller.Checkout{}, err
	}
	mergeBase, err := c.Repo.MergeBase(ctx, tip, c.Head)
	if err != nil {
		return controller.Checkout{}, err
	}
	return c.checkout(mergeBase)
}

func (c Sides) checkout(commit string) (controller.Checkout, error) {
	files, err := c.Repo.FS(commit)
	if err != nil {
		return controller.Checkout{}, err
	}
	cfg, _, _, err := configfile.Read(files, c.ConfigFile, c.LookupEnv)
	return controller.Checkout{Commit: commit, FS: files, Config: cfg}, err
}
