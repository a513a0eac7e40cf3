// Package command reads the files that the command of a definition is made of: those
// that it names, and those of the same kind next to each, since a program may load
// them. Nothing is run.
package command

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

const (
	// MaxFile bounds the bytes of one file of a program.
	MaxFile = 4 << 20
	// maxSiblings bounds the number of files next to it.
	maxSiblings = 256
)

// A Line is a command as a definition writes it.
type Line struct {
	// Argv is the program and its arguments; one text where Shell is set.
	Argv []string
	// Shell means that the text is run by the shell.
	Shell bool
	// Dir is the folder that it runs in, relative to the repository root.
	Dir string
	// At is the position of the word with an index; that of a text is the same for all.
	At func(word int) schema.Position
}

// A Program is what the files of a command are.
type Program struct {
	// Argv is the command with the names by which the program finds its files from
	// its folder.
	Argv []string
	// Files are sorted by path, without repetition.
	Files    []schema.File
	Inputs   []schema.Input
	Problems []schema.Problem
}

// A Reader reads files of a repository.
type Reader struct {
	Files fs.FS
	// Read finds a file that is named relative to another, also in a folder above.
	Read func(schema.Reference) schema.Lookup
}

// Folder returns the folder that a command runs in: cwd, relative to the folder of
// the file that names it, or that folder where cwd is empty. The problem has no
// position; nil where there is none.
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
	if info, err := fs.Stat(r.Files, dir); err != nil || !info.IsDir() {
		return "", &schema.Problem{Severity: schema.Error, Rule: "missing-file", Message: fmt.Sprintf("the folder %s does not exist", dir), Hint: "add it or correct the path"}
	}
	return dir, nil
}

// Program reads the files of a command.
func (r Reader) Program(line Line) Program {
	words := line.Argv
	if line.Shell {
		words = strings.Fields(line.Argv[0])
	}
	b := builder{Reader: r, line: line}
	b.Argv = slices.Clone(words)
	program := evaluator.Program{Dir: line.Dir}
	for i, word := range words {
		file := b.file(word, i)
		if file == "" {
			continue
		}
		if rel := program.Sees(file); path.Clean(word) != rel {
			b.Argv[i] = rel
		}
		b.addAll(file, i)
	}
	if line.Shell {
		b.Argv = []string{"sh", "-c", line.Argv[0]}
	}
	slices.SortFunc(b.Program.Files, func(x, y schema.File) int { return strings.Compare(x.Path, y.Path) })
	b.Program.Files = slices.CompactFunc(b.Program.Files, func(x, y schema.File) bool { return x.Path == y.Path })
	return b.Program
}

// A builder collects the files of one command.
type builder struct {
	Reader
	line Line
	Program
}

// note adds a problem of a word.
func (b *builder) note(word int, p schema.Problem) {
	p.Position = b.line.At(word)
	b.Problems = append(b.Problems, p)
}

// extensions of files that are programs: what ends so and does not exist is a
// mistake.
var extensions = []string{".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".rb", ".pl", ".php", ".lua", ".r", ".jl"}

// file finds the file that a word of the command names, if it names one.
func (b *builder) file(word string, i int) string {
	dotted := strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
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
	}
	if b.line.Shell || !dotted && !slices.Contains(extensions, path.Ext(word)) {
		return ""
	}
	// A file that appears where it is looked for first is another program.
	found := b.Read(schema.Reference{At: schema.Position{File: path.Join(b.line.Dir, "-")}, Path: word, Role: "program", Most: MaxFile})
	b.Inputs = append(b.Inputs, found.Inputs...)
	for _, p := range found.Problems {
		p.Position = b.line.At(i)
		if p.Rule == "found-above" {
			p.Message = fmt.Sprintf("%s is not in the folder that the program runs in; %s is taken", word, found.File.Path)
			p.Hint = "write " + evaluator.Program{Dir: b.line.Dir}.Sees(found.File.Path)
		}
		b.Problems = append(b.Problems, p)
	}
	return found.File.Path
}

func (b *builder) isFile(file string) bool {
	info, err := fs.Stat(b.Reader.Files, file)
	return err == nil && info.Mode().IsRegular()
}

// addAll adds a file and those next to it with the same extension. The folder
// is an input as a whole, since what appears there may be loaded.
func (b *builder) addAll(file string, word int) {
	b.add(file, word)
	ext := path.Ext(file)
	if !slices.Contains(extensions, ext) {
		return
	}
	folder := path.Dir(file)
	b.Inputs = append(b.Inputs, schema.Input{File: folder, Role: "program"})
	entries, err := fs.ReadDir(b.Reader.Files, folder)
	if err != nil {
		return // the file itself was read
	}
	siblings := 0
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if name == file || path.Ext(name) != ext || !e.Type().IsRegular() {
			continue
		}
		if siblings++; siblings > maxSiblings {
			b.note(word, schema.Problem{Severity: schema.Warning, Rule: "many-programs", Message: fmt.Sprintf("only %[2]d of the files next to %[1]s count as part of the program", file, maxSiblings), Hint: "move the program into a folder of its own"})
			return
		}
		b.add(name, word)
	}
}

func (b *builder) add(name string, word int) {
	data, err := schema.ReadFile(b.Reader.Files, name, MaxFile)
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		b.note(word, schema.Problem{Severity: schema.Error, Rule: "unreadable", Message: fmt.Sprintf("%s cannot be read: %v", name, err), Hint: "make it a plain file of at most 4 MiB"})
		return
	}
	b.Program.Files = append(b.Program.Files, schema.File{Path: name, Data: data})
	b.Inputs = append(b.Inputs, schema.Input{File: name, Role: "program"})
}
