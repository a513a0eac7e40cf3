package forgetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// GitHub's limits that the fake keeps.
const (
	maxCommentRunes     = 65536
	maxDescriptionRunes = 140
	maxContextRunes     = 255
)

// giteaBase is the base path under which the fake behaves as Gitea does.
const giteaBase = "/api/v1"

// routes serves the same paths at the root and under both base paths.
func (f *Forge) routes() http.Handler {
	mux := http.NewServeMux()
	for _, base := range []string{"", "/api/v3", giteaBase} {
		repo := base + "/repos/{owner}/{repo}"
		for pattern, handle := range map[string]http.HandlerFunc{
			"GET " + base + "/user":                             f.getUser,
			"GET " + base + "/users/{login}":                    f.getUser,
			"GET " + repo:                                       f.getRepository,
			"GET " + repo + "/pulls":                            f.listPulls,
			"POST " + repo + "/pulls":                           f.createPull,
			"GET " + repo + "/pulls/{number}":                   f.getPull,
			"GET " + repo + "/collaborators/{login}/permission": f.getPermission,
			"GET " + repo + "/activity":                         f.listActivity,
			"GET " + repo + "/compare/{basehead}":               f.compare,
			"GET " + repo + "/rules/branches/{branch...}":       f.listRules,
			"GET " + repo + "/branch_protections":               f.listProtections,
			"GET " + repo + "/issues":                           f.listIssues,
			"POST " + repo + "/issues":                          f.createIssue,
			repo + "/issues/{number}":                           f.oneIssue,
			"GET " + repo + "/issues/comments":                  f.recentComments,
			repo + "/issues/{first}/{second}":                   f.issue,
			"POST " + repo + "/issues/comments/{id}/reactions":  f.react,
			"GET " + repo + "/issues/comments/{id}/reactions":   f.listReactions,
			"GET " + repo + "/commits/{sha}/statuses":           f.listStatuses,
			"POST " + repo + "/statuses/{sha}":                  f.createStatus,
			"GET " + repo + "/commits/{sha}/check-runs":         f.listChecks,
			"GET " + repo + "/commits/{sha}/check-suites":       f.listSuites,
			"POST " + repo + "/check-runs":                      f.createCheck,
			"PATCH " + repo + "/check-runs/{id}":                f.updateCheck,
			"GET " + repo + "/installation":                     f.signed(f.getInstallation),
			"GET " + base + "/app":                              f.signed(getApp),

			"POST " + base + "/app/installations/{installation}/access_tokens": f.signed(f.createToken),
		} {
			mux.HandleFunc(pattern, f.locked(handle))
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notFound(w) })
	return f.heldAgainstGitea(mux)
}

// locked gives a handler exclusive access to the state and hides other repositories.
func (f *Forge) locked(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		name := r.PathValue("owner") + "/" + r.PathValue("repo")
		switch {
		case name == "/" || strings.EqualFold(name, f.name):
			next(w, r)
		case strings.EqualFold(name, Repository) && f.name != "":
			// The old name leads to the new one; 307 keeps the method.
			http.Redirect(w, r, strings.Replace(r.URL.RequestURI(), name, f.name, 1), http.StatusTemporaryRedirect)
		default:
			notFound(w)
		}
	}
}

func notFound(w http.ResponseWriter) { refuse(w, http.StatusNotFound, "Not Found") }

func isGitea(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, giteaBase+"/") }

func number(r *http.Request, name string) int {
	n, err := strconv.Atoi(r.PathValue(name))
	if err != nil {
		return -1
	}
	return n
}

// user describes an account. Gitea has no kinds of accounts, and an account of its own
// for deleted ones.
func (f *Forge) user(r *http.Request, login string) any {
	switch {
	case isGitea(r) && login == "-":
		return map[string]any{"login": "Ghost", "id": -1}
	case isGitea(r):
		return map[string]any{"login": login, "id": f.userID(login)}
	case login == "-":
		return nil
	}
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return map[string]any{"login": login, "id": f.userID(login), "type": kind}
}

func (f *Forge) getUser(w http.ResponseWriter, r *http.Request) {
	login := r.PathValue("login")
	if login == "" {
		login = f.caller(r)
	}
	reply(w, http.StatusOK, f.user(r, login))
}

