package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// A longHistory is a repository of many commits, each of which changes a file that does
// not compress. A pull request left main two commits ago.
type longHistory struct {
	dir              string
	base, main, pull string
}

func newLongHistory(t *testing.T) longHistory {
	t.Helper()
	h := longHistory{dir: t.TempDir()}
	gittest.Init(t, h.dir, "main")
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		var big bytes.Buffer
		for range 2 << 10 {
			fmt.Fprintf(&big, "%016x", random.Uint64())
		}
		gittest.Commit(t, h.dir, map[string]string{"big": big.String()})
	}
	h.base = gittest.Run(t, h.dir, "rev-parse", "HEAD")
	gittest.Run(t, h.dir, "checkout", "-q", "-b", "topic")
	gittest.Commit(t, h.dir, map[string]string{"mine": "x"})
	h.pull = gittest.Run(t, h.dir, "rev-parse", "HEAD")
	gittest.Run(t, h.dir, "update-ref", "refs/pull/7/head", h.pull)
	gittest.Run(t, h.dir, "checkout", "-q", "main")
	for _, later := range []string{"x", "y"} {
		gittest.Commit(t, h.dir, map[string]string{"later": later})
	}
	h.main = gittest.Run(t, h.dir, "rev-parse", "HEAD")
	return h
}

// source fetches main with its history, or both sides of the pull request without.
func (h longHistory) source(asked *int) Source {
	return Source{Refs: []string{"refs/heads/main"}, Most: OfBase, Near: func(context.Context) (*Near, error) {
		*asked++
		return &Near{Refs: pullRefs, Commits: []string{h.base, h.pull}, Most: OfHead}, nil
	}}
}

// TestFetchNear: an empty clone takes both sides of a pull request without their history,
// and is completed when something else is needed, at once or later.
func TestFetchNear(t *testing.T) {
	h := newLongHistory(t)
	url := gittest.Backend(t, h.dir)
	dir := filepath.Join(t.TempDir(), "mirror")
	m, err := NewMirror(MirrorConfig{Dir: dir, URL: url})
	if err != nil {
		t.Fatal(err)
	}
	fetch := func(src Source) *Repository {
		t.Helper()
		repo, tips, err := m.FetchSource(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = repo.Close() }) // it only reads
		if len(tips) != len(src.Refs) || tips[0] != h.main {
			t.Errorf("the tips are %v, want %s first", tips, h.main)
		}
		if got, err := repo.Changed(t.Context(), h.base, h.pull); err != nil || fmt.Sprint(got) != "[mine]" {
			t.Errorf("Changed = %v, %v; want mine", got, err)
		}
		return repo
	}
	// git sends commits by their hashes only where it is told to; GitHub does.
	gittest.Run(t, h.dir, "config", "uploadpack.allowReachableSHA1InWant", "true")
	asked := 0
	few := fetch(h.source(&asked))
	if _, err := few.MergeBase(t.Context(), h.main, h.pull); !errors.Is(err, ErrShallow) {
		t.Errorf("MergeBase of a clone without history: %v, want ErrShallow", err)
	}
	sides := packed(t, dir)

	// The same again brings nothing.
	if fetch(h.source(&asked)); packed(t, dir) != sides {
		t.Errorf("the second fetch brings %d bytes", packed(t, dir)-sides)
	}
	// Another commit completes the clone, of which Near is not asked any more.
	gittest.Commit(t, h.dir, map[string]string{"later": "z"})
	h.main = gittest.Run(t, h.dir, "rev-parse", "HEAD")
	for range 2 {
		asked = 0
		whole := fetch(h.source(&asked))
		if got, err := whole.MergeBase(t.Context(), h.main, h.pull); err != nil || got != h.base {
			t.Errorf("MergeBase = %s, %v; want %s", got, err, h.base)
		}
		if shallow, err := whole.Shallow(); err != nil || shallow {
			t.Errorf("the clone is shallow: %v, %v", shallow, err)
		}
	}
	if asked > 0 {
		t.Error("a complete clone asks which commits are enough")
	}
	if all := packed(t, dir) - sides; sides > all/10 {
		t.Errorf("both sides take %d bytes and the history %d", sides, all)
	}
}

