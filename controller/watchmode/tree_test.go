package watchmode_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/filewatch"
	"github.com/gavel-evals/gavel/controller/watchmode"
)

const hello = "test_definitions/talk/level_1/hello.json"

func greeting(word string) string {
	return fmt.Sprintf(`{"id": "hello", "name": "Hello", "prompt": %q, "expected": {"keywords": ["hello"]}}`, word)
}

// A follower takes the views of a tree.
type follower struct {
	*repo
	tree *watchmode.Tree
	last []string
}

func follow(r *repo, cfg watchmode.Config) *follower {
	r.t.Helper()
	tree, err := watchmode.Open(r.t.Context(), cfg)
	r.must(err)
	r.t.Cleanup(func() { r.must(tree.Close()) })
	f := &follower{repo: r, tree: tree}
	f.next(r.t.Context())
	return f
}

func (f *follower) next(ctx context.Context) bool {
	look, err := f.tree.Next(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	f.must(err)
	if look.Fault == nil {
		f.last = linesOf(look)
	}
	f.must(look.Close())
	return true
}

// settles waits until the view equals the plan of a new process. A timeout that
// is long enough on any machine ends the wait.
func (f *follower) settles() {
	f.t.Helper()
	want := f.fresh()
	ctx, cancel := context.WithTimeout(f.t.Context(), 30*time.Second)
	defer cancel()
	for !slices.Equal(want, f.last) {
		if !f.next(ctx) {
			f.t.Fatalf("never as a new process plans (-new +followed):\n%s", cmp.Diff(show(want), show(f.last)))
		}
	}
}

// TestFollowed makes the changes that people, editors and git make. After each
// the plan is the one that a new process makes.
func TestFollowed(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(r *repo)
	}{
		{"written in place", func(r *repo) { r.write(map[string]string{hello: greeting("hi")}) }},
		{"saved as vim does, with a backup next to it", func(r *repo) {
			r.write(map[string]string{"test_definitions/talk/level_1/4913": ""})
			r.must(os.Remove(r.path("test_definitions/talk/level_1/4913")))
			r.must(os.Rename(r.path(hello), r.path(hello+"~")))
			r.write(map[string]string{hello: greeting("hi")})
			r.must(os.Remove(r.path(hello + "~")))
		}},
		{"saved as VS Code does, truncated and written", func(r *repo) {
			f, err := os.OpenFile(r.path(hello), os.O_WRONLY|os.O_TRUNC, 0)
			r.must(err)
			for part := range slices.Chunk([]byte(greeting("hi there")), 20) {
				_, err := f.Write(part)
				r.must(err)
			}
			r.must(f.Close())
		}},
		{"saved by renaming over it", func(r *repo) {
			r.write(map[string]string{hello + ".tmp": greeting("hi")})
			r.must(os.Rename(r.path(hello+".tmp"), r.path(hello)))
		}},
		{"renamed", func(r *repo) {
			r.must(os.Rename(r.path(hello), r.path("test_definitions/talk/level_1/hallo.json")))
		}},
		{"deleted", func(r *repo) { r.must(os.Remove(r.path(hello))) }},
		{"deleted and made again", func(r *repo) {
			r.must(os.Remove(r.path(hello)))
			r.write(map[string]string{hello: greeting("again")})
		}},
		{"a new folder with files", func(r *repo) {
			r.write(map[string]string{
				"test_definitions/new/domain.json":       `{"id": "new", "name": "New", "evaluator_id": "keyword"}`,
				"test_definitions/new/level_1/one.json":  `{"id": "one", "name": "One", "prompt": "one", "expected": {"keywords": ["x"]}}`,
				"test_definitions/new/level_2/two.json":  `{"id": "two", "name": "Two", "prompt": "two", "expected": {"keywords": ["x"]}}`,
				"test_definitions/talk/level_3/far.json": `{"id": "far", "name": "Far", "prompt": "far", "expected": {"keywords": ["x"]}}`,
			})
		}},
		{"a folder renamed", func(r *repo) {
			r.must(os.Rename(r.path("test_definitions/talk/level_2"), r.path("test_definitions/talk/level_5")))
		}},
		{"a prompt that many use", func(r *repo) { r.write(map[string]string{"prompts/talk.md": "Be kind.\n"}) }},
		{"broken", func(r *repo) { r.write(map[string]string{hello: `{"id": "hello", `}) }},
		{"ignored", func(r *repo) {
			r.write(map[string]string{".gavelignore": "level_2/\n", "test_definitions/talk/level_2/new.json": "{"})
		}},
		{"other definitions", func(r *repo) {
			r.write(map[string]string{"gavel.yaml": "definitions: more\n" + start["gavel.yaml"], "more/talk/domain.json": start["test_definitions/talk/domain.json"]})
		}},
		{"a configuration with an error", func(r *repo) { r.write(map[string]string{"gavel.yaml": "version: 1\ntarget: x\n"}) }},
		{"a configuration that is gone", func(r *repo) { r.must(os.Remove(r.path("gavel.yaml"))) }},
		{"a link that leads back", func(r *repo) { r.must(os.Symlink("..", r.path("test_definitions/talk/loop"))) }},
		{"a file that became a link", func(r *repo) { r.must(errors.Join(os.Remove(r.path(hello)), os.Symlink("bye.json", r.path(hello)))) }},
		{"the definitions gone", func(r *repo) { r.must(os.RemoveAll(r.path("test_definitions"))) }},
		{"the definitions gone and back", func(r *repo) { r.again("test_definitions") }},
		{"the whole repository again", func(r *repo) { r.again(".") }},
		{"committed", func(r *repo) {
			r.write(map[string]string{hello: greeting("hi")})
			r.git("commit", "-q", "-a", "-m", "hi")
		}},
		{"packed", func(r *repo) {
			r.git("gc", "-q")
			r.write(map[string]string{hello: greeting("hi")})
			r.git("commit", "-q", "-a", "-m", "hi")
			r.git("gc", "-q")
			r.write(map[string]string{hello: greeting("hi again")})
		}},
		{"stashed and back", func(r *repo) {
			r.write(map[string]string{hello: greeting("hi"), "prompts/talk.md": "Be kind.\n"})
			r.git("stash", "-q")
			r.git("stash", "pop", "-q")
		}},
		{"stashed", func(r *repo) { r.write(map[string]string{hello: greeting("hi")}); r.git("stash", "-q") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t)
			f := follow(r, r.config())
			f.settles()
			tt.do(r)
			f.settles()
			// And what comes after it is still followed.
			r.write(map[string]string{"test_definitions/talk/level_1/bye.json": strings.Replace(start["test_definitions/talk/level_1/bye.json"], "bye\"", "so long\"", 1)})
			f.settles()
		})
	}
}

