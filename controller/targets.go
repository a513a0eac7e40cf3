package controller

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// openTargets opens the targets of the jobs and those that have a role in them.
func openTargets(host Host, s Checkout, jobs []run.Job) (map[string]run.Target, error) {
	roles := s.Config.Roles.Targets()
	names := map[string]bool{}
	for _, j := range jobs {
		names[j.Target] = true
		for _, role := range j.Case.Roles() {
			names[roles[role]] = true
		}
		for _, name := range load.Judges(j.Case) {
			names[name] = true
		}
	}
	// A role that no target has is an error of the cases that need it.
	delete(names, "")
	targets := map[string]run.Target{}
	for name := range names {
		cfg, ok := s.Config.Targets[name]
		if !ok {
			return nil, unconfigured(name, s.Config)
		}
		t, err := host.Open(cfg, s)
		if err != nil {
			return nil, fmt.Errorf("open target %s: %w", name, err)
		}
		targets[name] = run.Target{Target: t, Config: cfg}
	}
	return targets, nil
}

// ErrUnconfigured means that a case names a target that gavel.yaml does not
// have.
var ErrUnconfigured = errors.New("is not configured")

func unconfigured(name string, cfg *config.Config) error {
	hint := cmp.Or(schema.DidYouMean(name, slices.Collect(maps.Keys(cfg.Targets))), "add it under targets: in gavel.yaml")
	return fmt.Errorf("target %q %w; %s", name, ErrUnconfigured, hint)
}

// trust is what is written into the entries of a checkout.
func (p *Prepared) trust(s Checkout) ledger.Trust {
	if p.req.Base != nil && s.Commit == p.req.Base.Commit {
		return p.req.BaseTrust
	}
	return p.req.HeadTrust
}

// revision is what a deployed agent has to run; a working tree has none.
func revision(commit string) string {
	if commit == Worktree {
		return ""
	}
	return commit
}

// Worktree is the commit of a checkout that is not committed.
const Worktree = "worktree"
