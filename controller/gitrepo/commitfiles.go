package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// A UserError is the reason why nothing is committed, with a repair for the user.
type UserError struct{ text string }

// Error returns the reason.
func (e *UserError) Error() string { return e.text }

// refuseCommit returns a [UserError].
func refuseCommit(format string, args ...any) error {
	return &UserError{fmt.Sprintf(format, args...)}
}

// A Tip is the branch of the working tree, on which a user commits.
type Tip struct {
	// Branch is the name of the branch, and Commit its commit; empty before the first.
	Branch, Commit string
	// Name and Email are the user's, from git's configuration.
	Name, Email string
}

// CheckAuthor returns a [UserError] if git does not know the author of a commit.
func (t Tip) CheckAuthor() error {
	if t.Name == "" || t.Email == "" {
		return refuseCommit("git does not know the author: run `git config user.name \"Your name\"` and `git config user.email you@example.com`")
	}
	return nil
}

// Tip returns the branch on which a user may commit. The error is a [UserError] if there
// is none, or if git is in the middle of a merge or another command.
func (r *Repository) Tip(ctx context.Context) (Tip, error) {
	if r.root == "" {
		return Tip{}, ErrBare
	}
	t := Tip{Branch: r.Branch()}
	if t.Branch == "" {
		return t, refuseCommit("HEAD is at a commit and not on a branch, so that a commit could get lost: run `git switch -c NAME`")
	}
	for _, doing := range []struct{ file, what, then string }{
		{"MERGE_HEAD", "a merge", "`git commit` ends it, `git merge --abort` takes it back"},
		{"rebase-merge", "a rebase", "`git rebase --continue` goes on with it, `git rebase --abort` takes it back"},
		{"rebase-apply", "a rebase or git am", "`git status` says how it goes on"},
		{"CHERRY_PICK_HEAD", "a cherry-pick", "`git cherry-pick --continue` goes on with it, `git cherry-pick --abort` takes it back"},
		{"REVERT_HEAD", "a revert", "`git revert --continue` goes on with it, `git revert --abort` takes it back"},
		{"sequencer", "a cherry-pick or revert of several commits", "`git status` says how it goes on"},
	} {
		if _, err := os.Lstat(filepath.Join(r.gitIn, doing.file)); err == nil {
			return t, refuseCommit("git is in the middle of %s: %s", doing.what, doing.then)
		}
	}
	index, err := r.indexText()
	if err != nil {
		return t, err
	}
	if _, err := changeIndex(index, nil); err != nil {
		return t, refuseCommit("%v", err)
	}
	if file := conflictIn(index); file != "" {
		return t, refuseCommit("%s has a conflict: solve it, and run `git add %s`", file, file)
	}
	if !r.Unborn() {
		if t.Commit, err = r.Resolve(ctx, "HEAD"); err != nil {
			return t, err
		}
	}
	t.Name, t.Email, err = r.author()
	return t, err
}

// indexText returns git's index as it is; empty without one.
func (r *Repository) indexText() ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(r.gitIn, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// conflictIn returns a file of an index that has a conflict; empty for none.
func conflictIn(index []byte) string {
	if len(index) < indexHeader {
		return ""
	}
	entries, _, err := splitIndex(index[indexHeader:], uint32(index[8])<<24|uint32(index[9])<<16|uint32(index[10])<<8|uint32(index[11]))
	if err != nil {
		return ""
	}
	if i := slices.IndexFunc(entries, func(e rawEntry) bool { return e.stage() != 0 }); i >= 0 {
		return entries[i].name
	}
	return ""
}

// CheckFile returns a [UserError] if a file of the working tree cannot be committed as it
// is: git ignores it, would convert its content, or has something else in its place. The
// content is nil for a file that is to be removed. commit is empty before the first one.
func (r *Repository) CheckFile(w *WorkTree, commit, name string, data []byte) error {
	if !fs.ValidPath(name) || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, gitDirName) }) {
		return refuseCommit("%s is not a file of the repository", name)
	}
	mode, err := r.committedMode(commit, name)
	switch {
	case err != nil || data == nil:
		return err
	case mode == 0 && w.ignores(name):
		return refuseCommit("git ignores %s: take it out of .gitignore, or commit it with `git add --force`", name)
	}
	return r.unconverted(w, name, data)
}

// committedMode returns the mode of a file in a commit; 0 if it has none.
func (r *Repository) committedMode(commit, name string) (filemode.FileMode, error) {
	if commit == "" {
		return 0, nil
	}
	files, err := r.FS(commit)
	if err != nil {
		return 0, err
	}
	info, err := files.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil || !info.Mode().IsRegular():
		return 0, refuseCommit("%s is a link or a folder in the last commit; commit it with git", name)
	case info.Mode()&0o100 != 0:
		return filemode.Executable, nil
	}
	return filemode.Regular, nil
}

