package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// A Version is the state of a file since one commit.
type Version struct {
	// Commit is 40 hex digits, and At its time. It may have deleted the file.
	Commit string
	At     time.Time
}

// Versions lists the commits that changed a file, the latest first, along the first
// parents of a commit: changes of a branch count from its merge. If the history was
// fetched in part, the list ends with the available part, and all is false.
func (r *Repository) Versions(ctx context.Context, commit, file string) (versions []Version, all bool, err error) {
	now, err := r.state(commit, file)
	if err != nil {
		return nil, false, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		was := state{}
		if now.parent != "" {
			was, err = r.state(now.parent, file)
			if errors.Is(err, plumbing.ErrObjectNotFound) {
				return versions, false, nil
			}
			if err != nil {
				return nil, false, err
			}
		}
		if was.hash != now.hash {
			versions = append(versions, Version{Commit: now.commit, At: now.at})
		}
		if now.parent == "" {
			return versions, true, nil
		}
		now = was
	}
}

// A state is a commit with the file's hash.
type state struct {
	commit, parent string // parent is empty for the first commit
	at             time.Time
	hash           string // the file's; empty without the file
}

func (r *Repository) state(commit, file string) (state, error) {
	s, err := r.commitState(commit)
	if err != nil {
		return state{}, fmt.Errorf("read the history of %s: %w", file, err)
	}
	tree, err := r.FS(commit)
	if err != nil {
		return state{}, err
	}
	s.hash, err = tree.Hash(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return state{}, fmt.Errorf("read the history of %s: %w", file, err)
	}
	return s, nil
}

// mostSubject bounds the subject of a commit, in bytes.
const mostSubject = 200

// Subject returns the first line of the message of a commit, or of the current one for an
// empty name. It is empty for a commit that cannot be read.
func (r *Repository) Subject(commit string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	hash := plumbing.NewHash(commit)
	if commit == "" {
		head, err := r.git.Head()
		if err != nil {
			return "" // before the first commit
		}
		hash = head.Hash()
	}
	c, err := object.GetCommit(r.store, hash)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
	if len(line) > mostSubject {
		line = line[:mostSubject] + "…"
	}
	return strings.ToValidUTF8(strings.TrimSpace(line), "")
}

// commitState returns a commit's time and parents.
func (r *Repository) commitState(commit string) (state, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := object.GetCommit(r.store, plumbing.NewHash(commit))
	if err != nil {
		return state{}, fmt.Errorf("commit %s: %w", commit, err)
	}
	s := state{commit: commit, at: c.Committer.When}
	if len(c.ParentHashes) > 0 {
		s.parent = c.ParentHashes[0].String()
	}
	return s, nil
}
