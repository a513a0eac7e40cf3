package watchmode

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/controller/filewatch"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A planner creates one view.
type planner struct {
	*Tree
	files *gitrepo.WorkTree
	// all means that every file is compared; news means that there is something to
	// report whatever the files contain.
	all, news bool
	skills    []string // the folders of skills, which widen finds
}

// see updates the inputs of a plan in order: base, configuration, paths, files.
func (s *planner) see(ctx context.Context, hints []string) (*View, error) {
	if err := s.rebase(ctx); err != nil {
		return nil, err
	}
	before, built := s.differ, s.programs.files
	if err := s.configure(); err != nil {
		return nil, err
	}
	if schema.HasErrors(s.problems) {
		return s.unplanned(ctx, hints)
	}
	if err := s.compareWith(ctx); err != nil {
		return nil, err
	}
	var look *View
	for {
		if err := s.widen(ctx); err != nil {
			return nil, err
		}
		if err := s.compare(ctx, hints); err != nil {
			return nil, err
		}
		if err := s.build(ctx, hints); err != nil {
			return nil, err
		}
		changed := slices.DeleteFunc(changes(before, s.differ), func(name string) bool { return s.passing(name) || s.own(name) })
		if built != nil {
			changed = slices.Compact(slices.Sorted(slices.Values(append(changed, changes(built, s.programs.files)...))))
		}
		if len(changed) == 0 && !s.news {
			return look, nil
		}
		var err error
		if look, err = s.plan(ctx); err != nil {
			return nil, err
		}
		look.Changed = changed
		// A new case may be built from files that were not watched yet.
		if !s.needs(look.Prepared) {
			return look, nil
		}
		s.all = true
	}
}

// rebase finds the commit to compare with.
func (s *planner) rebase(ctx context.Context) error {
	commit, err := s.cfg.Source.Base(ctx, s.Workspace())
	if err != nil {
		return err
	}
	if commit != s.commit {
		s.commit, s.base, s.snapshot, s.differ = commit, nil, nil, nil
		s.news = true
	}
	return nil
}

// configure reads the configuration. While it has errors, the last valid one still
// selects the other watched files.
func (s *planner) configure() error {
	cfg, problems, err := s.cfg.Source.ReadConfig(s.files)
	if err != nil {
		return err
	}
	was := s.problems
	s.problems = problems
	if schema.HasErrors(problems) {
		s.news = s.news || !slices.Equal(was, problems)
		return nil
	}
	if s.config == nil || schema.HasErrors(was) || cfg.Digest != s.config.Digest {
		s.config, s.base, s.snapshot = cfg, nil, nil
		s.news = true
	}
	return nil
}

// unplanned returns the view of an invalid configuration. The files are compared below
// the last valid paths.
func (s *planner) unplanned(ctx context.Context, hints []string) (*View, error) {
	before := s.differ
	if err := s.follow(slices.Concat(s.paths, gitPaths, []string{s.cfg.ConfigFile})); err != nil {
		return nil, err
	}
	if err := s.compare(ctx, hints); err != nil {
		return nil, err
	}
	changed := changes(before, s.differ)
	if len(changed) == 0 && !s.news {
		return nil, nil
	}
	return &View{Problems: s.problems, Changed: changed, Differing: len(s.differ), Base: s.commit}, nil
}

// compareWith reads base as a state, and its definitions.
func (s *planner) compareWith(ctx context.Context) error {
	if s.commit == "" || s.base != nil {
		return nil
	}
	state, err := s.cfg.Source.At(s.Workspace(), s.commit, s.config)
	if err != nil {
		return err
	}
	place := s.Workspace()
	state.Maker = s.cfg.Making.Maker(place.Ledger, ledger.Trust{Level: ledger.LevelOperator})
	snapshot, err := s.cfg.Source.Snapshot(ctx, place, state)
	if err != nil {
		return err
	}
	s.base, s.snapshot = &state, snapshot
	return nil
}

// compare updates the differences: all of them, or only the hinted ones.
func (s *planner) compare(ctx context.Context, hints []string) error {
	repo := s.Workspace().Repo
	paths := fileOf(s.paths)
	if s.all || s.differ == nil {
		found, err := repo.Differences(ctx, s.commit, paths)
		if err != nil {
			return err
		}
		s.differ = found
		return nil
	}
	var look []string
	for _, hint := range hints {
		for _, p := range paths {
			switch {
			case covers(p, hint):
				look = append(look, hint)
			case covers(hint, p):
				look = append(look, p)
			}
		}
	}
	if len(look) == 0 {
		return nil
	}
	look = outermost(look)
	found, err := repo.DifferencesAt(ctx, s.commit, look)
	if err != nil {
		return err
	}
	now := maps.Clone(s.differ)
	maps.DeleteFunc(now, func(name, _ string) bool {
		return slices.ContainsFunc(look, func(p string) bool { return covers(p, name) })
	})
	maps.Copy(now, found)
	s.differ = now
	return nil
}

