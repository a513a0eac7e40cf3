package changes

import (
	"bytes"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestOverlay(t *testing.T) {
	below := fstest.MapFS{"a/x.json": {Data: []byte("old")}, "a/y.json": {Data: []byte("stays")}, "b/z.json": {Data: []byte("goes")}}
	o := Overlay(below, Set{"a/x.json": []byte("new"), "c/d/e.json": []byte("made"), "b/z.json": nil})
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
	if err := fstest.TestFS(Overlay(below, Set{"a/x.json": []byte("new"), "c/d/e.json": []byte("made")}), "a/x.json", "a/y.json", "c/d/e.json"); err != nil {
		t.Error(err)
	}
}
