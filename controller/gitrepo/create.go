package gitrepo

import (
	"context"
	"errors"
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
	// Branch is created from HEAD if it does not exist. Defaults to the current
	// branch.
	Branch  string
	Message string
	// Write holds the new content of files by path; nil removes the file.
	Write map[string][]byte
	At    time.Time
}

// Create makes a repository in a folder and commits the changes in order, the
// first on the branch main. The folder is left as the working tree of the last
// of them. The same changes give the same commits, on every machine and at
// every time.
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
			if err := enter(repo, tree, plumbing.NewBranchReferenceName(c.Branch)); err != nil {
				return fmt.Errorf("enter branch %s: %w", c.Branch, err)
			}
		}
		if err := commit(tree, dir, c); err != nil {
			return fmt.Errorf("commit %q: %w", c.Message, err)
		}
	}
	return nil
}

// enter sets the working tree to the head of the branch. It checks out only
// files that commit wrote a moment ago.
func enter(repo *git.Repository, tree *git.Worktree, branch plumbing.ReferenceName) error {
	_, err := repo.Reference(branch, false)
	missing := errors.Is(err, plumbing.ErrReferenceNotFound)
	if err != nil && !missing {
		return err
	}
	return tree.Checkout(&git.CheckoutOptions{Branch: branch, Create: missing})
}

func commit(tree *git.Worktree, dir string, c Change) error {
	// Files go before others come, so that a folder can take the place of a
	// file of its name.
	for name, data := range c.Write {
		if data != nil {
			continue
		}
		if _, err := tree.Remove(name); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	for name, data := range c.Write {
		if data == nil {
			continue
		}
		if err := add(tree, dir, name, data); err != nil {
			return err
		}
	}
	author := &object.Signature{Name: "Gavel", Email: "gavel@localhost", When: c.At}
	_, err := tree.Commit(c.Message, &git.CommitOptions{Author: author})
	return err
}

func add(tree *git.Worktree, dir, name string, data []byte) error {
	local, err := filepath.Localize(name)
	if err != nil {
		return fmt.Errorf("write %s: not a path inside the repository", name)
	}
	file := filepath.Join(dir, local)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return err
	}
	_, err = tree.Add(name)
	return err
}
