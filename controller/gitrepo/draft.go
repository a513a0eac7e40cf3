package gitrepo

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/memory"
)

// A Commit is a commit made from a user's input.
type Commit struct {
	// Parent is the changed commit, as 40 hex digits; empty for a first commit.
	Parent string
	// Files maps paths to new contents; nil removes a file.
	Files map[string][]byte
	// Message describes the commit, Author is its author.
	Message, Author string
	// Email is the author's, who is the committer, too. Defaults to Gavel's: then Gavel
	// is the committer.
	Email string
	At    time.Time
}

// makeCommit makes a commit on top of one in a store. It returns the new objects, which
// are not written into the store, and the commit's hash. Empty folders are dropped. The
// error names the file that cannot be changed.
func makeCommit(from storer.EncodedObjectStorer, c Commit) (*memory.Storage, plumbing.Hash, error) {
	w := objectWriter{from, memory.NewStorage()}
	hash, err := w.commit(c)
	if err != nil {
		return nil, hash, fmt.Errorf("make a commit on %.7s: %w", c.Parent, err)
	}
	return w.new, hash, nil
}

// An objectWriter collects the new objects of a commit.
type objectWriter struct {
	from storer.EncodedObjectStorer
	new  *memory.Storage
}

// put keeps a new object.
func (w objectWriter) put(encode func(plumbing.EncodedObject) error) (plumbing.Hash, error) {
	o := w.new.NewEncodedObject()
	if err := encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return w.new.SetEncodedObject(o)
}

func (w objectWriter) commit(c Commit) (plumbing.Hash, error) {
	var was plumbing.Hash
	var parents []plumbing.Hash
	if c.Parent != "" {
		parent, err := object.GetCommit(w.from, plumbing.NewHash(c.Parent))
		if err != nil {
			return plumbing.ZeroHash, err
		}
		was, parents = parent.TreeHash, []plumbing.Hash{parent.Hash}
	}
	tree, err := w.tree(was, "", c.Files)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	by := object.Signature{Name: cmp.Or(inSignature(c.Author), "Gavel"), Email: cmp.Or(inSignature(c.Email), "gavel@localhost"), When: c.At}
	committer := by
	if c.Email == "" {
		committer.Name = "Gavel"
	}
	made := object.Commit{Author: by, Committer: committer, Message: c.Message, TreeHash: tree, ParentHashes: parents}
	return w.put(made.Encode)
}

// inSignature returns a name as a commit may have it: it must not end its line.
func inSignature(name string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("<", "", ">", "", "\x00", "").Replace(name)), " ")
}

// tree returns a folder with some files changed, by their paths below it. An empty
// folder gives the zero hash.
func (w objectWriter) tree(was plumbing.Hash, at string, files map[string][]byte) (plumbing.Hash, error) {
	now := &object.Tree{}
	if !was.IsZero() {
		old, err := object.GetTree(w.from, was)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		now.Entries = slices.Clone(old.Entries)
	}
	below := map[string]map[string][]byte{}
	for file, data := range files {
		first, rest, deeper := strings.Cut(file, "/")
		if !deeper {
			if err := w.file(now, first, data); err != nil {
				return plumbing.ZeroHash, fmt.Errorf("%s: %w", path.Join(at, file), err)
			}
			continue
		}
		if below[first] == nil {
			below[first] = map[string][]byte{}
		}
		below[first][rest] = data
	}
	for name, inner := range below {
		var before plumbing.Hash
		i := slices.IndexFunc(now.Entries, func(e object.TreeEntry) bool { return e.Name == name })
		if i >= 0 {
			if now.Entries[i].Mode != filemode.Dir {
				return plumbing.ZeroHash, fmt.Errorf("%s is not a folder", path.Join(at, name))
			}
			before = now.Entries[i].Hash
			now.Entries = slices.Delete(now.Entries, i, i+1)
		}
		hash, err := w.tree(before, path.Join(at, name), inner)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if !hash.IsZero() {
			now.Entries = append(now.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash})
		}
	}
	if len(now.Entries) == 0 && at != "" {
		return plumbing.ZeroHash, nil
	}
	slices.SortFunc(now.Entries, func(a, b object.TreeEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	return w.put(now.Encode)
}

// sortName returns git's sort key of an entry: a folder sorts as if it ended with a
// slash.
func sortName(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

// file puts a file into a folder, or removes it.
func (w objectWriter) file(in *object.Tree, name string, data []byte) error {
	i := slices.IndexFunc(in.Entries, func(e object.TreeEntry) bool { return e.Name == name })
	mode := filemode.Regular
	if i >= 0 {
		if mode = in.Entries[i].Mode; mode != filemode.Regular && mode != filemode.Executable {
			return errors.New("is not a regular file")
		}
		in.Entries = slices.Delete(in.Entries, i, i+1)
	}
	switch {
	case data == nil && i < 0:
		return errors.New("does not exist")
	case data == nil:
		return nil
	case name == "" || name == "." || name == ".." || strings.EqualFold(name, ".git") || strings.ContainsAny(name, "\x00\\"):
		return errors.New("is not the name of a file")
	}
	hash, err := w.put(func(o plumbing.EncodedObject) error {
		o.SetType(plumbing.BlobObject)
		out, err := o.Writer()
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return errors.Join(err, out.Close())
	})
	in.Entries = append(in.Entries, object.TreeEntry{Name: name, Mode: mode, Hash: hash})
	return err
}
