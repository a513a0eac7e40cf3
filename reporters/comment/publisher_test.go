package comment_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/reporters/comment"
)

const (
	sha    = "9f31c2e000000000000000000000000000000001"
	bot    = "github-actions[bot]"
	marker = "<!-- gavel:report instance=default -->\n"
)

func newForge(t *testing.T) *forgetest.Forge {
	f := forgetest.New(t)
	f.AddPull(forgetest.Pull{Number: 7, HeadSHA: sha, HeadRef: "prompts", BaseSHA: sha})
	f.AddPull(forgetest.Pull{Number: 8, HeadSHA: sha, HeadRef: "other", BaseSHA: sha})
	return f
}

// publisher speaks to f as the owner of token; change may be nil.
func publisher(t *testing.T, base string, token forge.Token, change func(*comment.PublisherConfig)) *comment.Publisher {
	t.Helper()
	fake := new(forgetest.Clock)
	c, err := forge.New(forge.Config{
		BaseURL: base, Token: token, Clock: clock.Funcs{NowFunc: fake.Now, SleepFunc: fake.Sleep, RandomFunc: func() float64 { return 0 }},
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := comment.PublisherConfig{REST: c.REST(), Explain: forge.Explain, Owner: "octo", Name: "demo", Number: 7}
	if change != nil {
		change(&cfg)
	}
	return comment.NewPublisher(cfg)
}

func asBot(cfg *comment.PublisherConfig) { cfg.Login = bot }

// text is the same at every size.
func text(body string) comment.Renderer { return func(int) string { return marker + body } }

// body is the result of text.
func body(s string) string { return marker + s }

// states are the comments without their ids.
func states(f *forgetest.Forge) []forgetest.Comment {
	comments := f.Comments(7)
	for i := range comments {
		comments[i].ID = 0
	}
	return comments
}

func standing(login, body string, edits int) forgetest.Comment {
	return forgetest.Comment{Number: 7, Login: login, Body: body, Edits: edits}
}

func methods(f *forgetest.Forge) []string {
	var all []string
	for _, r := range f.Writes() {
		all = append(all, r.Method)
	}
	return all
}

// chatter fills pages with what others say.
func chatter(f *forgetest.Forge, n int) {
	for i := range n {
		f.AddComment(7, "somebody", fmt.Sprint("remark ", i))
	}
}

func TestUpsertComment(t *testing.T) {
	const user = "maintainer"
	tests := []struct {
		name string
		// before fills the forge and returns the stored id.
		before func(*forgetest.Forge) int64
		token  forge.Token
		config func(*comment.PublisherConfig)
		change comment.Outcome
		writes []string
		// want are the comments with our marker afterwards.
		want []forgetest.Comment
	}{
		{
			name: "first", change: comment.Created, writes: []string{"POST"},
			want: []forgetest.Comment{standing(user, body("new"), 0)},
		},
		{
			name: "on page 3",
			before: func(f *forgetest.Forge) int64 {
				chatter(f, 230)
				f.AddComment(7, user, body("old"))
				chatter(f, 3)
				return 0
			},
			change: comment.Edited, writes: []string{"PATCH"},
			want: []forgetest.Comment{standing(user, body("new"), 1)},
		},
		{
			name:   "unchanged",
			before: func(f *forgetest.Forge) int64 { f.AddComment(7, user, body("new")); return 0 },
			change: comment.Unchanged,
			want:   []forgetest.Comment{standing(user, body("new"), 0)},
		},
		{
			name: "unchanged but for what the forge does to line ends",
			before: func(f *forgetest.Forge) int64 {
				f.AddComment(7, user, strings.ReplaceAll(body("new"), "\n", "\r\n")+"\r\n")
				return 0
			},
			change: comment.Unchanged,
			want:   []forgetest.Comment{standing(user, strings.ReplaceAll(body("new"), "\n", "\r\n")+"\r\n", 0)},
		},
		{
			name:   "by its stored id",
			before: func(f *forgetest.Forge) int64 { return f.AddComment(7, user, body("old")) },
			change: comment.Edited, writes: []string{"PATCH"},
			want: []forgetest.Comment{standing(user, body("new"), 1)},
		},
		{
			name: "deleted by somebody",
			before: func(f *forgetest.Forge) int64 {
				id := f.AddComment(7, user, body("old"))
				f.DeleteComment(id)
				return id
			},
			change: comment.Created, writes: []string{"POST"},
			want: []forgetest.Comment{standing(user, body("new"), 0)},
		},
		{
			name:   "stored id of a stranger",
			before: func(f *forgetest.Forge) int64 { return f.AddComment(7, "mallory", body("old")) },
			change: comment.Created, writes: []string{"POST"},
			want: []forgetest.Comment{standing("mallory", body("old"), 0), standing(user, body("new"), 0)},
		},
		{
			name:   "stored id on another pull request",
			before: func(f *forgetest.Forge) int64 { return f.AddComment(8, user, body("old")) },
			change: comment.Created, writes: []string{"POST"},
			want: []forgetest.Comment{standing(user, body("new"), 0)},
		},
		{
			name:   "foreign comment with our marker",
			before: func(f *forgetest.Forge) int64 { f.AddComment(7, "mallory", body("old")); return 0 },
			change: comment.Created, writes: []string{"POST"},
			want: []forgetest.Comment{standing("mallory", body("old"), 0), standing(user, body("new"), 0)},
		},
		{
			name: "marker elsewhere than on the first line, and another instance's",
			before: func(f *forgetest.Forge) int64 {
				f.AddComment(7, user, "> quoted\n"+body("old"))
				f.AddComment(7, user, "<!-- gavel:report instance=nightly -->\nold")
				return 0
			},
			change: comment.Created, writes: []string{"POST"},
			want: []forgetest.Comment{
				standing(user, "> quoted\n"+body("old"), 0), standing(user, "<!-- gavel:report instance=nightly -->\nold", 0),
				standing(user, body("new"), 0),
			},
		},
		{
			name: "younger twins of our own",
			before: func(f *forgetest.Forge) int64 {
				f.AddComment(7, user, body("oldest"))
				f.AddComment(7, user, body("twin"))
				f.AddComment(7, "mallory", body("foreign"))
				f.AddComment(7, user, body("twin"))
				return 0
			},
			change: comment.Edited, writes: []string{"DELETE", "DELETE", "PATCH"},
			want: []forgetest.Comment{standing(user, body("new"), 1), standing("mallory", body("foreign"), 0)},
		},
		{
			name: "a job that knows its name", token: forgetest.TokenActions, config: asBot,
			before: func(f *forgetest.Forge) int64 { f.AddComment(7, bot, body("old")); return 0 },
			change: comment.Edited, writes: []string{"PATCH"},
			want: []forgetest.Comment{standing(bot, body("new"), 1)},
		},
		{
			name: "a job that learns its name", token: forgetest.TokenActions,
			before: func(f *forgetest.Forge) int64 { f.AddComment(7, bot, body("old")); return 0 },
			change: comment.Edited, writes: []string{"POST", "DELETE", "PATCH"},
			want: []forgetest.Comment{standing(bot, body("new"), 1)},
		},
		{
			name: "a job that was told a wrong name", token: forgetest.TokenActions,
			config: func(cfg *comment.PublisherConfig) { cfg.Login = "another[bot]" },
			before: func(f *forgetest.Forge) int64 { f.AddComment(7, bot, body("old")); return 0 },
			change: comment.Edited, writes: []string{"POST", "DELETE", "PATCH"},
			want: []forgetest.Comment{standing(bot, body("new"), 1)},
		},
		{
			name: "a job with a stored id", token: forgetest.TokenActions,
			before: func(f *forgetest.Forge) int64 { return f.AddComment(7, bot, body("old")) },
			change: comment.Edited, writes: []string{"PATCH"},
			want: []forgetest.Comment{standing(bot, body("new"), 1)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newForge(t)
			stored := int64(0)
			if tt.before != nil {
				stored = tt.before(f)
			}
			if tt.token == "" {
				tt.token = forgetest.TokenUser
			}
			p := publisher(t, f.URL, tt.token, func(cfg *comment.PublisherConfig) {
				cfg.CommentID = stored
				if tt.config != nil {
					tt.config(cfg)
				}
			})
			got, err := p.UpsertComment(t.Context(), text("new"))
			if err != nil {
				t.Fatal(err)
			}
			if got.Outcome != tt.change || got.ID == 0 || !strings.Contains(got.URL, "#issuecomment-") {
				t.Errorf("got %+v, want it %s", got, tt.change)
			}
			if diff := cmp.Diff(tt.writes, methods(f)); diff != "" {
				t.Errorf("writes, -want +got:\n%s", diff)
			}
			ours := []forgetest.Comment{}
			for _, c := range states(f) {
				if !strings.HasPrefix(c.Body, "remark ") {
					ours = append(ours, c)
				}
			}
			if diff := cmp.Diff(tt.want, ours); diff != "" {
				t.Errorf("comments, -want +got:\n%s", diff)
			}
		})
	}
}

func TestUpsertTwice(t *testing.T) {
	f := newForge(t)
	p := publisher(t, f.URL, forgetest.TokenActions, nil)
	for _, s := range []string{"one", "two", "two"} {
		if _, err := p.UpsertComment(t.Context(), text(s)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]forgetest.Comment{standing(bot, body("two"), 1)}, states(f)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"POST", "PATCH"}, methods(f)); diff != "" {
		t.Errorf("writes, -want +got:\n%s", diff)
	}
}

// TestTwoRunsAtOnce makes both look before either writes, and in the second
// case both write before either looks again.
func TestTwoRunsAtOnce(t *testing.T) {
	looks := forgetest.Fault{Method: http.MethodGet, Path: "/issues/7/comments", Gather: 2}
	writes := forgetest.Fault{Method: http.MethodPost, Path: "/issues/7/comments", Gather: 2}
	again := looks
	again.Skip = 2
	for _, tt := range []struct {
		name   string
		faults []forgetest.Fault
	}{
		{"same look", []forgetest.Fault{looks}}, {"same look and same write", []forgetest.Fault{looks, writes}}, {"same look, each time", []forgetest.Fault{looks, again}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForge(t)
			foreign := f.AddComment(7, "mallory", body("foreign"))
			for _, fault := range tt.faults {
				f.Inject(fault)
			}
			var wg sync.WaitGroup
			for i := range 2 {
				p := publisher(t, f.URL, forgetest.TokenActions, asBot)
				wg.Go(func() {
					if _, err := p.UpsertComment(t.Context(), text(fmt.Sprint("run ", i))); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			comments := f.Comments(7)
			if len(comments) != 2 || comments[0].ID != foreign || comments[0].Edits != 0 || comments[1].Login != bot {
				t.Errorf("got %+v, want the foreign one and one of ours", comments)
			}
		})
	}
}

func TestLostReplies(t *testing.T) {
	tests := []struct {
		name   string
		token  forge.Token
		config func(*comment.PublisherConfig)
		old    string
		fault  forgetest.Fault
		edits  int
	}{
		{name: "create, cut", token: forgetest.TokenUser, fault: forgetest.LostReply(http.MethodPost)},
		{name: "create, 502", token: forgetest.TokenUser, fault: forgetest.Fault{Method: http.MethodPost, Apply: true, Status: 502}},
		{name: "create, not applied", token: forgetest.TokenUser, fault: forgetest.Fault{Method: http.MethodPost, Status: 500}},
		{name: "create as a job", token: forgetest.TokenActions, config: asBot, fault: forgetest.LostReply(http.MethodPost)},
		{name: "create by somebody who does not know who it is", token: forgetest.TokenActions, fault: forgetest.LostReply(http.MethodPost)},
		{name: "edit", token: forgetest.TokenUser, old: "old", fault: forgetest.LostReply(http.MethodPatch), edits: 2},
		{name: "limit", token: forgetest.TokenUser, fault: forgetest.TooManyRequests(time.Second).On(http.MethodPost, "")},
		{name: "secondary limit", token: forgetest.TokenUser, fault: forgetest.SecondaryLimit().On(http.MethodPost, "")},
		{name: "look after the create", token: forgetest.TokenUser, fault: forgetest.Fault{Method: http.MethodGet, Path: "/comments", Skip: 1, Cut: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newForge(t)
			login := map[forge.Token]string{forgetest.TokenUser: "maintainer", forgetest.TokenActions: bot}[tt.token]
			if tt.old != "" {
				f.AddComment(7, login, body(tt.old))
			}
			f.Inject(tt.fault)
			if _, err := publisher(t, f.URL, tt.token, tt.config).UpsertComment(t.Context(), text("new")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]forgetest.Comment{standing(login, body("new"), tt.edits)}, states(f)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestDeletedBetweenLookAndWrite lets the found comment vanish under the edit.
func TestDeletedBetweenLookAndWrite(t *testing.T) {
	f := newForge(t)
	id := f.AddComment(7, "maintainer", body("old"))
	f.Inject(forgetest.Fault{Method: http.MethodPatch, Status: 404})
	f.Inject(forgetest.Fault{Method: http.MethodGet, Path: fmt.Sprint("/issues/comments/", id), Skip: 1, Status: 404, Times: -1})
	p := publisher(t, f.URL, forgetest.TokenUser, func(cfg *comment.PublisherConfig) { cfg.CommentID = id })
	if _, err := p.UpsertComment(t.Context(), text("new")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]forgetest.Comment{standing("maintainer", body("new"), 1)}, states(f)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTooLong(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault *forgetest.Fault
		sizes []int
		want  int
	}{
		{name: "fits", sizes: []int{60_000}, want: 60_000},
		{name: "too long for this server", fault: &forgetest.Fault{Method: http.MethodPost, Status: 422, Times: 2}, sizes: []int{60_000, 30_000, 10_000}, want: 10_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForge(t)
			if tt.fault != nil {
				f.Inject(*tt.fault)
			}
			var sizes []int
			_, err := publisher(t, f.URL, forgetest.TokenUser, nil).UpsertComment(t.Context(), func(max int) string {
				sizes = append(sizes, max)
				return marker + strings.Repeat("x", max-len(marker))
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.sizes, sizes); diff != "" {
				t.Errorf("sizes, -want +got:\n%s", diff)
			}
			if got := len(f.Comments(7)[0].Body); got != tt.want {
				t.Errorf("%d bytes stand there, want %d", got, tt.want)
			}
		})
	}
}

// TestTooLongForGood: a text that does not get shorter is not sent again, and the
// caller gets the server's refusal.
func TestTooLongForGood(t *testing.T) {
	f := newForge(t)
	_, err := publisher(t, f.URL, forgetest.TokenUser, nil).UpsertComment(t.Context(), text(strings.Repeat("x", 70_000)))
	if err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
	if len(f.Writes()) != 1 {
		t.Errorf("%d writes, want 1", len(f.Writes()))
	}
}

func TestCommentNeedsMarker(t *testing.T) {
	f := newForge(t)
	for _, s := range []string{"", "hello", "<!-- gavel:x", "<!-- other -->\nhello", " " + marker} {
		_, err := publisher(t, f.URL, forgetest.TokenUser, nil).UpsertComment(t.Context(), func(int) string { return s })
		if err == nil || !strings.Contains(err.Error(), "not a marker") {
			t.Errorf("%q: got %v", s, err)
		}
	}
	if len(f.Requests()) != 0 {
		t.Errorf("the forge was asked: %v", f.Requests())
	}
}

func TestDenied(t *testing.T) {
	status := comment.Status{Context: comment.ContextVerdict, State: comment.StateSuccess}
	for _, tt := range []struct {
		name       string
		token      forge.Token
		fault      *forgetest.Fault
		status     int
		permission string
		try        func(*testing.T, *comment.Publisher) error
	}{
		{name: "comment, fork's token", token: forgetest.TokenFork, status: 403, permission: "pull-requests: write", try: upsert},
		{name: "comment, unknown token", token: "nobody-knows-this-token", status: 401, permission: "pull-requests: write", try: upsert},
		{name: "comment, 404 on create", token: forgetest.TokenUser, fault: &forgetest.Fault{Method: "POST", Status: 404}, status: 404, permission: "pull-requests: write", try: upsert},
		{name: "comment, 404 on list", token: forgetest.TokenUser, fault: &forgetest.Fault{Path: "/comments", Status: 404}, status: 404, permission: "pull-requests: write", try: upsert},
		{name: "status, fork's token", token: forgetest.TokenFork, status: 403, permission: "statuses: write", try: func(t *testing.T, p *comment.Publisher) error {
			return p.SetStatuses(t.Context(), sha, status)
		}},
		{name: "status, 404", token: forgetest.TokenUser, fault: &forgetest.Fault{Method: "POST", Status: 404}, status: 404, permission: "statuses: write", try: func(t *testing.T, p *comment.Publisher) error {
			return p.SetStatuses(t.Context(), sha, status)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForge(t)
			if tt.fault != nil {
				f.Inject(*tt.fault)
			}
			err := tt.try(t, publisher(t, f.URL, tt.token, asBot))
			var denied *forge.DeniedError
			if !errors.As(err, &denied) || denied.Status != tt.status || denied.Permission != tt.permission {
				t.Fatalf("got %v, want %d and %q", err, tt.status, tt.permission)
			}
			if tt.status != 401 && !strings.Contains(err.Error(), "permissions:\n    "+tt.permission) {
				t.Errorf("the line to add is missing: %v", err)
			}
			if strings.Contains(err.Error(), string(tt.token)) {
				t.Errorf("the error has the token: %v", err)
			}
			if n := len(f.Comments(7)) + len(f.Statuses(sha)); n != 0 {
				t.Errorf("%d things were written", n)
			}
		})
	}
}

func upsert(t *testing.T, p *comment.Publisher) error {
	_, err := p.UpsertComment(t.Context(), text("new"))
	return err
}

// TestLimitIsNoDenial: a 403 that is a limit must not send people to look for
// a permission.
func TestLimitIsNoDenial(t *testing.T) {
	f := newForge(t)
	f.Inject(forgetest.Fault{Method: "POST", Status: 403, Times: -1, Header: map[string]string{"Retry-After": "3600"}, Body: "{}"})
	err := upsert(t, publisher(t, f.URL, forgetest.TokenUser, nil))
	var denied *forge.DeniedError
	var limit *forge.LimitError
	if errors.As(err, &denied) || !errors.As(err, &limit) {
		t.Errorf("got %v, want a limit", err)
	}
	if len(f.Writes()) != 1 {
		t.Errorf("%d writes, want 1", len(f.Writes()))
	}
}

func TestJobSummary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.md")
	for _, s := range []string{"# one", "# two"} {
		if err := comment.JobSummary(path, func(int) string { return s }); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("# one\n\n# two\n", string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	const limit = 1 << 20
	fill := func(room int) string { return strings.Repeat("x", room) }
	if err := comment.JobSummary(path, fill); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != limit {
		t.Fatalf("%v, %v: want the limit to the byte", info.Size(), err)
	}
	if err := comment.JobSummary(path, func(int) string { return "more" }); err == nil {
		t.Error("a full file takes no more")
	}
	if info, err = os.Stat(path); err != nil || info.Size() != limit {
		t.Errorf("%v, %v: a refused summary must leave the file alone", info.Size(), err)
	}
	if err := comment.JobSummary(t.TempDir(), fill); err == nil {
		t.Error("a directory is not a summary")
	}
}

// TestRetire folds our comment and leaves everything else alone.
func TestRetire(t *testing.T) {
	const user = "maintainer"
	retire := func(t *testing.T, f *forgetest.Forge) {
		t.Helper()
		p := publisher(t, f.URL, forgetest.TokenUser, nil)
		if err := p.Retire(t.Context(), strings.TrimSpace(marker), "before"); err != nil {
			t.Fatal(err)
		}
		if err := upsert(t, p); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("ours", func(t *testing.T) {
		f := newForge(t)
		f.AddComment(7, user, body("old"))
		retire(t, f)
		want := []forgetest.Comment{
			standing(user, "<details><summary>before</summary>\n\nold\n</details>", 1), standing(user, body("new"), 0),
		}
		if diff := cmp.Diff(want, states(f)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("none, and one by somebody else", func(t *testing.T) {
		f := newForge(t)
		f.AddComment(7, "somebody", body("theirs"))
		retire(t, f)
		want := []forgetest.Comment{standing("somebody", body("theirs"), 0), standing(user, body("new"), 0)}
		if diff := cmp.Diff(want, states(f)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
