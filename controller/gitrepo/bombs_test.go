package gitrepo

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/gavel-evals/gavel/controller/gitrepo/pack"
)

// nested is a tree of so many levels, each with so many names for the one tree
// below it; the lowest has files.
func (b *builder) nested(levels, names int, leaf string) plumbing.Hash {
	b.t.Helper()
	mode, below := filemode.Regular, b.blob("{}")
	for level := range levels {
		var entries []object.TreeEntry
		for i := range names {
			name := fmt.Sprint(i)
			if level == 0 {
				name += leaf
			}
			entries = append(entries, object.TreeEntry{Name: name, Mode: mode, Hash: below})
		}
		mode, below = filemode.Dir, b.tree(entries...)
	}
	return below
}

// TestAbuseTreeBombs has commits that a few objects make endless: each is refused
// by the bound that it passes, after each tree was read once.
func TestAbuseTreeBombs(t *testing.T) {
	b := newBuilder(t)
	base := b.commit(b.tree(b.file("README", "1"), b.folder("test_definitions", b.file("a.json", "{}"))))
	bomb := func(levels, names int, leaf string) string {
		defs := b.tree(b.file("a.json", "{}"), object.TreeEntry{Name: "bomb", Mode: filemode.Dir, Hash: b.nested(levels, names, leaf)})
		return b.commit(b.tree(b.file("README", "1"), object.TreeEntry{Name: "test_definitions", Mode: filemode.Dir, Hash: defs}))
	}
	long := b.tree(b.file(strings.Repeat("n", 4<<10), "1"))
	var wide []object.TreeEntry
	for i := range 20_000 {
		wide = append(wide, object.TreeEntry{Name: fmt.Sprint(i), Mode: filemode.Dir, Hash: long})
	}
	for _, test := range []struct {
		name, head string
		path, want string
		trees      int // that may be read
	}{
		{"definitions", bomb(10, 10, ".json"), "test_definitions/bomb", "11111111111 paths are added or changed; the bound is 200000", 20},
		{"other files", bomb(10, 10, ".txt"), "test_definitions/bomb", "11111111111 paths are added or changed; the bound is 200000", 20},
		{"more than a number holds", bomb(60, 10, ".txt"), "test_definitions/bomb", "more than 1125899906842624 paths", 70},
		{"deep", bomb(300, 1, ".json"), "test_definitions/bomb/0/0", "folders are nested more than 64 deep", 80},
		{"long", b.commit(b.tree(wide...)), ".", "paths of 82157780 bytes are added or changed; the bound is 67108864 bytes", 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, tt := range []struct {
				what string
				look func(r *Repository) error
			}{
				{"Within", func(r *Repository) error { return r.CheckBounds(t.Context(), base, test.head) }},
				{"Changed", func(r *Repository) error { _, err := r.Changed(t.Context(), base, test.head); return err }},
			} {
				r := b.open()
				err := tt.look(r)
				over, ok := errors.AsType[*pack.ExcessError](err)
				if !ok || !strings.HasPrefix(over.Path, test.path) || !strings.Contains(over.Message, test.want) || over.Hint == "" {
					t.Errorf("%s = %v; want %s: %s", tt.what, err, test.path, test.want)
				}
				if n := len(r.dirs); n > test.trees {
					t.Errorf("%s read %d trees, more than %d", tt.what, n, test.trees)
				}
			}
		})
	}
}

// TestBombsThatBaseHas are not the fault of a head that leaves them as they are, and
// taking one away is bounded, too.
func TestBombsThatBaseHas(t *testing.T) {
	b := newBuilder(t)
	bomb := object.TreeEntry{Name: "bomb", Mode: filemode.Dir, Hash: b.nested(10, 10, ".json")}
	base := b.commit(b.tree(b.file("a", "1"), bomb))
	head := b.commit(b.tree(b.file("a", "2"), bomb))
	without := b.commit(b.tree(b.file("a", "1")))
	r := b.open()
	if got, err := r.Changed(t.Context(), base, head); err != nil || fmt.Sprint(got) != "[a]" {
		t.Errorf("Changed next to a bomb = %v, %v; want a", got, err)
	}
	if err := r.CheckBounds(t.Context(), base, head); err != nil {
		t.Errorf("Within next to a bomb: %v", err)
	}
	_, err := r.Changed(t.Context(), base, without)
	if over, ok := errors.AsType[*pack.ExcessError](err); !ok || !strings.Contains(over.Message, "11111111111 paths are removed") {
		t.Errorf("Changed to without a bomb = %v; want its paths counted", err)
	}
	// Without anything to compare it with, all accepted content counts.
	err = r.CheckBounds(t.Context(), "", head)
	if over, ok := errors.AsType[*pack.ExcessError](err); !ok || !strings.Contains(over.Message, "paths are in the commit; the bound is 4000000") {
		t.Errorf("Within of a commit alone = %v; want its paths counted", err)
	}
}

// TestLargeCommitsAreWithin: what people import at once is looked at.
func TestLargeCommitsAreWithin(t *testing.T) {
	b := newBuilder(t)
	base := b.commit(b.tree(b.file("a", "1")))
	// A hundred folders, each a thousand files: 100,100 paths.
	var folders []object.TreeEntry
	for i := range 100 {
		var files []object.TreeEntry
		for j := range 1000 {
			files = append(files, object.TreeEntry{Name: fmt.Sprintf("%d-%d.json", i, j), Mode: filemode.Regular, Hash: plumbing.NewHash(fmt.Sprintf("%040x", i*1000+j))})
		}
		folders = append(folders, b.folder(fmt.Sprint(i), files...))
	}
	head := b.commit(b.tree(folders...))
	r := b.open()
	if err := r.CheckBounds(t.Context(), base, head); err != nil {
		t.Errorf("Within: %v", err)
	}
	if got, err := r.Changed(t.Context(), base, head); err != nil || len(got) != 100_001 {
		t.Errorf("Changed = %d paths, %v; want 100001", len(got), err)
	}
}

// TestAFolderWithALongList is refused before it is decoded.
func TestAFolderWithALongList(t *testing.T) {
	b := newBuilder(t)
	hash := b.store(b.git.Storer.NewEncodedObject(), func(o plumbing.EncodedObject) error {
		o.SetType(plumbing.TreeObject)
		w, err := o.Writer()
		if err != nil {
			return err
		}
		_, err = w.Write(make([]byte, maxTree+1))
		return errors.Join(err, w.Close())
	})
	_, err := b.open().dir(hash)
	if over, ok := errors.AsType[*pack.ExcessError](err); !ok || !strings.Contains(over.Message, "has a list of 33554433 bytes; the bound is 33554432") {
		t.Errorf("dir = %v; want the bound of a folder's list", err)
	}
}
