package load

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/skill"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// The bounds of the search for skills and their evals.
const (
	mostSkills       = 1000    // that an agent chooses from
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
		found, err := searchSkills(ctx, l.searched(), mostSkillEntries)
		if err != nil {
			return err
		}
		if files = found.evals; !found.complete {
			l.out.Problems = append(l.out.Problems, schema.Problem{
				Position: schema.Position{File: ".", Line: 1, Column: 1}, Severity: schema.Warning, Rule: "too-many-entries",
				Message: fmt.Sprintf("evals of skills are looked for in the first %d files and folders, and there are more", mostSkillEntries),
				Hint:    "add the folder of the skills to definitions: in gavel.yaml",
			})
		}
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !isEvals(file) || l.isReadElsewhere(file) || !l.isFound(file) {
			continue
		}
		if hint, nearly := skill.IsNearlyNamed(file); nearly {
			l.misnamedEvals(ctx, file, hint)
		} else if skill.IsFound(file) {
			l.skills = append(l.skills, file)
		}
	}
	slices.Sort(l.skills)
	l.skills = slices.Compact(l.skills)
	return nil
}

// misnamedEvals warns about evals that are not found by the name of their file.
func (l *loader) misnamedEvals(ctx context.Context, file, hint string) {
	if !l.holdsEvals(ctx, file) {
		return
	}
	l.out.Problems = append(l.out.Problems, schema.Problem{
		Position: schema.Position{File: file, Line: 1, Column: 1}, Severity: schema.Warning, Rule: "misnamed",
		Message: "the evals in it are not read, since its name is not evals.json", Hint: hint,
	})
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

// skillFiles are the files of skills that a search found.
type skillFiles struct {
	// evals have names of evals or of trigger lists, or nearly such names.
	evals []string
	// skills are the folders with a SKILL.md.
	skills []string
	// complete is false where there is more than is looked at.
	complete bool
}

// isEvals reports whether a file has a name of evals or of trigger lists, or nearly one.
func isEvals(file string) bool {
	_, nearly := skill.IsNearlyNamed(file)
	return nearly || skill.IsFound(file)
}

// searchSkills looks for skills and their evals.
func searchSkills(ctx context.Context, fsys fs.FS, most int) (found skillFiles, err error) {
	looked := 0
	found.complete = true
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		looked++
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // definitions are read without it
		case looked > most:
			found.complete = false
			return fs.SkipAll
		case d.IsDir() && name != "." && (skill.PassesOver(name) || strings.Count(name, "/") >= deepestSkill || path.Base(path.Dir(name)) == "evals"):
			return fs.SkipDir
		case d.Type().IsRegular() && isEvals(name):
			found.evals = append(found.evals, name)
		case d.Type().IsRegular() && path.Base(name) == skill.File:
			found.skills = append(found.skills, path.Dir(name))
		}
		return nil
	})
	return found, err
}

// searchCatalog returns a function that searches the skills that agents choose from, once,
// and names those that are left out.
func (l *loader) searchCatalog(ctx context.Context) func() (heads []schema.SkillHead, left []string) {
	return sync.OnceValues(func() (heads []schema.SkillHead, left []string) {
		found, err := searchSkills(ctx, l.searched(), mostSkillEntries)
		if err != nil {
			return nil, nil // the load ends
		}
		folders := map[string]bool{}
		for _, dir := range found.skills {
			folders[dir] = true
		}
		for _, dir := range found.skills {
			file := path.Join(dir, skill.File)
			if l.ignore.Exclude(wildcard.Path{Name: file}) || l.ignore.ExcludeAbove(file) || isInSkill(folders, dir) {
				continue
			}
			if ctx.Err() != nil {
				return nil, nil // the load ends
			}
			if len(heads) == mostSkills {
				left = append(left, file)
				continue
			}
			data, err := schema.ReadFile(l.fsys, file, 0)
			head, ok := skill.HeadOf(string(data), dir)
			if err != nil || !ok {
				left = append(left, file)
				continue
			}
			heads = append(heads, head)
		}
		return heads, left
	})
}

// isInSkill reports whether a folder is a part of a skill, such as an example in one. A
// skill in the root has other ones below it.
func isInSkill(skills map[string]bool, dir string) bool {
	for above := path.Dir(dir); above != "."; above = path.Dir(above) {
		if skills[above] {
			return true
		}
	}
	return false
}

// loadSkills loads the evals of skills. A file of this name that is next to no skill and
// has no prompts is another tool's.
func (l *loader) loadSkills(ctx context.Context) error {
	var files []string
	for _, file := range l.skills {
		if exists(l.fsys, path.Join(path.Dir(path.Dir(file)), skill.File)) || l.holdsEvals(ctx, file) {
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

// SkillFiles returns the files in which evals of skills may be, and the skills that are in
// the repository. It returns none where settings do not look for them.
func SkillFiles(ctx context.Context, fsys fs.FS, settings schema.Settings) ([]string, error) {
	if !settings.Skills.Find {
		return nil, nil
	}
	found, err := searchSkills(ctx, fsys, mostSkillEntries)
	out := found.evals
	for _, dir := range found.skills {
		out = append(out, path.Join(dir, skill.File))
	}
	return out, err
}

// SkillFolders returns the folders in which skills with evals are, or may come to be. It
// returns none where settings do not look for them.
func SkillFolders(ctx context.Context, fsys fs.FS, settings schema.Settings) ([]string, error) {
	if !settings.Skills.Find {
		return nil, nil
	}
	out := []string{"evals", "skills", ".agents/skills", ".claude/skills", ".github/skills"}
	found, err := searchSkills(ctx, fsys, mostSkillEntries)
	for _, file := range found.evals {
		out = append(out, path.Dir(path.Dir(file)))
	}
	out = append(out, found.skills...)
	slices.Sort(out)
	return slices.Compact(out), err
}
