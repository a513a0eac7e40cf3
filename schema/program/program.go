// Package program finds the source files of a repository's program. The sandbox shows
// them to it, and the digests of its cases cover them: a program cannot depend on
// another file.
//
// Most callers want [Finder.Build].
package program

import (
	"crypto/sha1" //nolint:gosec // git identifies content by it
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// mostEntries bounds the files and folders in a program's folder.
const mostEntries = 50_000

// ErrTooMany means that a folder has more files than a program may have.
var ErrTooMany = errors.New("too many files")

// A Lister is a state of the repository that knows its tracked and trackable files.
type Lister interface {
	// ListFiles returns the regular files in the folders and below, sorted. skip
	// excludes files, and folders with everything in them. The error is [ErrTooMany] if
	// there are more entries than most.
	ListFiles(folders []string, skip func(name string, isFolder bool) bool, most int) ([]string, error)
}

// A Finder finds the source files of programs in one state of the repository. It is
// safe for concurrent use.
type Finder struct {
	// FS is the repository root. It may be a [Lister], and have a method Hash that
	// returns git's hash of a file's content.
	FS fs.FS
	// Skip reports paths in a program's folder that do not belong to it: definitions,
	// settings, and paths in .gavelignore.
	Skip func(name string, isFolder bool) bool
	// Definitions are the folders of definitions: none is part of a program above it.
	Definitions []string
	// Inputs are globs of further files of every program.
	Inputs []string
	// Ended is the error with which to end; nil never ends.
	Ended func() error

	once     sync.Once
	inputs   []string
	unlisted error // why the inputs are not known

	mu      sync.Mutex // guards folders and sums
	folders map[string][]string
	sums    map[string]schema.ProgramFiles
	hashes  sync.Map
}

// A Part names files of a program.
type Part struct {
	// File is a single file.
	File string
	// Around adds the files around it that it may load: its folder and all below it or,
	// in the repository's root, the files of its language next to it.
	Around bool
	// Folder means that File is a folder, of which all files are part.
	Folder bool
}

// Build returns the source files of a program that runs in a folder, with further files
// by globs. The caller owns the result.
func (f *Finder) Build(dir string, parts []Part, inputs ...string) (*schema.ProgramFiles, error) {
	key := fmt.Sprintf("%s\x00%v\x00%q", dir, parts, inputs)
	f.mu.Lock()
	known, ok := f.sums[key]
	f.mu.Unlock()
	if ok {
		return &known, nil
	}
	built, err := f.build(dir, parts, inputs)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sums == nil {
		f.sums = map[string]schema.ProgramFiles{}
	}
	f.sums[key] = *built
	return built, nil
}

func (f *Finder) build(dir string, parts []Part, inputs []string) (*schema.ProgramFiles, error) {
	names, err := f.named()
	if err != nil {
		return nil, err
	}
	further, err := Matches(f.FS, inputs, f.Ended)
	if err != nil {
		return nil, err
	}
	names = slices.Concat(names, further)
	for _, p := range parts {
		if !p.Folder {
			names = append(names, p.File)
		}
	}
	named := slices.Compact(slices.Sorted(slices.Values(names)))
	for _, p := range parts {
		list := f.Around
		switch {
		case p.Folder:
			list = f.Folder
		case !p.Around:
			continue
		}
		more, err := list(p.File)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	var files []schema.ProgramFile
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := f.ended(); err != nil {
			return nil, err
		}
		hash, err := f.hash(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone since it was listed
		}
		if err != nil {
			return nil, err
		}
		files = append(files, schema.ProgramFile{Path: name, Hash: hash})
	}
	return schema.NewProgramFiles(dir, named, files), nil
}

// Around lists the files around a file that a program may load.
func (f *Finder) Around(file string) ([]string, error) {
	var names []string
	var err error
	if folder := path.Dir(file); folder == "." {
		names, err = f.atRoot(file)
	} else {
		names, err = f.Folder(folder)
	}
	if err != nil {
		return nil, err
	}
	return append(slices.Clip(names), f.manifests(file)...), nil
}

// languages are the endings of files that load each other.
var languages = [][]string{
	{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"},
	{".py"}, {".sh", ".bash"}, {".rb"}, {".pl", ".pm"}, {".php"}, {".lua"}, {".r", ".R"}, {".jl"},
}

// Language returns the endings of the files that a file may load by their names.
func Language(file string) []string {
	for _, endings := range languages {
		if slices.Contains(endings, path.Ext(file)) {
			return endings
		}
	}
	return nil
}

// atRoot lists the files of a program's language in the repository's root.
func (f *Finder) atRoot(file string) ([]string, error) {
	language := Language(file)
	list, err := fs.ReadDir(f.FS, ".")
	if err != nil {
		return nil, err
	}
	shallow := func(name string, isFolder bool) bool { return isFolder || !slices.Contains(language, path.Ext(name)) }
	if !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return !shallow(e.Name(), e.IsDir()) }) {
		return nil, nil
	}
	return f.list(".", func(name string, isFolder bool) bool { return shallow(name, isFolder) || f.Skip(name, isFolder) })
}

