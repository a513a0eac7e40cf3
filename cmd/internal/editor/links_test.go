package editor

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSavingGoesThroughNoLink: a branch has links where drafts were once written, to a
// hook of git and to its settings. (abuse 42)
func TestSavingGoesThroughNoLink(t *testing.T) {
	r := newReader(t, mathFiles)
	for _, name := range []string{".git/hooks/pre-commit", ".git/config"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(r.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte("own\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []struct{ name, to string }{
		{"test_definitions/.chat.yaml.gavel-draft", "../.git/hooks/pre-commit"},
		{"test_definitions/math/level_1/.sum.json.gavel-draft", "../../../.git/config"},
		{"test_definitions/math/level_1/.sum2.json.gavel-draft", "../../../.git/config"},
	} {
		if err := os.Symlink(link.to, filepath.Join(r.dir, link.name)); err != nil {
			t.Fatal(err)
		}
	}
	_, page := r.ask("/settings/file?path=test_definitions/chat.yaml", nil)
	text := r.file("test_definitions/chat.yaml") + "# more\n"
	if status, page := r.ask("/settings/file", r.form(page, url.Values{"text": {text}, "action": {"save"}})); status != 200 {
		t.Fatalf("status %d: %s", status, page)
	}
	found, err := os.Lstat(filepath.Join(r.dir, "test_definitions/chat.yaml"))
	if err != nil || !found.Mode().IsRegular() || r.file("test_definitions/chat.yaml") != text {
		t.Errorf("the file that was saved is %v, %v", found, err)
	}
	if _, err := Folder(r.dir)(t.Context(), nil, Change{"test_definitions/math/level_1/sum.json": []byte("{}")}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{".git/hooks/pre-commit", ".git/config"} {
		if got := r.file(name); got != "own\n" {
			t.Errorf("%s has %q", name, got)
		}
	}
}

// TestOddPaths are refused under the name that was sent, and change nothing.
func TestOddPaths(t *testing.T) {
	r := newReader(t, mathFiles)
	_, page := r.ask("/settings/file?path=test_definitions/chat.yaml", nil)
	for _, path := range []string{
		"test_definitions/.git/x.yaml", "test_definitions/a/.GIT/x.yaml", "test_definitions/..yaml", "test_definitions/.x.yaml",
		"test_definitions/chat.yaml/x.yaml", "test_definitions/math/domain.json/x.json", "test_definitions/.git.yaml",
		"test_definitions/" + strings.Repeat("x", 300) + ".yaml",
	} {
		status, answer := r.ask("/settings/file", r.form(page, url.Values{"path": {path}, "version": {""}, "text": {"name: Chat\ninitial_message: hi\n"}, "action": {"save"}}))
		if status != 400 {
			t.Errorf("%s: status %d: %s", path, status, answer)
		}
		if _, err := os.Lstat(filepath.Join(r.dir, path)); err == nil {
			t.Errorf("%s was written", path)
		}
	}
	if _, err := os.Lstat(filepath.Join(r.dir, "test_definitions/.git")); err == nil {
		t.Error("a repository was made")
	}
}
