// Package source says which files a target is built from and what of them counts
// for its identity: those that its inputs name and, for a program without inputs,
// all files of its folder.
//
// Most callers want [Read] and then [Source.Facts].
package source

import (
	"context"
	"crypto/sha1" //nolint:gosec // git names what files hold by it
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo/listing"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema/ignore"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

const (
	// mostEntries is how many files and folders a program without inputs may
	// have.
	mostEntries = 50_000
	// mostNamed is how many files are a part each of the identity. If there
	// are more, all of them are one part: every case of the target has its parts.
	mostNamed = 32
)

// A Source is what a target is built from in one state of the repository.
type Source struct {
	named []file
	// folders hold a program without inputs, rest its files there.
	folders []string
	rest    []file
	outside func(name string, isFolder bool) bool
}

// A file is known by what it holds.
type file struct{ name, hash string }

// A State is the repository with the settings that hold there.
type State struct {
	FS         fs.FS
	Config     *config.Config
	ConfigFile string
}

// Read finds the files of a target. The error says so where there are more than
// can be looked at, or where the context has ended.
func Read(ctx context.Context, s State, t config.Target) (Source, error) {
	out := Source{outside: func(string, bool) bool { return true }}
	names, err := Matches(ctx, s.FS, t.Inputs)
	if err != nil {
		return out, err
	}
	if out.named, err = hashed(ctx, names, func(name string) (string, error) { return contentHash(s.FS, name) }); err != nil {
		return out, err
	}
	if !t.Implied {
		return out, nil
	}
	if out.folders = Folders(s.FS, t); out.folders == nil {
		out.folders = []string{"."}
	}
	if out.outside, err = outside(s); err != nil {
		return out, err
	}
	all, err := listing.Files(s.FS, out.folders, listing.Options{Skip: out.outside, Most: mostEntries, Ended: ctx.Err})
	if errors.Is(err, listing.ErrTooMany) {
		return out, fmt.Errorf("%w; name what the program is built from, such as inputs: [\"agent/**\"]", err)
	}
	if err != nil {
		return out, err
	}
	all = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(names, name) })
	out.rest, err = hashed(ctx, all, func(name string) (string, error) { return blobHash(s.FS, name) })
	return out, err
}

// Folders are those of the files that the command line of a program without
// inputs names; the root of the repository where it names none. It is nil for
// other targets.
func Folders(fsys fs.FS, t config.Target) []string {
	if !t.Implied {
		return nil
	}
	var folders []string
	for _, name := range t.Inputs {
		if info, err := fs.Stat(fsys, name); err == nil && info.Mode().IsRegular() {
			folders = append(folders, path.Dir(name))
		}
	}
	if len(folders) == 0 {
		return []string{"."}
	}
	slices.Sort(folders)
	var outermost []string
	for _, dir := range slices.Compact(folders) {
		if !slices.ContainsFunc(outermost, func(other string) bool { return listing.Covers(other, dir) }) {
			outermost = append(outermost, dir)
		}
	}
	return outermost
}

// outside returns what is in a program's folder and no part of it.
func outside(s State) (func(name string, isFolder bool) bool, error) {
	ignored, err := ignore.Matcher(s.FS)
	if err != nil {
		return nil, err
	}
	own := slices.Concat(s.Config.Definitions, s.Config.RootFiles, []string{s.ConfigFile, ".gavel", ".github", ".git"})
	return func(name string, isFolder bool) bool {
		return slices.ContainsFunc(own, func(dir string) bool { return listing.Covers(path.Clean(dir), name) }) || ignored(name, isFolder)
	}, nil
}

// Counts reports whether a change of a file is one of the target, although no
// input names it.
func (s Source) Counts(name string) bool {
	return slices.ContainsFunc(s.folders, func(dir string) bool { return listing.Covers(dir, name) }) && !s.outside(name, false)
}

// Files returns what the files of a program without inputs hold, by their names.
func (s Source) Files() map[string]string {
	out := make(map[string]string, len(s.rest))
	for _, f := range s.rest {
		out[f.name] = f.hash
	}
	return out
}

// Facts are the properties of the files that count for the identity of the
// target. If many are one fact, it names one that is not what it is in the other state, nil
// standing for none that is known.
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
	if where == "." {
		where = "the repository"
	}
	return append(facts, plan.Fact{Name: "files of " + where, Value: hex.EncodeToString(sum.Sum(nil)), File: s.changed(other)})
}

// changed is the first file that differs, or a folder where that is not known.
func (s Source) changed(other *Source) string {
	if other == nil {
		return s.folders[0]
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
		return s.folders[0]
	}
	return slices.Min(names)
}

// Matches lists the files that the globs match, sorted. The walk starts at the
// part of a glob that has no pattern.
func Matches(ctx context.Context, fsys fs.FS, globs []string) ([]string, error) {
	var files []string
	for _, glob := range globs {
		root := glob
		if i := strings.IndexAny(glob, "*?["); i >= 0 {
			root = path.Dir(glob[:i] + "x")
		}
		err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
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

func hashed(ctx context.Context, names []string, hash func(string) (string, error)) ([]file, error) {
	files := make([]file, 0, len(names))
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sum, err := hash(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone since it was listed
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

// blobHash is the hash by which git knows what a file holds. A repository has it
// without reading the file, or at least without reading one that git has read.
func blobHash(fsys fs.FS, name string) (string, error) {
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