func (f *Forge) repository(name string) any {
	if name == "-" {
		return nil
	}
	id := 1
	if !strings.EqualFold(name, Repository) && !strings.EqualFold(name, f.name) {
		id = 2
	}
	if id == 1 && !strings.EqualFold(f.name, Repository) {
		name = f.name
	}
	return map[string]any{"id": id, "full_name": name, "private": false, "fork": id == 2, "default_branch": "main"}
}

func (f *Forge) getPull(w http.ResponseWriter, r *http.Request) {
	p, ok := f.pulls[number(r, "number")]
	if !ok {
		notFound(w)
		return
	}
	reply(w, http.StatusOK, f.pullJSON(r, p))
}

func (f *Forge) pullJSON(r *http.Request, p Pull) map[string]any {
	state := "open"
	if p.Closed {
		state = "closed"
	}
	return map[string]any{
		"number": p.Number, "state": state, "draft": p.Draft, "title": p.Title, "user": f.user(r, p.Author),
		"head": map[string]any{"sha": p.HeadSHA, "ref": p.HeadRef, "repo": f.repository(p.HeadRepo)},
		"base": map[string]any{"sha": p.BaseSHA, "ref": p.BaseRef, "repo": f.repository(Repository)},
	}
}

func (f *Forge) getRepository(w http.ResponseWriter, r *http.Request) {
	out := f.repository(Repository).(map[string]any)
	out["clone_url"], out["private"] = f.CloneURL, f.Private
	out["archived"] = f.archived
	may := f.permissions[f.caller(r)]
	out["permissions"] = map[string]any{"admin": may == "admin", "push": may == "admin" || may == "write", "pull": true}
	if f.Scopes != nil && !isGitea(r) {
		w.Header().Set("X-OAuth-Scopes", strings.Join(f.Scopes, ", "))
	}
	reply(w, http.StatusOK, out)
}

// listPulls lists the open pull requests, the last changed first, with an ETag.
func (f *Forge) listPulls(w http.ResponseWriter, r *http.Request) {
	var open []Pull
	for _, p := range f.pulls {
		if !p.Closed {
			open = append(open, p)
		}
	}
	slices.SortFunc(open, func(a, b Pull) int { return cmp.Or(b.changed-a.changed, b.Number-a.Number) })
	if isGitea(r) && r.URL.Query().Get("sort") != "recentupdate" {
		slices.SortFunc(open, func(a, b Pull) int { return b.Number - a.Number })
	}
	if known(w, r, fmt.Sprintf("%q", fmt.Sprint(f.changes))) {
		return
	}
	values := []any{}
	for _, p := range open {
		values = append(values, f.pullJSON(r, p))
	}
	reply(w, http.StatusOK, page(w, r, values))
}

func (f *Forge) getPermission(w http.ResponseWriter, r *http.Request) {
	login := r.PathValue("login")
	if caller := f.caller(r); isGitea(r) && caller != login && f.permissions[caller] != "admin" {
		refuse(w, http.StatusForbidden, "Only admins may query the permissions of others")
		return
	}
	if strings.HasSuffix(login, "[bot]") {
		refuse(w, http.StatusNotFound, login+" is not a user")
		return
	}
	permission, ok := f.permissions[login]
	if !ok {
		permission = "read"
	}
	reply(w, http.StatusOK, map[string]any{"permission": permission, "role_name": permission, "user": f.user(r, login)})
}

func (f *Forge) commentJSON(r *http.Request, c Comment) map[string]any {
	out := map[string]any{
		"id": c.ID, "body": c.Body, "user": f.user(r, c.Login), "created_at": f.times[c.ID].created, "updated_at": f.times[c.ID].updated,
	}
	if isGitea(r) {
		f.giteaPlace(out, r.Host, c)
		return out
	}
	base := "http://" + r.Host + "/repos/" + Repository
	out["url"] = fmt.Sprintf("%s/issues/comments/%d", base, c.ID)
	out["issue_url"] = fmt.Sprintf("%s/issues/%d", base, c.Number)
	out["html_url"] = fmt.Sprintf("http://%s/%s/pull/%d#issuecomment-%d", r.Host, Repository, c.Number, c.ID)
	return out
}

