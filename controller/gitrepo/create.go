package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-git/go-billy/v5/memfs"
	"github.com/go-git/go-billy/v5/util"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage"
	"github.com/go-git/go-git/v5/storage/memory"
)

// A NewCommit is a commit to create.
type NewCommit struct {
	// Branch is created from the current commit if it does not exist. Defaults to the
	// current branch.
	Branch  string
	Message string
	// Write maps paths to new contents; nil removes the file.
	Write map[string][]byte
	At    time.Time
}

// Create creates a repository in a folder and commits the changes in order, the first
// on the branch main. The folder becomes the working tree of the last of them. The same
// changes give the same commits, on every machine and at any time. If a change cannot
// be committed, nothing is written.
func Create(ctx context.Context, dir string, changes []NewCommit) error {
	// The history is built in memory and written as one pack: writing hundreds of small
	// objects into a folder would take most of the time.
	init := git.InitOptions{DefaultBranch: plumbing.Main}
	draft, err := git.InitWithOptions(memory.NewStorage(), memfs.New(), init)
	if err != nil {
		return fmt.Errorf("create a repository for %s: %w", dir, err)
	}
	if err := commitAll(ctx, draft, changes); err != nil {
		return err
	}
	repo, err := git.PlainInitWithOptions(dir, &git.PlainInitOptions{InitOptions: init})
	if err != nil {
		return fmt.Errorf("create a repository in %s: %w", dir, err)
	}
	if err := copyRepository(repo, draft); err != nil {
		return fmt.Errorf("create a repository in %s: %w", dir, err)
	}
	return nil
}

// Init creates a repository without commits in a folder, on the branch main.
func Init(dir string) error {
	_, err := git.PlainInitWithOptions(dir, &git.PlainInitOptions{InitOptions: git.InitOptions{DefaultBranch: plumbing.Main}})
	if err != nil {
		return fmt.Errorf("create a repository in %s: %w", dir, err)
	}
	return nil
}

func commitAll(ctx context.Context, repo *git.Repository, changes []NewCommit) error {
	tree, err := repo.Worktree()
	if err != nil {
		return err
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
		if err := commit(tree, c); err != nil {
			return fmt.Errorf("commit %q: %w", c.Message, err)
		}
	}
	return nil
}

// enter checks a branch out, and creates it if it is missing.
func enter(repo *git.Repository, tree *git.Worktree, branch plumbing.ReferenceName) error {
	_, err := repo.Reference(branch, false)
	missing := errors.Is(err, plumbing.ErrReferenceNotFound)
	if err != nil && !missing {
		return err
	}
	return tree.Checkout(&git.CheckoutOptions{Branch: branch, Create: missing})
}

func commit(tree *git.Worktree, c NewCommit) error {
	// Files are removed before others are added, so that a folder can take the place of
	// a file of its name.
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
		if err := add(tree, name, data); err != nil {
			return err
		}
	}
	author := &object.Signature{Name: "Gavel", Email: "gavel@localhost", When: c.At}
	_, err := tree.Commit(c.Message, &git.CommitOptions{Author: author})
	return err
}

func add(tree *git.Worktree, name string, data []byte) error {
	if _, err := filepath.Localize(name); err != nil {
		return fmt.Errorf("write %s: it is not a path inside the repository", name)
	}
	if err := util.WriteFile(tree.Filesystem, name, data, 0o644); err != nil {
		return err
	}
	// SkipStatus avoids a look at all other files for each file.
	return tree.AddWithOptions(&git.AddOptions{Path: name, SkipStatus: true})
}

// copyRepository copies another repository's objects and branches into an empty one,
// and checks out the other one's current branch.
func copyRepository(to, from *git.Repository) error {
	refs, err := from.References()
	if err != nil {
		return err
	}
	if err := refs.ForEach(to.Storer.SetReference); err != nil {
		return err
	}
	head, err := from.Head()
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil // there are no commits
	}
	if err != nil {
		return err
	}
	if err := copyObjects(to.Storer, from.Storer); err != nil {
		return err
	}
	tree, err := to.Worktree()
	if err != nil {
		return err
	}
	return tree.Reset(&git.ResetOptions{Commit: head.Hash(), Mode: git.HardReset})
}

// copyObjects writes all objects of one store into one pack of another.
func copyObjects(to, from storage.Storer) error {
	objects, err := from.IterEncodedObjects(plumbing.AnyObject)
	if err != nil {
		return err
	}
	var hashes []plumbing.Hash
	err = objects.ForEach(func(o plumbing.EncodedObject) error {
		hashes = append(hashes, o.Hash())
		return nil
	})
	if err != nil {
		return err
	}
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, from, false).Encode(hashes, 0); err != nil {
		return err
	}
	return packfile.UpdateObjectStorage(to, &pack)
}
