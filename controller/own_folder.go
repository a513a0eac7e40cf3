package controller

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gavel-evals/gavel/controller/gitrepo"
)

// OwnFolder is where Gavel keeps its files in a repository.
const OwnFolder = ".gavel"

// ErrCommitted says that [OwnFolder] came with a commit: its author would have
// written the verdicts.
var ErrCommitted = errors.New("the folder " + OwnFolder + " is committed, so its verdicts cannot be trusted; " +
	"take it out of git, or name another ledger with --ledger")

// MakeOwnFolder makes the folder if it is not there, and gives its path. Git
// does not see it. One that is committed is refused with [ErrCommitted].
func MakeOwnFolder(ctx context.Context, repo *gitrepo.Repository) (string, error) {
	if head, err := repo.Resolve(ctx, "HEAD"); err == nil { // no commit, nothing committed
		files, err := repo.FS(head)
		if err != nil {
			return "", err
		}
		if _, err := fs.Stat(files, OwnFolder); err == nil {
			return "", ErrCommitted
		}
	}
	dir := filepath.Join(repo.Root(), OwnFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder %s: %w", OwnFolder, err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600); err != nil {
		return "", fmt.Errorf("make the folder %s: %w", OwnFolder, err)
	}
	return dir, nil
}
