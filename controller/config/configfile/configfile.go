// Package configfile reads from a state of a repository everything that configures how
// it is judged: gavel.yaml, the targets of other files, and the team's demands on its
// definitions.
package configfile

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// Read reads a gavel.yaml from a state of the repository, the targets that
// .agentv/targets.yaml adds, and the team's demands on its definitions. Without a
// gavel.yaml it returns the defaults and false. lookup finds the environment variables
// from which those targets take values; with nil they cannot be used. The error says
// which file cannot be read.
func Read(fsys fs.FS, file string, lookup func(string) (string, bool)) (cfg *config.Config, problems []schema.Problem, found bool, err error) {
	data, err := schema.ReadFile(fsys, file, document.Limit(file))
	unreadable, isFiles := document.Unreadable(file, err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		cfg = config.Default()
	case isFiles:
		cfg, problems, found = config.Default(), []schema.Problem{unreadable}, true
	case err != nil:
		return nil, nil, false, fmt.Errorf("read %s: %w", file, err)
	default:
		cfg, problems = config.Parse(file, data)
		found = true
	}
	constraints, err := document.ReadConstraints(fsys, cfg.Definitions)
	if err != nil {
		return nil, nil, false, err
	}
	cfg.Constrain(constraints)
	wrong, err := AddTargets(fsys, cfg, lookup)
	return cfg, append(named(problems, cfg), wrong...), found, err
}

// UnderTest returns the configuration that judges a head: the one that decides, with
// the changes since the merge base that head may make to the targets. It also returns
// those changes, see [config.Config.UnderTest]. An invalid file at head changes
// nothing. The error says which file cannot be read.
func UnderTest(decides *config.Config, base, head fs.FS, file string, take bool) (*config.Config, config.TargetChanges, error) {
	was, _, _, err := Read(base, file, unread)
	if err != nil {
		return nil, config.TargetChanges{}, err
	}
	is, problems, _, err := Read(head, file, unread)
	if err != nil || schema.HasErrors(problems) || was.Digest == is.Digest {
		return decides, config.TargetChanges{}, err
	}
	cfg, changes := decides.UnderTest(was, is, take)
	return cfg, changes, nil
}

// unread replaces the environment where a configuration is only compared: each variable
// has its own value, which shows its name and does not come from the environment.
func unread(name string) (value string, set bool) {
	return "https://" + name + config.UnreadHost, true
}

// named leaves out the problems about a name in gavel.yaml that is a target of another
// file, which is read after gavel.yaml: a provider of a promptfooconfig.yaml can judge.
func named(problems []schema.Problem, cfg *config.Config) []schema.Problem {
	var left []schema.Problem
	for _, p := range problems {
		isTarget := false
		for name, t := range cfg.Targets {
			isTarget = isTarget || t.File != "" && p.Rule == "unknown-target" && p.Message == fmt.Sprintf("unknown target %q", name)
		}
		if !isTarget {
			left = append(left, p)
		}
	}
	return left
}
