// Package ownfolder creates the folder of Gavel's files in a repository.
package ownfolder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/safefile"
)

// Name is the folder's name.
const Name = ".gavel"

// ErrCommitted means that the folder came with a commit: its author could have written
// the verdicts.
var ErrCommitted = errors.New("the folder " + Name + " is committed, so its verdicts cannot be trusted; " +
	"take it out of git, or name another ledger with --ledger")

// Make creates the folder if it is missing, and returns its path. Git ignores it. A
// committed one is refused with [ErrCommitted].
func Make(ctx context.Context, repo *gitrepo.Repository) (string, error) {
	if head, err := repo.Resolve(ctx, "HEAD"); err == nil { // no commit, nothing committed
		files, err := repo.FS(head)
		if err != nil {
			return "", err
		}
		if _, err := fs.Stat(files, Name); err == nil {
			return "", ErrCommitted
		}
	}
	dir := filepath.Join(repo.Root(), Name)
	if err := errors.Join(safefile.MkdirAll(dir, 0o700), safefile.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)); err != nil {
		return "", unwritable(err)
	}
	return dir, nil
}

// unwritable adds the repair for an unwritable folder.
func unwritable(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("make the folder %s: %w; keep the ledger elsewhere with --ledger FILE", Name, err)
	}
	return fmt.Errorf("make the folder %s: %w", Name, err)
}
