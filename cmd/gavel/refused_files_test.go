package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestAPushedTagIsNotJudged: a job that starts for a tag writes nothing.
func TestAPushedTagIsNotJudged(t *testing.T) {
	t.Parallel()
	j := newOrigin(t, map[string]string{"gavel.yaml": "version: 1\n"}, map[string]string{"README.md": "x"})
	j.checkout = j.folder
	stdout, stderr, code := j.event(t, "push", payload(`"ref": "refs/tags/v1", "before": %q, "after": %q`, strings.Repeat("0", 40), j.base))
	if code != exitPass || !strings.HasPrefix(stdout, "nothing to do: tags/v1 is not a branch") {
		t.Errorf("it ends with %d: %s%s", code, stdout, stderr)
	}
	if writes := j.forge.Writes(); len(writes) > 0 {
		t.Errorf("it writes %v", writes)
	}
}

// TestARulesFileThatIsNotRead: a gavel.yaml of base that is a link, a folder or a pointer of
// Git LFS is named on the pull request, with its repair, and no gate passes.
func TestARulesFileThatIsNotRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"link": {func(t *testing.T, path string) {
			if err := os.Symlink("ci/gavel.yaml", path); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file; symlinks and submodules are not followed"},
		"folder": {func(t *testing.T, path string) {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(path, "x"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file; symlinks and submodules are not followed"},
		"pointer": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "it is a pointer of Git LFS, and its content is not in git"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := emptyOrigin(t)
			j.git(t, "commit", "-q", "--allow-empty", "-m", "first")
			tt.make(t, filepath.Join(j.folder, "gavel.yaml"))
			if err := os.CopyFS(filepath.Join(j.folder, "test_definitions"), os.DirFS("../../examples/domain/test_definitions")); err != nil {
				t.Fatal(err)
			}
			j.git(t, "add", "-A")
			j.git(t, "commit", "-q", "-m", "rules")
			j.base = j.git(t, "rev-parse", "HEAD")
			j.git(t, "checkout", "-q", "-b", "topic")
			if err := os.WriteFile(filepath.Join(j.folder, "README.md"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			j.git(t, "add", "-A")
			j.git(t, "commit", "-q", "-m", "topic")
			j.head = j.git(t, "rev-parse", "HEAD")
			j.move(t, j.head)
			j.checkout = filepath.Join(t.TempDir(), "checkout")
			j.git(t, "clone", "-q", j.folder, j.checkout)
			stdout, stderr, code := j.run(t)
			if code == exitPass {
				t.Errorf("the gate passes: %s%s", stdout, stderr)
			}
			for _, context := range []string{"gavel/verdict", "gavel/validate"} {
				if got := j.states()[context]; !strings.HasPrefix(got, "failure: 1 invalid definition") {
					t.Errorf("%s is %q", context, got)
				}
			}
			if comments := j.forge.Comments(1); len(comments) != 1 || !strings.Contains(comments[0].Body, "gavel.yaml:1:1") || !strings.Contains(comments[0].Body, tt.want) {
				t.Errorf("the comments are %v, want %s", comments, tt.want)
			}
		})
	}
}

// TestAHeadWithoutACommonAncestor: a branch of another history is compared with the tip of
// base, and the comment says so.
func TestAHeadWithoutACommonAncestor(t *testing.T) {
	t.Parallel()
	const folder = "test_definitions/shop/level_1/"
	keyword := func(word string) string {
		return `{"id": "one", "name": "One", "prompt": "say hello", "expected": {"keywords": ["` + word + `"]}}`
	}
	files := map[string]string{
		"gavel.yaml":                        "version: 1\ntargets: {bot: {provider: mock, replies: [{echo: true}]}}\n",
		"test_definitions/shop/domain.json": `{"id": "shop", "name": "Shop", "evaluator_id": "keyword"}`,
		folder + "one.json":                 keyword("hello"),
		folder + "two.json":                 `{"id": "two", "name": "Two", "prompt": "say two", "expected": {"keywords": ["two"]}}`,
	}
	j := newOrigin(t, files, map[string]string{"README.md": "x"})
	j.git(t, "checkout", "-q", "--orphan", "other")
	files[folder+"one.json"] = keyword("bye")
	j.head = gittest.Commit(t, j.folder, files)
	j.move(t, j.head)
	j.checkout = filepath.Join(t.TempDir(), "checkout")
	j.git(t, "clone", "-q", j.folder, j.checkout)
	stdout, stderr, code := j.run(t)
	if got := j.states()["gavel/verdict"]; code != exitGate || !strings.HasPrefix(got, "failure: 1 regression") {
		t.Errorf("it ends with %d and %q: %s%s", code, got, stdout, stderr)
	}
	want := "head has no commit in common with its base, and is compared with the tip of base, " + j.base[:7] + "; rebase it"
	if comments := j.forge.Comments(1); len(comments) != 1 || !strings.Contains(comments[0].Body, want) {
		t.Errorf("the comments are %v, want %q", comments, want)
	}
}
