package forgetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"

	"code.gitea.io/sdk/gitea"
)

// A giteaOperation is an operation of Gitea and Forgejo in use, with the types of their
// Go SDK. A test compares method, path and query with what the SDK itself sends.
type giteaOperation struct {
	method, path string
	// query has the names of parameters in the query.
	query []string
	// body is the SDK's type of the request, nil for none.
	body any
	// reply is the SDK's type of a successful answer, nil for none.
	reply any
}

// reactionOption is the body of a reaction, whose type the SDK does not export.
type reactionOption struct {
	Reaction string `json:"content"`
}

const (
	giteaRepo     = "/repos/{owner}/{repo}"
	giteaIssues   = giteaRepo + "/issues"
	giteaIssue    = giteaRepo + "/issues/{index}"
	giteaComments = giteaRepo + "/issues/{index}/comments"
	giteaComment  = giteaRepo + "/issues/comments/{id}"
)

var giteaPaging = []string{"page", "limit"}

// giteaOperations are the operations in use.
var giteaOperations = []giteaOperation{
	{method: "GET", path: "/user", reply: gitea.User{}},
	{method: "GET", path: "/users/{username}", reply: gitea.User{}},
	{method: "GET", path: giteaRepo, reply: gitea.Repository{}},
	{method: "GET", path: giteaRepo + "/pulls", query: append([]string{"state", "sort"}, giteaPaging...), reply: []gitea.PullRequest{}},
	{method: "POST", path: giteaRepo + "/pulls", body: gitea.CreatePullRequestOption{}, reply: gitea.PullRequest{}},
	{method: "GET", path: giteaRepo + "/branch_protections", query: giteaPaging, reply: []gitea.BranchProtection{}},
	{method: "GET", path: giteaRepo + "/pulls/{index}", reply: gitea.PullRequest{}},
	{method: "GET", path: giteaRepo + "/collaborators/{collaborator}/permission", reply: gitea.CollaboratorPermissionResult{}},
	{method: "GET", path: giteaRepo + "/issues/comments", query: append([]string{"since"}, giteaPaging...), reply: []gitea.Comment{}},
	{method: "GET", path: giteaComments, query: append([]string{"since"}, giteaPaging...), reply: []gitea.Comment{}},
	{method: "POST", path: giteaComments, body: gitea.CreateIssueCommentOption{}, reply: gitea.Comment{}},
	{method: "GET", path: giteaComment, reply: gitea.Comment{}},
	{method: "PATCH", path: giteaComment, body: gitea.EditIssueCommentOption{}, reply: gitea.Comment{}},
	{method: "DELETE", path: giteaComment},
	{method: "POST", path: giteaComment + "/reactions", body: reactionOption{}, reply: gitea.Reaction{}},
	{method: "GET", path: giteaComment + "/reactions", reply: []gitea.Reaction{}},
	{method: "GET", path: giteaIssues, query: append([]string{"state", "type"}, giteaPaging...), reply: []gitea.Issue{}},
	{method: "POST", path: giteaIssues, body: gitea.CreateIssueOption{}, reply: gitea.Issue{}},
	{method: "GET", path: giteaIssue, reply: gitea.Issue{}},
	{method: "PATCH", path: giteaIssue, body: gitea.EditIssueOption{}, reply: gitea.Issue{}},
	{method: "GET", path: giteaRepo + "/commits/{ref}/statuses", query: giteaPaging, reply: []gitea.Status{}},
	{method: "POST", path: giteaRepo + "/statuses/{sha}", body: gitea.CreateStatusOption{}, reply: gitea.Status{}},
}

// giteaOperationOf finds the operation of a request below Gitea's base path.
func giteaOperationOf(r Request) (giteaOperation, error) {
	path := strings.TrimPrefix(r.Path, giteaBase)
	for _, op := range giteaOperations {
		if _, ok := match(op.path, path); ok && op.method == r.Method {
			return op, nil
		}
	}
	return giteaOperation{}, errors.New("no operation in use has this method and path")
}

// conformsGitea returns the first deviation of a request from Gitea's Go SDK.
func conformsGitea(r Request) error {
	op, err := giteaOperationOf(r)
	if err != nil {
		return err
	}
	for name := range r.Query {
		if !slices.Contains(op.query, name) {
			return fmt.Errorf("unknown query parameter %s", name)
		}
	}
	if op.body == nil {
		if len(r.Body) > 0 {
			return errors.New("takes no body")
		}
		return nil
	}
	return decodesAs(op.body, r.Body)
}

// decodesAs decodes a document as an SDK's type, which has to know all of its fields.
func decodesAs(sample any, data []byte) error {
	into := reflect.New(reflect.TypeOf(sample)).Interface()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%T: %w", sample, err)
	}
	return nil
}

// giteaMaxItems is the default of Gitea's MAX_RESPONSE_ITEMS.
const giteaMaxItems = 50

// giteaPaged reports whether Gitea cuts a listing into pages, and whether it links to the
// next one. It sends the comments of one issue and the reactions to a comment at once, and
// of a repository's comments it only counts all.
func giteaPaged(path string) (cut, linked bool) {
	switch {
	case strings.HasSuffix(path, "/issues/comments"):
		return true, false
	case strings.HasSuffix(path, "/comments"), strings.HasSuffix(path, "/reactions"):
		return false, false
	}
	return true, true
}

// giteaPlace adds the page of a comment. Gitea gives the page of the issue or of the pull
// request, and leaves the other empty.
func (f *Forge) giteaPlace(out map[string]any, host string, c Comment) {
	name, kind := "pull_request_url", "pulls"
	if _, ok := f.issues[c.Number]; ok {
		name, kind = "issue_url", "issues"
	}
	out["pull_request_url"], out["issue_url"] = "", ""
	out[name] = fmt.Sprintf("http://%s/%s/%s/%d", host, Repository, kind, c.Number)
	out["html_url"] = fmt.Sprintf("%s#issuecomment-%d", out[name], c.ID)
}

// heldAgainstGitea records the answers that Gitea's SDK cannot decode completely.
func (f *Forge) heldAgainstGitea(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isGitea(r) {
			api.ServeHTTP(w, r)
			return
		}
		said := httptest.NewRecorder()
		api.ServeHTTP(said, r)
		if err := answersGitea(Request{Method: r.Method, Path: r.URL.Path}, said.Code, said.Body.Bytes()); err != nil {
			f.mu.Lock()
			f.unlike = append(f.unlike, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err))
			f.mu.Unlock()
		}
		maps.Copy(w.Header(), said.Header())
		w.WriteHeader(said.Code)
		_, _ = w.Write(said.Body.Bytes())
	})
}

// answersGitea returns how a successful answer differs from what the SDK decodes.
func answersGitea(r Request, status int, body []byte) error {
	op, err := giteaOperationOf(r)
	switch {
	case err != nil || status > 299: // a request that is in no use is told by [Conforms]
		return nil
	case op.reply != nil:
		return decodesAs(op.reply, body)
	case len(body) > 0:
		return errors.New("answers with a body")
	}
	return nil
}