// ignores reports whether git ignores a file that it does not track.
func (w *WorkTree) ignores(name string) bool {
	known, err := w.known()
	if err != nil {
		return true
	}
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if known.match(folder, true) {
			return true
		}
	}
	return known.match(name, false)
}

// CommitFiles commits some files on a branch, as a user's own commit, and returns its id.
// It needs the files and the message of the commit, and its time. Everything else stays as
// it is, in git's index, too. No hook runs, and the commit is not signed. The error is a
// [UserError] if the branch is no longer at the tip, or a file cannot be committed.
func (r *Repository) CommitFiles(ctx context.Context, on Tip, c Commit) (id string, err error) {
	if r.root == "" {
		return "", ErrBare
	}
	index, err := lockFile(filepath.Join(r.gitIn, "index"))
	if err != nil {
		return "", err
	}
	defer index.drop()
	now, err := r.Tip(ctx)
	if err != nil {
		return "", err
	}
	if now.Branch != on.Branch || now.Commit != on.Commit {
		return "", refuseCommit("the branch is at another commit than before; look at the changes again")
	}
	if err := now.CheckAuthor(); err != nil {
		return "", err
	}
	entries, err := r.indexEntries(now.Commit, c.Files)
	if err != nil {
		return "", err
	}
	old, err := r.indexText()
	if err != nil {
		return "", err
	}
	text, err := changeIndex(old, entries)
	if err != nil {
		return "", refuseCommit("%v", err)
	}
	c.Parent, c.Author, c.Email, c.Message = now.Commit, now.Name, now.Email, strings.TrimSpace(c.Message)+"\n"
	made, err := r.keepCommit(c)
	if err == nil {
		err = index.write(text)
	}
	if err == nil {
		err = r.moveBranch(now, made, c)
	}
	if err != nil {
		return "", err
	}
	if err := index.place(); err != nil {
		return made.String(), fmt.Errorf("commit %.7s is made, but git's index could not be written (%w): run `git reset`", made, err)
	}
	return made.String(), nil
}

// indexEntries checks the files of a commit, and returns their entries in git's index.
func (r *Repository) indexEntries(parent string, files map[string][]byte) (map[string]indexEntry, error) {
	w, err := r.WorkFS()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	out := map[string]indexEntry{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		if err := r.CheckFile(w, parent, name, data); err != nil {
			return nil, err
		}
		out[name] = indexEntry{}
		if data == nil {
			continue
		}
		mode, err := r.committedMode(parent, name)
		if err != nil {
			return nil, err
		}
		out[name] = indexEntry{cmp.Or(mode, filemode.Regular), plumbing.ComputeHash(plumbing.BlobObject, data)}
	}
	return out, nil
}

// keepCommit makes a commit and writes its objects.
func (r *Repository) keepCommit(c Commit) (plumbing.Hash, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	objects, made, err := makeCommit(r.store, c)
	if err != nil {
		return made, err
	}
	common, err := commonDir(r.gitIn)
	if err != nil {
		return made, err
	}
	// The repository's own store cannot write objects in a linked working tree.
	store := filesystem.NewStorage(newGitFS(common), cache.NewObjectLRU(0))
	defer store.Close()
	for _, o := range objects.Objects {
		if _, err := store.SetEncodedObject(o); err != nil {
			return made, fmt.Errorf("store the commit: %w", err)
		}
	}
	return made, nil
}

// moveBranch moves the branch of a tip to a commit, under the lock that git takes, and notes
// it in git's log of the branch.
func (r *Repository) moveBranch(from Tip, to plumbing.Hash, c Commit) error {
	common, err := commonDir(r.gitIn)
	if err != nil {
		return err
	}
	name := plumbing.NewBranchReferenceName(from.Branch)
	if err := name.Validate(); err != nil {
		return fmt.Errorf("the branch %s: %w", from.Branch, err)
	}
	file := filepath.Join(common, filepath.FromSlash(name.String()))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil { //nolint:gosec // as git makes it; the umask applies
		return err
	}
	ref, err := lockFile(file)
	if err != nil {
		return err
	}
	defer ref.drop()
	if now, err := r.Tip(context.Background()); err != nil || now.Branch != from.Branch || now.Commit != from.Commit {
		return refuseCommit("the branch has moved meanwhile; look at the changes again")
	}
	if err := ref.write([]byte(to.String() + "\n")); err != nil {
		return err
	}
	if err := ref.place(); err != nil {
		return err
	}
	subject, _, _ := strings.Cut(c.Message, "\n")
	line := fmt.Sprintf("%040s %s %s <%s> %d %s\tcommit: %s\n", from.Commit, to, from.Name, from.Email, c.At.Unix(), c.At.Format("-0700"), subject)
	for _, file := range []string{filepath.Join(r.gitIn, "logs", "HEAD"), filepath.Join(common, "logs", filepath.FromSlash(name.String()))} {
		if f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0); err == nil { // without a log there is nothing to note
			_, err = f.WriteString(line)
			_ = errors.Join(err, f.Close()) // the commit is made without it, too
		}
	}
	return nil
}
