package forgetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxTitleRunes is GitHub's limit for the title of an issue.
const maxTitleRunes = 256

// An Issue is an issue that is not a pull request.
type Issue struct {
	Number int
	// Author defaults to maintainer.
	Author      string
	Title, Body string
	Closed      bool
}

// AddIssue adds an issue of the maintainer.
func (f *Forge) AddIssue(number int) { f.PutIssue(Issue{Number: number, Title: "an issue"}) }

// PutIssue adds an issue, or replaces the one with its number.
func (f *Forge) PutIssue(i Issue) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i.Author = cmp.Or(i.Author, "maintainer")
	f.issues[i.Number] = i
}

// Issues returns all issues by number.
func (f *Forge) Issues() []Issue {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(maps.Values(f.issues), func(a, b Issue) int { return cmp.Compare(a.Number, b.Number) })
}

// TurnIssuesOff has the forge refuse issues as a repository without them does.
func (f *Forge) TurnIssuesOff() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.issuesOff = true
}

// numbered reports whether a number belongs to a pull request or an issue.
func (f *Forge) numbered(n int) bool {
	_, isPull := f.pulls[n]
	_, isIssue := f.issues[n]
	return isPull || isIssue
}

// nextNumber returns a number that neither an issue nor a pull request has.
func (f *Forge) nextNumber() int {
	last := 0
	for n := range f.pulls {
		last = max(last, n)
	}
	for n := range f.issues {
		last = max(last, n)
	}
	return last + 1
}

// lackIssues refuses a request if issues are turned off.
func (f *Forge) lackIssues(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case !f.issuesOff:
		return false
	case isGitea(r):
		notFound(w)
	default:
		refuse(w, http.StatusGone, "Issues has been disabled in this repository.")
	}
	return true
}

func (f *Forge) issueJSON(r *http.Request, i Issue) map[string]any {
	state := "open"
	if i.Closed {
		state = "closed"
	}
	return map[string]any{
		"number": i.Number, "title": i.Title, "body": i.Body, "state": state, "user": f.user(r, i.Author), "pull_request": nil,
		"html_url": fmt.Sprintf("http://%s/%s/issues/%d", r.Host, Repository, i.Number),
	}
}

// listIssues lists issues, the newest first. Pull requests are among them, unless Gitea is
// asked for issues alone.
func (f *Forge) listIssues(w http.ResponseWriter, r *http.Request) {
	if f.lackIssues(w, r) {
		return
	}
	found := map[int]any{}
	for n, i := range f.issues {
		if !i.Closed || r.URL.Query().Get("state") == "all" {
			found[n] = f.issueJSON(r, i)
		}
	}
	for n, p := range f.pulls {
		if !p.Closed && r.URL.Query().Get("type") != "issues" {
			one := f.issueJSON(r, Issue{Number: n, Title: p.Title, Body: p.Body, Author: p.Author})
			one["pull_request"] = map[string]any{"merged_at": nil}
			found[n] = one
		}
	}
	values := []any{}
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(found))) {
		values = append(values, found[n])
	}
	reply(w, http.StatusOK, page(w, r, values))
}

func (f *Forge) createIssue(w http.ResponseWriter, r *http.Request) {
	var in struct{ Title, Body string }
	if f.lackIssues(w, r) {
		return
	}
	switch err := json.NewDecoder(r.Body).Decode(&in); {
	case err != nil || strings.TrimSpace(in.Title) == "":
		invalid(w, "Issue", "title is missing")
		return
	case utf8.RuneCountInString(in.Title) > maxTitleRunes, utf8.RuneCountInString(in.Body) > maxCommentRunes:
		invalid(w, "Issue", "title or body is too long")
		return
	}
	i := Issue{Number: f.nextNumber(), Author: f.caller(r), Title: in.Title, Body: in.Body}
	f.issues[i.Number] = i
	reply(w, http.StatusCreated, f.issueJSON(r, i))
}

// oneIssue reads an issue, or edits its body and state.
func (f *Forge) oneIssue(w http.ResponseWriter, r *http.Request) {
	i, ok := f.issues[number(r, "number")]
	if !ok {
		notFound(w)
		return
	}
	if r.Method == http.MethodPatch {
		var in struct{ Body, State *string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			invalid(w, "Issue", err.Error())
			return
		}
		if in.Body != nil {
			i.Body = *in.Body
		}
		if in.State != nil {
			i.Closed = *in.State == "closed"
		}
		f.issues[i.Number] = i
	}
	status := http.StatusOK
	if r.Method == http.MethodPatch && isGitea(r) {
		status = http.StatusCreated
	}
	reply(w, status, f.issueJSON(r, i))
}
