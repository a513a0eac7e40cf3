package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// OwnFolder is the name of the folder in which Gavel keeps its files.
const OwnFolder = ".gavel"

// ErrOwnFolderCommitted means that the folder came with a commit: its author could have written
// the verdicts.
var ErrOwnFolderCommitted = errors.New("the folder " + OwnFolder + " is committed, so its verdicts cannot be trusted; " +
	"take it out of git, or name another ledger with --ledger")

// MakeOwnFolder creates the folder if it is missing, and returns its path. Git ignores it. A
// committed one is refused with [ErrOwnFolderCommitted].
func MakeOwnFolder(ctx context.Context, repo *Repository) (string, error) {
	if head, err := repo.Resolve(ctx, "HEAD"); err == nil { // no commit, nothing committed
		files, err := repo.FS(head)
		if err != nil {
			return "", err
		}
		if _, err := fs.Stat(files, OwnFolder); err == nil {
			return "", ErrOwnFolderCommitted
		}
	}
	dir := filepath.Join(repo.Root(), OwnFolder)
	if err := errors.Join(safefile.MkdirAll(dir, 0o700), safefile.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)); err != nil {
		return "", unwritable(err)
	}
	return dir, nil
}

// MakeMainFolder is [MakeOwnFolder] in the main working tree, which the linked ones share.
func MakeMainFolder(ctx context.Context, repo *Repository) (err error) {
	if repo.MainRoot() != repo.Root() {
		main, err := Open(repo.MainRoot())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, main.Close()) }()
		repo = main
	}
	_, err = MakeOwnFolder(ctx, repo)
	return err
}

// unwritable adds the repair for an unwritable folder.
func unwritable(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("make the folder %s: %w; keep the ledger elsewhere with --ledger FILE", OwnFolder, err)
	}
	return fmt.Errorf("make the folder %s: %w", OwnFolder, err)
}
