package gitrepo

import (
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// contents reads every file of a file system.
func contents(t *testing.T, fsys fs.FS) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == gitDirName {
			return fs.SkipDir
		}
		if !d.IsDir() {
			data, err := fs.ReadFile(fsys, name)
			found[name] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// story goes from main to a branch and back, with every kind of edit.
func story() []NewCommit {
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	return []NewCommit{
		{Message: "first", At: start, Write: map[string][]byte{
			"a.txt": []byte("1"), "b/c.txt": []byte("2"), "gone.txt": []byte("3"), "turns": []byte("into a folder"),
		}},
		{Branch: "side", Message: "second", At: start.Add(time.Hour), Write: map[string][]byte{
			"a.txt": []byte("changed"), "empty": {}, "gone.txt": nil, "turns": nil, "turns/file": []byte("4"),
		}},
		{Branch: "main", Message: "third", At: start.Add(2 * time.Hour), Write: map[string][]byte{"b/c.txt": []byte("of main")}},
	}
}

// told is a folder with the story, and the repository in it.
func told(t *testing.T) (string, *Repository) {
	t.Helper()
	dir := t.TempDir()
	if err := Create(t.Context(), dir, story()); err != nil {
		t.Fatal(err)
	}
	repo, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { repo.Close() })
	return dir, repo
}

func TestCreate(t *testing.T) {
	dir, repo := told(t)
	main := map[string]string{"a.txt": "1", "b/c.txt": "of main", "gone.txt": "3", "turns": "into a folder"}
	commits := map[string]string{}
	for _, tt := range []struct {
		ref  string
		want map[string]string
	}{
		{"main~1", map[string]string{"a.txt": "1", "b/c.txt": "2", "gone.txt": "3", "turns": "into a folder"}},
		{"side", map[string]string{"a.txt": "changed", "b/c.txt": "2", "empty": "", "turns/file": "4"}},
		{"main", main},
	} {
		commit, err := repo.Resolve(t.Context(), tt.ref)
		if err != nil {
			t.Fatal(err)
		}
		commits[tt.ref] = commit
		fsys, err := repo.FS(commit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, contents(t, fsys)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.ref, diff)
		}
	}
	if diff := cmp.Diff(main, contents(t, os.DirFS(dir))); diff != "" {
		t.Errorf("the working tree is not that of the last commit (-want +got):\n%s", diff)
	}
	base, err := repo.MergeBase(t.Context(), commits["side"], commits["main"])
	if err != nil || base != commits["main~1"] {
		t.Errorf("side begins at %s, %v; want %s", base, err, commits["main~1"])
	}
}

// Recordings and goldens name the commit, so nothing of this machine or of this
// moment may be in it.
func TestCreateGivesTheSameCommits(t *testing.T) {
	_, repo := told(t)
	head, err := repo.Resolve(t.Context(), "side")
	if want := "27fef33946d9f0fc5a987ed4a2010fa85b68ad62"; err != nil || head != want {
		t.Errorf("the branch ends in %s, %v; want %s", head, err, want)
	}
}
