package gitrepo

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestHidden hides ignored files and git's own folders, and shows tracked files, new
// ones, and files that are requested by name.
func TestHidden(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, map[string]string{
		".gitignore": ".env\n*.log\nbuild/\nnode_modules/\n", "agent/run.sh": "run", "agent/sub/.gitignore": "!kept.log\nlocal.txt\n",
	})
	for _, tt := range []struct{ name, text string }{
		{".env", ""}, {"new.txt", ""}, {"agent/.env", ""}, {"agent/x.log", ""}, {"agent/sub/kept.log", ""}, {"agent/sub/local.txt", ""},
		{"agent/forced.log", ""}, {"build/deep/out", ""}, {"build/deep/forced", ""}, {"node_modules/one/index.js", ""}, {"node_modules/two/index.js", ""},
		{"book/ledger.db", ""}, {"book/other", ""}, {".gavel/ledger.db", ""}, {".gavel/cassette", ""}, {"inner/file", ""}, {"mine.txt", ""},
		{".git/info/exclude", "mine.txt\n"},
	} {
		file := filepath.Join(dir, filepath.FromSlash(tt.name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(tt.text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Run(t, dir, "add", "-f", "agent/forced.log", "build/deep/forced", ".gavel/cassette")
	gittest.Run(t, filepath.Join(dir, "inner"), "init", "-q")
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
	own := []string{".gavel", "book/ledger.db"}
	for _, tt := range []struct {
		name  string
		shown []string
		want  []string
	}{
		{"nothing named", nil, []string{
			".env", ".gavel/ledger.db", ".git", "agent/.env", "agent/sub/local.txt", "agent/x.log", "book/ledger.db",
			"build/deep/out", "inner", "mine.txt", "node_modules",
		}},
		{"some named", []string{"node_modules/two", "agent", "inner/file", "build"}, []string{
			".env", ".gavel/ledger.db", ".git", "book/ledger.db", "inner/.git", "mine.txt", "node_modules/one",
		}},
		{"all named", []string{"."}, []string{".gavel/ledger.db", ".git", "book/ledger.db", "inner/.git"}},
		{"own ones named", []string{".", ".git/config", ".gavel", "book/ledger.db", "inner/.git"}, nil},
	} {
		got, err := Hidden(work, View{Shown: tt.shown, Own: own})
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}
