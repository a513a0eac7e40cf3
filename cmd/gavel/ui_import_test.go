package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/google/go-cmp/cmp"
)

// exportOf is the document of the definitions of a folder.
func exportOf(t *testing.T, dir string) string {
	t.Helper()
	doc, stderr, code := gavel(t, dir, "export")
	if code != ExitPass {
		t.Fatalf("gavel export ends with %d: %s", code, stderr)
	}
	return doc
}

// definitionsOf are the files below test_definitions with their texts.
func definitionsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, out := os.DirFS(dir), map[string]string{}
	err := fs.WalkDir(files, "test_definitions", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// emptyRepository is one without a file.
func emptyRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := git.PlainInit(dir, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestServedImport holds that a document that is sent to the pages becomes the same
// files, to the byte, as gavel import writes, for every definition of the example.
func TestServedImport(t *testing.T) {
	doc := exportOf(t, mainOf(t, shopFolder(t)))
	command, served := emptyRepository(t), emptyRepository(t)
	if err := os.WriteFile(filepath.Join(command, "backup.json"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := gavel(t, command, "import", "evonic", "backup.json"); code != ExitPass {
		t.Fatalf("gavel import ends with %d: %s", code, stderr)
	}
	res, err := visitor.Post(browsing(t, served)+"api/settings/import", "application/json", strings.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		t.Fatalf("the import is answered with %s", res.Status)
	}
	want, got := definitionsOf(t, command), definitionsOf(t, served)
	if len(want) < 5 {
		t.Fatalf("gavel import wrote %d files, want those of the example", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the files differ (-gavel import +served):\n%s", diff)
	}
}
