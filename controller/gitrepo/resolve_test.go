package gitrepo

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

func TestResolve(t *testing.T) {
	b := newBuilder(t)
	first := b.commit(b.tree(b.file("a", "1")))
	second := b.commit(b.tree(b.file("a", "2")), first)
	third := b.commit(b.tree(b.file("a", "3")), second, first)
	b.ref("refs/heads/main", third)
	b.ref("refs/heads/feature/x", second)
	b.ref("refs/remotes/origin/release", first)
	b.ref("refs/tags/v1", first)
	tagged, err := b.git.CreateTag("v2", plumbing.NewHash(second), nil)
	if err != nil || tagged.Name() != "refs/tags/v2" {
		t.Fatal(tagged, err)
	}
	note := &object.Tag{Name: "v3", Message: "annotated", TargetType: plumbing.CommitObject, Target: plumbing.NewHash(second)}
	b.ref("refs/tags/v3", b.store(b.git.Storer.NewEncodedObject(), note.Encode).String())
	r := b.open()

	for _, tt := range []struct{ ref, want string }{
		{third, third}, {third[:9], third}, {"HEAD", third}, {"@", third}, {"main", third}, {"refs/heads/main", third},
		{"feature/x", second}, {"origin/release", first}, {"release", first},
		{"v1", first}, {"v2", second}, {"v3", second},
		{"HEAD~1", second}, {"HEAD^", second}, {"HEAD^2", first}, {"main~2", first}, {"HEAD^1~1", first},
	} {
		if got, err := r.Resolve(t.Context(), tt.ref); err != nil || got != tt.want {
			t.Errorf("Resolve(%q) = %s, %v; want %s", tt.ref, got, err, tt.want)
		}
	}
}

func TestResolveErrors(t *testing.T) {
	b := newBuilder(t)
	only := b.commit(b.tree(b.file("a", "1")))
	b.ref("refs/heads/main", only)
	b.ref("refs/heads/release-candidate", only)
	r := b.open()
	for _, test := range []struct{ ref, want string }{
		{"", "empty"},
		{"-x", "dash"},
		{"/nowhere/a.json", "not the name of"},
		{"feature//a", "not the name of"},
		{"--upload-pack=touch x", "dash"},
		{"a b", "characters"},
		{"a..b", "characters"},
		{"HEAD@{1}", "characters"},
		{":/fix", "characters"},
		{"HEAD^{/x}", "characters"},
		{"a\x00b", "characters"},
		{"a\u202eb", "characters"},
		{strings.Repeat("a", 600), "longer"},
		{"mian", "did you mean `main`?"},
		{"release-candidat~1", "did you mean `release-candidate`?"},
		{"nothing-like-it", `no commit, branch or tag is called "nothing-like-it"; the branches here are main, release-candidate`},
		{strings.Repeat("0", 40), "no commit, branch or tag"},
		{"HEAD~1", "does not go back that far"},
		{"main^2", "does not go back that far"},
	} {
		got, err := r.Resolve(t.Context(), test.ref)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Resolve(%.40q) = %q, %v; want an error with %q", test.ref, got, err, test.want)
		}
	}
}

func TestMergeBase(t *testing.T) {
	b := newBuilder(t)
	tree := b.tree(b.file("a", "1"))
	root := b.commit(tree)
	fork := b.commit(tree, root)
	main1 := b.commit(tree, fork)
	topic := b.commit(tree, fork)
	main2 := b.commit(tree, main1)
	merged := b.commit(tree, topic, main1) // main was merged into the topic
	crossA := b.commit(tree, main2, merged)
	crossB := b.commit(tree, merged, main2)
	alone := b.commit(tree)
	b.ref("refs/heads/main", main2)
	r := b.open()

	for _, test := range []struct{ name, a, b, want string }{
		{"same commit", topic, topic, topic},
		{"forked", main2, topic, fork},
		{"ancestor", fork, main2, fork},
		{"main merged into the topic", main2, merged, main1},
		{"criss-cross takes the latest", crossA, crossB, merged},
		{"root", root, merged, root},
	} {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			if got, err := r.MergeBase(t.Context(), pair[0], pair[1]); err != nil || got != test.want {
				t.Errorf("%s: MergeBase = %s, %v; want %s", test.name, got, err, test.want)
			}
		}
	}
	if got, err := r.MergeBase(t.Context(), main2, alone); err == nil || errors.Is(err, ErrShallow) {
		t.Errorf("unrelated histories: MergeBase = %q, %v; want an error that does not speak of a shallow clone", got, err)
	}
	if got, err := r.MergeBase(t.Context(), main2, strings.Repeat("1", 40)); err == nil {
		t.Errorf("unknown commit: MergeBase = %q; want an error", got)
	}

	// The clone ends above the fork.
	if err := b.git.Storer.SetShallow([]plumbing.Hash{plumbing.NewHash(main2)}); err != nil {
		t.Fatal(err)
	}
	if got, err := b.open().MergeBase(t.Context(), main2, topic); !errors.Is(err, ErrShallow) {
		t.Errorf("shallow: MergeBase = %q, %v; want ErrShallow", got, err)
	}
}