// Folder lists the files of a folder and below it that count for the programs in it.
func (f *Finder) Folder(folder string) ([]string, error) {
	f.mu.Lock()
	known, ok := f.folders[folder]
	f.mu.Unlock()
	if ok {
		return known, nil
	}
	names, err := f.list(folder, func(name string, isFolder bool) bool { return !f.Counts(folder, name, isFolder) })
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.folders == nil {
		f.folders = map[string][]string{}
	}
	f.folders[folder] = names
	return names, nil
}

// list lists the files of a folder and below it. Nothing more is looked at once it is to
// end.
func (f *Finder) list(folder string, skip func(name string, isFolder bool) bool) ([]string, error) {
	names, err := ListFiles(f.FS, []string{folder}, func(name string, isFolder bool) bool { return f.ended() != nil || skip(name, isFolder) }, mostEntries)
	if ended := f.ended(); ended != nil {
		return nil, ended
	}
	return names, err
}

func (f *Finder) ended() error {
	if f.Ended == nil {
		return nil
	}
	return f.Ended()
}

// Counts reports whether a file or folder below a folder is part of the programs in that.
func (f *Finder) Counts(folder, name string, isFolder bool) bool {
	for _, dir := range f.Definitions {
		if covers(dir, name) && !covers(dir, folder) {
			return false
		}
	}
	return !f.Skip(name, isFolder)
}

// covers reports whether name is dir or is in it.
func covers(dir, name string) bool {
	return dir == "." || dir == name || strings.HasPrefix(name, dir+"/")
}

// ListFiles calls the [Lister], or walks the folders if fsys is none.
func ListFiles(fsys fs.FS, folders []string, skip func(name string, isFolder bool) bool, most int) ([]string, error) {
	if l, ok := fsys.(Lister); ok {
		return l.ListFiles(folders, skip, most)
	}
	var names []string
	seen := 0
	for _, folder := range folders {
		err := fs.WalkDir(fsys, folder, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // gone since it was listed
			case err != nil:
				return err
			case d.IsDir() && name != folder && skip(name, true):
				return fs.SkipDir
			}
			if seen++; seen > most {
				return fmt.Errorf("%s: %w: more than %d", folder, ErrTooMany, most)
			}
			if d.Type().IsRegular() && !skip(name, false) {
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Watched lists the files and folders whose changes may affect a program's source
// files.
func (f *Finder) Watched(parts []Part, inputs ...string) []string {
	var out []string
	for _, glob := range slices.Concat(f.Inputs, inputs) {
		root, _ := cutGlob(glob)
		out = append(out, root)
	}
	for _, p := range parts {
		if out = append(out, p.File); !p.Around {
			continue
		}
		folder := path.Dir(p.File)
		out = append(out, folder)
		for dir := folder; dir != "." && slices.Contains(Language("x.js"), path.Ext(p.File)); {
			dir = path.Dir(dir)
			out = append(out, path.Join(dir, manifest))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// manifest describes a package of JavaScript.
const manifest = "package.json"

// cutGlob returns the folder or file from which a glob is looked for.
func cutGlob(glob string) (root string, isGlob bool) {
	i := strings.IndexAny(glob, "*?[")
	if i < 0 {
		return glob, false
	}
	return path.Dir(glob[:i] + "x"), true
}

// manifests returns the package descriptions that affect how JavaScript is read, in the
// folders above the file.
func (f *Finder) manifests(file string) []string {
	if !slices.Contains(Language("x.js"), path.Ext(file)) {
		return nil
	}
	var found []string
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		name := path.Join(dir, manifest)
		if info, err := fs.Stat(f.FS, name); err == nil && info.Mode().IsRegular() {
			found = append(found, name)
		}
		if dir == "." {
			return found
		}
	}
}

// named returns the files of the Inputs.
func (f *Finder) named() ([]string, error) {
	f.once.Do(func() { f.inputs, f.unlisted = Matches(f.FS, f.Inputs, f.Ended) })
	return f.inputs, f.unlisted
}

// hash returns git's hash of a file's content. A repository has it without reading the
// file, or at least without reading one that git has read.
func (f *Finder) hash(name string) (string, error) {
	if known, ok := f.hashes.Load(name); ok {
		return known.(string), nil
	}
	hash, err := Hash(f.FS, name)
	if err == nil {
		f.hashes.Store(name, hash)
	}
	return hash, err
}

// Hash returns git's hash of a file's content.
func Hash(fsys fs.FS, name string) (string, error) {
	if repo, ok := fsys.(interface {
		Hash(name string) (string, error)
	}); ok {
		return repo.Hash(name)
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return "", err
	}
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)) //nolint:gosec // as git does
	return hex.EncodeToString(sum[:]), nil
}

// Matches lists the files that the globs match, sorted. The walk starts at the part of
// a glob without a pattern. ended returns an error to stop with; nil never stops.
func Matches(fsys fs.FS, globs []string, ended func() error) ([]string, error) {
	var files []string
	for _, glob := range globs {
		root, _ := cutGlob(glob)
		err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
			switch {
			case ended != nil && ended() != nil:
				return ended()
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case d.Type().IsRegular() && (name == glob || wildcard.Match(glob, name)):
				files = append(files, name)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("inputs %s: %w", glob, err)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}
