// Package ownfolder makes the folder in which Gavel keeps its files in a
// repository.
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

// Name is that of the folder.
const Name = ".gavel"

// ErrCommitted says that the folder came with a commit: its author would have
// written the verdicts.
var ErrCommitted = errors.New("the folder " + Name + " is committed, so its verdicts cannot be trusted; " +
	"take it out of git, or name another ledger with --ledger")

// Make makes the folder if it is not there, and returns its path. Git does not
// see it. One that is committed is refused with [ErrCommitted].
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

// unwritable says what to do where the folder cannot be written.
func unwritable(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("make the folder %s: %w; keep the ledger elsewhere with --ledger FILE", Name, err)
	}
	return fmt.Errorf("make the folder %s: %w", Name, err)
}
