package forgetest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"code.gitea.io/sdk/gitea"
	"github.com/google/go-cmp/cmp"
)

// giteaSide is a fake Gitea, and the official client that speaks to it.
type giteaSide struct {
	*Forge
	*gitea.Client
	t *testing.T
}

func newGiteaSide(t *testing.T) giteaSide {
	f := New(t)
	f.Tip = func(string) string { return strings.Repeat("c", 40) }
	f.AddPull(Pull{Number: 1, HeadSHA: strings.Repeat("a", 40), HeadRef: "topic", BaseSHA: strings.Repeat("b", 40)})
	client, err := gitea.NewClient(f.URL, gitea.SetToken(TokenUser), gitea.SetGiteaVersion("1.24.0"))
	if err != nil {
		t.Fatal(err)
	}
	return giteaSide{f, client, t}
}

// got returns the result of a call, which has to succeed.
func got[T any](t *testing.T, value T, resp *gitea.Response, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if resp == nil || resp.StatusCode > 299 {
		t.Fatalf("the answer is %v", resp)
	}
	return value
}

// TestGiteaSDK has the official client work with the fake, and understand what it answers.
func TestGiteaSDK(t *testing.T) {
	s := newGiteaSide(t)
	const owner, repo = "octo", "demo"
	sha := strings.Repeat("a", 40)

	me, resp, err := s.GetMyUserInfo()
	if me = got(t, me, resp, err); me.UserName != "maintainer" || me.ID != s.UserID("maintainer") {
		t.Errorf("we are %+v", me)
	}
	mona, resp, err := s.GetUserInfo("mona")
	if mona = got(t, mona, resp, err); mona.ID != s.UserID("mona") {
		t.Errorf("mona is %+v", mona)
	}
	r, resp, err := s.GetRepo(owner, repo)
	if r = got(t, r, resp, err); r.FullName != Repository || r.DefaultBranch != "main" || !r.Permissions.Admin {
		t.Errorf("the repository is %+v", r)
	}
	s.SetPermission("mona", "write")
	may, resp, err := s.CollaboratorPermission(owner, repo, "mona")
	if may = got(t, may, resp, err); may.Permission != gitea.AccessModeWrite || may.User.UserName != "mona" {
		t.Errorf("mona may %+v", may)
	}

	opened, resp, err := s.CreatePullRequest(owner, repo, gitea.CreatePullRequestOption{Head: "more", Base: "main", Title: "t", Body: "b"})
	if opened = got(t, opened, resp, err); opened.Index != 2 || opened.State != gitea.StateOpen || !strings.HasSuffix(opened.HTMLURL, "/pulls/2") {
		t.Errorf("opened %+v", opened)
	}
	if _, resp, err := s.CreatePullRequest(owner, repo, gitea.CreatePullRequestOption{Head: "more", Base: "main", Title: "t"}); err == nil || resp.StatusCode != http.StatusConflict {
		t.Errorf("opened twice: %v", err)
	}
	pull, resp, err := s.GetPullRequest(owner, repo, 1)
	if pull = got(t, pull, resp, err); pull.Head.Sha != sha || pull.Base.Ref != "main" || pull.Poster.UserName != "maintainer" || pull.Base.Repository.FullName != Repository {
		t.Errorf("the pull request is %+v", pull)
	}
	pulls, resp, err := s.ListRepoPullRequests(owner, repo, gitea.ListPullRequestsOptions{State: gitea.StateOpen, Sort: "recentupdate"})
	if pulls = got(t, pulls, resp, err); len(pulls) != 2 || pulls[0].Index != 2 {
		t.Errorf("%d pull requests", len(pulls))
	}

	s.Protections = []map[string]any{{"rule_name": "gavel/*", "enable_push": true}}
	protected, resp, err := s.ListBranchProtections(owner, repo, gitea.ListBranchProtectionsOptions{})
	if protected = got(t, protected, resp, err); len(protected) != 1 || protected[0].RuleName != "gavel/*" || !protected[0].EnablePush {
		t.Errorf("the protected branches are %+v", protected)
	}

	s.comments(owner, repo)
	s.issues(owner, repo)

	want := gitea.CreateStatusOption{State: gitea.StatusSuccess, TargetURL: "https://example.org", Description: "good", Context: "gavel/verdict"}
	status, resp, err := s.CreateStatus(owner, repo, sha, want)
	status = got(t, status, resp, err)
	if diff := cmp.Diff(want, gitea.CreateStatusOption{State: status.State, TargetURL: status.TargetURL, Description: status.Description, Context: status.Context}); diff != "" {
		t.Errorf("status -want +got:\n%s", diff)
	}
	statuses, resp, err := s.ListStatuses(owner, repo, sha, gitea.ListStatusesOption{})
	if statuses = got(t, statuses, resp, err); len(statuses) != 1 || statuses[0].State != gitea.StatusSuccess {
		t.Errorf("%d statuses", len(statuses))
	}
	s.spoken()
}

