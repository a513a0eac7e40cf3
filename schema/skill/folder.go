package skill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/program"
)

const (
	// maxFiles and maxBytes bound a skill, and the files of a case.
	maxFiles = 2000
	maxBytes = 32 << 20
	// File is the file that makes a folder a skill.
	File = "SKILL.md"
	// role is the role of the files in the workspace among the inputs of a case.
	role = "workspace"
	// mostLooked and deepest bound the search for a skill by its name.
	mostLooked = 20_000
	deepest    = 6
)

// A folder is a skill.
type folder struct {
	// name is the name that agents know it by; empty if there is none.
	name string
	// dir is relative to the repository root, and key begins the keys of its cases.
	dir, key string
	files    []schema.WorkspaceFile
	inputs   []schema.Input
	problems []schema.Problem
}

// find returns the skill of a file: the folder above evals, else the one that the file
// names.
func (f *file) find() folder {
	dir := path.Dir(f.doc.File)
	for range 2 { // a file may be in evals, or next to SKILL.md
		if f.isSkill(dir) {
			out := f.read(dir)
			out.problems = append(out.problems, f.misnamed(dir, out.name)...)
			return out
		}
		dir = path.Dir(dir)
	}
	above := path.Dir(path.Dir(f.doc.File))
	name := f.said()
	out := folder{key: cmp.Or(strings.TrimPrefix(above, "./"), name), inputs: []schema.Input{{File: path.Join(above, File), Role: role, Absent: true}}}
	if out.key == "." {
		out.key = cmp.Or(name, "evals")
	}
	if name != "" {
		if dirs := f.search(above, name); len(dirs) > 0 {
			found := f.read(dirs[0])
			if len(dirs) > 1 {
				found.problems = append(found.problems, f.twoOfOneName(name, dirs[0], dirs[1]))
			}
			found.inputs = append(found.inputs, out.inputs...)
			return found
		}
		out.inputs = append(out.inputs, schema.Input{File: above, Role: role})
	}
	message, hint, at := "there is no SKILL.md next to the folder of this file", "add it, or name the skill: \"skill_name\": …", []any{}
	if name != "" {
		message, hint, at = fmt.Sprintf("the evals name a skill %q, and no SKILL.md below %s has that name", name, describe(above)), "correct the name, or move the file into evals/ of the skill", []any{"skill_name"}
		if path.Base(path.Dir(f.doc.File)) == "evals" {
			hint = "write " + path.Join(above, File) + ", or correct the name"
		}
	}
	if wrong := f.misspelt(above); wrong != "" {
		hint = "rename " + wrong + " to " + File
	}
	p := f.doc.Problem("no-skill", message, hint, at...)
	p.Severity = schema.Warning
	out.problems = []schema.Problem{p}
	return out
}

// misspelt returns the file that is a SKILL.md but for the case of its name; empty for none.
func (f *file) misspelt(dir string) string {
	entries, err := fs.ReadDir(f.FS, dir)
	if err != nil {
		return "" // there is no such folder
	}
	for _, e := range entries {
		if name := e.Name(); name != File && strings.EqualFold(name, File) {
			return path.Join(dir, name)
		}
	}
	return ""
}

// said returns the name that the file gives to its skill.
func (f *file) said() string {
	return strings.TrimSpace(cmp.Or(f.doc.Text("skill_name"), f.doc.Text("skill")))
}

func describe(dir string) string {
	if dir == "." {
		return "the root"
	}
	return dir
}

func (f *file) isSkill(dir string) bool {
	info, err := fs.Stat(f.FS, path.Join(dir, File))
	return err == nil && info.Mode().IsRegular()
}

// search looks below a folder for the skills of a name: by the names of their folders
// first, then by what their SKILL.md says.
func (f *file) search(root, name string) []string {
	var folders []string
	looked := 0
	err := fs.WalkDir(f.FS, root, func(file string, d fs.DirEntry, err error) error {
		f.Budget.Go()
		looked++
		switch {
		case err != nil && file == root, looked > mostLooked:
			return fs.SkipAll
		case err != nil:
			return nil
		case d.IsDir() && file != root && (PassesOver(file) || f.ignored(file, true) || strings.Count(strings.TrimPrefix(file, root), "/") > deepest):
			return fs.SkipDir
		case d.Name() == File && d.Type().IsRegular():
			folders = append(folders, path.Dir(file))
		}
		return nil
	})
	if err != nil {
		return nil
	}
	byFolder := slices.DeleteFunc(slices.Clone(folders), func(dir string) bool { return path.Base(dir) != name })
	if len(byFolder) > 0 {
		return byFolder
	}
	return slices.DeleteFunc(folders, func(dir string) bool { return nameIn(f.text(dir)) != name })
}

// PassesOver reports whether no skill is looked for in a folder: it is a folder of
// packages or of results, or a dot folder of no agent.
func PassesOver(folder string) bool {
	name, above := path.Base(folder), path.Base(path.Dir(folder))
	if slices.Contains(agents, above) {
		return name != "skills"
	}
	return strings.HasPrefix(name, ".") && !slices.Contains(agents, name) || name == "node_modules" || strings.HasSuffix(name, "-workspace")
}

// agents are the dot folders that have skills.
var agents = []string{".agents", ".claude", ".github"}

