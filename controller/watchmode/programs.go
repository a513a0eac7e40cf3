package watchmode

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/source"
)

// programs are what is known of the targets that are programs.
type programs struct {
	// folders hold them, watched are those that are watched now.
	folders, watched []string
	// files are what they are built from, with the hash of each; nil before they
	// were read.
	files map[string]string
	// rules are what git ignores, since a folder of dependencies is not a program.
	rules func(name string, isFolder bool) bool
}

// build brings the files of programs up to date, if a hint is about them.
func (s *planner) build(ctx context.Context, hints []string) error {
	if len(s.programs.folders) == 0 {
		s.programs.files = map[string]string{}
		return nil
	}
	touches := func(hint string) bool {
		return slices.ContainsFunc(s.programs.folders, func(dir string) bool { return covers(dir, hint) || covers(hint, dir) })
	}
	if s.programs.files != nil && !s.all && !slices.ContainsFunc(hints, touches) {
		return nil
	}
	files := map[string]string{}
	for _, t := range s.config.Targets {
		if t.Provider != config.Command {
			continue
		}
		read, err := source.Read(ctx, source.State{FS: s.files, Config: s.config, ConfigFile: s.cfg.ConfigFile}, t)
		if err != nil {
			return err
		}
		maps.Copy(files, read.Files())
	}
	s.programs.files = files
	return s.rule()
}

// rule reads what git ignores.
func (s *planner) rule() (err error) {
	s.programs.rules, err = gitrepo.Ignored(s.files, os.DirFS(s.Workspace().Repo.Root()))
	return err
}

// ignored reports whether git ignores what is watched for a program.
func (p *programs) ignored(name string, isFolder bool) bool {
	return p.rules != nil && len(p.watched) > 0 && p.rules(name, isFolder)
}