// comments writes, reads, edits and deletes comments.
func (s giteaSide) comments(owner, repo string) {
	t := s.t
	written, resp, err := s.CreateIssueComment(owner, repo, 1, gitea.CreateIssueCommentOption{Body: "one"})
	if written = got(t, written, resp, err); written.Poster.UserName != "maintainer" || !strings.HasSuffix(written.PRURL, "/pulls/1") || written.IssueURL != "" {
		t.Errorf("wrote %+v", written)
	}
	edited, resp, err := s.EditIssueComment(owner, repo, written.ID, gitea.EditIssueCommentOption{Body: "two"})
	if edited = got(t, edited, resp, err); edited.Body != "two" || !edited.Updated.After(edited.Created) {
		t.Errorf("edited %+v", edited)
	}
	same, resp, err := s.GetIssueComment(owner, repo, written.ID)
	if same = got(t, same, resp, err); same.Body != "two" {
		t.Errorf("read %+v", same)
	}
	since := gitea.ListIssueCommentOptions{Since: time.Unix(1, 0)}
	of, resp, err := s.ListIssueComments(owner, repo, 1, since)
	if of = got(t, of, resp, err); len(of) != 1 || of[0].ID != written.ID {
		t.Errorf("%d comments of the pull request", len(of))
	}
	all, resp, err := s.ListRepoIssueComments(owner, repo, since)
	if all = got(t, all, resp, err); len(all) != 1 {
		t.Errorf("%d comments of the repository", len(all))
	}
	sign, resp, err := s.PostIssueCommentReaction(owner, repo, written.ID, "+1")
	if sign = got(t, sign, resp, err); sign.Reaction != "+1" || sign.User.UserName != "maintainer" {
		t.Errorf("reacted with %+v", sign)
	}
	signs, resp, err := s.GetIssueCommentReactions(owner, repo, written.ID)
	if signs = got(t, signs, resp, err); len(signs) != 1 {
		t.Errorf("%d reactions", len(signs))
	}
	if resp, err = s.DeleteIssueComment(owner, repo, written.ID); err != nil || resp.StatusCode != http.StatusNoContent {
		t.Errorf("delete: %v", err)
	}
}

// issues opens, reads, lists and closes an issue.
func (s giteaSide) issues(owner, repo string) {
	t := s.t
	opened, resp, err := s.CreateIssue(owner, repo, gitea.CreateIssueOption{Title: "t", Body: "b"})
	if opened = got(t, opened, resp, err); opened.State != gitea.StateOpen || opened.Poster.UserName != "maintainer" || opened.PullRequest != nil {
		t.Errorf("opened %+v", opened)
	}
	for _, row := range []struct {
		kind gitea.IssueType
		want int
	}{{gitea.IssueTypeIssue, 1}, {gitea.IssueTypeAll, 3}} {
		all, resp, err := s.ListRepoIssues(owner, repo, gitea.ListIssueOption{State: gitea.StateOpen, Type: row.kind})
		if all = got(t, all, resp, err); len(all) != row.want || all[0].Index != opened.Index {
			t.Errorf("%d issues of type %q, want %d", len(all), row.kind, row.want)
		}
	}
	closed := gitea.StateClosed
	edited, resp, err := s.EditIssue(owner, repo, opened.Index, gitea.EditIssueOption{State: &closed})
	if edited = got(t, edited, resp, err); edited.State != gitea.StateClosed {
		t.Errorf("closed %+v", edited)
	}
	same, resp, err := s.GetIssue(owner, repo, opened.Index)
	if same = got(t, same, resp, err); same.Title != "t" || same.Body != "b" || same.State != gitea.StateClosed {
		t.Errorf("read %+v", same)
	}
}

