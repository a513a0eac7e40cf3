package gitrepo

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// wrong is a hash that no file here has: who gives it has not read the file.
var wrong = plumbing.NewHash(strings.Repeat("5", 40))

// note writes an index that says of each file that its hash is wrong, as of
// now, and dates the index itself.
func (b *builder) note(written time.Time, edit func(*index.Entry), names ...string) {
	b.t.Helper()
	idx := &index.Index{Version: 2}
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(b.dir, filepath.FromSlash(name)))
		if err != nil {
			b.t.Fatal(err)
		}
		changed, known := changeTime(info)
		if !known {
			b.t.Skip("change times are not known here")
		}
		e := &index.Entry{
			Name: name, Hash: wrong, Mode: filemode.Regular, Size: uint32(info.Size()),
			ModifiedAt: info.ModTime(), CreatedAt: changed,
		}
		edit(e)
		idx.Entries = append(idx.Entries, e)
	}
	if err := b.git.Storer.SetIndex(idx); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(b.dir, ".git", "index"), written, written); err != nil {
		b.t.Fatal(err)
	}
}

// A file is not read when git's note of it holds, and read in every case of
// doubt.
func TestHashTrustsTheIndexOnlyWhenSafe(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	later := func() time.Time { return time.Now().Add(time.Minute) }
	for _, test := range []struct {
		name    string
		written func() time.Time
		edit    func(*index.Entry)
		after   func(*builder)
		trusted bool
	}{
		{name: "unchanged", trusted: true},
		{name: "executable", edit: func(e *index.Entry) { e.Mode = filemode.Executable }, trusted: true},
		{name: "index as old as the file", written: time.Now},
		{name: "other size", edit: func(e *index.Entry) { e.Size++ }},
		{name: "other modification time", edit: func(e *index.Entry) { e.ModifiedAt = e.ModifiedAt.Add(-1) }},
		{name: "other change time", edit: func(e *index.Entry) { e.CreatedAt = e.CreatedAt.Add(-1) }},
		{name: "was a link", edit: func(e *index.Entry) { e.Mode = filemode.Symlink }},
		{name: "in conflict", edit: func(e *index.Entry) { e.Stage = index.OurMode }},
		{name: "intent to add", edit: func(e *index.Entry) { e.IntentToAdd = true }},
		{name: "other file", edit: func(e *index.Entry) { e.Name = "b" }},
		{name: "same size and modification time, rewritten", after: func(b *builder) {
			file := filepath.Join(b.dir, "a")
			info, err := os.Stat(file)
			if err == nil {
				err = os.WriteFile(file, []byte("22"), 0o644)
			}
			if err == nil {
				err = os.Chtimes(file, info.ModTime(), info.ModTime())
			}
			if err != nil {
				b.t.Fatal(err)
			}
		}},
		{name: "line ends", after: func(b *builder) { b.write(".gitattributes", "* text=auto\n") }, trusted: true},
		{name: "another encoding", after: func(b *builder) { b.write(".gitattributes", "* working-tree-encoding=UTF-16\n") }},
		{name: "attributes of the clone", after: func(b *builder) { b.write(".git/info/attributes", "a ident\n") }},
		{name: "attributes of the clone, taken back", after: func(b *builder) { b.write(".git/info/attributes", "a ident\na -ident\n") }, trusted: true},
		{name: "a filter without a program", after: func(b *builder) { b.write(".gitattributes", "* filter=lfs\n") }, trusted: true},
		{name: "a filter", after: func(b *builder) {
			b.write(".gitattributes", "* filter=lfs\n")
			cfg, err := b.git.Config()
			if err == nil {
				cfg.Raw.Section("filter").Subsection("lfs").SetOption("clean", "git-lfs clean -- %f")
				err = b.git.Storer.SetConfig(cfg)
			}
			if err != nil {
				b.t.Fatal(err)
			}
		}},
		{name: "unreadable index", after: func(b *builder) { b.write(".git/index", "nonsense") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBuilder(t)
			b.write("a", "11")
			written, edit := later, func(*index.Entry) {}
			if test.written != nil {
				written = test.written
			}
			if test.edit != nil {
				edit = test.edit
			}
			b.note(written(), edit, "a")
			if test.after != nil {
				test.after(b)
			}
			got, err := b.work().Hash("a")
			if err != nil || (got == wrong.String()) != test.trusted {
				t.Errorf("Hash = %s, %v; trusted is %t, want %t", got, err, got == wrong.String(), test.trusted)
			}
		})
	}
}

func TestHashReadsBelowAttributes(t *testing.T) {
	b := newBuilder(t)
	b.write("deep/.gitattributes", "* ident\n")
	b.write("deep/a", "11")
	b.note(time.Now().Add(time.Minute), func(*index.Entry) {}, "deep/.gitattributes", "deep/a")
	if got, err := b.work().Hash("deep/a"); err != nil || got == wrong.String() {
		t.Errorf("Hash = %s, %v; want the file to be read", got, err)
	}
}

// BenchmarkChangedWork compares a working tree of 10,000 files, one of them changed,
// with its commit.
func BenchmarkChangedWork(b *testing.B) {
	const files = 10_000
	w := newBuilder(b)
	var names []string
	var levels []object.TreeEntry
	hashes := map[string]plumbing.Hash{}
	for l := range files / 100 {
		level := "level_" + strconv.Itoa(l)
		var entries []object.TreeEntry
		for f := range 100 {
			e := w.file("test_"+strconv.Itoa(f)+".json", `{"id": "`+level+strconv.Itoa(f)+`"}`)
			entries = append(entries, e)
			name := "defs/" + level + "/" + e.Name
			w.write(name, `{"id": "`+level+strconv.Itoa(f)+`"}`)
			names, hashes[name] = append(names, name), e.Hash
		}
		levels = append(levels, w.folder(level, entries...))
	}
	base := w.commit(w.tree(w.folder("defs", levels...)))
	later := time.Now().Add(time.Minute)
	w.note(later, func(e *index.Entry) { e.Hash = hashes[e.Name] }, names...)
	w.write(names[files/2], `{"id": "changed"}`)
	for _, tt := range []struct {
		name    string
		written time.Time
	}{{"noted", later}, {"read", time.Unix(0, 0)}} {
		if err := os.Chtimes(filepath.Join(w.dir, ".git", "index"), tt.written, tt.written); err != nil {
			b.Fatal(err)
		}
		r := w.open()
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				if got, err := r.ChangedWork(b.Context(), base, []string{"defs"}); err != nil || len(got) != 1 {
					b.Fatal(got, err)
				}
			}
		})
	}
}
