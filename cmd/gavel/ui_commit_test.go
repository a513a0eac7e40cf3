package main

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

const (
	helloFile  = "test_definitions/talk/level_1/hello.json"
	refuseFile = "test_definitions/talk/level_1/refuse.json"
)

// committing is twoTests with a commit and an author, and a visitor of its pages.
func committing(t *testing.T) (dir string, v *uiVisitor) {
	t.Helper()
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	dir = twoTests(t)
	gittest.Run(t, dir, "config", "user.name", "Ada <b>")
	gittest.Run(t, dir, "config", "user.email", "ada@example.com")
	gittest.Commit(t, dir, map[string]string{"agent.py": "1\n", "notes.txt": "1\n"})
	return dir, newUIVisitor(t, browsing(t, dir))
}

// save saves the text of a file by its form.
func (v *uiVisitor) save(file, text string) string {
	v.Helper()
	at := "settings/file?" + url.Values{"path": {file}}.Encode()
	page, _ := v.get(at)
	version := ""
	if found := regexp.MustCompile(`name="version" value="([^"]*)"`).FindStringSubmatch(page); found != nil {
		version = found[1]
	}
	page, _ = v.post(at, "settings/file", url.Values{"path": {file}, "version": {version}, "text": {text}, "action": {"save"}})
	return page
}

// state returns the state that the page of changes shows.
func (v *uiVisitor) state() string {
	v.Helper()
	page, _ := v.get("changes")
	found := regexp.MustCompile(`name="state" value="([^"]*)"`).FindStringSubmatch(page)
	if found == nil {
		v.Fatalf("the page of changes has no form:\n%s", page)
	}
	return found[1]
}

