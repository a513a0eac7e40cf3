package comment_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A side is everything that speaks to a forge.
type side struct {
	t      *testing.T
	forge  *forgetest.Forge
	client *forge.Client // a user's
	app    *forge.Client
}

var demo = forge.Repo{Owner: "octo", Name: "demo"}

func newSide(t *testing.T) *side {
	t.Helper()
	s := &side{t: t, forge: newForge(t)}
	key := s.forge.AddApp(t, forgetest.App{ID: 5, Slug: "gavel-judge", Installation: 77})
	fake := new(forgetest.Clock)
	cfg := forge.Config{BaseURL: s.forge.URL, Token: forgetest.TokenUser, Clock: fake}
	var err error
	if s.client, err = forge.New(cfg); err != nil {
		t.Fatal(err)
	}
	cfg.App = &forge.AppConfig{ID: 5, Key: func() (forge.Token, error) { return forge.Token(key), nil }}
	if s.app, err = forge.New(cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *side) publisher(c *forge.Client, login string) *comment.Publisher {
	return comment.NewPublisher(comment.PublisherConfig{REST: c.REST(), Explain: forge.Explain, Owner: "octo", Name: "demo", Number: 7, Login: login})
}

func (s *side) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// speak does everything that has the forge asked for something.
func (s *side) speak() {
	ctx := s.t.Context()
	_, err := s.client.Pull(ctx, demo, 7)
	s.must(err)
	_, _, err = s.client.OpenPulls(ctx, demo, "")
	s.must(err)
	s.forge.Tip = func(string) string { return sha }
	_, _, err = forge.OpenProposal(ctx, s.client, demo, forge.Proposal{Branch: "gavel/edit", Base: "main", Title: "Edit a case", Body: "From the settings."})
	s.must(err)
	_, err = s.client.Repository(ctx, demo)
	s.must(err)
	_, err = s.client.Permission(ctx, demo, "maintainer")
	s.must(err)
	_, err = s.client.Pusher(ctx, demo, "prompts", sha)
	if !errors.Is(err, forge.ErrNoPusher) {
		s.must(err)
	}
	s.forge.Compares(sha, sha, sha)
	_, err = s.client.MergeBase(ctx, demo, sha, sha)
	if !errors.Is(err, forge.ErrNoMergeBase) {
		s.must(err)
	}
	_, err = s.client.Login(ctx)
	s.must(err)
	_, err = s.client.Comments(ctx, demo, 7, time.Unix(1, 0))
	s.must(err)
	_, _, err = s.client.RecentComments(ctx, demo, time.Unix(1, 0), "")
	s.must(err)
	_, err = s.client.FirstStatus(ctx, demo, sha, func(string, string) bool { return true })
	s.must(err)
	_, err = s.app.Login(ctx)
	s.must(err)
	_, err = s.app.Rights(ctx, demo)
	s.must(err)

	// A twin of our own is removed, and the one that stays is edited.
	for range 2 {
		s.forge.AddComment(7, "gavel-judge[bot]", body("old"))
	}
	app := s.publisher(s.app, "gavel-judge[bot]")
	_, err = app.UpsertComment(ctx, text("new"))
	s.must(err)
	_, err = app.UpsertComment(ctx, text("newer"))
	s.must(err)
	user := s.publisher(s.client, "")
	written, err := user.UpsertComment(ctx, text("another account's"))
	s.must(err)
	s.must(user.React(ctx, written.ID, comment.ReactionDone))
	_, err = s.client.Reactions(ctx, demo, written.ID, "maintainer")
	s.must(err)
	opened, err := user.DriftIssue(ctx, 0, true)
	s.must(err)
	_, err = user.DriftIssue(ctx, opened, true)
	s.must(err)
	s.forge.PutIssue(twinOf(s.forge, opened))
	_, err = user.DriftIssue(ctx, 0, true)
	s.must(err)
	s.must(user.SetStatuses(ctx, sha, comment.Status{Context: comment.ContextVerdict, State: comment.StateSuccess, Description: "good", TargetURL: "https://example.org"}))
	check := manyAnnotations(51)
	check.DetailsURL = "https://example.org"
	s.must(app.SetCheck(ctx, sha, check))
	_, err = s.app.Rerequests(ctx, demo, sha, comment.CheckName)
	s.must(err)
	s.forge.Rerequest(sha)
	_, err = s.app.Rerequests(ctx, demo, sha, comment.CheckName)
	s.must(err)
	s.must(s.app.NewBranch(ctx, demo, "gavel/x"))
}

// shape is a request without its values: its method and path, with the names in its
// query and its body.
func shape(r forgetest.Request) string {
	out := forgetest.Operation(r)
	if len(r.Query) > 0 {
		out += "?" + strings.Join(slices.Sorted(maps.Keys(r.Query)), "&")
	}
	var fields map[string]any
	if json.Unmarshal(r.Body, &fields) == nil {
		out += " " + strings.Join(slices.Sorted(maps.Keys(fields)), " ")
	}
	return out
}

// TestEveryRequest holds all that is asked of a forge against GitHub's published
// REST description, which has each operation that is in use and no other. An
// operation that is new is added there, and here.
func TestEveryRequest(t *testing.T) {
	s := newSide(t)
	s.speak()
	want := []string{
		"apps/create-installation-access-token",
		"apps/get-authenticated",
		"apps/get-repo-installation",
		"checks/create conclusion details_url external_id head_sha name output status",
		"checks/list-for-ref?check_name&filter&page&per_page",
		"checks/list-for-ref?check_name&filter&per_page",
		"checks/list-suites-for-ref?app_id&page&per_page",
		"checks/update conclusion name output status",
		"issues/create body title",
		"issues/create-comment body",
		"issues/delete-comment",
		"issues/get",
		"issues/get-comment",
		"issues/list-comments-for-repo?direction&page&per_page&since&sort",
		"issues/list-comments?page&per_page&since",
		"issues/list-comments?per_page",
		"issues/list-for-repo?page&per_page&state",
		"issues/update state",
		"issues/update-comment body",
		"pulls/create base body head title",
		"pulls/get",
		"pulls/list?direction&page&per_page&sort&state",
		"reactions/create-for-issue-comment content",
		"reactions/list-for-issue-comment?page&per_page",
		"repos/compare-commits-with-basehead?page&per_page",
		"repos/create-commit-status context description state target_url",
		"repos/get",
		"repos/get-branch-rules?per_page",
		"repos/get-collaborator-permission-level",
		"repos/list-activities?per_page&ref",
		"repos/list-commit-statuses-for-ref?page&per_page",
		"users/get-authenticated",
		"users/get-by-username",
	}
	shapes, operations := map[string]bool{}, map[string]bool{}
	for _, r := range s.forge.Requests() {
		if err := forgetest.Conforms(r); err != nil {
			t.Errorf("%s does not conform: %v", r, err)
		}
		shapes[shape(r)], operations[forgetest.Operation(r)] = true, true
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(shapes))); diff != "" {
		t.Errorf("requests -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(forgetest.Operations())), slices.Sorted(maps.Keys(operations))); diff != "" {
		t.Errorf("operations of the description -want +asked for:\n%s", diff)
	}
}
