package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// Notices returns the plan's notices before judging: changed files that look like a
// part of an agent but belong to no target.
func (p *Prepared) Notices() []report.Notice { return p.notices }

// Note adds notices to the plan.
func (p *Prepared) Note(notices ...report.Notice) { p.notices = append(p.notices, notices...) }

// PromptFolders lists the folders in which changed files may be a part of an agent that
// names no inputs: files outside of definitions folders that the plan must know.
func PromptFolders(ctx context.Context, s Checkout) ([]string, error) {
	if targets, err := unnamed(ctx, s); err != nil || len(targets) == 0 {
		return nil, err
	}
	folders, err := source.PromptFolders(ctx, s.FS)
	if err != nil {
		return nil, fmt.Errorf("look for prompts: %w", err)
	}
	for _, t := range s.Config.Targets {
		folders = append(folders, source.Reads(s.FS, t)...)
	}
	return folders, nil
}

// unnamed returns the names of targets that are built from unnamed files, or whose
// inputs match no file.
func unnamed(ctx context.Context, s Checkout) ([]string, error) {
	var names []string
	for name, t := range s.Config.Targets {
		if !t.Implied && (t.Provider != config.HTTP || t.Started()) && !t.Deployed() {
			continue
		}
		named, err := source.Matches(ctx, s.FS, t.Inputs)
		if err != nil {
			return nil, fmt.Errorf("target %s: %w", name, err)
		}
		if t.Implied || len(named) == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// findUnnamed records changed files that look like a part of an agent which names no
// inputs: such a change reruns nothing.
func (p *planner) findUnnamed(ctx context.Context) error {
	if p.req.Base == nil || p.req.Changed == nil {
		return nil
	}
	targets, err := unnamed(ctx, p.req.Head)
	if err != nil || len(targets) == 0 {
		return err
	}
	var folders []string
	for _, s := range []*Checkout{&p.req.Head, p.req.Base} {
		more, err := PromptFolders(ctx, *s)
		if err != nil {
			return err
		}
		folders = append(folders, more...)
	}
	changed, err := p.req.Changed(ctx, folders)
	if err != nil {
		return fmt.Errorf("compare %s with %s: %w", p.req.Base.Commit, p.req.Head.Commit, err)
	}
	owned, err := p.owners(ctx)
	if err != nil {
		return err
	}
	to := strings.Join(targets, " or ")
	more := 0
	for _, name := range changed {
		isThere := source.IsText(p.req.Head.FS, name)
		switch {
		case !source.InPromptFolder(name) && !slices.Contains(folders, name) || owned(name) || !isThere && !source.IsText(p.req.Base.FS, name):
		case len(p.out.notices) == mostUnnamed:
			more++
		default:
			p.out.notices = append(p.out.notices, report.Notice{
				File: name, AtBase: !isThere, Message: "changed and belongs to no target; name it under inputs of " + to,
			})
		}
	}
	if more > 0 {
		p.out.notices = append(p.out.notices, report.Notice{
			File: p.req.ConfigFile, Message: fmt.Sprintf("further changed files belong to no target (%d); name them under inputs of %s", more, to),
		})
	}
	return nil
}

// mostUnnamed bounds the files named that belong to no target.
const mostUnnamed = 3

// owners returns a function that reports whether a definition or a target has a file,
// on either side, or whether nothing is built from it.
func (p *planner) owners(ctx context.Context) (func(name string) bool, error) {
	set := setOf(p.outside)
	note := func(c *schema.CaseInfo) {
		if c == nil {
			return
		}
		for _, in := range c.Inputs {
			set[in.File] = true
		}
	}
	for i := range p.out.Plan.Rows {
		note(p.out.Plan.Rows[i].Head)
		note(p.out.Plan.Rows[i].Base)
	}
	ignored, err := wildcard.IgnoreMatcher(p.req.Head.FS)
	if err != nil {
		return nil, err
	}
	own := []string{p.req.ConfigFile, ".gavel", ".github", ".git"}
	var globs []string
	var sources []source.Source
	for _, s := range []*Checkout{&p.req.Head, p.req.Base} {
		own = slices.Concat(own, s.Config.Definitions, s.Config.RootFiles)
		for _, t := range s.Config.Targets {
			set[t.SystemPrompt.File], set[t.Path] = true, true
			globs = append(globs, t.Inputs...)
			if !t.RunsProgram() {
				continue
			}
			read, err := p.source(ctx, *s, t)
			if err != nil {
				return nil, fmt.Errorf("target %s: %w", t.Name, err)
			}
			sources = append(sources, read)
		}
	}
	return func(name string) bool {
		return set[name] || ignored(name, false) ||
			slices.ContainsFunc(own, func(dir string) bool { return gitrepo.Covers(dir, name) }) ||
			slices.ContainsFunc(globs, func(glob string) bool { return glob == name || wildcard.Match(glob, name) }) ||
			slices.ContainsFunc(sources, func(s source.Source) bool { return s.Counts(name) })
	}, nil
}
