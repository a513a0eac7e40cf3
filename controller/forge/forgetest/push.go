package forgetest

import (
	"net/http"
	"slices"
)

// A push moved a branch of the repository to a commit.
type push struct{ ref, sha, login string }

// Push records that an account pushed a commit to a branch; "-" is a deleted account.
func (f *Forge) Push(branch, sha, login string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pushes = append(f.pushes, push{"refs/heads/" + branch, sha, login})
}

// listActivity lists pushes with their accounts, the newest first. Gitea has no such
// path.
func (f *Forge) listActivity(w http.ResponseWriter, r *http.Request) {
	if isGitea(r) {
		notFound(w)
		return
	}
	all := []any{}
	for _, p := range slices.Backward(f.pushes) {
		if p.ref == r.URL.Query().Get("ref") {
			all = append(all, map[string]any{"ref": p.ref, "after": p.sha, "activity_type": "push", "actor": f.user(r, p.login)})
		}
	}
	reply(w, http.StatusOK, all)
}

// Compares sets the merge base of two commits, which the forge then reports.
func (f *Forge) Compares(base, head, mergeBase string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mergeBases[base+"..."+head] = mergeBase
}

// compare reports the merge base of two commits. Gitea does not.
func (f *Forge) compare(w http.ResponseWriter, r *http.Request) {
	mergeBase := f.mergeBases[r.PathValue("basehead")]
	switch {
	case isGitea(r):
		reply(w, http.StatusOK, map[string]any{"total_commits": 0, "commits": []any{}})
	case mergeBase == "":
		notFound(w)
	default:
		reply(w, http.StatusOK, map[string]any{"merge_base_commit": map[string]any{"sha": mergeBase}, "status": "diverged", "commits": []any{}})
	}
}
