// Package command finds the files that the command of a definition consists of: the
// files that it names, and the files around each program, since it may load them. It
// runs nothing.
package command

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/program"
)

// MaxFile bounds the bytes of one file that a command names.
const MaxFile = 4 << 20

// A Line is a command as a definition writes it.
type Line struct {
	// Argv is the program and its arguments; one text where Shell is set.
	Argv []string
	// Shell means that the text is run by the shell.
	Shell bool
	// Dir is the folder that it runs in, relative to the repository root.
	Dir string
	// At returns the position of the word with an index; all words of a text have the
	// same.
	At func(word int) schema.Position
}

// A Program has the files of a command.
type Program struct {
	// Argv is the command with the names by which the program finds its files from
	// its folder.
	Argv []string
	// Files are those that it names, sorted by path, without repetition.
	Files []string
	// Built is its build; nil if that has problems.
	Built    *schema.ProgramFiles
	Inputs   []schema.Input
	Problems []schema.Problem
}

// A Reader finds files of a repository.
type Reader struct {
	document.Source
	// Lookup finds a file that is named relative to another, also in a folder above.
	// Defaults to the Source's.
	Lookup func(document.Reference) document.Lookup
}

// FolderAbove is [Reader.Folder] for a format whose folders are also found from the
// folders above the file, up to the root. The nearest is taken.
func (r Reader) FolderAbove(file, cwd string) (string, *schema.Problem) {
	dir, first := r.Folder(file, cwd)
	for first != nil && first.Rule == "missing-file" && path.Dir(file) != "." {
		file = path.Dir(file)
		if found, problem := r.Folder(file, cwd); problem == nil {
			return found, nil
		}
	}
	return dir, first
}

