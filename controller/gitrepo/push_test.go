package gitrepo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestPush makes git itself read the commit that a mirror pushes: only the named files
// have changed.
func TestPush(t *testing.T) {
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, map[string]string{"a.txt": "a\n", "deep/er/b.txt": "b\n", "deep/c.txt": "c\n", "deep.txt": "d\n"})
	if err := os.Chmod(filepath.Join(dir, "a.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	main := gittest.Commit(t, dir, nil)
	bare := t.TempDir()
	gittest.Run(t, bare, "clone", "-q", "--bare", dir, ".")
	for _, row := range []struct{ server, url string }{{"go-git", gittest.Serve(t, bare, "secret")}, {"git", gittest.Backend(t, bare)}} {
		m, err := gitrepo.NewMirror(gitrepo.MirrorConfig{Dir: t.TempDir(), URL: row.url, Token: gitrepo.Constant("secret")})
		if err != nil {
			t.Fatal(err)
		}
		repo, commits, err := m.Fetch(t.Context(), gitrepo.OfBase, "refs/heads/main")
		if err != nil || commits[0] != main {
			t.Fatalf("main is at %v, %v, want %s", commits, err, main)
		}
		if err := repo.Close(); err != nil {
			t.Fatal(err)
		}
		change := gitrepo.Commit{
			Parent: main, Message: "settings: one\n\nand two", Author: "Ada\nparent x <a@b>", At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
			Files: map[string][]byte{"a.txt": []byte("A\n"), "deep/er/b.txt": nil, "new/x.json": []byte("{}\n")},
		}
		got, err := m.Push(t.Context(), "gavel/"+row.server, change)
		if err != nil {
			t.Fatalf("a push to %s: %v", row.server, err)
		}
		gittest.Run(t, bare, "fsck", "--strict")
		if is := gittest.Run(t, bare, "rev-parse", "gavel/"+row.server); is != got {
			t.Errorf("%s: the branch is at %s, want %s", row.server, is, got)
		}
		if tree, want := gittest.Run(t, bare, "ls-tree", "-r", "--format=%(objectmode) %(path)", got), "100755 a.txt\n100644 deep.txt\n100644 deep/c.txt\n100644 new/x.json"; tree != want {
			t.Errorf("%s: the tree is\n%s\nwant\n%s", row.server, tree, want)
		}
		if said := gittest.Run(t, bare, "log", "-1", "--format=%an|%ae|%cn|%P|%s|%b", got); said != "Ada parent x a@b|gavel@localhost|Gavel|"+main+"|settings: one|and two" {
			t.Errorf("%s: the commit is %s", row.server, said)
		}
		// Somebody else sends the same change later: the reply to the first push was lost.
		again := change
		again.Author, again.At = "Bob", change.At.Add(time.Hour)
		if there, err := m.Push(t.Context(), "gavel/"+row.server, again); err != nil || there != got {
			t.Errorf("%s: the same files again are at %s, %v; want %s", row.server, there, err, got)
		}
		for _, tt := range []struct {
			name   string
			branch string
			change gitrepo.Commit
			want   string
		}{
			{"the branch has other files", "gavel/" + row.server, gitrepo.Commit{Parent: main, Files: map[string][]byte{"a.txt": []byte("B\n")}}, "exists and has other files"},
			{"the branch is bad", "-x", change, "-x"},
			{"the parent is gone", "gavel/x", gitrepo.Commit{Parent: strings.Repeat("1", 40), Files: change.Files}, "object not found"},
			{"a file is gone", "gavel/x", gitrepo.Commit{Parent: main, Files: map[string][]byte{"none": nil}}, "none: does not exist"},
			{"a file is a folder", "gavel/x", gitrepo.Commit{Parent: main, Files: map[string][]byte{"deep": []byte("x")}}, "deep: is not a regular file"},
			{"a folder is a file", "gavel/x", gitrepo.Commit{Parent: main, Files: map[string][]byte{"a.txt/x": []byte("x")}}, "a.txt is not a folder"},
			{"a name is git's", "gavel/x", gitrepo.Commit{Parent: main, Files: map[string][]byte{".GIT": []byte("x")}}, "is not the name of a file"},
		} {
			if _, err := m.Push(t.Context(), tt.branch, tt.change); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: a push where %s is refused with %v, want %q", row.server, tt.name, err, tt.want)
			}
		}
	}
}

// TestPushDenied names what the credential lacks.
func TestPushDenied(t *testing.T) {
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	main := gittest.Commit(t, dir, map[string]string{"a.txt": "a\n"})
	secret := gitrepo.Constant("secret")
	token := func(ctx context.Context, refused string) (string, error) { return secret(ctx, refused) }
	m, err := gitrepo.NewMirror(gitrepo.MirrorConfig{Dir: t.TempDir(), URL: gittest.Serve(t, dir, "secret"), Token: func(ctx context.Context, refused string) (string, error) { return token(ctx, refused) }})
	if err != nil {
		t.Fatal(err)
	}
	repo, _, err := m.Fetch(t.Context(), gitrepo.OfBase, "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.Close(); err != nil {
		t.Fatal(err)
	}
	token = gitrepo.Constant("another")
	_, err = m.Push(t.Context(), "gavel/x", gitrepo.Commit{Parent: main, Files: map[string][]byte{"a.txt": []byte("b\n")}})
	if !errors.Is(err, gitrepo.ErrRefused) || !strings.Contains(err.Error(), "contents: write") {
		t.Errorf("got %v, want ErrRefused with the permission", err)
	}
}

// TestMayPush asks for a push where that is allowed, where it is refused, and where nobody
// can, and leaves the repository as it is.
func TestMayPush(t *testing.T) {
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, map[string]string{"a.txt": "a\n"})
	before := gittest.Run(t, dir, "for-each-ref")
	for _, tt := range []struct {
		name, url string
		refused   bool
		want      string // of the error; empty for none
	}{
		{"a writer", gittest.Serve(t, dir, "secret"), false, ""},
		{"a reader", gittest.ServeReading(t, dir), true, "give the credential contents: write, or write:repository of Gitea"},
		{"another secret", gittest.Serve(t, dir, "another"), true, "refuses the credential"},
		{"a folder", dir, false, "is a folder of this machine"},
		{"nobody", "http://127.0.0.1:1/x.git", false, "connection refused"},
	} {
		err := gitrepo.MayPush(t.Context(), gitrepo.MirrorConfig{URL: tt.url, Token: gitrepo.Constant("secret")})
		if (err == nil) != (tt.want == "") || errors.Is(err, gitrepo.ErrRefused) != tt.refused || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if after := gittest.Run(t, dir, "for-each-ref"); after != before {
		t.Errorf("the refs are now\n%s\nbefore\n%s", after, before)
	}
}
