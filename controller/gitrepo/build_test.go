package gitrepo

import (
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// A builder writes commits straight into the object store, so that a test says
// the whole content of each, hostile entries included.
type builder struct {
	t    testing.TB
	dir  string
	git  *git.Repository
	tick time.Time
}

func newBuilder(t testing.TB) *builder {
	t.Helper()
	dir := t.TempDir()
	repo, err := git.PlainInitWithOptions(dir, &git.PlainInitOptions{
		InitOptions: git.InitOptions{DefaultBranch: "refs/heads/main"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &builder{t: t, dir: dir, git: repo, tick: time.Unix(1_700_000_000, 0)}
}

// open opens the built pack.
func (b *builder) open() *Repository {
	b.t.Helper()
	r, err := Open(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := r.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return r
}

func (b *builder) store(o plumbing.EncodedObject, encode func(plumbing.EncodedObject) error) plumbing.Hash {
	b.t.Helper()
	if err := encode(o); err != nil {
		b.t.Fatal(err)
	}
	h, err := b.git.Storer.SetEncodedObject(o)
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

func (b *builder) blob(text string) plumbing.Hash {
	b.t.Helper()
	return b.store(b.git.Storer.NewEncodedObject(), func(o plumbing.EncodedObject) error {
		o.SetType(plumbing.BlobObject)
		w, err := o.Writer()
		if err != nil {
			return err
		}
		if _, err := w.Write([]byte(text)); err != nil {
			return err
		}
		return w.Close()
	})
}

func (b *builder) tree(entries ...object.TreeEntry) plumbing.Hash {
	b.t.Helper()
	sort.Sort(object.TreeEntrySorter(entries))
	return b.store(b.git.Storer.NewEncodedObject(), (&object.Tree{Entries: entries}).Encode)
}

func (b *builder) file(name, text string) object.TreeEntry {
	return object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: b.blob(text)}
}

func (b *builder) folder(name string, entries ...object.TreeEntry) object.TreeEntry {
	return object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: b.tree(entries...)}
}

// commit makes a commit a second after the one before it.
func (b *builder) commit(tree plumbing.Hash, parents ...string) string {
	b.t.Helper()
	b.tick = b.tick.Add(time.Second)
	by := object.Signature{Name: "Test", Email: "test@example.com", When: b.tick}
	c := &object.Commit{Author: by, Committer: by, Message: "test", TreeHash: tree}
	for _, p := range parents {
		c.ParentHashes = append(c.ParentHashes, plumbing.NewHash(p))
	}
	return b.store(b.git.Storer.NewEncodedObject(), c.Encode).String()
}

func (b *builder) ref(name, commit string) {
	b.t.Helper()
	ref := plumbing.NewHashReference(plumbing.ReferenceName(name), plumbing.NewHash(commit))
	if err := b.git.Storer.SetReference(ref); err != nil {
		b.t.Fatal(err)
	}
}

// write puts a file into the working tree.
func (b *builder) write(name, text string) {
	b.t.Helper()
	file := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}