// commit sends the form of the changes.
func (v *uiVisitor) commit(state, message string, files ...string) string {
	v.Helper()
	page, _ := v.post("changes", "changes", url.Values{"state": {state}, "message": {message}, "file": files})
	return page
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const changedHello = `{"id": "hello", "name": "Hello", "prompt": "Hi <b>you</b>", "expected": {"keywords": ["hello"]}}` + "\n"

// TestUICommits saves a file among others that are staged and not, and commits it alone.
func TestUICommits(t *testing.T) {
	dir, v := committing(t)
	if page, _ := v.get("tests"); strings.Contains(page, "/changes") {
		t.Errorf("without a change the page of the tests leads to changes:\n%s", page)
	}
	if page, _ := v.get("changes"); !strings.Contains(page, "Nothing to commit") {
		t.Errorf("without a change the page is\n%s", page)
	}
	page := v.save(helloFile, changedHello)
	if !strings.Contains(page, `href="/changes"`) || !strings.Contains(page, `name="file" value="`+helloFile) {
		t.Errorf("a saved file offers neither a commit nor a run:\n%s", page)
	}
	added := "test_definitions/talk/level_1/bye.json"
	v.save(added, `{"id": "bye", "name": "Bye", "prompt": "Bye", "expected": {"keywords": ["bye"]}}`+"\n")
	writeFile(t, dir, "agent.py", "2\n")
	writeFile(t, dir, "notes.txt", "2\n")
	writeFile(t, dir, refuseFile, "{}\n") // not saved here
	hook := filepath.Join(dir, ".git", "hooks", "pre-commit")
	if err := errors.Join(os.MkdirAll(filepath.Dir(hook), 0o755), os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	gittest.Run(t, dir, "add", "agent.py")
	page, _ = v.get("changes")
	for _, want := range []string{"Change 2 files of tests", "Ada b &lt;ada@example.com&gt;", "Hi &lt;b&gt;you", "Hooks are not run and the commit is not signed", "Commit on master"} {
		if !strings.Contains(strings.ReplaceAll(page, "&#43;", "+"), want) {
			t.Errorf("the page of changes lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, refuseFile) || strings.Contains(page, "agent.py") {
		t.Errorf("the page of changes has files that were not saved here:\n%s", page)
	}
	if page, _ := v.get("tests"); !strings.Contains(page, "Commit or undo them") {
		t.Errorf("the page of the tests does not lead to the changes:\n%s", page)
	}
	state := v.state()
	if page := v.commit(state, " \r\n", helloFile); !strings.Contains(page, "Write a message") {
		t.Errorf("a commit without a message is answered with\n%s", page)
	}
	if page := v.commit(state, "x"); !strings.Contains(page, "Choose a file") {
		t.Errorf("a commit without a file is answered with\n%s", page)
	}
	if page := v.commit(state, "x", refuseFile); !strings.Contains(page, "have changed since") {
		t.Errorf("a commit of a file that was not saved here is answered with\n%s", page)
	}
	page = v.commit(state, "Greet <b>\r\n\r\nmore", helloFile)
	id := gittest.Resolve(t, dir, "HEAD")
	if !strings.Contains(page, "git revert "+id[:12]) || !strings.Contains(page, "Greet &lt;b&gt;") {
		t.Errorf("the commit is answered with\n%s", page)
	}
	got := gittest.Run(t, dir, "show", "--format=%an|%B", "--name-only", "HEAD")
	if got != "Ada b|Greet <b>\n\nmore\n\n\n"+helloFile {
		t.Errorf("the commit is\n%s", got)
	}
	if got := gittest.Run(t, dir, "diff", "--cached", "--name-only"); got != "agent.py" {
		t.Errorf("staged is %q, want agent.py alone", got)
	}
	if page := v.commit(state, "x", added); !strings.Contains(page, "have changed since") {
		t.Errorf("a form from before the commit is answered with\n%s", page)
	}
	if page := v.commit(v.state(), "x", added); !strings.Contains(page, "Nothing to commit") {
		t.Errorf("after all is committed the page is\n%s", page)
	}
	v.wantForbidden("changes", url.Values{"state": {state}, "message": {"x"}, "file": {helloFile}})
}

// TestUIRefusesToCommit holds that a commit waits for a person where git would, and where a
// file is not what the page shows.
func TestUIRefusesToCommit(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(dir string)
		want string
	}{
		{"changed on disk", func(dir string) { writeFile(t, dir, helloFile, "{}\n") }, "has changed since it was saved here"},
		{"removed from disk", func(dir string) {
			if err := os.Remove(filepath.Join(dir, helloFile)); err != nil {
				t.Fatal(err)
			}
		}, "has changed since it was saved here"},
		{"a link", func(dir string) {
			file := filepath.Join(dir, helloFile)
			if err := errors.Join(os.Remove(file), os.Symlink("refuse.json", file)); err != nil {
				t.Fatal(err)
			}
		}, "the file cannot be read"},
		{"detached", func(dir string) { gittest.Run(t, dir, "checkout", "-q", "--detach") }, "git switch -c NAME"},
		{"merge", func(dir string) { writeFile(t, dir, ".git/MERGE_HEAD", "x") }, "git merge --abort"},
		{"no author", func(dir string) { gittest.Run(t, dir, "config", "--unset", "user.name") }, "git config user.name"},
		{"LFS", func(dir string) { writeFile(t, dir, ".gitattributes", "*.json filter=lfs\n") }, "as with LFS"},
		{"another commit", func(dir string) { gittest.Run(t, dir, "commit", "-q", "--allow-empty", "-m", "x") }, "have changed since"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, v := committing(t)
			v.save(helloFile, changedHello)
			state := v.state()
			tt.do(dir)
			head := gittest.Resolve(t, dir, "HEAD")
			if page := v.commit(state, "x", helloFile); !strings.Contains(page, tt.want) || !strings.Contains(page, "Nothing was committed") {
				t.Errorf("it is answered with\n%s", page)
			}
			if gittest.Resolve(t, dir, "HEAD") != head {
				t.Error("there is a commit")
			}
		})
	}
}

// TestUIUndoes brings files back to what they were before they were saved here, once the
// person has seen how.
func TestUIUndoes(t *testing.T) {
	dir, v := committing(t)
	before := `{"id": "hello", "name": "Mine", "prompt": "Hi", "expected": {"keywords": ["hello"]}}` + "\n"
	writeFile(t, dir, helloFile, before) // not committed
	v.save(helloFile, changedHello)
	v.save(helloFile, strings.ReplaceAll(changedHello, "Hi", "Hey"))
	added := "test_definitions/talk/level_1/bye.json"
	v.save(added, `{"id": "bye", "name": "Bye", "prompt": "Bye", "expected": {"keywords": ["bye"]}}`+"\n")
	undo := func(file string) string {
		t.Helper()
		at := "changes/undo?" + url.Values{"file": {file}}.Encode()
		page, _ := v.get(at)
		version := regexp.MustCompile(`name="version" value="([^"]*)"`).FindStringSubmatch(page)
		if version == nil {
			return page
		}
		page, _ = v.post(at, "changes/undo", url.Values{"file": {file}, "version": {version[1]}})
		return page
	}
	page, _ := v.post("changes", "changes/undo", url.Values{"file": {helloFile}, "version": {"x"}})
	if !strings.Contains(page, "was saved again") {
		t.Errorf("an undo that was not asked for is answered with\n%s", page)
	}
	undo(helloFile)
	if got, _ := os.ReadFile(filepath.Join(dir, helloFile)); string(got) != before {
		t.Errorf("after undoing the file is\n%s", got)
	}
	undo(added)
	if _, err := os.Stat(filepath.Join(dir, added)); err == nil {
		t.Error("a new file remains after undoing")
	}
	if page := undo(helloFile); !strings.Contains(page, "was not saved here") {
		t.Errorf("a second undo is answered with\n%s", page)
	}
	if page := undo("agent.py"); !strings.Contains(page, "was not saved here") {
		t.Errorf("undoing a file that was not saved here is answered with\n%s", page)
	}
	v.save(helloFile, changedHello)
	writeFile(t, dir, helloFile, "{}\n")
	if page := undo(helloFile); !strings.Contains(page, "has changed since it was saved here") {
		t.Errorf("undoing a file that has changed is answered with\n%s", page)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, helloFile)); string(got) != "{}\n" {
		t.Errorf("the newer change is lost: %s", got)
	}
}

// TestUISavesTheCommittedState holds that a file that is as the last commit has it again leaves
// nothing to commit or to undo.
func TestUISavesTheCommittedState(t *testing.T) {
	dir, v := committing(t)
	committed, err := os.ReadFile(filepath.Join(dir, helloFile))
	if err != nil {
		t.Fatal(err)
	}
	if page := v.save(helloFile, changedHello); !strings.Contains(page, `href="/changes"`) {
		t.Errorf("a changed file offers no commit:\n%s", page)
	}
	if page := v.save(helloFile, string(committed)); !strings.Contains(page, "Saved") || strings.Contains(page, `href="/changes"`) {
		t.Errorf("a file that is as it was offers a commit:\n%s", page)
	}
	if page, _ := v.get("tests"); strings.Contains(page, "/changes") {
		t.Errorf("the page of the tests leads to changes, and there are none:\n%s", page)
	}
	v.save(helloFile, changedHello)
	gittest.Run(t, dir, "commit", "-qam", "x")
	v.get("changes")
	if page, _ := v.get("tests"); strings.Contains(page, "/changes") {
		t.Errorf("after git has committed the file, the page of the tests leads to changes:\n%s", page)
	}
}
