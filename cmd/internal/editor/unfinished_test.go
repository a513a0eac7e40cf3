package editor

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// moving is a change of each kind: two files that move, one that changes, one that comes
// and one that goes.
var (
	beforeMoving = map[string]string{
		"aaa/t.json": "t", "aaa/u.json": "u", "aaa/sub/domain.json": "aaa", "edited.json": "old", "gone.json": "gone", "other.json": "stays",
	}
	moving = Change{
		"aaa/t.json": nil, "aaa/u.json": nil, "aaa/sub/domain.json": nil, "zzz/t.json": []byte("t"), "zzz/u.json": []byte("u"),
		"zzz/sub/domain.json": []byte("zzz"), "edited.json": []byte("new"), "gone.json": nil, "new.json": []byte("n"),
	}
	afterMoving = map[string]string{
		"zzz/t.json": "t", "zzz/u.json": "u", "zzz/sub/domain.json": "zzz", "edited.json": "new", "new.json": "n", "other.json": "stays",
	}
)

// TestKilledAfterEachStep ends a process that writes a change after each of its steps.
// No moment has fewer files than before, and the rest is undone or finished.
func TestKilledAfterEachStep(t *testing.T) {
	if n, err := strconv.Atoi(os.Getenv("GAVEL_TEST_STEPS")); err == nil {
		err := writeChange(os.Getenv("GAVEL_TEST_DIR"), recordOf(os.Getenv("GAVEL_TEST_DIR")), moving, func() {
			if n--; n == 0 {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = self.Kill()
				}
				t.Error(err)
				select {} // until the signal comes
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	steps := 2 + 2*len(moving) // both notes, and each file that is staged and that is put
	for n := 1; n <= steps+1; n++ {
		dir := folder(t, beforeMoving)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledAfterEachStep$")
		cmd.Env = append(os.Environ(), "GAVEL_TEST_STEPS="+strconv.Itoa(n), "GAVEL_TEST_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if killed := !cmd.ProcessState.Success(); killed != (n <= steps) {
			t.Fatalf("step %d: %v\n%s", n, err, out)
		}
		for _, name := range []string{"/t.json", "/u.json"} {
			if has := contents(t, dir); has["aaa"+name] == "" && has["zzz"+name] == "" {
				t.Errorf("after step %d %s is neither at its old place nor at the new one: %v", n, name, has)
			}
		}
		found, err := finishChange(dir, recordOf(dir))
		want, undone := afterMoving, n < 2+len(moving)
		if undone {
			want = beforeMoving
		}
		if err != nil || found.Undone != undone || len(found.Kept) > 0 || (found.Files == len(moving)) != (n <= steps) {
			t.Errorf("after step %d: %+v, %v", n, found, err)
		}
		if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
			t.Errorf("after step %d (-want +got):\n%s", n, diff)
		}
		if found, err := finishChange(dir, recordOf(dir)); err != nil || found.String() != "" {
			t.Errorf("after step %d there is something left to do: %v, %v", n, found, err)
		}
	}
}

// recordOf is outside of the definitions.
func recordOf(dir string) string { return filepath.Join(dir, ".gavel", "change.json") }

// folder has files, and an empty folder of Gavel.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	err := os.Mkdir(filepath.Join(dir, ".gavel"), 0o700)
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents are all files of a folder, including Gavel's.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(os.DirFS(dir), name)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFinishingLeavesOthersWork: a file that somebody changed since is neither replaced
// nor removed, and is named.
func TestFinishingLeavesOthersWork(t *testing.T) {
	dir := leftOf(t)
	for _, name := range []string{"edited.json", "aaa/t.json", "zzz/u.json"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := finishChange(dir, recordOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"edited.json", "zzz/u.json", "aaa/t.json"}, found.Kept); diff != "" {
		t.Errorf("the files that stay (-want +got):\n%s", diff)
	}
	if text := found.String(); !strings.Contains(text, "edited.json") || !strings.Contains(text, "3 files") {
		t.Errorf("the sentence is %q", text)
	}
	has, drafts := contents(t, dir), 0
	for name := range has {
		if strings.HasSuffix(name, safefile.DraftSuffix) {
			drafts++
			delete(has, name)
		}
	}
	want := map[string]string{
		"aaa/t.json": "mine", "zzz/t.json": "t", "zzz/u.json": "mine", "zzz/sub/domain.json": "zzz", "edited.json": "mine", "new.json": "n", "other.json": "stays",
	}
	if diff := cmp.Diff(want, has); diff != "" || drafts != 2 {
		t.Errorf("%d drafts are left, want those of both files that were not written; the files (-want +got):\n%s", drafts, diff)
	}
}

// leftOf is a folder in which a change was ended before its first file was put.
func leftOf(t *testing.T) (dir string) {
	t.Helper()
	dir = folder(t, beforeMoving)
	defer func() { _ = recover() }()
	n := 2 + len(moving)
	_ = writeChange(dir, recordOf(dir), moving, func() {
		if n--; n == 0 {
			panic("ended")
		}
	})
	t.Fatal("the change was not ended")
	return dir
}

// TestRecordsThatAreWrong change nothing.
func TestRecordsThatAreWrong(t *testing.T) {
	for _, text := range []string{
		"", "{", `{"ready": true, "files": [{"file": ".git/config", "was": "", "now": ""}]}`,
		`{"ready": true, "files": [{"file": "a.json", "draft": "other.json", "was": "", "now": "x"}]}`,
		`{"ready": true, "files": [{"file": "a.json", "draft": "../b.gavel-draft", "was": "", "now": "x"}]}`,
	} {
		dir := folder(t, beforeMoving)
		if err := os.WriteFile(recordOf(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := finishChange(dir, recordOf(dir)); err == nil {
			t.Errorf("%s: %+v, want an error", text, found)
		}
		has := contents(t, dir)
		delete(has, ".gavel/change.json")
		if diff := cmp.Diff(beforeMoving, has); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
