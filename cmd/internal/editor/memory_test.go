package editor

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/schema"
)

// counting counts how often files are opened.
type counting struct {
	fs.FS
	opened int
}

func (c *counting) Open(name string) (fs.File, error) {
	c.opened++
	return c.FS.Open(name)
}

// hashed is a tree that knows no times, as a commit.
type hashed struct {
	*counting
	hash string
}

func (h hashed) Hash(string) (string, error) { return h.hash, nil }

func entryOf(t *testing.T, fsys fs.FS) fs.DirEntry {
	t.Helper()
	list, err := fs.ReadDir(fsys, ".")
	if err != nil || len(list) != 1 {
		t.Fatalf("the folder has %v (%v), want one file", list, err)
	}
	return list[0]
}

// TestMemoryOfAFolder reads a file once while nobody changes it, and again after a change
// that keeps its size and time. One that was changed a moment ago is read each time.
func TestMemoryOfAFolder(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	put := func(text string, at time.Time) {
		t.Helper()
		name, next := filepath.Join(dir, "a.json"), filepath.Join(t.TempDir(), "next")
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(next, at, at); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, name); err != nil {
			t.Fatal(err)
		}
	}
	files := &counting{FS: os.DirFS(dir)}
	m := newMemory(func() time.Time { return at.Add(time.Minute) })
	want := func(name string, read bool) {
		t.Helper()
		e := entryOf(t, os.DirFS(dir))
		files.opened = 0
		got := m.read(files, "a.json", e)
		if string(got.List[0]["name"]) != name || (files.opened > 0) != read {
			t.Errorf("the file has %s and was opened %d times, want %s and read %v", got.List[0]["name"], files.opened, name, read)
		}
	}
	put(`{"name": 1}`, at)
	want("1", true)
	want("1", false)
	put(`{"name": 2}`, at)
	want("2", true)
	want("2", false)
	put(`{"name": 3}`, at.Add(time.Minute-time.Second))
	want("3", true)
	want("3", true)
}

// TestMemoryOfACommit takes the hash of a file for what it has, and reads a file that has
// neither hash nor time each time.
func TestMemoryOfACommit(t *testing.T) {
	text := fstest.MapFS{"a.json": {Data: []byte(`[{"name": 1}, {"name": 2}]`)}}
	files := &counting{FS: text}
	m := newMemory(time.Now)
	want := func(fsys fs.FS, read bool) {
		t.Helper()
		files.opened = 0
		if got := m.read(fsys, "a.json", entryOf(t, text)); !got.Several || len(got.List) != 2 || (files.opened > 0) != read {
			t.Errorf("%+v was opened %d times, want 2 definitions and read %v", got, files.opened, read)
		}
	}
	want(hashed{files, "one"}, true)
	want(hashed{files, "one"}, false)
	want(hashed{files, "two"}, true)
	want(files, true)
	want(files, true)
}

// TestCatalog loads the definitions once while nobody changes a file or the settings.
func TestCatalog(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	put("a.json", `{"name": "A", "initial_message": "Hi"}`)
	files, settings := os.DirFS(dir), schema.Settings{Definitions: []string{"."}, DefaultTarget: "bot"}
	m, catalogs := newMemory(func() time.Time { return at.Add(time.Minute) }), new(catalogCache)
	var last *catalog
	takes, line := true, 1
	want := func(again bool, names ...string) {
		t.Helper()
		now := takes // gavel.yaml is read at each look
		settings.Targets = map[string]schema.TargetSettings{
			"bot": {AcceptsPrompt: &now, Prompt: schema.TargetPrompt{At: schema.Position{Line: line}}}, "other": {},
		}
		got, err := catalogs.load(t.Context(), m, files, settings)
		if err != nil {
			t.Fatal(err)
		}
		var cases []string
		for _, c := range got.Cases {
			cases = append(cases, c.Labels.Name)
		}
		if !slices.Equal(cases, names) || len(got.Files) != len(names) || (got != last) != again {
			t.Errorf("the catalog has %v in %v and was loaded: %v, want %v and %v", cases, got.Files, got != last, names, again)
		}
		last = got
	}
	want(true, "A")
	want(false, "A")
	put("b.json", `{"name": "B", "initial_message": "Hi"}`)
	want(true, "A", "B")
	want(false, "A", "B")
	if err := os.Remove(filepath.Join(dir, "a.json")); err != nil {
		t.Fatal(err)
	}
	want(true, "B")
	settings.DefaultTarget = "other"
	want(true, "B")
	want(false, "B")
	takes = false
	want(true, "B")
	line = 2
	want(true, "B")
	want(false, "B")
}