// issue distinguishes issues/{number}/comments from issues/comments/{id}, which the mux
// takes for ambiguous.
func (f *Forge) issue(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.PathValue("first") == "comments":
		r.SetPathValue("id", r.PathValue("second"))
		f.oneComment(w, r)
	case r.PathValue("second") != "comments":
		notFound(w)
	default:
		r.SetPathValue("number", r.PathValue("first"))
		if r.Method == http.MethodPost {
			f.createComment(w, r)
			return
		}
		f.listComments(w, r)
	}
}

func (f *Forge) listComments(w http.ResponseWriter, r *http.Request) {
	n := number(r, "number")
	if !f.numbered(n) {
		notFound(w)
		return
	}
	reply(w, http.StatusOK, page(w, r, f.commentsSince(r, f.commentsOf(n))))
}

// commentsSince returns the comments selected by the query.
func (f *Forge) commentsSince(r *http.Request, comments []Comment) []any {
	from, _ := time.Parse(time.RFC3339, r.URL.Query().Get("since")) // zero without one
	values := []any{}
	for _, c := range comments {
		if !f.times[c.ID].updated.Before(from) {
			values = append(values, f.commentJSON(r, c))
		}
	}
	return values
}

// recentComments lists the comments of all pull requests, the newest first, with an
// ETag. Gitea only supports the order of creation.
func (f *Forge) recentComments(w http.ResponseWriter, r *http.Request) {
	if known(w, r, fmt.Sprintf("%q", fmt.Sprint("talk ", f.talk))) {
		return
	}
	comments := slices.Clone(f.comments)
	if !isGitea(r) {
		slices.SortStableFunc(comments, func(a, b Comment) int { return f.times[b.ID].updated.Compare(f.times[a.ID].updated) })
	}
	reply(w, http.StatusOK, page(w, r, f.commentsSince(r, comments)))
}

