package document

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile"
	"github.com/gavel-evals/gavel/schema/javascript"
	"github.com/gavel-evals/gavel/schema/program"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// A Source is the repository that definitions are read from, with the settings
// that they are compiled under.
type Source struct {
	// FS begins at the repository root.
	FS fs.FS
	// Near lists the folders whose files are proposed for a missing one. Defaults to FS.
	Near fs.FS
	// Root is the definitions folder, KeyRoot the folder below which keys
	// begin; both relative to the repository root.
	Root, KeyRoot string
	Settings      schema.Settings
	// Constraints are the team's demands on the definitions.
	Constraints *Constraints
	// Evaluations bounds the evaluation of all .cue files; nil only bounds each file.
	Evaluations *cuefile.Budget
	// Functions bounds all functions of definitions during compilation; nil only bounds
	// each call.
	Functions *javascript.Budget
	// Budgets bound the multiplication of each definition, and Budget bounds the
	// current one's, see [Source.Bounded].
	Budgets *Budgets
	Budget  *Budget
	// Programs finds the source files of programs; nil finds the files around them.
	Programs *program.Finder
	// Make runs a program that makes a part of the definition; nil runs none.
	Make func(schema.Making) ([]byte, error)
	// Inputs are globs of further files of the programs of the definition that is compiled,
	// from the repository root, see [Source.Bounded].
	Inputs []string
}

// Open reads and parses a definition, which is then checked against the
// constraints of the team too.
func (s Source) Open(file string) (*Document, []schema.Problem) {
	doc, problems := open(s.FS, file, s.Evaluations)
	if doc != nil && s.Constraints != nil {
		doc.rules = s.Constraints
		for _, line := range doc.lines {
			line.rules = s.Constraints
		}
	}
	return doc, problems
}

// Key names a case: the path of its file below KeyRoot without extension, then
// #local unless the file is one case and local is empty.
func (s Source) Key(file, local string) string {
	key := strings.TrimPrefix(strings.TrimSuffix(file, path.Ext(file)), s.KeyRoot+"/")
	if local != "" {
		key += "#" + local
	}
	return key
}

// A Reference is a path that a definition names.
type Reference struct {
	// At is its position; a relative path begins at its file.
	At schema.Position
	// Path is relative to the folder of that file, or begins with / for the
	// repository root.
	Path string
	// Role is the file's role in the case, as in Input.
	Role string
	// Most bounds the bytes of the file; 0 means MaxFile.
	Most int64
}

// A Lookup is the result of reading a Reference.
type Lookup struct {
	// File has no path if nothing could be read.
	File schema.File
	// Inputs are the file, and those that would have been taken had they been
	// there.
	Inputs []schema.Input
	// Problems have the position of the reference. A file that was found in a
	// parent folder only, or that looks like an unresolved merge, is a warning.
	Problems []schema.Problem
}

// Found reports whether there is a file.
func (l Lookup) Found() bool { return l.File.Path != "" }

