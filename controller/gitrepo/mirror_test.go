package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

func newMirror(t *testing.T, url string) *Mirror {
	t.Helper()
	m, err := NewMirror(MirrorConfig{Dir: filepath.Join(t.TempDir(), "clones", "r.git"), URL: url, Token: Constant(testToken)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// holdsPull fetches and demands the commits, and a file of the pull request.
func (m *Mirror) holdsPull(t *testing.T, main, pull string) {
	t.Helper()
	repo, commits, err := m.Fetch(t.Context(), OfBase, pullRefs...)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	if len(commits) != 2 || commits[0] != main || commits[1] != pull {
		t.Errorf("commits %v, want %s and %s", commits, main, pull)
	}
	files, err := repo.FS(pull)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(files, "b"); err != nil || string(data) != "x" {
		t.Errorf("b holds %q, %v", data, err)
	}
}

func TestMirror(t *testing.T) {
	up, base, main, pull := upstream(t)
	m := newMirror(t, serve(t, up, true))
	m.holdsPull(t, main, pull)
	if _, err := os.Stat(filepath.Join(m.cfg.Dir, "objects")); err != nil {
		t.Errorf("it is not bare: %v", err)
	}
	m.holdsPull(t, main, pull) // nothing new

	// Somebody pushes with force, back to an older commit and on from there.
	up.ref("refs/heads/main", base)
	other := up.commit(up.tree(up.file("b", "x"), up.file("c", "y")), base)
	up.ref("refs/pull/7/head", other)
	m.holdsPull(t, base, other)
}

// TestMirrorHealsItself clones again what vanished or was corrupted.
func TestMirrorHealsItself(t *testing.T) {
	up, _, main, pull := upstream(t)
	url := serve(t, up, true)
	packs := func(m *Mirror, do func(string) error) error {
		found, err := filepath.Glob(filepath.Join(m.cfg.Dir, "objects/pack/*"))
		for _, name := range found {
			if err == nil {
				err = do(name)
			}
		}
		return err
	}
	for _, tt := range []struct {
		name string
		hurt func(*Mirror) error
	}{
		{"vanished", func(m *Mirror) error { return os.RemoveAll(m.cfg.Dir) }},
		{"empty", func(m *Mirror) error { return errFirst(os.RemoveAll(m.cfg.Dir), os.MkdirAll(m.cfg.Dir, 0o700)) }},
		{"without packs", func(m *Mirror) error { return packs(m, os.Remove) }},
		{"cut packs", func(m *Mirror) error {
			return packs(m, func(name string) error { return errFirst(os.Chmod(name, 0o600), os.Truncate(name, 20)) })
		}},
		{"without HEAD", func(m *Mirror) error { return os.Remove(filepath.Join(m.cfg.Dir, "HEAD")) }},
		{"garbled HEAD", func(m *Mirror) error { return os.WriteFile(filepath.Join(m.cfg.Dir, "HEAD"), []byte("\x00"), 0o600) }},
		{"garbled config", func(m *Mirror) error { return os.WriteFile(filepath.Join(m.cfg.Dir, "config"), []byte("[[["), 0o600) }},
		{"a ref to nothing", func(m *Mirror) error {
			return os.WriteFile(filepath.Join(m.cfg.Dir, "refs/gavel/pull/7/head"), []byte(strings.Repeat("5", 40)+"\n"), 0o600)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMirror(t, url)
			m.holdsPull(t, main, pull)
			if err := tt.hurt(m); err != nil {
				t.Fatal(err)
			}
			m.holdsPull(t, main, pull)
		})
	}
}

func errFirst(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestMirrorKeepsWhatItHas where the remote is at fault.
func TestMirrorKeepsWhatItHas(t *testing.T) {
	up, _, main, pull := upstream(t)
	m := newMirror(t, serve(t, up, true))
	m.holdsPull(t, main, pull)
	ours := filepath.Join(m.cfg.Dir, "ours")
	if err := os.WriteFile(ours, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Fetch(t.Context(), OfBase, "refs/pull/8/head"); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("a ref that is not there: %v", err)
	}
	m.cfg.Token = Constant("wr0ng")
	if _, _, err := m.Fetch(t.Context(), OfBase, pullRefs...); err == nil || !strings.Contains(err.Error(), "refuses the credential") {
		t.Errorf("a wrong credential: %v", err)
	}
	if _, err := os.Stat(ours); err != nil {
		t.Errorf("the clone was thrown away: %v", err)
	}
}

func TestAbuseAddressesWithOptions(t *testing.T) {
	for _, url := range []string{"ext::sh -c true", "--upload-pack=x", "git://example.com/a/b"} {
		if _, err := NewMirror(MirrorConfig{Dir: t.TempDir(), URL: url}); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
}

func TestReach(t *testing.T) {
	up, _, _, _ := upstream(t)
	cfg := MirrorConfig{URL: serve(t, up, true), Token: Constant(testToken)}
	if err := Reach(t.Context(), cfg, "refs/heads/main"); err != nil {
		t.Error(err)
	}
	if err := Reach(t.Context(), cfg, "refs/heads/none"); err == nil || !strings.Contains(err.Error(), "has no refs/heads/none") {
		t.Errorf("a branch that is not there: %v", err)
	}
	cfg.Token = Constant("wr0ng")
	if err := Reach(t.Context(), cfg, "refs/heads/main"); err == nil || !strings.Contains(err.Error(), "refuses the credential") {
		t.Errorf("a wrong credential: %v", err)
	}
}

// TestACredentialThatEnded is asked for again, once.
func TestACredentialThatEnded(t *testing.T) {
	up, _, main, pull := upstream(t)
	m := newMirror(t, serve(t, up, true))
	var asked []string
	ended := func(next string) Credential {
		return func(_ context.Context, refused string) (string, error) {
			asked = append(asked, refused)
			if refused == "" {
				return "wr0ng", nil
			}
			return next, nil
		}
	}
	m.cfg.Token = ended(testToken)
	m.holdsPull(t, main, pull)
	if err := Reach(t.Context(), m.cfg, "refs/heads/main"); err != nil {
		t.Error(err)
	}
	asked = nil
	m.cfg.Token = ended("wr0ng too")
	_, _, err := m.Fetch(t.Context(), OfBase, pullRefs...)
	if err == nil || !strings.Contains(err.Error(), "refuses the credential") || len(asked) != 2 {
		t.Errorf("got %v after the credentials %q", err, asked)
	}
	m.cfg.Token = func(context.Context, string) (string, error) { return "", errors.New("the App is not installed") }
	if _, _, err := m.Fetch(t.Context(), OfBase, pullRefs...); err == nil || !strings.Contains(err.Error(), "the App is not installed") {
		t.Errorf("got %v", err)
	}
}

// TestBranches lists those that there are now.
func TestBranches(t *testing.T) {
	up, base, main, _ := upstream(t)
	for _, tt := range []struct{ name, url string }{{"http", serve(t, up, true)}, {"folder", up.dir}} {
		m := newMirror(t, tt.url)
		up.ref("refs/heads/queue/one", base)
		tips, err := m.Branches(t.Context())
		if err != nil || len(tips) != 2 || tips["main"] != main || tips["queue/one"] != base {
			t.Errorf("%s: branches %v, %v", tt.name, tips, err)
		}
		if _, err := os.Stat(m.cfg.Dir); err == nil {
			t.Errorf("%s: a clone was made", tt.name)
		}
	}
	empty := t.TempDir()
	if _, err := git.PlainInit(empty, true); err != nil {
		t.Fatal(err)
	}
	if tips, err := newMirror(t, empty).Branches(t.Context()); err != nil || len(tips) != 0 {
		t.Errorf("an empty one: %v, %v", tips, err)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	for _, url := range []string{gone.URL + "/a/b.git", filepath.Join(up.dir, "none")} {
		if _, err := newMirror(t, url).Branches(t.Context()); !errors.Is(err, ErrNoRemote) {
			t.Errorf("%s is gone: %v", url, err)
		}
	}
}

// TestMirrorOfAFolder reads it where it is.
func TestMirrorOfAFolder(t *testing.T) {
	up, _, main, pull := upstream(t)
	m := newMirror(t, up.dir)
	m.holdsPull(t, main, pull)
	if _, err := os.Stat(m.cfg.Dir); err == nil {
		t.Error("a clone was made")
	}
	if _, _, err := m.Fetch(t.Context(), OfBase, "refs/heads/none"); err == nil || !strings.Contains(err.Error(), "refs/heads/none") {
		t.Errorf("a branch that is not there: %v", err)
	}
	// A folder inside of the repository is not one.
	inner := filepath.Join(up.dir, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := newMirror(t, inner).Fetch(t.Context(), OfBase, "refs/heads/main"); !errors.Is(err, ErrNoRemote) {
		t.Errorf("a folder without a repository: %v", err)
	}
}

// A clone that lost a blob after it was fetched is fetched again.
func TestMirrorOfLostObject(t *testing.T) {
	up, _, main, pull := upstream(t)
	m := newMirror(t, serve(t, up, true))
	m.holdsPull(t, main, pull)
	gittest.Run(t, m.cfg.Dir, "gc", "-q")
	packs, err := filepath.Glob(filepath.Join(m.cfg.Dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("packs %v, %v", packs, err)
	}
	pack, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	repo, _, err := m.Fetch(t.Context(), OfBase, pullRefs...)
	if err != nil {
		t.Fatal(err)
	}
	files, err := repo.FS(pull)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := files.Hash("b")
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.Close(); err != nil {
		t.Fatal(err)
	}
	// The clone has all but the blob: its pack is taken apart.
	if err := os.Remove(packs[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(strings.TrimSuffix(packs[0], "pack") + "idx"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "-C", m.cfg.Dir, "unpack-objects", "-q")
	cmd.Stdin = bytes.NewReader(pack)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git unpack-objects: %v: %s", err, out)
	}
	if err := os.Remove(filepath.Join(m.cfg.Dir, "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	repo, _, err = m.Fetch(t.Context(), OfBase, pullRefs...)
	if err != nil {
		t.Fatal(err)
	}
	if files, err = repo.FS(pull); err != nil {
		t.Fatal(err)
	}
	var lost *LostError
	if _, err := fs.ReadFile(files, "b"); !errors.As(err, &lost) || lost.Object != blob || !errors.As(repo.Lost(), &lost) {
		t.Fatalf("reading it without its blob: %v, and %v is lost", err, repo.Lost())
	}
	if err := repo.Close(); err != nil {
		t.Fatal(err)
	}
	m.holdsPull(t, main, pull)
}