// react adds a reaction, once per account and content as forges do.
func (f *Forge) react(w http.ResponseWriter, r *http.Request) {
	var in struct{ Content string }
	i := slices.IndexFunc(f.comments, func(c Comment) bool { return c.ID == int64(number(r, "id")) })
	if i < 0 {
		notFound(w)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Content == "" {
		invalid(w, "Reaction", "content is missing")
		return
	}
	status := http.StatusOK
	if f.addReaction(i, f.caller(r), in.Content) {
		status = http.StatusCreated
	}
	out := map[string]any{"id": i, "content": in.Content, "user": f.user(r, f.caller(r))}
	if isGitea(r) {
		delete(out, "id")
	}
	reply(w, status, out)
}

func (f *Forge) listReactions(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(f.comments, func(c Comment) bool { return c.ID == int64(number(r, "id")) })
	if i < 0 {
		notFound(w)
		return
	}
	values := []any{}
	for _, one := range strings.Split(f.comments[i].Reactions, ", ") {
		if login, content, ok := strings.Cut(one, ": "); ok {
			values = append(values, map[string]any{"content": content, "user": f.user(r, login)})
		}
	}
	reply(w, http.StatusOK, page(w, r, values))
}

// known tags a listing and reports whether the caller has it already. Gitea tags none.
func known(w http.ResponseWriter, r *http.Request, tag string) bool {
	if isGitea(r) {
		return false
	}
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") != tag {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// listStatuses lists all statuses of a commit, the newest first. Gitea orders them by their
// seconds alone.
func (f *Forge) listStatuses(w http.ResponseWriter, r *http.Request) {
	all := slices.DeleteFunc(slices.Clone(f.statuses), func(s Status) bool { return s.SHA != r.PathValue("sha") })
	slices.SortStableFunc(all, func(a, b Status) int {
		if isGitea(r) {
			return b.Created.Compare(a.Created)
		}
		return b.id - a.id
	})
	values := []any{}
	for _, s := range all {
		values = append(values, statusJSON(r, s))
	}
	reply(w, http.StatusOK, page(w, r, values))
}

// page cuts a list as GitHub does and links to the rest; see [giteaPaged] for Gitea.
func page(w http.ResponseWriter, r *http.Request, all []any) []any {
	sizeName, most, linked := "per_page", 100, true
	if isGitea(r) {
		var cut bool
		w.Header().Set("X-Total-Count", strconv.Itoa(len(all)))
		if cut, linked = giteaPaged(r.URL.Path); !cut {
			return all
		}
		sizeName, most = "limit", giteaMaxItems
	}
	query := r.URL.Query()
	size, current := 30, 1
	if n, err := strconv.Atoi(query.Get(sizeName)); err == nil && n > 0 {
		size = min(n, most)
	}
	if n, err := strconv.Atoi(query.Get("page")); err == nil {
		current = max(n, 1)
	}
	last := max((len(all)+size-1)/size, 1)
	if linked && current < last {
		link := func(n int, rel string) string {
			query.Set("page", strconv.Itoa(n))
			return fmt.Sprintf(`<http://%s%s?%s>; rel="%s"`, r.Host, r.URL.Path, query.Encode(), rel)
		}
		w.Header().Set("Link", link(current+1, "next")+", "+link(last, "last"))
	}
	from := min((current-1)*size, len(all))
	return all[from:min(from+size, len(all))]
}

// text reads the body of a comment and refuses what GitHub refuses.
func text(w http.ResponseWriter, r *http.Request) (string, bool) {
	var in struct{ Body string }
	problem := ""
	switch err := json.NewDecoder(r.Body).Decode(&in); {
	case err != nil || strings.TrimSpace(in.Body) == "":
		problem = "body can't be blank"
	case utf8.RuneCountInString(in.Body) > maxCommentRunes:
		problem = "body is too long (maximum is 65536 characters)"
	}
	if problem != "" {
		invalid(w, "IssueComment", problem)
		return "", false
	}
	return in.Body, true
}

func invalid(w http.ResponseWriter, resource, problem string) {
	reply(w, http.StatusUnprocessableEntity, map[string]any{
		"message": "Validation Failed",
		"errors":  []any{map[string]any{"resource": resource, "code": "custom", "message": problem}},
	})
}

func (f *Forge) createComment(w http.ResponseWriter, r *http.Request) {
	n := number(r, "number")
	if !f.numbered(n) {
		notFound(w)
		return
	}
	if body, ok := text(w, r); ok {
		reply(w, http.StatusCreated, f.commentJSON(r, f.addComment(n, f.caller(r), body)))
	}
}

// oneComment reads, edits or deletes a comment. An account with write permission may
// edit and delete any comment, as on GitHub: only the client's own care protects other
// people's.
func (f *Forge) oneComment(w http.ResponseWriter, r *http.Request) {
	id := int64(number(r, "id"))
	i := slices.IndexFunc(f.comments, func(c Comment) bool { return c.ID == id })
	if i < 0 {
		notFound(w)
		return
	}
	switch r.Method {
	case http.MethodDelete:
		f.comments = slices.Delete(f.comments, i, i+1)
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodPatch:
		body, ok := text(w, r)
		if !ok {
			return
		}
		f.edit(i, body)
	}
	reply(w, http.StatusOK, f.commentJSON(r, f.comments[i]))
}

func statusJSON(r *http.Request, s Status) map[string]any {
	name := "state"
	if isGitea(r) {
		name = "status"
	}
	var target any
	if s.TargetURL != "" {
		target = s.TargetURL
	}
	return map[string]any{"id": s.id, name: s.State, "context": s.Context, "description": s.Description, "target_url": target, "created_at": s.Created}
}

func (f *Forge) createStatus(w http.ResponseWriter, r *http.Request) {
	var in struct {
		State, Context, Description string
		TargetURL                   string `json:"target_url"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	if utf8.RuneCountInString(in.Description) > maxDescriptionRunes || utf8.RuneCountInString(in.Context) > maxContextRunes {
		invalid(w, "Status", "description or context is too long")
		return
	}
	s := Status{SHA: r.PathValue("sha"), Context: in.Context, State: in.State, Description: in.Description, TargetURL: in.TargetURL}
	s = f.addStatus(s)
	reply(w, http.StatusCreated, statusJSON(r, s))
}
