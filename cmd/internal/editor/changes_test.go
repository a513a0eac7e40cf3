package editor

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestOverlay(t *testing.T) {
	below := fstest.MapFS{"a/x.json": {Data: []byte("old")}, "a/y.json": {Data: []byte("stays")}, "b/z.json": {Data: []byte("goes")}}
	o := newOverlay(below, Change{"a/x.json": []byte("new"), "c/d/e.json": []byte("made"), "b/z.json": nil})
	want := map[string]string{"a/x.json": "new", "a/y.json": "stays", "c/d/e.json": "made"}
	got := map[string]string{}
	err := fs.WalkDir(o, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(o, name)
		got[name] = string(bytes.Clone(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the files (-want +got):\n%s", diff)
	}
	if err := fstest.TestFS(newOverlay(below, Change{"a/x.json": []byte("new"), "c/d/e.json": []byte("made")}), "a/x.json", "a/y.json", "c/d/e.json"); err != nil {
		t.Error(err)
	}
}

// TestOverlayOfARemovedFile: it is not there, in whatever way it is looked for.
func TestOverlayOfARemovedFile(t *testing.T) {
	o := newOverlay(fstest.MapFS{"b/z.json": {Data: []byte("goes")}, "b/y.json": {Data: []byte("stays")}}, Change{"b/z.json": nil})
	file, opened := o.Open("b/z.json")
	_, described := fs.Stat(o, "b/z.json")
	_, read := fs.ReadFile(o, "b/z.json")
	for _, err := range []error{opened, described, read} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open, Stat and ReadFile of a removed file: %v, %v and %v, want that it does not exist", opened, described, read)
		}
	}
	if file != nil {
		t.Errorf("Open of a removed file returns %v", file)
	}
	if list, err := fs.ReadDir(o, "b"); err != nil || len(list) != 1 || list[0].Name() != "y.json" {
		t.Errorf("the folder has %v, %v", list, err)
	}
}

// TestLines have their kinds, and no line end.
func TestLines(t *testing.T) {
	want := []diffLine{{"file", "x.json"}, {"same", " a"}, {"gone", "-b"}, {"come", "+c"}, {"come", "+last"}}
	if diff := cmp.Diff(want, diffLines("x.json\n a\n-b\n+c\n+last")); diff != "" {
		t.Errorf("the lines (-want +got):\n%s", diff)
	}
	if got := diffLines(""); len(got) != 0 {
		t.Errorf("no diff has the lines %v", got)
	}
}

// TestFilesAreRemovedLast holds whatever they are called: who ends the process in the
// middle of a move leaves each test at its old place or the new one.
func TestFilesAreRemovedLast(t *testing.T) {
	got := Change{"aaa/t.json": nil, "zzz/t.json": []byte("t"), "bbb/u.json": nil, "yyy/u.json": []byte("u")}.inOrder()
	if diff := cmp.Diff([]string{"yyy/u.json", "zzz/t.json", "aaa/t.json", "bbb/u.json"}, got); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
}