// TestCatalogOfFewChanges holds that loading only changed files gives the same result
// as loading everything, and that unchanged files are not read.
func TestCatalogOfFewChanges(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const list = "- name: One\n  initial_message: Hi\n- name: Two\n  initial_message: Hi\n"
	change := func(name, text string) {
		t.Helper()
		at = at.Add(time.Second)
		file := filepath.Join(dir, "defs", filepath.FromSlash(name))
		err := os.RemoveAll(file)
		if text != "" {
			err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, at, at))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []struct{ name, text string }{
		{"a.json", `{"name": "A", "initial_message": "Hi"}`}, {"list.yaml", list}, {"math/domain.json", `{"id": "math", "name": "Math", "evaluator_id": "keyword"}`},
		{"math/level_1/sum.json", `{"id": "sum", "name": "Sum", "prompt": "1?", "expected": {"keywords": ["1"]}}`},
		{"suite.yaml", "evalcases:\n- id: one\n  input: Hi\n  expected_outcome: It greets.\n"},
	} {
		change(file.name, file.text)
	}
	settings := schema.Settings{Definitions: []string{"defs"}}
	m, kept := newMemory(func() time.Time { return at.Add(time.Minute) }), new(catalogCache)
	if _, err := kept.load(t.Context(), m, os.DirFS(dir), settings); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file, text string
		reads            bool // the list, which is not changed
	}{
		{"a changed case", "a.json", `{"name": "A", "initial_message": "Hello"}`, false},
		{"another name", "a.json", `{"name": "B", "initial_message": "Hello"}`, false},
		{"a new case", "new.json", `{"name": "New", "initial_message": "Hello", "id": "5b8e3a52-6d0f-4c57-9a0e-3d1f9f4a7c10"}`, false},
		{"a case with errors", "new.json", `{"name": "New", "initial_message": 1}`, false},
		{"a changed test", "math/level_1/sum.json", `{"id": "sum", "name": "Sum", "prompt": "2?", "expected": {"keywords": ["2"]}}`, false},
		{"a changed domain", "math/domain.json", `{"id": "math", "name": "Maths", "evaluator_id": "keyword"}`, false},
		{"a file less", "new.json", "", false},
		{"an id", "new.json", `{"name": "New", "initial_message": "Hello", "id": "5b8e3a52-6d0f-4c57-9a0e-3d1f9f4a7c10"}`, false},
		{"an id that another case has", "a.json", `{"name": "B", "initial_message": "Hello", "id": "5b8e3a52-6d0f-4c57-9a0e-3d1f9f4a7c10"}`, true},
		{"no id again", "a.json", `{"name": "B", "initial_message": "Hello"}`, true},
		{"a changed suite", "suite.yaml", "evalcases:\n- id: two\n  input: Hi\n  expected_outcome: It greets.\n", true},
		{"a file that is nothing", "new.json", `{"colour": "red"}`, true},
		{"a new domain", "talk/domain.json", `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`, true},
		{"a domain less", "talk/domain.json", "", true},
		{"ignored files", "../.gavelignore", "a.json\n", true},
	} {
		change(tt.file, tt.text)
		files := &listening{FS: os.DirFS(dir)}
		got, err := kept.load(t.Context(), m, files, settings)
		if err != nil {
			t.Fatal(err)
		}
		want, err := new(catalogCache).load(t.Context(), m, os.DirFS(dir), settings)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(catalog{}, "Reader")); diff != "" {
			t.Errorf("%s: the catalog is not what loading everything gives (-want +got):\n%s", tt.name, diff)
		}
		if files.read["defs/list.yaml"] != tt.reads {
			t.Errorf("%s: a file that is not changed was read: %v, want %v", tt.name, files.read["defs/list.yaml"], tt.reads)
		}
	}
}

