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

// vouched returns whose rules hold for what goes to a branch: its own, if it is the default
// branch or listed, else those of the default branch. The author of a head chooses where
// he forks, and what he aims at, so that neither may choose the rules.
func (c *Config) vouched(base, byDefault string) (report.Rules, error) {
	switch {
	case base == byDefault || slices.Contains(c.Branches, base):
		return report.Rules{Branch: base}, nil
	case byDefault == "":
		return report.Rules{}, fmt.Errorf("nobody vouches for %s, and the default branch is not known, whose %s decides then", base, c.ConfigFile)
	}
	return report.Rules{Branch: byDefault, Unvouched: base}, nil
}

// rulesFor is vouched, and asks the forge for the default branch if it has to.
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

// RulesOf returns the branch whose gavel.yaml decides about what goes to a branch.
func (r *Reviewer) RulesOf(base, byDefault string) (branch string, err error) {
	found, err := r.cfg.vouched(base, byDefault)
	return found.Branch, err
}

// follow has the rules decide, and their branch fetched.
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

// read notes the tips of refs as they were fetched.
func (r *Review) read(tips []string) {
	if i := slices.Index(r.refs, r.base); i >= 0 {
		r.base = tips[i]
	}
	if i := slices.Index(r.refs, "refs/heads/"+r.rules.Branch); i >= 0 && r.rules.Commit == "" {
		r.rules.Commit = tips[i]
	}
}

// decides reads the configuration that decides: that of the rules, or where they have
// none that of an approved head. The configuration of a base branch decides for itself.
func (r *Review) decides(at func(commit string) (fs.FS, error)) (cfg *config.Config, problems []schema.Problem, found bool, err error) {
	read := func(decider, commit string) {
		var files fs.FS
		if files, err = at(commit); err == nil {
			r.decider = decider
			cfg, problems, found, err = configfile.Read(files, r.ConfigFile, nil)
		}
	}
	if r.accepted() {
		read("this commit", r.head)
		return cfg, problems, found, err
	}
	if read(r.rules.Branch, r.rules.Commit); err == nil && !found && r.approved {
		read("the approved head", r.head)
	}
	return cfg, problems, found, err
}

// filesOf gives the files of commits.
func filesOf(repo *gitrepo.Repository) func(commit string) (fs.FS, error) {
	return func(commit string) (fs.FS, error) { return repo.FS(commit) }
}

// decided is what the report says of the rules; nil where they are head's.
func (r *Review) decided(cfg *config.Config) *report.Rules {
	if r.accepted() {
		return nil
	}
	now := r.rules
	now.Digest = cfg.Digest
	return &now
}

// RulesDigest is the Digest of [report.Rules] at a commit.
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
