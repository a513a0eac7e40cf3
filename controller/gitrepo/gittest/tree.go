package gittest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Run runs git in a folder, without this machine's configuration, and returns its
// trimmed output.
func Run(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	return feed(tb, dir, nil, args...)
}

// feed is Run with standard input.
func feed(tb testing.TB, dir string, in io.Reader, args ...string) string {
	tb.Helper()
	// A test's folder is removed before maintenance would pay off.
	cmd := exec.CommandContext(tb.Context(), "git", append([]string{"-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, in
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TEMPLATE_DIR=",
		"GIT_AUTHOR_NAME=Gavel", "GIT_AUTHOR_EMAIL=gavel@localhost", "GIT_COMMITTER_NAME=Gavel", "GIT_COMMITTER_EMAIL=gavel@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Unpack stores each object of a bare repository in its own file.
func Unpack(tb testing.TB, dir string) {
	tb.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, pack := range packs {
		data, err := os.ReadFile(pack)
		for _, end := range []string{".pack", ".idx", ".rev"} {
			if e := os.Remove(strings.TrimSuffix(pack, ".pack") + end); !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
		if err != nil {
			tb.Fatal(err)
		}
		feed(tb, dir, bytes.NewReader(data), "unpack-objects", "-q")
	}
}

// Init creates a repository in a folder whose first branch is the given one.
func Init(tb testing.TB, dir, branch string) {
	tb.Helper()
	_, err := git.PlainInitWithOptions(dir, &git.PlainInitOptions{InitOptions: git.InitOptions{DefaultBranch: plumbing.NewBranchReferenceName(branch)}})
	if err != nil {
		tb.Fatal(err)
	}
}

// repository opens the repository that contains a folder.
func repository(tb testing.TB, dir string) *git.Repository {
	tb.Helper()
	repo, err := git.PlainOpenWithOptions(dir, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if err != nil {
		tb.Fatal(err)
	}
	return repo
}

// Branch creates a branch at the current commit, or moves one there, and checks it out.
// Neither the index nor a file changes.
func Branch(tb testing.TB, dir, name string) {
	tb.Helper()
	repo := repository(tb, dir)
	head, err := repo.Head()
	if err != nil {
		tb.Fatal(err)
	}
	branch := plumbing.NewBranchReferenceName(name)
	err = errors.Join(
		repo.Storer.SetReference(plumbing.NewHashReference(branch, head.Hash())),
		repo.Storer.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, branch)),
	)
	if err != nil {
		tb.Fatal(err)
	}
}

// Resolve returns the commit of a revision.
func Resolve(tb testing.TB, dir, revision string) string {
	tb.Helper()
	repo := repository(tb, dir)
	commit, err := repo.ResolveRevision(plumbing.Revision(revision))
	if err != nil {
		tb.Fatalf("%s in %s: %v", revision, dir, err)
	}
	return commit.String()
}

// Commit writes files by their paths with slashes, commits the whole working tree, and
// returns the commit. It does not run git, which takes many times as long to start.
func Commit(tb testing.TB, dir string, files map[string]string) string {
	tb.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			tb.Fatal(err)
		}
	}
	repo := repository(tb, dir)
	tree, err := repo.Worktree()
	if err == nil {
		err = stage(repo, tree.Filesystem)
	}
	if err != nil {
		tb.Fatal(err)
	}
	author := object.Signature{Name: "Gavel", Email: "gavel@localhost", When: time.Now()}
	commit, err := tree.Commit("change\n", &git.CommitOptions{AllowEmptyCommits: true, Author: &author})
	if err != nil {
		tb.Fatal(err)
	}
	return commit.String()
}

// stage builds the index that git add -A makes: all files except ignored ones that were
// not in it. It has neither sizes nor times, so files are compared by content, however
// soon they change.
func stage(repo *git.Repository, tree billy.Filesystem) error {
	before, err := repo.Storer.Index()
	if err != nil {
		return err
	}
	patterns, err := gitignore.ReadPatterns(tree, nil)
	if err != nil {
		return err
	}
	ignored := gitignore.NewMatcher(patterns)
	known := map[string]bool{} // files and the folders above them
	for _, e := range before.Entries {
		for name := e.Name; name != "."; name = path.Dir(name) {
			known[name] = true
		}
	}
	after := &index.Index{Version: 2}
	err = filepath.WalkDir(tree.Root(), func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == tree.Root() {
			return err
		}
		if d.Name() == git.GitDirName {
			return skip(d)
		}
		name, err := filepath.Rel(tree.Root(), file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if !known[name] && ignored.Match(strings.Split(name, "/"), d.IsDir()) {
			return skip(d)
		}
		if d.IsDir() {
			return nil
		}
		entry, err := store(repo, file)
		if err == nil {
			entry.Name = name
			after.Entries = append(after.Entries, entry)
		}
		return err
	})
	if err != nil {
		return err
	}
	return repo.Storer.SetIndex(after)
}

// skip skips a file or a folder.
func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return filepath.SkipDir
	}
	return nil
}

// store writes a file or a link to a repository's objects.
func store(repo *git.Repository, file string) (*index.Entry, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	mode, err := filemode.NewFromOSFileMode(info.Mode())
	if err != nil {
		return nil, err
	}
	var data []byte
	if mode == filemode.Symlink {
		target, err := os.Readlink(file)
		if err != nil {
			return nil, err
		}
		data = []byte(filepath.ToSlash(target))
	} else if data, err = os.ReadFile(file); err != nil {
		return nil, err
	}
	blob := repo.Storer.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	w, err := blob.Writer()
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	hash := blob.Hash()
	if repo.Storer.HasEncodedObject(hash) != nil {
		if _, err := repo.Storer.SetEncodedObject(blob); err != nil {
			return nil, err
		}
	}
	return &index.Entry{Hash: hash, Mode: mode}, nil
}