// listening knows which files were opened.
type listening struct {
	fs.FS
	mu   sync.Mutex
	read map[string]bool // guarded by mu
}

func (l *listening) Open(name string) (fs.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read == nil {
		l.read = map[string]bool{}
	}
	l.read[name] = true
	return l.FS.Open(name)
}

func (l *listening) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(l.FS, name) }
func (l *listening) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(l.FS, name) }
func (l *listening) Lstat(name string) (fs.FileInfo, error)     { return fs.Lstat(l.FS, name) }
func (l *listening) ReadLink(name string) (string, error)       { return fs.ReadLink(l.FS, name) }

// TestCatalogOfFilesElsewhere loads definitions again after a change of a file outside of
// their folders that they build on, and also if it was missing.
func TestCatalogOfFilesElsewhere(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	put := func(name, text string) {
		t.Helper()
		at = at.Add(time.Second)
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	put("defs/matrix.yaml", "prompts: ['file://../texts/greeting.txt']\nproviders: [echo]\ntests: [{vars: {name: Ann}}]\n")
	settings := schema.Settings{Definitions: []string{"defs"}}
	m, kept := newMemory(func() time.Time { return at.Add(time.Minute) }), new(catalogCache)
	var last *catalog
	want := func(again bool, said string) {
		t.Helper()
		got, err := kept.load(t.Context(), m, os.DirFS(dir), settings)
		if err != nil {
			t.Fatal(err)
		}
		now := got.Files[0].Problem
		if len(got.Files[0].Said) > 0 {
			now = got.Files[0].Said[0]
		}
		if !strings.Contains(now, said) || (got != last) != again {
			t.Errorf("the file says %q and was loaded: %v, want %q and %v", now, got != last, said, again)
		}
		last = got
	}
	want(true, "greeting.txt")
	want(false, "greeting.txt")
	put("texts/other.txt", "Nobody reads it")
	want(false, "greeting.txt")
	put("texts/greeting.txt", "Hello {{name}}")
	want(true, "hello")
	want(false, "hello")
	put("texts/greeting.txt", "Good morning {{name}}")
	want(true, "good morning")
	want(false, "good morning")
	put("defs/case.json", `{"name": "A", "initial_message": "Hi"}`)
	want(true, "hi")
}

// TestCatalogOfGlobsElsewhere loads definitions again after a file appeared in a folder
// outside of theirs that a glob of a definition means, or such a folder, and after a file
// went. A file of no definition in a folder without a glob loads nothing again.
func TestCatalogOfGlobsElsewhere(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	old := func(names ...string) {
		t.Helper()
		for _, name := range names {
			at = at.Add(time.Second)
			if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(name)), at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		for ; name != "."; name = path.Dir(name) {
			old(name)
		}
		old(".")
	}
	put("defs/matrix.yaml", "prompts: [hi]\nproviders: [echo]\ntests: ['file://../more/**/*.yaml']\n")
	settings := schema.Settings{Definitions: []string{"defs"}, Skills: schema.SkillSettings{Find: true}}
	m, kept := newMemory(func() time.Time { return at.Add(time.Minute) }), new(catalogCache)
	var last *catalog
	want := func(again bool, tests int) {
		t.Helper()
		got, err := kept.load(t.Context(), m, os.DirFS(dir), settings)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Files[0].Tests) != tests || (got != last) != again {
			t.Errorf("%d tests (%s) and loaded: %v, want %d and %v", len(got.Files[0].Tests), got.Files[0].Problem, got != last, tests, again)
		}
		last = got
	}
	want(true, 0)
	want(false, 0)
	put("more/a.yaml", "[{description: a, vars: {x: a}}]")
	want(true, 1)
	want(false, 1)
	put("more/b.yaml", "[{description: b, vars: {x: b}}]")
	want(true, 2)
	want(false, 2)
	put("more/deep/er/c.yaml", "[{description: c, vars: {x: c}}]")
	want(true, 3)
	want(false, 3)
	put("other/deep/d.yaml", "[]")
	want(false, 3)
	if err := os.Remove(filepath.Join(dir, "more", "b.yaml")); err != nil {
		t.Fatal(err)
	}
	old("more")
	want(true, 2)
	want(false, 2)
}
