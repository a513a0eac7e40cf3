package gitrepo

import "context"

// FirstCommit returns the first commit of the history of HEAD, along first parents. It
// is equal in all clones of a repository, and empty if the history is not there.
func (r *Repository) FirstCommit(ctx context.Context) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	head, err := r.git.Head()
	if err != nil {
		return ""
	}
	for at := head.Hash(); ctx.Err() == nil; {
		commit, err := r.git.CommitObject(at)
		if err != nil {
			return ""
		}
		if len(commit.ParentHashes) == 0 {
			return at.String()
		}
		at = commit.ParentHashes[0]
	}
	return ""
}
