package gitrepo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// A Change is one commit to make.
type Change struct {
	// Branch is made from where the repository stands when it is not there.
	Branch  string
	Message string
	// Write holds the new content of files by path; nil removes the file.
	Write map[string][]byte
	At    time.Time
}

// Create makes a repository in a folder and commits the changes in order, the
// first on the branch main.
func Create(ctx context.Context, dir string, changes []Change) error {
	repo, err := git.PlainInitWithOptions(dir, &git.PlainInitOptions{
		InitOptions: git.InitOptions{DefaultBranch: plumbing.Main},
	})
	if err != nil {
		return fmt.Errorf("create a repository in %s: %w", dir, err)
	}
	tree, err := repo.Worktree()
	if err != nil {
		return fmt.Errorf("create a repository in %s: %w", dir, err)
	}
	for i, c := range changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i > 0 && c.Branch != "" {
			err := tree.Checkout(&git.CheckoutOptions{Branch: plumbing.NewBranchReferenceName(c.Branch), Create: true})
			if err != nil {
				return fmt.Errorf("create branch %s: %w", c.Branch, err)
			}
		}
		if err := commit(tree, dir, c); err != nil {
			return fmt.Errorf("commit %q: %w", c.Message, err)
		}
	}
	return nil
}

func commit(tree *git.Worktree, dir string, c Change) error {
	for name, data := range c.Write {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if data == nil {
			if _, err := tree.Remove(name); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
		if _, err := tree.Add(name); err != nil {
			return err
		}
	}
	author := &object.Signature{Name: "Gavel", Email: "gavel@localhost", When: c.At}
	_, err := tree.Commit(c.Message, &git.CommitOptions{Author: author})
	return err
}
