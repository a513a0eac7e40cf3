package gitrepo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestFiles lists what git has of a commit, and has or would take of the working
// tree.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir+"/home")
	t.Setenv("XDG_CONFIG_HOME", "")
	gittest.Init(t, dir, "main")
	commit := gittest.Commit(t, dir, map[string]string{
		".gitignore": "*.log\n/home/\nbuild/\n", "agent/run.sh": "run", "agent/sub/.gitignore": "!kept.log\nlocal.txt\n",
		"agent/sub/a.txt": "a", "agent/gone.txt": "gone", "other/b.txt": "b",
	})
	for _, tt := range []struct{ name, text string }{
		{"agent/x.log", ""}, {"agent/sub/kept.log", ""}, {"agent/sub/local.txt", ""}, {"agent/local.txt", ""}, {"agent/build/out", ""},
		{"agent/forced.log", ""}, {"agent/build/forced", ""}, {"agent/mine.txt", ""}, {"agent/usual.bak", ""},
		{".git/info/exclude", "mine.txt\n"}, {"home/.config/git/ignore", "*.bak\n"},
	} {
		file := filepath.Join(dir, filepath.FromSlash(tt.name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(tt.text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Run(t, dir, "add", "-f", "agent/forced.log", "agent/build/forced")
	if err := errors.Join(os.Remove(filepath.Join(dir, "agent/gone.txt")), os.Symlink("run.sh", filepath.Join(dir, "agent/link"))); err != nil {
		t.Fatal(err)
	}
	repo, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	work, err := repo.WorkFS()
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	at, err := repo.FS(commit)
	if err != nil {
		t.Fatal(err)
	}
	skip := func(name string, isFolder bool) bool { return isFolder && name == "agent/sub" }
	for _, tt := range []struct {
		name    string
		files   fs.FS
		folders []string
		skip    func(string, bool) bool
		want    []string
	}{
		{"a commit", at, []string{"agent"}, nil, []string{"agent/gone.txt", "agent/run.sh", "agent/sub/.gitignore", "agent/sub/a.txt"}},
		{"the working tree", work, []string{"agent"}, nil, []string{
			"agent/build/forced", "agent/forced.log", "agent/local.txt", "agent/run.sh", "agent/sub/.gitignore", "agent/sub/a.txt", "agent/sub/kept.log",
		}},
		{"without a folder", work, []string{"agent"}, skip, []string{"agent/build/forced", "agent/forced.log", "agent/local.txt", "agent/run.sh"}},
		{"several folders", at, []string{"other", "agent/sub", "nowhere"}, nil, []string{"agent/sub/.gitignore", "agent/sub/a.txt", "other/b.txt"}},
	} {
		got, err := List(tt.files, tt.folders, listOptions{Skip: tt.skip, Most: 100})
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

// TestFilesAreBounded counts folders, too, so that a tree of empty ones ends.
func TestFilesAreBounded(t *testing.T) {
	files := fstest.MapFS{"a/b/c/d": {Mode: fs.ModeDir}, "a/one": {}, "a/two": {}}
	for _, tt := range []struct {
		most int
		want error
	}{{5, ErrTooMany}, {6, nil}} {
		if _, err := List(files, []string{"a"}, listOptions{Most: tt.most}); !errors.Is(err, tt.want) {
			t.Errorf("at most %d: %v, want %v", tt.most, err, tt.want)
		}
	}
}