// TestFetchNearAfterABranch: a clone that has the tip of a branch and its parent alone takes
// both sides of a pull request without their history, too. The next pull request, or another
// tip, has that fetched, since every file would be sent once more.
func TestFetchNearAfterABranch(t *testing.T) {
	h := newLongHistory(t)
	gittest.Run(t, h.dir, "config", "uploadpack.allowReachableSHA1InWant", "true")
	dir := filepath.Join(t.TempDir(), "mirror")
	m, err := NewMirror(MirrorConfig{Dir: dir, URL: gittest.Backend(t, h.dir)})
	if err != nil {
		t.Fatal(err)
	}
	fetch := func(near Near) *Repository {
		t.Helper()
		near.Most = OfHead
		repo, _, err := m.FetchSource(t.Context(), Source{Refs: near.Refs, Most: OfBase, Near: func(context.Context) (*Near, error) { return &near, nil }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = repo.Close() }) // it only reads
		return repo
	}
	main := []string{"refs/heads/main"}
	tip := fetch(Near{Refs: main})
	if parent, err := tip.Resolve(t.Context(), h.main+"~1"); err != nil || parent != gittest.Run(t, h.dir, "rev-parse", "main~1") {
		t.Errorf("the parent of the tip is %q, %v", parent, err)
	}
	one := packed(t, dir)
	sides := fetch(Near{Refs: pullRefs, Commits: []string{h.base, h.pull}})
	if got, err := sides.Changed(t.Context(), h.base, h.pull); err != nil || fmt.Sprint(got) != "[mine]" {
		t.Errorf("Changed = %v, %v; want mine", got, err)
	}
	few := packed(t, dir)
	if fetch(Near{Refs: main}); packed(t, dir) != few {
		t.Errorf("the tip is fetched again with %d bytes", packed(t, dir)-few)
	}
	gittest.Run(t, h.dir, "update-ref", "refs/pull/8/head", gittest.Run(t, h.dir, "rev-parse", "main~9"))
	whole := fetch(Near{Refs: []string{"refs/heads/main", "refs/pull/8/head"}})
	if got, err := whole.MergeBase(t.Context(), h.main, h.pull); err != nil || got != h.base {
		t.Errorf("MergeBase = %s, %v; want %s", got, err, h.base)
	}
	if shallow, err := whole.Shallow(); err != nil || shallow {
		t.Errorf("after another pull request the clone is shallow: %v, %v", shallow, err)
	}
	if all := packed(t, dir); few > 3*one || few > all/5 {
		t.Errorf("the tip takes %d bytes, with both sides %d, and with the history %d", one, few, all)
	}
	if m, err = NewMirror(MirrorConfig{Dir: filepath.Join(t.TempDir(), "other"), URL: gittest.Backend(t, h.dir)}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if shallow, err := fetch(Near{Refs: main}).Shallow(); err != nil || shallow != want {
			t.Errorf("the clone is shallow: %v, %v, want %v", shallow, err, want)
		}
		gittest.Commit(t, h.dir, map[string]string{"later": "again"})
	}
}

