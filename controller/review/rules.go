package review

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
)

// vouched returns the rules for pull requests to a branch: its own, if it is the
// default branch or listed, else the default branch's. The author of a head chooses its
// fork point and its target, so neither may choose the rules.
func (c *Config) vouched(base, byDefault string) (report.Rules, error) {
	switch {
	case base == byDefault || slices.Contains(c.Branches, base):
		return report.Rules{Branch: base}, nil
	case byDefault == "":
		return report.Rules{}, fmt.Errorf("nobody vouches for %s, and the default branch is not known, whose %s decides then", base, c.ConfigFile)
	}
	return report.Rules{Branch: byDefault, Unvouched: base}, nil
}

// rulesFor is vouched, and asks the forge for the default branch if necessary.
func (r *Reviewer) rulesFor(ctx context.Context, repo forge.Repo, base, byDefault string) (report.Rules, error) {
	if byDefault == "" && !slices.Contains(r.cfg.Branches, base) {
		said, err := r.cfg.Client.Repository(ctx, repo)
		if err != nil {
			return report.Rules{}, err
		}
		byDefault = said.DefaultBranch
	}
	return r.cfg.vouched(base, byDefault)
}

// RulesOf returns the branch whose gavel.yaml decides about pull requests to a branch.
func (r *Reviewer) RulesOf(base, byDefault string) (branch string, err error) {
	found, err := r.cfg.vouched(base, byDefault)
	return found.Branch, err
}

// follow sets the deciding rules, and adds their branch to the refs.
func (r *Review) follow(rules report.Rules) {
	r.rules = rules
	ref := "refs/heads/" + rules.Branch
	if !slices.Contains(r.refs, ref) {
		r.refs = append(slices.Clip(r.refs), ref)
	}
	if !slices.Contains(r.known, ref) {
		r.known = append(slices.Clip(r.known), ref)
	}
}

// sides are a head's fetched sides.
type sides struct {
	repo *gitrepo.Repository
	// base is a commit, or a name that repo resolves; empty if head is compared with nothing.
	base string
	// ancestor means that base is the merge base of itself and head.
	ancestor bool
	// rules have the commit whose gavel.yaml decides; zero if head's decides.
	rules report.Rules
	// decision is nil before it is read.
	decision *decision
}

// fetched returns the sides, with the tips of r.refs as their commits, and reads the
// deciding configuration.
func (r *Review) fetched(ctx context.Context, repo *gitrepo.Repository, tips []string) (sides, error) {
	at := sides{repo: repo, base: r.base, rules: r.rules}
	if i := slices.Index(r.refs, r.base); i >= 0 {
		at.base = tips[i]
	}
	if i := slices.Index(r.refs, "refs/heads/"+r.rules.Branch); i >= 0 && r.rules.Commit == "" {
		at.rules.Commit = tips[i]
	}
	shallow, err := repo.Shallow()
	if err != nil {
		return at, err
	}
	if shallow && r.mergeBase != nil {
		if base := r.mergeBase(ctx); base != "" {
			at.base, at.ancestor = base, true
		}
	}
	at.decision, err = r.decides(at)
	return at, err
}

// A decision is the configuration that decides about a head.
type decision struct {
	cfg      *config.Config
	problems []schema.Problem
	// found is false if there is no file: then cfg has the defaults.
	found bool
	// by names its source for people.
	by string
}

// decides reads the deciding configuration: the rules', or an approved head's if the
// rules have none. The configuration of a base branch decides for itself.
func (r *Review) decides(at sides) (*decision, error) {
	if r.accepted() {
		return r.decisionAt(at, "this commit", r.head)
	}
	found, err := r.decisionAt(at, at.rules.Branch, at.rules.Commit)
	if err == nil && !found.found && r.approved {
		return r.decisionAt(at, "the approved head", r.head)
	}
	return found, err
}

// decisionAt reads the configuration of a commit.
func (r *Review) decisionAt(at sides, by, commit string) (*decision, error) {
	files, err := at.repo.FS(commit)
	if err != nil {
		return nil, err
	}
	return r.decisionIn(files, by)
}

func (r *Review) decisionIn(files fs.FS, by string) (*decision, error) {
	cfg, problems, found, err := configfile.Read(files, r.ConfigFile, nil)
	if err != nil {
		return nil, err
	}
	return &decision{cfg, problems, found, by}, nil
}

// decided returns the report's part about the rules; nil if head's decide.
func (r *Review) decided(at sides) *report.Rules {
	if r.accepted() {
		return nil
	}
	now := at.rules
	now.Digest = at.decision.cfg.Digest
	return &now
}

// RulesDigest returns the Digest of [report.Rules] at a commit.
func RulesDigest(repo *gitrepo.Repository, commit, file string) (string, error) {
	files, err := repo.FS(commit)
	if err != nil {
		return "", err
	}
	cfg, _, _, err := configfile.Read(files, file, nil)
	if err == nil {
		err = repo.Lost()
	}
	if err != nil {
		return "", fmt.Errorf("read the rules at %.12s: %w", commit, err)
	}
	return cfg.Digest, nil
}
