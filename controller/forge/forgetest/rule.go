package forgetest

import "net/http"

// listRules lists GitHub's rules for a branch, which does not have to exist.
func (f *Forge) listRules(w http.ResponseWriter, r *http.Request) {
	if isGitea(r) {
		notFound(w)
		return
	}
	reply(w, http.StatusOK, listed(f.Rules))
}

// listProtections lists Gitea's protected branches to administrators.
func (f *Forge) listProtections(w http.ResponseWriter, r *http.Request) {
	switch {
	case !isGitea(r):
		notFound(w)
	case f.permissions[f.caller(r)] != "admin":
		refuse(w, http.StatusForbidden, "user should be an owner or a collaborator with admin write of a repository")
	default:
		reply(w, http.StatusOK, listed(f.Protections))
	}
}

// listed is a list that is never null.
func listed(rules []map[string]any) []map[string]any { return append([]map[string]any{}, rules...) }