// ignored reports whether .gavelignore excludes a file or folder.
func (f *file) ignored(name string, isFolder bool) bool {
	return f.Ignored != nil && f.Ignored(name, isFolder)
}

// text returns the SKILL.md of a folder; empty if it cannot be read.
func (f *file) text(dir string) string {
	data, err := schema.ReadFile(f.FS, path.Join(dir, File), 0)
	if err != nil {
		return ""
	}
	f.Budget.Spend(document.Reads, len(data))
	return string(data)
}

// nameIn returns the name in the frontmatter of a text.
func nameIn(text string) string {
	for line := range strings.Lines(headLines(text)) {
		if value, ok := strings.CutPrefix(line, "name:"); ok {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// plainName are the names that a folder of a skill may have.
var plainName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// read reads a skill.
func (f *file) read(dir string) folder {
	out := folder{dir: dir, key: dir, inputs: []schema.Input{{File: dir, Role: role}}}
	text := f.text(dir)
	out.name = firstPlain([]string{nameIn(text), path.Base(dir), f.said()})
	out.problems = f.headProblem(path.Join(dir, File), text)
	if dir == "." {
		out.key = out.name
	}
	if f.isTriggers {
		out.inputs = nil
		return out
	}
	names, err := f.filesOf(dir)
	if err == nil {
		out.files, err = f.contents(dir, names)
	}
	if err != nil {
		hint := "make it a folder of plain files"
		if errors.Is(err, errBounds) || errors.Is(err, program.ErrTooMany) {
			hint = "name in .gavelignore what the agent does not need"
		}
		out.problems = append(out.problems, f.doc.Problem("unreadable", fmt.Sprintf("the skill in %s cannot be read: %v", describe(dir), err), hint))
	}
	for _, file := range out.files {
		out.inputs = append(out.inputs, schema.Input{File: path.Join(dir, file.Path), Role: role})
	}
	return out
}

// errBounds is the error of a skill that holds too much.
var errBounds = fmt.Errorf("it has more than %d files or %d MiB", maxFiles, maxBytes>>20)

// filesOf lists the files of a skill: its folder without the evals, in which the answers
// are. In the root, what a repository has for other ends is left out, unless SKILL.md
// names it.
func (f *file) filesOf(dir string) ([]string, error) {
	text := ""
	if dir == "." {
		data, err := schema.ReadFile(f.FS, File, 0)
		if err != nil {
			return nil, err
		}
		text = string(data)
	}
	skip := func(name string, isFolder bool) bool {
		within := strings.TrimPrefix(name, dir+"/")
		top, _, deeper := strings.Cut(within, "/")
		switch base := path.Base(name); {
		case f.Programs != nil && f.Programs.Ended != nil && f.Programs.Ended() != nil: // which ends the load
			return true
		case top == "evals", name == f.doc.File, base == ".git", base == "node_modules", base == "__pycache__", base == ".DS_Store":
			return true
		case dir == "." && !deeper && f.isRepository(top) && !strings.Contains(text, top):
			return true
		}
		return f.ignored(name, isFolder)
	}
	names, err := program.ListFiles(f.FS, []string{dir}, skip, mostLooked)
	f.Budget.Go()
	if err == nil && len(names) > maxFiles {
		err = errBounds
	}
	return names, err
}

// ofRepository begin the names of files and folders in the root of a repository that are
// no part of a skill there.
var ofRepository = []string{"license", "readme", "changelog", "contributing", "code_of_conduct", "security", "tests", "test", "docs", "skills", "gavel.yaml"}

// isRepository reports whether a name in the root is that of a file or folder for other
// ends than a skill.
func (f *file) isRepository(name string) bool {
	small := strings.ToLower(name)
	stem, _, _ := strings.Cut(small, ".")
	return strings.HasPrefix(name, ".") || slices.Contains(ofRepository, small) || slices.Contains(ofRepository, stem) || slices.Contains(f.Settings.Definitions, name)
}

// contents reads files below a folder.
func (f *file) contents(dir string, names []string) ([]schema.WorkspaceFile, error) {
	size := int64(0)
	out := make([]schema.WorkspaceFile, 0, len(names))
	for _, name := range names {
		file, n, err := f.content(name, maxBytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if size += n; size > maxBytes {
			return nil, errBounds
		}
		file.Path = strings.TrimPrefix(name, dir+"/")
		out = append(out, file)
	}
	slices.SortFunc(out, func(a, b schema.WorkspaceFile) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// content identifies a file by its bytes, and returns its size. The path is the whole one.
func (f *file) content(name string, most int64) (schema.WorkspaceFile, int64, error) {
	info, err := fs.Stat(f.FS, name)
	if err != nil {
		return schema.WorkspaceFile{}, 0, err
	}
	data, err := schema.ReadFile(f.FS, name, most)
	if err != nil {
		return schema.WorkspaceFile{}, 0, err
	}
	f.Budget.Uses(name, role)
	f.Budget.Spend(document.Reads, len(data))
	sum := sha256.Sum256(data)
	return schema.WorkspaceFile{Path: name, Hash: hex.EncodeToString(sum[:]), Executable: info.Mode()&0o111 != 0}, int64(len(data)), nil
}
