package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

const testToken = "s3cret-token-value"

// serve returns the address of a repository. It asks for testToken when locked.
func serve(t *testing.T, from *builder, locked bool) string {
	t.Helper()
	password := ""
	if locked {
		password = testToken
	}
	return gittest.Serve(t, from.dir, password)
}

// upstream is a repository with a pull request that left main two commits ago.
func upstream(t *testing.T) (b *builder, base, main, pull string) {
	t.Helper()
	b = newBuilder(t)
	root := b.commit(b.tree(b.file("a", "0")))
	base = b.commit(b.tree(b.file("a", "1")), root)
	main = b.commit(b.tree(b.file("a", "3")), b.commit(b.tree(b.file("a", "2")), base))
	pull = b.commit(b.tree(b.file("a", "1"), b.file("b", "x")), base)
	b.ref("refs/heads/main", main)
	b.ref("refs/pull/7/head", pull)
	return b, base, main, pull
}

// shallowClone is the result of a checkout of depth 1: one commit, its files and a mark
// that history ends there.
func shallowClone(t *testing.T, from *builder, commit, url string) *builder {
	t.Helper()
	b := newBuilder(t)
	c, err := object.GetCommit(from.git.Storer, plumbing.NewHash(commit))
	if err != nil {
		t.Fatal(err)
	}
	files, err := c.Tree()
	if err != nil {
		t.Fatal(err)
	}
	wanted := []plumbing.Hash{c.Hash, c.TreeHash}
	for _, e := range files.Entries {
		wanted = append(wanted, e.Hash)
	}
	for _, h := range wanted {
		o, err := from.git.Storer.EncodedObject(plumbing.AnyObject, h)
		if err == nil {
			_, err = b.git.Storer.SetEncodedObject(o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b.ref("refs/remotes/origin/main", commit)
	if err := b.git.Storer.SetShallow([]plumbing.Hash{c.Hash}); err != nil {
		t.Fatal(err)
	}
	b.origin(url)
	return b
}

func (b *builder) origin(url string) {
	b.t.Helper()
	if _, err := b.git.CreateRemote(&config.RemoteConfig{Name: "origin", URLs: []string{url}}); err != nil {
		b.t.Fatal(err)
	}
}

var pullRefs = []string{"refs/heads/main", "refs/pull/7/head"}

func TestFetchBesideAShallowClone(t *testing.T) {
	up, base, main, pull := upstream(t)
	clone := shallowClone(t, up, main, serve(t, up, false))
	r := clone.open()
	if _, err := r.Resolve(t.Context(), "origin/main~1"); !errors.Is(err, ErrShallow) {
		t.Errorf("before the fetch: Resolve = %v; want ErrShallow", err)
	}
	if _, _, err := r.Fetch(t.Context(), Source{Refs: pullRefs}); !errors.Is(err, ErrShallow) {
		t.Errorf("Fetch without a store = %v; want ErrShallow", err)
	}

	store := filepath.Join(t.TempDir(), "new", "store")
	for range 2 { // the second fetch finds everything there and brings a commit
		full, commits, err := r.Fetch(t.Context(), Source{Refs: pullRefs, Store: store})
		if err != nil {
			t.Fatal(err)
		}
		if commits[0] != main || commits[1] != pull {
			t.Errorf("Fetch = %v; want %s and %s", commits, main, pull)
		}
		if got, err := full.MergeBase(t.Context(), commits[0], commits[1]); err != nil || got != base {
			t.Errorf("MergeBase = %s, %v; want %s", got, err, base)
		}
		if got, err := full.Changed(t.Context(), base, pull); err != nil || fmt.Sprint(got) != "[b]" {
			t.Errorf("Changed = %v, %v; want b", got, err)
		}
		if err := full.Close(); err != nil {
			t.Error(err)
		}
		main = up.commit(up.tree(up.file("a", "4")), main)
		up.ref("refs/heads/main", main)
	}
	if still, err := clone.open().Shallow(); err != nil || !still {
		t.Errorf("the clone is shallow: %v, %v; want it untouched", still, err)
	}
	if _, err := clone.git.Reference("refs/gavel/pull/7/head", true); err == nil {
		t.Error("the fetch wrote a ref into the shallow clone")
	}
}

func TestFetchIntoACompleteClone(t *testing.T) {
	up, base, main, pull := upstream(t)
	clone := newBuilder(t)
	clone.origin(serve(t, up, true))
	full, commits, err := clone.open().Fetch(t.Context(), Source{Refs: pullRefs, Token: Constant(testToken)})
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if got, err := full.MergeBase(t.Context(), commits[0], commits[1]); err != nil || got != base {
		t.Errorf("MergeBase = %s, %v; want %s", got, err, base)
	}
	if commits[0] != main || commits[1] != pull || full.Root() != clone.open().Root() {
		t.Errorf("Fetch = %v in %s; want %s and %s in the clone", commits, full.Root(), main, pull)
	}
	if full.Name() != "gavel-evals/gavel" {
		t.Errorf("Name = %q", full.Name())
	}
}

func TestFetchErrors(t *testing.T) {
	up, _, _, _ := upstream(t)
	locked := serve(t, up, true)
	for _, test := range []struct {
		name, url string
		src       Source
		want      string
	}{
		{"no credential", locked, Source{Refs: pullRefs}, "none was given"},
		{"wrong credential", locked, Source{Refs: pullRefs, Token: Constant("wr0ng")}, "refuses the credential"},
		{"wrong credential in the url", strings.Replace(locked, "//", "//me:wr0ng@", 1), Source{Refs: pullRefs}, "none was given"},
		{"missing ref", locked, Source{Refs: []string{"refs/pull/8/head"}, Token: Constant(testToken)}, `"refs/pull/8/head" is not there`},
		{"short name", locked, Source{Refs: []string{"main"}}, "not a full name"},
		{"option", locked, Source{Refs: []string{"--exec=x"}}, "dash"},
		{"wildcard", locked, Source{Refs: []string{"refs/heads/*"}}, "characters"},
		{"program", "ext::sh -c touch% x", Source{Refs: pullRefs}, `"ext"`},
		{"unprotected", "git://example.com/a/b", Source{Refs: pullRefs}, `"git"`},
		{"nobody there", "http://me:wr0ng@127.0.0.1:1/a/b", Source{Refs: pullRefs}, "refused"},
		{"no repository", filepath.Join(t.TempDir(), "none"), Source{Refs: pullRefs}, "the repository does not exist"},
	} {
		clone := newBuilder(t)
		clone.origin(test.url)
		_, _, err := clone.open().Fetch(t.Context(), test.src)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("%s: Fetch = %v; want an error with %q and without the credential", test.name, err, test.want)
		}
	}
	if _, _, err := newBuilder(t).open().Fetch(t.Context(), Source{Refs: pullRefs}); err == nil || !strings.Contains(err.Error(), `no remote "origin"`) {
		t.Errorf("Fetch without origin = %v", err)
	}
}

func TestFetchEndsWithItsContext(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	clone := newBuilder(t)
	clone.origin(silent.URL + "/a/b")
	r := clone.open()
	if _, _, err := r.Fetch(t.Context(), Source{Refs: pullRefs, Timeout: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "time limit") {
		t.Errorf("Fetch past its time limit = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.Fetch(ctx, Source{Refs: pullRefs}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled Fetch = %v; want context.Canceled", err)
	}
}

func TestParseRemote(t *testing.T) {
	for _, want := range []struct{ raw, scheme, path, show string }{
		{"https://github.com/o/n.git", "https", "o/n", "https://github.com/o/n.git"},
		{"https://user:pw@github.com/o/n?t=1", "https", "o/n", "https://github.com/o/n"},
		{"ssh://git@example.com:2222/g/s/n.git", "ssh", "g/s/n", "ssh://example.com:2222/g/s/n.git"},
		{"git@github.com:o/n.git", "ssh", "o/n", "github.com:o/n.git"},
		{"/srv/o/n.git", "file", "srv/o/n", "/srv/o/n.git"},
		{"../n.git", "file", "repos/n", "/repos/n.git"},
		{"file:///srv/n.git", "file", "srv/n", "file:///srv/n.git"},
	} {
		got, err := parseRemote(want.raw, "/repos/here")
		if err != nil || got.scheme != want.scheme || got.path != want.path || got.show != want.show {
			t.Errorf("parseRemote(%q) = %+v, %v; want %+v", want.raw, got, err, want)
		}
	}
	for _, raw := range []string{
		"ext::sh -c x", "fd::17", "git://h/x", "ftp://h/x", "-oProxyCommand=x:y", "https://", "ssh://-oX/y", "http://a b:c@d%zz/",
		"ext::https://x/y",
	} {
		if got, err := parseRemote(raw, "/repos/here"); err == nil {
			t.Errorf("parseRemote(%q) = %+v; want an error", raw, got)
		}
	}
}

// The same with what git itself makes, over its own upload-pack.
func TestFetchBesideAShallowCloneOfGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	up, base, _, _ := upstream(t)
	clone := filepath.Join(t.TempDir(), "clone")
	gittest.Run(t, up.dir, "clone", "-q", "--depth=1", "file://"+filepath.ToSlash(up.dir), clone)
	r, err := Open(clone)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	full, commits, err := r.Fetch(t.Context(), Source{Refs: pullRefs, Store: filepath.Join(t.TempDir(), "store")})
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if got, err := full.MergeBase(t.Context(), commits[0], commits[1]); err != nil || got != base {
		t.Errorf("MergeBase = %s, %v; want %s", got, err, base)
	}
	if got, err := r.ChangedWork(t.Context(), mustResolve(t, r, "HEAD"), []string{"."}); err != nil || got != nil {
		t.Errorf("ChangedWork of a fresh clone = %v, %v; want nothing", got, err)
	}
}

func mustResolve(t *testing.T, r *Repository, ref string) string {
	t.Helper()
	commit, err := r.Resolve(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return commit
}