// Folder returns the folder in which a command runs: cwd, relative to the folder of the
// file that names it, or that folder if cwd is empty. The problem has no position; nil
// if there is none.
func (r Reader) Folder(file, cwd string) (string, *schema.Problem) {
	if cwd == "" {
		return path.Dir(file), nil
	}
	dir := path.Join(path.Dir(file), cwd)
	if rooted, ok := strings.CutPrefix(cwd, "/"); ok {
		dir = path.Clean(rooted)
	}
	if strings.Contains(cwd, `\`) {
		return "", &schema.Problem{
			Severity: schema.Error, Rule: "path-backslash", Message: fmt.Sprintf("the path %q has a backslash, which separates no folders here", cwd),
			Hint: "write " + strings.ReplaceAll(cwd, `\`, "/"),
		}
	}
	if !fs.ValidPath(dir) || strings.Contains(cwd, "\x00") {
		return "", &schema.Problem{
			Severity: schema.Error, Rule: "path-escapes", Message: fmt.Sprintf("the path %q leaves the repository", cwd),
			Hint: "name a folder inside it; a leading / means the repository root",
		}
	}
	if info, err := fs.Stat(r.FS, dir); err != nil || !info.IsDir() {
		return "", &schema.Problem{Severity: schema.Error, Rule: "missing-file", Message: fmt.Sprintf("the folder %s does not exist", dir), Hint: "add it or correct the path"}
	}
	return dir, nil
}

// Program finds the files of a command.
func (r Reader) Program(line Line) Program {
	words := line.Argv
	if line.Shell {
		words = strings.Fields(line.Argv[0])
	}
	if r.Lookup == nil {
		r.Lookup = r.Read
	}
	b := builder{Reader: r, line: line}
	b.Argv = slices.Clone(words)
	for i, word := range words {
		if b.module(i) {
			continue
		}
		file := b.file(word, i)
		if file == "" {
			continue
		}
		if rel := schema.RelativePath(line.Dir, file); path.Clean(word) != rel {
			b.Argv[i] = rel
		}
		if b.isFolder(file) {
			b.parts = append(b.parts, program.Part{File: file, Folder: true})
			continue
		}
		b.parts = append(b.parts, program.Part{File: file, Around: i == 0 || slices.Contains(extensions, path.Ext(file))})
	}
	if line.Shell {
		b.Argv = []string{"sh", "-c", line.Argv[0]}
	}
	b.build()
	return b.Program
}

// Code returns the files of a program that runs code of the definition itself: the
// inputs of every program.
func (r Reader) Code(dir string, at schema.Position) Program {
	b := builder{Reader: r, line: Line{Dir: dir, At: func(int) schema.Position { return at }}}
	b.build()
	return b.Program
}

// A builder collects the files of one command.
type builder struct {
	Reader
	line  Line
	parts []program.Part
	Program
}

// note adds a problem of a word.
func (b *builder) note(word int, p schema.Problem) {
	p.Position = b.line.At(word)
	b.Problems = append(b.Problems, p)
}

// extensions of program files: a missing file with one of these is a mistake.
var extensions = []string{".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".rb", ".pl", ".php", ".lua", ".r", ".jl"}

// file finds the file or the folder that a word of the command names, if it names one.
func (b *builder) file(word string, i int) string {
	dotted := strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
	if strings.Contains(word, "{{") {
		return "" // a path that is known when the program starts
	}
	if !dotted && (strings.HasPrefix(word, "/") || strings.HasPrefix(word, "-") || word == "." || word == "..") {
		return "" // of the machine, or an option
	}
	file := path.Join(b.line.Dir, word)
	switch {
	case dotted && !fs.ValidPath(file):
		b.note(i, schema.Problem{Severity: schema.Error, Rule: "path-escapes", Message: fmt.Sprintf("the path %q leaves the repository", word), Hint: "name a file inside it"})
		return ""
	case !fs.ValidPath(file):
		return ""
	case b.isFile(file):
		return file
	case i > 0 && strings.Contains(word, "/") && b.isFolder(file):
		if file == "." {
			return "" // the whole repository
		}
		return file
	}
	if b.line.Shell || !dotted && !slices.Contains(extensions, path.Ext(word)) {
		return ""
	}
	// A file that appears where it is looked for first is another program.
	found := b.Lookup(document.Reference{At: schema.Position{File: path.Join(b.line.Dir, "-")}, Path: word, Role: "program", Most: MaxFile})
	b.Inputs = append(b.Inputs, found.Inputs...)
	written := i > 0 && !slices.Contains(extensions, path.Ext(word)) // an argument may name what the program writes
	for _, p := range found.Problems {
		if written && p.Rule == "missing-file" {
			continue
		}
		p.Position = b.line.At(i)
		if p.Rule == "found-above" {
			p.Message = fmt.Sprintf("%s is not in the folder that the program runs in; %s is taken", word, found.File.Path)
			p.Hint = "write " + schema.RelativePath(b.line.Dir, found.File.Path)
		}
		b.Problems = append(b.Problems, p)
	}
	return found.File.Path
}

func (b *builder) isFile(file string) bool {
	info, err := fs.Stat(b.FS, file)
	return err == nil && info.Mode().IsRegular()
}

func (b *builder) isFolder(name string) bool {
	info, err := fs.Stat(b.FS, name)
	return err == nil && info.IsDir()
}

// module adds the file of a module of Python that is started by its name: python -m
// checks.tone.
func (b *builder) module(word int) bool {
	if word == 0 || b.Argv[word-1] != "-m" {
		return false
	}
	name := path.Join(b.line.Dir, strings.ReplaceAll(b.Argv[word], ".", "/"))
	for _, file := range []string{name + ".py", path.Join(name, "__main__.py")} {
		if fs.ValidPath(file) && b.isFile(file) {
			b.parts = append(b.parts, program.Part{File: file, Around: true})
			return true
		}
	}
	return false
}

// build finds the files of the command.
func (b *builder) build() {
	finder := b.Programs
	if finder == nil {
		finder = &program.Finder{FS: b.FS, Skip: func(string, bool) bool { return false }}
	}
	for _, p := range b.parts {
		if p.Folder {
			continue
		}
		if b.Files = append(b.Files, p.File); !b.isReadable(p.File) {
			return
		}
	}
	slices.Sort(b.Files)
	b.Files = slices.Compact(b.Files)
	for _, name := range finder.Watched(b.parts, b.Source.Inputs...) {
		b.Inputs = append(b.Inputs, schema.Input{File: name, Role: "program"})
	}
	var err error
	if b.Built, err = finder.Build(b.line.Dir, b.parts, b.Source.Inputs...); err != nil {
		p := schema.Problem{Severity: schema.Error, Rule: "unreadable", Message: fmt.Sprintf("the files of the program cannot be listed: %v", err), Hint: "correct the files, or programs: inputs: in gavel.yaml"}
		if errors.Is(err, program.ErrTooMany) {
			p.Rule, p.Hint = "too-many-files", "move the program into a folder of its own"
		}
		b.note(0, p)
	}
}

// isReadable records the problem of a file that a command names and that cannot be
// read.
func (b *builder) isReadable(name string) bool {
	info, err := fs.Stat(b.FS, name)
	switch {
	case err == nil && info.Size() > MaxFile:
		err = fmt.Errorf("it has %d bytes", info.Size())
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("not a regular file")
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	if err != nil {
		b.note(0, schema.Problem{Severity: schema.Error, Rule: "unreadable", Message: fmt.Sprintf("%s cannot be read: %v", name, err), Hint: "make it a plain file of at most 4 MiB"})
	}
	return err == nil
}