// TestFetchNearImpossible: a remote that sends no single commits, a commit that it does not
// have, sides beyond the bounds and a forge that cannot say which commits are enough have
// the history fetched.
func TestFetchNearImpossible(t *testing.T) {
	h := newLongHistory(t)
	url := gittest.Backend(t, h.dir)
	absent := "1234567890123456789012345678901234567890"
	for _, tt := range []struct {
		name  string
		allow string
		near  *Near
	}{
		{"no commits by their hashes", "false", &Near{Refs: pullRefs, Commits: []string{h.base, h.pull}, Most: OfHead}},
		{"a commit that is not there", "true", &Near{Refs: pullRefs, Commits: []string{absent}, Most: OfHead}},
		{"beyond the bounds", "true", &Near{Refs: pullRefs, Commits: []string{h.base}, Most: Bounds{Bytes: 100}}},
		{"not known", "true", nil},
	} {
		gittest.Run(t, h.dir, "config", "uploadpack.allowReachableSHA1InWant", tt.allow)
		m, err := NewMirror(MirrorConfig{Dir: filepath.Join(t.TempDir(), "mirror"), URL: url})
		if err != nil {
			t.Fatal(err)
		}
		repo, _, err := m.FetchSource(t.Context(), Source{Refs: pullRefs, Most: OfBase, Near: func(context.Context) (*Near, error) { return tt.near, nil }})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got, err := repo.MergeBase(t.Context(), h.main, h.pull); err != nil || got != h.base {
			t.Errorf("%s: MergeBase = %s, %v; want %s", tt.name, got, err, h.base)
		}
		if err := repo.Close(); err != nil {
			t.Error(err)
		}
	}
	m, err := NewMirror(MirrorConfig{Dir: filepath.Join(t.TempDir(), "mirror"), URL: url})
	if err != nil {
		t.Fatal(err)
	}
	away := errors.New("the forge is away")
	if _, _, err := m.FetchSource(t.Context(), Source{Refs: pullRefs, Near: func(context.Context) (*Near, error) { return nil, away }}); !errors.Is(err, away) {
		t.Errorf("a forge that is away: %v", err)
	}
}

// TestFetchNearOfNothing: a ref that the remote does not have is a [MissingRefError], with and
// without the history.
func TestFetchNearOfNothing(t *testing.T) {
	h := newLongHistory(t)
	m, err := NewMirror(MirrorConfig{Dir: filepath.Join(t.TempDir(), "mirror"), URL: gittest.Backend(t, h.dir)})
	if err != nil {
		t.Fatal(err)
	}
	fetch := func(ref string) error {
		refs := []string{ref}
		repo, _, err := m.FetchSource(t.Context(), Source{Refs: refs, Most: OfBase, Near: func(context.Context) (*Near, error) {
			return &Near{Refs: refs, Most: OfBase}, nil
		}})
		if err != nil {
			return err
		}
		return repo.Close()
	}
	for _, clone := range []string{"an empty clone", "a shallow clone"} {
		missing, ok := errors.AsType[*MissingRefError](fetch("refs/heads/gone"))
		if !ok || missing.Ref != "refs/heads/gone" {
			t.Errorf("%s: %v, want the missing ref", clone, missing)
		}
		if err := fetch("refs/heads/main"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFetchSHA256: a remote whose objects are named in another way says so, whatever is
// fetched of it.
func TestFetchSHA256(t *testing.T) {
	dir := t.TempDir()
	gittest.Run(t, dir, "init", "-q", "--object-format=sha256", "-b", "main", ".")
	gittest.Run(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "x")
	m, err := NewMirror(MirrorConfig{Dir: filepath.Join(t.TempDir(), "mirror"), URL: gittest.Backend(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	_, _, whole := m.Fetch(t.Context(), OfBase, "refs/heads/main")
	_, _, near := m.FetchSource(t.Context(), Source{Refs: []string{"refs/heads/main"}, Near: func(context.Context) (*Near, error) {
		return &Near{Refs: []string{"refs/heads/main"}, Most: OfBase}, nil
	}})
	_, branches := m.Branches(t.Context())
	for what, err := range map[string]error{"the history": whole, "single commits": near, "branches": branches} {
		if err == nil || !strings.Contains(err.Error(), "its objects have SHA-256 names") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// packed returns the size of all packs of a repository in bytes.
func packed(t *testing.T, dir string) (n int64) {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packs {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}