// spoken compares the operations with what the official client sent: each was asked for,
// with the same parameters.
func (s giteaSide) spoken() {
	asked := map[string][]string{}
	for _, r := range s.Requests() {
		op, err := giteaOperationOf(r)
		if err != nil {
			s.t.Errorf("%s is not among the operations", r)
			continue
		}
		for name := range r.Query {
			asked[op.method+" "+op.path] = append(asked[op.method+" "+op.path], name)
		}
		asked[op.method+" "+op.path] = append(asked[op.method+" "+op.path], "")
	}
	for _, op := range giteaOperations {
		names, spoken := asked[op.method+" "+op.path]
		slices.Sort(names)
		want := append([]string{""}, slices.Sorted(slices.Values(op.query))...)
		if diff := cmp.Diff(want, slices.Compact(names)); !spoken || diff != "" {
			s.t.Errorf("%s %s: -listed +sent by the SDK:\n%s", op.method, op.path, diff)
		}
	}
}

// TestGiteaPages cuts listings as Gitea does: by limit, of which it allows fifty, with links
// or with the number of all.
func TestGiteaPages(t *testing.T) {
	s := newGiteaSide(t)
	for i := range 70 {
		s.AddComment(1, "mona", fmt.Sprint("remark ", i))
		s.AddStatus(Status{SHA: "abc", Context: fmt.Sprint(i), State: "success"})
	}
	statuses, resp, err := s.ListStatuses("octo", "demo", "abc", gitea.ListStatusesOption{ListOptions: gitea.ListOptions{PageSize: 100}})
	if statuses = got(t, statuses, resp, err); len(statuses) != 50 || resp.NextPage != 2 || resp.Header.Get("ETag") != "" {
		t.Errorf("%d statuses, and the next page is %d", len(statuses), resp.NextPage)
	}
	recent, resp, err := s.ListRepoIssueComments("octo", "demo", gitea.ListIssueCommentOptions{})
	if recent = got(t, recent, resp, err); len(recent) != 30 || recent[0].Body != "remark 0" || resp.NextPage != 0 || resp.Header.Get("X-Total-Count") != "70" {
		t.Errorf("%d recent comments of %q, and the next page is %d", len(recent), resp.Header.Get("X-Total-Count"), resp.NextPage)
	}
	of, resp, err := s.ListIssueComments("octo", "demo", 1, gitea.ListIssueCommentOptions{})
	if of = got(t, of, resp, err); len(of) != 70 {
		t.Errorf("%d comments, want all", len(of))
	}
}

// TestUnlikeGitea finds what the SDK does not know, in requests and in answers.
func TestUnlikeGitea(t *testing.T) {
	const comments = "/api/v1/repos/o/d/issues/7/comments"
	for _, tt := range []struct{ name, method, path, query, body, want string }{
		{"a comment", "POST", comments, "", `{"body": "x"}`, ""},
		{"a page", "GET", comments, "page=2&limit=50", "", ""},
		{"GitHub's pages", "GET", comments, "per_page=100", "", "unknown query parameter per_page"},
		{"an unknown field", "POST", comments, "", `{"body": "x", "draft": true}`, `unknown field "draft"`},
		{"a wrong type", "POST", comments, "", `{"body": 1}`, "cannot unmarshal"},
		{"a body where none is", "GET", comments, "", `{}`, "takes no body"},
		{"GitHub's checks", "POST", "/api/v1/repos/o/d/check-runs", "", `{}`, "no operation"},
	} {
		query, err := url.ParseQuery(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		err = Conforms(Request{Method: tt.method, Path: tt.path, Query: query, Body: []byte(tt.body)})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	for _, tt := range []struct{ body, want string }{
		{`{"id": 1, "body": "x", "user": {"login": "mona"}}`, ""},
		{`{"id": 1, "user": {"login": "mona", "type": "User"}}`, `unknown field "type"`},
		{`{"id": "1"}`, "cannot unmarshal"},
	} {
		err := answersGitea(Request{Method: "POST", Path: comments}, http.StatusCreated, []byte(tt.body))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.body, err, tt.want)
		}
	}
}