// again deletes a folder and makes it again with all that was in it.
func (r *repo) again(name string) {
	r.t.Helper()
	aside := filepath.Join(r.t.TempDir(), "aside")
	r.must(os.CopyFS(aside, os.DirFS(r.path(name))))
	r.must(os.RemoveAll(r.path(name)))
	r.must(os.CopyFS(r.path(name), os.DirFS(aside)))
}

// TestNewInput holds that a file which no case was built from before is
// followed as soon as a case names it.
func TestNewInput(t *testing.T) {
	r := newRepo(t)
	f := follow(r, r.config())
	r.write(map[string]string{"test_definitions/suite.yaml": suite("/prompts/other.md")})
	f.settles()
	r.write(map[string]string{"prompts/other.md": "Be longer.\n"})
	f.settles()
	r.must(os.Remove(r.path("prompts/other.md")))
	f.settles()
}

// TestACommitWhileFoldersAreAdded: base was read before the new folders were
// watched, and the commit came in between.
func TestACommitWhileFoldersAreAdded(t *testing.T) {
	r := newRepo(t)
	commits := false
	cfg := r.following(&source{repo: r, beforeRead: func() {
		if commits {
			commits = false
			r.git("commit", "-q", "-m", "program")
		}
	}})
	f := follow(r, cfg)
	r.write(map[string]string{
		"gavel.yaml":   "version: 1\ntargets: {bot: {provider: command, argv: [sh, agent/run.sh]}}\n",
		"agent/run.sh": "true\n",
	})
	r.git("add", "-A")
	commits = true
	f.next(t.Context())
	f.settles()
}

// TestLinkedWorktree holds that a commit is noticed where git keeps its files
// outside the folder that is watched.
func TestLinkedWorktree(t *testing.T) {
	main := newRepo(t)
	r := &repo{t, filepath.Join(t.TempDir(), "linked")}
	main.git("worktree", "add", "-q", r.dir, "-b", "linked")
	r.write(map[string]string{hello: greeting("hi")})
	f := follow(r, r.config())
	f.settles()
	r.git("commit", "-q", "-a", "-m", "hi")
	f.settles()
}

// TestNoCommit follows a repository in which nothing is committed yet, until
// something is.
func TestNoCommit(t *testing.T) {
	r := &repo{t, t.TempDir()}
	r.write(start)
	r.git("init", "-q", "-b", "main")
	f := follow(r, r.config())
	f.settles()
	r.write(map[string]string{hello: greeting("hi")})
	f.settles()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "first")
	f.settles()
}

