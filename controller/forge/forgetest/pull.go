package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// createPull opens a pull request, and refuses what GitHub refuses; Gitea answers 409
// where one exists.
func (f *Forge) createPull(w http.ResponseWriter, r *http.Request) {
	var in struct{ Title, Head, Base, Body string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Title == "" {
		invalid(w, "PullRequest", "title can't be blank")
		return
	}
	head, base := "", ""
	if f.Tip != nil {
		head, base = f.Tip(in.Head), f.Tip(in.Base)
	}
	if head == "" || base == "" {
		invalid(w, "PullRequest", "head or base is not a branch")
		return
	}
	for _, p := range f.pulls {
		if p.HeadRef == in.Head && !p.Closed {
			if isGitea(r) {
				refuse(w, http.StatusConflict, "pull request already exists for these targets")
				return
			}
			invalid(w, "PullRequest", "A pull request already exists for "+in.Head)
			return
		}
	}
	number := f.nextNumber()
	f.addPull(Pull{Number: number, HeadSHA: head, HeadRef: in.Head, BaseSHA: base, BaseRef: in.Base, Author: f.caller(r), Title: in.Title, Body: in.Body})
	out := f.pullJSON(r, f.pulls[number])
	page := "https://github.example/%s/pull/%d"
	if isGitea(r) {
		page = "https://gitea.example/%s/pulls/%d"
	}
	out["html_url"] = fmt.Sprintf(page, Repository, number)
	reply(w, http.StatusCreated, out)
}

// Pull returns the pull request with a number, or zero.
func (f *Forge) Pull(number int) Pull {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pulls[number]
}