// plan calls the pipeline.
func (s *planner) plan(ctx context.Context) (*View, error) {
	operator := ledger.Trust{Level: ledger.LevelOperator}
	place := s.Workspace()
	differ := s.differ
	req := controller.Request{
		Head: controller.Checkout{
			Commit: controller.Worktree, FS: s.files, Config: s.config, Dir: place.Repo.Root(), Branch: place.Repo.Branch(), Subject: place.Repo.Subject(""),
			At: func(commit string) (fs.FS, error) { return place.Repo.FS(commit) },
		},
		Base:       s.base,
		Snapshot:   s.snapshot,
		Pinned:     s.pinned(),
		Making:     s.cfg.Making,
		ConfigFile: s.cfg.ConfigFile, LookupEnv: s.cfg.LookupEnv, Now: s.cfg.Now,
		Ledger: place.Ledger, HeadTrust: operator, BaseTrust: operator,
		ReuseSince: s.looked(), Select: s.cfg.Select,
		Unasked: "a save judges only what it affects",
	}
	folders := slices.Concat(load.Folders(s.config.Settings()), s.skills, []string{s.cfg.ConfigFile})
	req.Changed = func(_ context.Context, outside []string) ([]string, error) {
		// The map also has the targets' source files, which do not concern the
		// definitions.
		within := cleaned(slices.Concat(folders, outside))
		return slices.DeleteFunc(slices.Sorted(maps.Keys(differ)), func(name string) bool {
			return !slices.ContainsFunc(within, func(dir string) bool { return covers(dir, name) })
		}), nil
	}
	prepared, err := controller.Prepare(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	s.touch(prepared)
	view := &View{Prepared: prepared, Problems: prepared.Problems, Differing: len(differ), Base: s.commit, files: s.files}
	require(prepared)
	return view, nil
}

// prepare plans again.
func prepare(ctx context.Context, req controller.Request) (*controller.Prepared, error) {
	p, err := controller.Prepare(ctx, req)
	if err == nil {
		require(p)
	}
	return p, err
}

// require makes the missing parts for judging a plan's cases problems of the plan, since
// the person who saves a file can add them. If they prevent every case, they are errors.
func require(p *controller.Prepared) {
	missing := p.Requirements()
	var prevent []schema.Problem
	if due(p.Plan) > 0 {
		prevent = p.PreventingProblems(missing)
	}
	for i, m := range missing {
		at := slices.IndexFunc(prevent, func(p schema.Problem) bool { return p.Position == m.Position && p.Rule == m.Rule })
		if at >= 0 {
			missing[i] = prevent[at]
		}
	}
	p.Problems = schema.SortProblems(slices.Concat(p.Problems, missing))
}

// needs records the source files of the planned cases and reports whether one of them
// is not watched yet.
func (s *planner) needs(p *controller.Prepared) bool {
	before := len(s.extra)
	for _, row := range p.Plan.Rows {
		if row.Head == nil {
			continue
		}
		for _, in := range row.Head.Inputs {
			if !slices.ContainsFunc(s.paths, func(dir string) bool { return covers(dir, in.File) }) && !slices.Contains(s.extra, in.File) {
				s.extra = append(s.extra, in.File)
			}
		}
	}
	return len(s.extra) > before
}

// widen watches the paths named by the configuration, base, and the cases so far.
func (s *planner) widen(ctx context.Context) error {
	ignored, err := wildcard.IgnoreMatcher(s.files)
	if err != nil {
		return err
	}
	s.ignored = ignored
	if s.skills, err = load.SkillFolders(ctx, s.files, s.config.Settings()); err != nil {
		return err
	}
	paths := slices.Concat(load.Folders(s.config.Settings()), s.skills, []string{s.cfg.ConfigFile}, configfile.TargetsFilePaths(s.config.Definitions), s.extra, gitPaths)
	if s.snapshot != nil {
		paths = append(paths, s.snapshot.Outside(s.config.Settings())...)
	}
	s.programs.folders = nil
	for _, t := range s.config.Targets {
		s.programs.folders = append(s.programs.folders, source.Folders(s.files, t)...)
		paths = append(paths, t.Path)
		for _, glob := range t.Inputs {
			paths = append(paths, rootOf(glob))
		}
	}
	prompts, err := controller.PromptFolders(ctx, controller.Checkout{FS: s.files, Config: s.config})
	if err != nil {
		return err
	}
	paths = append(paths, prompts...)
	if slices.Contains(paths, ".") { // a program in the root
		s.programs.folders = append(s.programs.folders, ".")
	}
	if len(s.programs.folders) > 0 && s.programs.rules == nil {
		if err := s.rule(); err != nil {
			return err
		}
	}
	return s.follow(paths)
}

// follow watches the paths, unless they are watched already.
func (s *planner) follow(paths []string) error {
	paths, folders := outermost(cleaned(paths)), outermost(s.programs.folders)
	if slices.Equal(paths, s.paths) && slices.Equal(folders, s.programs.watched) {
		return nil
	}
	s.paths, s.programs.watched, s.all, s.rewatched = paths, folders, true, true
	return s.watch()
}

// passing reports whether a file is an editor's temporary file, in a folder where
// nothing reads it.
func (s *planner) passing(name string) bool {
	base := path.Base(name)
	if !strings.HasPrefix(base, ".") && !strings.HasSuffix(base, "~") && base != "4913" || slices.Contains(s.extra, name) {
		return false
	}
	return slices.ContainsFunc(s.config.Definitions, func(dir string) bool { return covers(path.Clean(dir), name) })
}

// rootOf returns the folder that contains a glob's matches.
func rootOf(glob string) string {
	if i := strings.IndexAny(glob, "*?["); i >= 0 {
		return path.Dir(glob[:i] + "x")
	}
	return glob
}

// gitPaths change when a branch moves or HEAD switches.
var gitPaths = []string{".git/HEAD", ".git/packed-refs", ".git/refs/heads", ".git/refs/remotes"}

// watch reopens the watcher.
func (t *Tree) watch() error {
	if t.watcher != nil {
		_ = t.watcher.Close() // its pending events are read again
	}
	cfg := t.cfg.Watch
	repo := t.Workspace().Repo
	cfg.Root, cfg.Paths, cfg.Held, cfg.Ignore = repo.Root(), outermost(slices.Concat(t.paths, t.programs.watched)), repo.Busy, t.ignores
	var err error
	t.watcher, err = filewatch.Open(cfg)
	return err
}

// ignores reports whether to ignore a path: Gavel's output, git's own files, and paths
// in .gavelignore, unless a case is built from them.
func (t *Tree) ignores(name string, isFolder bool) bool {
	covered := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return covers(p, name) })
	}
	leads := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return covers(name, p) })
	}
	if t.own(name) {
		return true
	}
	if covers(".git", name) {
		return !covered(gitPaths) && !leads(gitPaths)
	}
	if path.Base(name) == ".git" || strings.Contains(name, "/.git/") {
		return true
	}
	named := slices.DeleteFunc(slices.Clone(t.paths), func(p string) bool { return p == "." })
	passed := t.ignored(name, isFolder) || !covered(named) && t.programs.ignored(name, isFolder)
	return passed && !slices.Contains(t.paths, name) && !leads(t.paths)
}

// own reports whether Gavel itself writes a file.
func (t *Tree) own(name string) bool {
	return slices.ContainsFunc(t.Workspace().Own, func(prefix string) bool {
		return strings.HasPrefix(name, prefix) || name+"/" == prefix
	})
}

// fileOf removes git's own paths.
func fileOf(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return slices.Contains(gitPaths, p) })
}

// covers reports whether name is dir or is in it.
func covers(dir, name string) bool {
	return dir == "." || dir == name || strings.HasPrefix(name, dir+"/")
}

// cleaned returns the paths in one form, without empty ones.
func cleaned(paths []string) []string {
	var out []string
	for _, p := range paths {
		if p != "" {
			out = append(out, path.Clean(p))
		}
	}
	return out
}

// outermost sorts paths and drops paths inside another one.
func outermost(paths []string) []string {
	slices.Sort(paths)
	var out []string
	for _, p := range slices.Compact(paths) {
		if !slices.ContainsFunc(out, func(dir string) bool { return covers(dir, p) }) {
			out = append(out, p)
		}
	}
	return out
}
