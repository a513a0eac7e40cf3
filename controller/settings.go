package controller

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/constraint"
)

// ReadConfig reads a gavel.yaml from a state of the repository, and what the
// team demands of its definitions there. Where there is no such file it gives
// the defaults and false.
func ReadConfig(fsys fs.FS, file string) (cfg *config.Config, problems []schema.Problem, found bool, err error) {
	data, err := fs.ReadFile(fsys, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		cfg = config.Default()
	case err != nil:
		return nil, nil, false, fmt.Errorf("read %s: %w", file, err)
	default:
		cfg, problems = config.Parse(file, data)
		found = true
	}
	cfg.Constrain(constraint.Read(fsys, cfg.Definitions))
	return cfg, problems, found, nil
}

// Commits are two sides that are both committed.
type Commits struct {
	Repo *gitrepo.Repository
	// Head is a commit, Base a commit or ref whose merge base with head is
	// compared with.
	Head, Base string
	// Trust is what head is judged under; base is then always LevelBase of the
	// same repository. Zero means that both are the operator's.
	Trust      ledger.Trust
	Ledger     *ledger.Ledger
	ConfigFile string
	LookupEnv  func(name string) (string, bool)
}

// PrepareCommits plans one commit against another. The configuration of base
// decides for both sides.
func PrepareCommits(ctx context.Context, c Commits) (*Prepared, error) {
	tip, err := c.Repo.Resolve(ctx, c.Base)
	if err != nil {
		return nil, err
	}
	mergeBase, err := c.Repo.MergeBase(ctx, tip, c.Head)
	if err != nil {
		return nil, err
	}
	files, err := c.Repo.FS(mergeBase)
	if err != nil {
		return nil, err
	}
	cfg, _, _, err := ReadConfig(files, c.ConfigFile)
	if err != nil {
		return nil, err
	}
	headFiles, err := c.Repo.FS(c.Head)
	if err != nil {
		return nil, err
	}
	headTrust, baseTrust := c.Trust, ledger.Trust{Level: ledger.LevelBase, Repository: c.Trust.Repository}
	if c.Trust == (ledger.Trust{}) {
		headTrust = ledger.Trust{Level: ledger.LevelOperator}
		baseTrust = headTrust
	}
	return Prepare(ctx, Request{
		Head:       State{Commit: c.Head, FS: headFiles, Config: cfg},
		Base:       &State{Commit: mergeBase, FS: files, Config: cfg},
		ConfigFile: c.ConfigFile,
		Changed: func(ctx context.Context, _ []string) ([]string, error) {
			changed, err := c.Repo.Changed(ctx, mergeBase, c.Head)
			return slices.Clip(changed), err
		},
		Ledger: c.Ledger, HeadTrust: headTrust, BaseTrust: baseTrust, LookupEnv: c.LookupEnv,
	})
}

// ConfigChange says what became of gavel.yaml between base and head, where
// head's decides.
func (p *Prepared) ConfigChange() reporters.ConfigChange {
	if p.Base == nil || p.Base.Config.Digest == p.Head.Config.Digest {
		return reporters.ConfigChange{}
	}
	base, head := GateSettings(p.Base.Config.Gate), GateSettings(p.Head.Config.Gate)
	return reporters.ConfigChange{File: p.ConfigFile, Files: []string{p.ConfigFile}, Base: &base, Head: &head, DecidedBy: "head"}
}
