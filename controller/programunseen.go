package controller

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/program"
)

// Messages by which programs and their languages report a missing file. Each has one
// group, the name of the file.
var (
	// told are messages of programs that caught the error themselves, possibly in their
	// output.
	told = []*lazyregexp.Regexp{
		lazyregexp.New(`\[Errno (?:2|13)\] (?:No such file or directory|Permission denied): \\?['"]([^'"\n]+?)\\?['"]`),
		lazyregexp.New(`(?:ENOENT|EACCES): (?:no such file or directory|permission denied), \w+ \\?['"]([^'"\n]+?)\\?['"]`),
		lazyregexp.New(`Cannot find (?:module|package) \\?['"]([^'"\n]+?)\\?['"]`),
		lazyregexp.New(`No module named \\?['"]([\w.]+)\\?['"]`),
		lazyregexp.New(`No such file or directory @ \w+ - ([^\s"\\]+)`),
		lazyregexp.New(`cannot load such file -- ([^\s"\\]+)`),
	}
	// said are messages on stderr if nothing caught it.
	said = []*lazyregexp.Regexp{
		lazyregexp.New(`(?m)([^\s:'"]+): (?:No such file or directory|Permission denied|not found)\s*$`),
		lazyregexp.New(`(?m)(?:cannot|can't) open (?:file )?['"]?([^\s'":]+)`),
		lazyregexp.New(`(?m)(?:cannot|can't) (?:stat|access|read) ['"]?([^\s'":]+)`),
		lazyregexp.New(`Module not found[^'"\n]*['"]([^'"\n]+)['"]`),
		lazyregexp.New(`open ([^\s:]+): (?:no such file or directory|permission denied)`),
	}
)

// A looking finds the files of the repository that a program looked for but cannot see.
type looking struct {
	files fs.FS
	// tree is the folder of the files on disk, dir the program's working folder,
	// relative to the root.
	tree, dir string
	shown     map[string]bool
	// hidden are the files that no program sees.
	hidden []string
}

// missed returns the file of the repository that a program, by its output, looked for
// in vain; empty without one.
func (l looking) missed(stderr, stdout string) string {
	for _, pattern := range said {
		if file := l.named(pattern, stderr); file != "" {
			return file
		}
	}
	for _, text := range []string{stderr, stdout} {
		for _, pattern := range told {
			if file := l.named(pattern, text); file != "" {
				return file
			}
		}
	}
	return ""
}

func (l looking) named(pattern *lazyregexp.Regexp, text string) string {
	for _, found := range pattern.FindAllStringSubmatch(text, -1) {
		for _, file := range l.candidates(found[1]) {
			if l.has(file) {
				return file
			}
		}
	}
	return ""
}

// has reports whether the repository has a file or a folder that is hidden from the
// program.
func (l looking) has(name string) bool {
	if !fs.ValidPath(name) || name == "." || l.shown[name] || slices.ContainsFunc(l.hidden, func(dir string) bool { return gitrepo.Covers(dir, name) }) {
		return false
	}
	info, err := fs.Stat(l.files, name)
	if err != nil {
		return false
	}
	return info.Mode().IsRegular() || info.IsDir() && !l.showsIn(name)
}

func (l looking) showsIn(dir string) bool {
	for name := range l.shown {
		if gitrepo.Covers(dir, name) {
			return true
		}
	}
	return false
}

// candidates returns the files that a name may refer to: relative to the program's
// folder, its own files' folders and the root, and with the extensions that languages
// add.
func (l looking) candidates(name string) []string {
	name = filepath.ToSlash(name)
	var bases []string
	if rest, ok := strings.CutPrefix(name, filepath.ToSlash(l.tree)+"/"); ok {
		bases = append(bases, path.Clean(rest))
	} else if path.IsAbs(name) || strings.HasPrefix(name, "file:") {
		if _, rest, ok := strings.Cut(name, filepath.ToSlash(l.tree)+"/"); ok {
			bases = append(bases, path.Clean(rest))
		}
	} else {
		folders := []string{l.dir}
		for file := range l.shown {
			folders = append(folders, path.Dir(file))
		}
		for dir := l.dir; dir != "."; {
			dir = path.Dir(dir)
			folders = append(folders, dir)
		}
		slices.Sort(folders[1:])
		for _, dir := range slices.Compact(folders) {
			bases = append(bases, path.Join(dir, name))
			if !strings.Contains(name, "/") && strings.Contains(name, ".") { // a Python module
				bases = append(bases, path.Join(dir, strings.ReplaceAll(name, ".", "/")))
			}
		}
	}
	var all []string
	for _, base := range bases {
		all = append(all, base)
		for _, ending := range slices.Concat(program.Language("x.js"), []string{".py", ".rb", ".json", "/index.js", "/__init__.py"}) {
			all = append(all, base+ending)
		}
	}
	return all
}
