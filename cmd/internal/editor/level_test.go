package editor

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// TestLevelWithoutSettings has no file: a form or a request without settings writes none,
// and removes one whose settings are emptied.
func TestLevelWithoutSettings(t *testing.T) {
	d := math(t)
	r := readerOf(t, d.dir, nil)
	const address, level, file = "/settings/edit?kind=level&id=math%2F2", "/api/settings/levels/math/2", "test_definitions/math/level_2/level.json"
	exists := func() bool {
		_, err := os.Stat(filepath.Join(d.dir, filepath.FromSlash(file)))
		return err == nil
	}
	save := func(prompt string) string {
		t.Helper()
		_, page := r.ask(address, nil)
		status, page := r.ask(r.action(page), r.form(page, url.Values{"f.system_prompt": {prompt}, "action": {"save"}}))
		if status != 200 {
			t.Fatalf("saving %q: %d\n%s", prompt, status, page)
		}
		return page
	}
	save("")
	if exists() {
		t.Errorf("an empty form wrote %s", d.file(file))
	}
	d.want(200, "PUT", level, `{}`)
	if exists() {
		t.Errorf("an empty request wrote %s", d.file(file))
	}
	save("Be exact.")
	if !exists() {
		t.Error("a form with a prompt wrote no file")
	}
	save("")
	if exists() {
		t.Errorf("an emptied form left %s", d.file(file))
	}
	save("Be exact.")
	if !exists() {
		t.Error("after that, a form with a prompt wrote no file")
	}
}

// TestEmptyTextOfAFile writes no new file.
func TestEmptyTextOfAFile(t *testing.T) {
	d := math(t)
	r := readerOf(t, d.dir, nil)
	for _, file := range []string{"test_definitions/new.yaml", "test_definitions/new.json"} {
		_, page := r.ask("/settings/file?path="+url.QueryEscape(file), nil)
		status, page := r.ask("/settings/file", r.form(page, url.Values{"text": {""}, "action": {"save"}}))
		if _, err := os.Stat(filepath.Join(d.dir, filepath.FromSlash(file))); err == nil {
			t.Errorf("%s was written: %d %s", file, status, page)
		}
	}
}
