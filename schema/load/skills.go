package load

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/skill"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// The bounds of the search for the evals of skills.
const (
	mostSkillEntries = 200_000 // files and folders
	deepestSkill     = 8
)

// findSkills finds the files with evals of skills that are in no definitions folder.
func (l *loader) findSkills(ctx context.Context) error {
	if !l.opts.Settings.Skills.Find {
		return nil
	}
	files := l.opts.Files
	if files == nil {
		found, complete, err := searchSkills(ctx, l.fsys, mostSkillEntries)
		if err != nil {
			return err
		}
		if files = found; !complete {
			l.out.Problems = append(l.out.Problems, schema.Problem{
				Position: schema.Position{File: ".", Line: 1, Column: 1}, Severity: schema.Warning, Rule: "too-many-entries",
				Message: fmt.Sprintf("evals of skills are looked for in the first %d files and folders, and there are more", mostSkillEntries),
				Hint:    "add the folder of the skills to definitions: in gavel.yaml",
			})
		}
	}
	for _, file := range files {
		if skill.IsNamed(file) && !l.isReadElsewhere(file) && l.isFound(file) {
			l.skills = append(l.skills, file)
		}
	}
	slices.Sort(l.skills)
	l.skills = slices.Compact(l.skills)
	return nil
}

// isReadElsewhere reports whether a file is read as a part of a definitions folder.
func (l *loader) isReadElsewhere(file string) bool {
	return slices.ContainsFunc(l.opts.Settings.Definitions, func(root string) bool { return l.looksAt(path.Clean(root), file) })
}

// isFound reports whether the search would find a file: it is there, and neither
// .gavelignore nor the place of one of its folders excludes it.
func (l *loader) isFound(file string) bool {
	if info, err := fs.Lstat(l.fsys, file); err != nil || !info.Mode().IsRegular() {
		return false
	}
	if l.ignore.Exclude(wildcard.Path{Name: file}) || l.ignore.ExcludeAbove(file) || strings.Count(file, "/") > deepestSkill {
		return false
	}
	for dir := path.Dir(path.Dir(file)); dir != "."; dir = path.Dir(dir) {
		if skill.PassesOver(dir) || path.Base(dir) == "evals" {
			return false
		}
	}
	return true
}

// searchSkills lists the files with the name of evals of skills. It is incomplete where
// there is more than is looked at.
func searchSkills(ctx context.Context, fsys fs.FS, most int) (files []string, complete bool, err error) {
	looked, complete := 0, true
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		looked++
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // definitions are read without it
		case looked > most:
			complete = false
			return fs.SkipAll
		case d.IsDir() && name != "." && (skill.PassesOver(name) || strings.Count(name, "/") >= deepestSkill || path.Base(path.Dir(name)) == "evals"):
			return fs.SkipDir
		case d.Type().IsRegular() && skill.IsNamed(name):
			files = append(files, name)
		}
		return nil
	})
	return files, complete, err
}

// loadSkills loads the evals of skills. A file of this name that is next to no skill and
// has no prompts is another tool's.
func (l *loader) loadSkills(ctx context.Context) error {
	var files []string
	for _, file := range l.skills {
		if exists(l.fsys, path.Join(path.Dir(path.Dir(file)), "SKILL.md")) || l.holdsEvals(ctx, file) {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return ctx.Err()
	}
	l.dialect = schema.DialectSkill
	return l.byContent(ctx, l.source(ctx, "."), files, nil)
}

// holdsEvals reports whether a file has evals by its content, or cannot be read.
func (l *loader) holdsEvals(ctx context.Context, file string) bool {
	doc, problems := l.source(ctx, ".").Open(file)
	if doc == nil {
		return len(problems) > 0 && strings.Contains("/"+file, "/skills/")
	}
	return skill.Fits(doc)
}

// SkillFolders returns the folders in which skills with evals are, or may come to be. It
// returns none where settings do not look for them.
func SkillFolders(ctx context.Context, fsys fs.FS, settings schema.Settings) ([]string, error) {
	if !settings.Skills.Find {
		return nil, nil
	}
	out := []string{"evals", "skills", ".agents/skills", ".claude/skills", ".github/skills"}
	files, _, err := searchSkills(ctx, fsys, mostSkillEntries)
	for _, file := range files {
		out = append(out, path.Dir(path.Dir(file)))
	}
	slices.Sort(out)
	return slices.Compact(out), err
}
