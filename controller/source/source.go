// Package source determines the files that a target is built from, and their part in
// its identity: the files named in its inputs and, for a program, the files around it
// that it sees.
//
// Most callers want [Read] and then [Source.Facts].
package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/program"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// mostNamed bounds the files that are separate parts of the identity. If there are
// more, all of them are one part: every case of the target has its parts.
const mostNamed = 32

// A Source has the source files of a target in one state of the repository.
type Source struct {
	named []file
	// folders contain a program, rest are its files there. In the root only files with
	// one of the extensions count, unless whole is set.
	folders []string
	endings []string
	whole   bool
	rest    []file
	// inputs are globs of further files.
	inputs []string
	finder *program.Finder
}

// A file is identified by its content.
type file struct{ name, hash string }

// A State is the repository with its settings.
type State struct {
	FS         fs.FS
	Config     *config.Config
	ConfigFile string
}

// Read finds the files of a target. It fails if there are too many, or if the context
// has ended.
func Read(ctx context.Context, s State, t config.Target) (Source, error) {
	var out Source
	names, err := Matches(ctx, s.FS, t.Inputs)
	if err != nil {
		return out, err
	}
	if out.named, err = hashed(ctx, names, func(name string) (string, error) { return contentHash(s.FS, name) }); err != nil {
		return out, err
	}
	if !t.RunsProgram() {
		return out, nil
	}
	settings := s.Config.Settings()
	settings.ConfigFile = s.ConfigFile
	if out.finder, err = load.Programs(s.FS, settings); err != nil {
		return out, err
	}
	out.finder.Ended = ctx.Err
	out.folders, out.inputs = Folders(s.FS, t), settings.ProgramInputs
	all, err := out.around(ctx, s.FS, t)
	if errors.Is(err, program.ErrTooMany) {
		if out.whole && len(out.folders) > 0 {
			return out, fmt.Errorf("%w; name what the program is built from, such as inputs: [\"agent/**\"]", err)
		}
		return out, fmt.Errorf("%w; move the program into a folder of its own, or name what it does not read in .gavelignore", err)
	}
	if err != nil {
		return out, err
	}
	all = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(names, name) })
	out.rest, err = hashed(ctx, all, func(name string) (string, error) { return program.Hash(s.FS, name) })
	return out, err
}

// around lists the files around a program: all files of a folder, and in the root the
// files of its language, or all if neither its command nor its inputs name a file.
func (s *Source) around(ctx context.Context, fsys fs.FS, t config.Target) ([]string, error) {
	all, err := Matches(ctx, fsys, s.inputs)
	if err != nil {
		return nil, err
	}
	s.whole = t.Implied
	for _, name := range t.Words() {
		if !isFile(fsys, name) {
			continue
		}
		s.whole = false
		around, err := s.finder.Around(name)
		if err != nil {
			return nil, err
		}
		if all = append(all, around...); path.Dir(name) == "." {
			s.endings = append(s.endings, program.Language(name)...)
		}
	}
	if s.whole {
		names, err := s.finder.Folder(".")
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func isFile(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && info.Mode().IsRegular()
}

// Paths returns a program's source files, which are the files that it sees.
func (s Source) Paths() []string {
	var names []string
	for _, f := range slices.Concat(s.named, s.rest) {
		names = append(names, f.name)
	}
	return names
}

// Folders returns the folders of the files in a program's command line; the root of the
// repository if neither that nor inputs name any. It is nil for other targets.
func Folders(fsys fs.FS, t config.Target) []string {
	if !t.RunsProgram() {
		return nil
	}
	var folders []string
	for _, name := range t.Words() {
		if isFile(fsys, name) {
			folders = append(folders, path.Dir(name))
		}
	}
	if len(folders) == 0 && t.Implied {
		return []string{"."}
	}
	slices.Sort(folders)
	var outermost []string
	for _, dir := range slices.Compact(folders) {
		if !slices.ContainsFunc(outermost, func(other string) bool { return other != "." && gitrepo.Covers(other, dir) }) {
			outermost = append(outermost, dir)
		}
	}
	return outermost
}

// Counts reports whether a change of a file is one of the target, although no input
// names it.
func (s Source) Counts(name string) bool {
	if slices.ContainsFunc(s.inputs, func(glob string) bool { return glob == name || wildcard.Match(glob, name) }) {
		return true
	}
	in := func(dir string) bool {
		if dir == "." && !s.whole {
			return path.Dir(name) == "." && slices.Contains(s.endings, path.Ext(name)) && s.finder.Counts(dir, name, false)
		}
		return gitrepo.Covers(dir, name) && s.finder.Counts(dir, name, false)
	}
	return slices.ContainsFunc(s.folders, in)
}

// Files maps the files around a program to their contents.
func (s Source) Files() map[string]string {
	out := make(map[string]string, len(s.rest))
	for _, f := range s.rest {
		out[f.name] = f.hash
	}
	return out
}

// Facts returns the properties of the files that count for the target's identity. If
// many are one fact, it names a file that differs from the other state; other may be
// nil.
func (s Source) Facts(other *Source) []plan.Fact {
	var facts []plan.Fact
	add := func(files []file) {
		for _, f := range files {
			facts = append(facts, plan.Fact{Name: "input " + f.name, Value: f.hash, File: f.name})
		}
	}
	add(s.named)
	if len(s.rest) <= mostNamed {
		add(s.rest)
		return facts
	}
	sum := sha256.New()
	for _, f := range s.rest {
		fmt.Fprintf(sum, "%d:%s%s", len(f.name), f.name, f.hash)
	}
	where := strings.Join(s.folders, " and ")
	switch where {
	case ".":
		where = "the repository"
	case "":
		where = "programs.inputs"
	}
	return append(facts, plan.Fact{Name: "files of " + where, Value: hex.EncodeToString(sum.Sum(nil)), File: s.changed(other)})
}

// changed returns the first file that differs, or a folder if it is unknown.
func (s Source) changed(other *Source) string {
	where := strings.Join(s.folders[:min(1, len(s.folders))], "")
	if other == nil {
		return where
	}
	is, was := s.Files(), other.Files()
	var names []string
	for name, hash := range is {
		if was[name] != hash {
			names = append(names, name)
		}
	}
	for name := range was {
		if _, there := is[name]; !there {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return where
	}
	return slices.Min(names)
}

// Matches lists the files that the globs match, sorted.
func Matches(ctx context.Context, fsys fs.FS, globs []string) ([]string, error) {
	return program.Matches(fsys, globs, ctx.Err)
}

func hashed(ctx context.Context, names []string, hash func(string) (string, error)) ([]file, error) {
	files := make([]file, 0, len(names))
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sum, err := hash(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the listing
		}
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, sum})
	}
	return files, nil
}

func contentHash(fsys fs.FS, name string) (string, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
