package editor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolderWritesAllOrNothing holds that a file that cannot be written leaves those
// before and after it as they were, and nothing next to them.
func TestFolderWritesAllOrNothing(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.json": "a", "b/c.json": "c", "z.json": "z"})
	if err := os.MkdirAll(filepath.Join(dir, "m.json", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	change := func(more Change) Change {
		out := Change{"a.json": []byte("A"), "b/c.json": nil, "new/n.json": []byte("n"), "z.json": []byte("Z")}
		for name, data := range more {
			out[name] = data
		}
		return out
	}
	state := func() string {
		var out []string
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				data, _ := os.ReadFile(path)
				name, _ := filepath.Rel(dir, path)
				out = append(out, filepath.ToSlash(name)+"="+string(data))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(out, " ")
	}
	before := state()
	for _, tt := range []struct {
		name string
		more Change
	}{
		{"a file is a folder", Change{"m.json": []byte("m")}},
		{"a folder is removed as a file", Change{"m.json": nil}},
		{"a file that is gone is removed", Change{"q.json": nil}},
		{"a folder is a file", Change{"z.json/x.json": []byte("x")}},
		{"a path leads out", Change{"../x.json": []byte("x")}},
	} {
		if _, err := Folder(dir)(t.Context(), nil, change(tt.more)); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
		if got := state(); got != before {
			t.Errorf("%s: the files are %s, want %s", tt.name, got, before)
		}
	}
	if _, err := Folder(dir)(t.Context(), nil, change(nil)); err != nil {
		t.Fatal(err)
	}
	if got, want := state(), "a.json=A new/n.json=n z.json=Z"; got != want {
		t.Errorf("the files are %s, want %s", got, want)
	}
}
