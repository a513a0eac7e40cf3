package controller

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
)

// CommitSides are two committed sides.
type CommitSides struct {
	Repo *gitrepo.Repository
	// Branch is the branch of Head, for people; it may be empty.
	Branch string
	// Head is a commit, Base a commit or ref whose merge base with head is compared;
	// empty compares with nothing.
	Head, Base string
	// Ancestor means that Base is the merge base, in a clone that may lack the history.
	Ancestor bool
	// Accepted means that head is on a base branch: then its own configuration decides
	// for it, and it is judged as a whole, see [Request.Complete].
	Accepted bool
	// Unasked is the field of the [controller.Request].
	Unasked string
	// Loaded keeps every loaded case, even if it is not judged.
	Loaded bool
	// Trust is the trust in head; base always has LevelBase of the same repository.
	// Zero means that both are the operator's.
	Trust      ledger.Trust
	Ledger     *ledger.Ledger
	ConfigFile string
	LookupEnv  func(name string) (string, bool)
	// Rules is the commit whose configuration decides for both sides. Defaults to the
	// merge base.
	Rules string
	// HeadConfig lets head's configuration decide if Rules has none.
	HeadConfig bool
	// HeadTargets judges head with its changes of the targets' data under test, such as
	// another model.
	HeadTargets bool
	// Accept reports whether somebody accepted a forbidden target change, so that head is
	// judged without it; nil means none.
	Accept func(config.TargetChange) bool
	// IgnoreBefore and Before are the fields of the [controller.Request].
	IgnoreBefore func(key string) (since time.Time, why plan.Reason)
	Before       time.Time
	// MaxNew is the field of the [controller.Request].
	MaxNew int64
	// Making is the field of the [controller.Request].
	Making Making
	// FirstSeen is the time when head was first seen: a case with an agent of unknown
	// version is asked once per head. The zero time asks again.
	FirstSeen time.Time
	// Push is the field of the [controller.Request].
	Push int
}

// PrepareCommits plans one commit against another. The configuration of Rules decides for both
// sides, unless head's is accepted. The error wraps a pack.ExcessError if head exceeds
// the bounds.
func PrepareCommits(ctx context.Context, c CommitSides) (*Prepared, error) {
	head, err := c.checkout(c.Head)
	if err != nil {
		return nil, err
	}
	head.Branch, head.Subject = c.Branch, c.Repo.Subject(c.Head)
	req := Request{
		Head: head, Making: c.Making, Complete: c.Accepted, Unasked: c.Unasked, MaxNew: c.MaxNew, Push: c.Push, IgnoreBefore: c.IgnoreBefore, Before: c.Before, ConfigFile: c.ConfigFile, Ledger: c.Ledger, LookupEnv: c.LookupEnv,
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
	base, related, err := c.base(ctx)
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
		if c.Accept != nil {
			req.TargetChanges.Accept(c.Accept)
		}
	}
	req.Base = &base
	req.Changed = func(ctx context.Context, _ []string) ([]string, error) {
		changed, err := c.Repo.Changed(ctx, base.Commit, c.Head)
		return slices.Clip(changed), err
	}
	p, err := c.prepare(ctx, req)
	if err == nil && !related {
		p.Note(report.Notice{Message: fmt.Sprintf("head has no commit in common with its base, and is compared with the tip of base, %.7s; rebase it", base.Commit)})
	}
	return p, err
}

func (c CommitSides) prepare(ctx context.Context, req Request) (*Prepared, error) {
	if !c.Loaded {
		req.ScanHead()
	}
	return Prepare(ctx, req)
}

// rules returns the configuration that decides for both sides.
func (c CommitSides) rules(decides, head Checkout) (*config.Config, error) {
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

// base returns the checkout that head is compared with, and whether the two have a commit
// in common.
func (c CommitSides) base(ctx context.Context) (base Checkout, related bool, err error) {
	commit, err := c.Repo.Resolve(ctx, c.Base)
	related = true
	if err == nil && !c.Ancestor {
		commit, related, err = c.Repo.ComparedWith(ctx, commit, c.Head)
	}
	if err != nil {
		return Checkout{}, false, err
	}
	base, err = c.checkout(commit)
	return base, related, err
}

func (c CommitSides) checkout(commit string) (Checkout, error) {
	files, err := c.Repo.FS(commit)
	if err != nil {
		return Checkout{}, err
	}
	cfg, _, _, err := configfile.Read(files, c.ConfigFile, c.LookupEnv)
	return Checkout{Commit: commit, FS: files, Config: cfg}, err
}
