package watchmode

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/source"
)

// programs are the known facts about targets that are programs.
type programs struct {
	// folders contain them, watched are the ones watched now.
	folders, watched []string
	// files maps their source files to hashes; nil before the first read.
	files map[string]string
	// rules are git's ignore rules, since a folder of dependencies is not a program.
	rules func(name string, isFolder bool) bool
}

// build updates the files of programs, if a hint concerns them.
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
		if !t.RunsProgram() {
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

// rule reads git's ignore rules.
func (s *planner) rule() (err error) {
	s.programs.rules, err = gitrepo.Ignored(s.files, os.DirFS(s.Workspace().Repo.Root()))
	return err
}

// ignored reports whether git ignores a path watched for a program.
func (p *programs) ignored(name string, isFolder bool) bool {
	return p.rules != nil && len(p.watched) > 0 && p.rules(name, isFolder)
}