// TestCheckoutOfManyFiles has more events than the system reports. Most files are not
// definitions: the test holds that they are seen.
func TestCheckoutOfManyFiles(t *testing.T) {
	r := newRepo(t)
	r.git("checkout", "-q", "-b", "many")
	files := map[string]string{}
	for i := range manyFiles {
		name := fmt.Sprintf("test_definitions/talk/level_%d/t%d", 1+i%9, i)
		if i%50 == 0 {
			files[name+".json"] = fmt.Sprintf(`{"id": "t%d", "name": "T", "prompt": "t%d", "expected": {"keywords": ["x"]}}`, i, i)
		} else {
			files[name+".md"] = "a note"
		}
	}
	r.write(files)
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "many")
	r.git("checkout", "-q", "main")
	f := follow(r, r.config())
	r.git("checkout", "-q", "many")
	f.settles()
	r.git("checkout", "-q", "main")
	r.git("checkout", "-q", "many")
	r.write(map[string]string{hello: greeting("hi")})
	f.settles()
}

// TestWithoutWatches holds that polling, which is the fallback when the system watches
// no more folders, sees the same.
func TestWithoutWatches(t *testing.T) {
	r := newRepo(t)
	cfg := r.config()
	cfg.Watch.Poll = 20 * time.Millisecond
	cfg.Watch.Source = func() (filewatch.Source, error) { return nil, syscall.ENOSPC }
	f := follow(r, cfg)
	if !strings.Contains(f.tree.Notice(), "max_user_watches") {
		t.Errorf("notice %q", f.tree.Notice())
	}
	r.write(map[string]string{hello: greeting("hi")})
	f.settles()
	r.again(".")
	r.write(map[string]string{hello: greeting("hi again")})
	f.settles()
}

// deaf is a source that misses everything, and says so when it is asked to.
type deaf struct{ errors chan error }

func (d deaf) Add(string) error              { return nil }
func (d deaf) Events() <-chan fsnotify.Event { return nil }
func (d deaf) Errors() <-chan error          { return d.errors }
func (d deaf) Close() error                  { return nil }

// TestFault holds that an unreadable file is reported once and tried again, and that
// trying leaves nothing open.
func TestFault(t *testing.T) {
	r := newRepo(t)
	open, asked := 0, 0
	s := &source{repo: r}
	s.open = func(ctx context.Context) (watchmode.Workspace, error) {
		place, err := r.open(ctx)
		open++
		shut := place.Close
		place.Close = func() error { open--; return shut() }
		return place, err
	}
	s.beforeBase = func() error {
		if asked++; asked > 1 && asked < 6 {
			return errors.New("the branch is gone")
		}
		return nil
	}
	tree, err := watchmode.Open(t.Context(), r.following(s))
	r.must(err)
	for _, want := range []string{"<nil>", "the branch is gone", "<nil>"} {
		look, err := tree.Next(t.Context())
		r.must(err)
		if got := fmt.Sprint(look.Fault); got != want {
			t.Errorf("fault %s, want %s", got, want)
		}
		r.must(look.Close())
		r.write(map[string]string{hello: greeting("hi")})
	}
	if open > 2 {
		t.Errorf("%d repositories are open", open)
	}
	if r.must(tree.Close()); open != 0 {
		t.Errorf("%d repositories stay open", open)
	}
}

// TestLostEvents holds that missed events are found once it is known that some were
// missed.
func TestLostEvents(t *testing.T) {
	r := newRepo(t)
	cfg := r.config()
	lost := make(chan error, 1)
	cfg.Watch.Source = func() (filewatch.Source, error) { return deaf{lost}, nil }
	f := follow(r, cfg)
	r.write(map[string]string{hello: greeting("hi"), "test_definitions/talk/level_7/new.json": start["test_definitions/talk/level_1/bye.json"]})
	r.must(os.RemoveAll(r.path("test_definitions/talk/level_2")))
	lost <- fsnotify.ErrEventOverflow
	f.settles()
}

// TestQuiet holds that what does not bear on the plan is not planned: what
// Gavel writes, what git keeps for itself, other files, and a file that was
// saved as it was.
func TestQuiet(t *testing.T) {
	r := newRepo(t)
	r.write(map[string]string{".gavelignore": "notes/\n"})
	f := follow(r, r.config())
	r.write(map[string]string{
		".gavel/ledger.db": "x", "test_definitions/book.db-wal": "x", "readme.md": "x",
		"test_definitions/talk/.hello.json.swp": "x", hello + "~": "x",
		hello: start[hello], "test_definitions/notes/a.json": "{", ".git/index.lock.x": "",
	})
	r.git("update-index", "--refresh")
	for _, own := range []string{"test_definitions/book.db", "test_definitions/.gitignore"} {
		r.must(os.WriteFile(r.path(own), nil, 0o644))
	}
	r.write(map[string]string{"test_definitions/talk/level_2/more.json": greeting("last")})
	look, err := f.tree.Next(t.Context())
	r.must(err)
	defer look.Close()
	if diff := cmp.Diff([]string{"test_definitions/talk/level_2/more.json"}, look.Changed); diff != "" {
		t.Error(diff)
	}
}