// Read finds and reads a file that a definition names. Paths that leave the
// repository, links and submodules are problems; nothing outside is touched.
func (s Source) Read(ref Reference) Lookup {
	var out Lookup
	fail := func(severity schema.Severity, rule, message, hint string) {
		out.Problems = append(out.Problems, schema.Problem{Position: ref.At, Severity: severity, Rule: rule, Message: message, Hint: hint})
	}
	candidates, ok := s.candidates(ref)
	switch {
	case strings.Contains(ref.Path, `\`):
		fail(schema.Error, "path-backslash", fmt.Sprintf("the path %q has a backslash, which separates no folders here", clip(ref.Path)), "write "+strings.ReplaceAll(ref.Path, `\`, "/"))
		return out
	case !ok:
		fail(schema.Error, "path-escapes", fmt.Sprintf("the path %q leaves the repository", clip(ref.Path)), "name a file inside it; a leading / means the repository root")
		return out
	}
	for i, file := range candidates {
		data, err := schema.ReadFile(s.FS, file, ref.Most)
		if errors.Is(err, fs.ErrNotExist) {
			out.Inputs = append(out.Inputs, schema.Input{File: file, Role: ref.Role, Absent: true})
			continue
		}
		out.Inputs = append(out.Inputs, schema.Input{File: file, Role: ref.Role})
		if err != nil {
			hint := "name a plain file of the repository"
			if _, ok := errors.AsType[schema.FileTooLargeError](err); ok {
				hint = "shorten it, or split it into several files and name each"
			} else if errors.Is(err, schema.ErrLFSPointer) {
				hint = schema.KeepInGit
			}
			fail(schema.Error, "unreadable", fmt.Sprintf("%s cannot be read: %s", file, reason(err)), hint)
			return out
		}
		if i > 0 {
			fail(schema.Warning, "found-above", fmt.Sprintf("%s is not next to this file; using %s", ref.Path, file), "write the path from the file's own folder, or /"+file)
		}
		if at := conflict(data); at > 0 {
			out.Problems = append(out.Problems, InConflict(ref.At, file, at))
		}
		out.File = schema.File{Path: file, Data: data}
		s.Budget.Uses(file, ref.Role)
		s.Budget.Spend(Reads, len(data))
		return out
	}
	fail(schema.Error, "missing-file", fmt.Sprintf("the file %s does not exist", candidates[0]), s.nearest(candidates[0]))
	return out
}

// candidates are the places where a reference may be: next to the definition,
// then in the folders above it.
func (s Source) candidates(ref Reference) ([]string, bool) {
	name := ref.Path
	if name == "" || strings.ContainsAny(name, "\\\x00") {
		return nil, false
	}
	if rooted, ok := strings.CutPrefix(name, "/"); ok {
		full := path.Clean(rooted)
		return []string{full}, fs.ValidPath(full) && full != "."
	}
	dir := path.Dir(ref.At.File)
	full := path.Join(dir, name)
	if !fs.ValidPath(full) || full == "." {
		return nil, false
	}
	out := []string{full}
	for dir != "." {
		dir = path.Dir(dir)
		if above := path.Join(dir, name); fs.ValidPath(above) && above != "." {
			out = append(out, above)
		}
	}
	return out, true
}

// nearest proposes a file of the same folder.
func (s Source) nearest(file string) string {
	hint := "add it or correct the path"
	lists := s.FS
	if s.Near != nil {
		lists = s.Near
	}
	entries, err := fs.ReadDir(lists, path.Dir(file))
	if err != nil {
		return hint // the folder is missing too
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
		if norm.NFC.String(names[i]) == norm.NFC.String(path.Base(file)) {
			return fmt.Sprintf("the name of the file that looks like it is made of other characters: write it as %+q", names[i])
		}
	}
	if near := suggest.DidYouMean(path.Base(file), names); near != "" {
		return near
	}
	return hint
}

// Open reads and parses a definition file, as Parse does.
func Open(fsys fs.FS, file string) (*Document, []schema.Problem) { return open(fsys, file, nil) }

func open(fsys fs.FS, file string, budget *cuefile.Budget) (*Document, []schema.Problem) {
	data, err := schema.ReadFile(fsys, file, Limit(file))
	unreadable, isFiles := Unreadable(file, err)
	switch {
	case !utf8.ValidString(file):
		return nil, []schema.Problem{errorAt(startOf(file), "unreadable", "the name of the file is not valid UTF-8", "rename it")}
	case isFiles:
		return nil, []schema.Problem{unreadable}
	case err != nil:
		return nil, []schema.Problem{errorAt(startOf(file), "unreadable", "the file cannot be read: "+reason(err), plainFile+" that gavel may read (chmod u+r)")}
	}
	return parseFile(file, data, budget)
}

const plainFile = "make it a plain file of the repository"

// Unreadable returns the problem of a file that [schema.ReadFile] refused for what it is,
// such as a link or one that is too large, and whether the error means that.
func Unreadable(file string, err error) (schema.Problem, bool) {
	if large, ok := errors.AsType[schema.FileTooLargeError](err); ok {
		return tooLarge(startOf(file), "the file", large.Size, large.Most), true
	}
	hint := plainFile
	switch {
	case errors.Is(err, schema.ErrLFSPointer):
		hint = schema.KeepInGit
	case !errors.Is(err, schema.ErrNotRegular):
		return schema.Problem{}, false
	}
	return errorAt(startOf(file), "unreadable", "the file cannot be read: "+err.Error(), hint), true
}

// tooLarge is the problem of a definition that is longer than it may be.
func tooLarge(at schema.Position, what string, size, most int64) schema.Problem {
	return errorAt(at, "too-large", fmt.Sprintf("%s has %d bytes; a definition may have %d", what, size, most), "split it")
}

// reason leaves out the path, which the message names anyway.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
