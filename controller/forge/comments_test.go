package forge_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// talk fills a forge with comments on two pull requests, one a second.
func talk(t *testing.T, n int) (f *forgetest.Forge, at func(i int) time.Time) {
	f = forgetest.New(t)
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	at = func(i int) time.Time { return start.Add(time.Duration(i) * time.Second) }
	i := 0
	f.Now = func() time.Time { return at(i) }
	for _, number := range []int{7, 8} {
		f.AddPull(forgetest.Pull{Number: number, HeadSHA: headSHA, HeadRef: "x", BaseSHA: baseSHA})
	}
	for ; i < n; i++ {
		f.AddComment(7+i%2, []string{"mona", "robot[bot]"}[i%2], fmt.Sprint("remark ", i))
	}
	return f, at
}

func TestComments(t *testing.T) {
	for _, tt := range []struct{ name, base string }{{"GitHub", ""}, {"GitHub Enterprise", "/api/v3"}, {"Gitea", "/api/v1"}} {
		t.Run(tt.name, func(t *testing.T) {
			f, at := talk(t, 500)
			c := lister(t, f, tt.base)
			all, err := c.Comments(t.Context(), demo, 7, time.Time{})
			if err != nil || len(all) != 250 {
				t.Fatalf("%d comments, %v", len(all), err)
			}
			want := forge.Comment{ID: 1001, Number: 7, Author: "mona", AuthorID: f.UserID("mona"), Body: "remark 0", Created: at(0), Updated: at(0)}
			if diff := cmp.Diff(want, all[0]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			f.EditComment(1001, "changed")
			late, err := c.Comments(t.Context(), demo, 7, at(497))
			if err != nil || len(late) != 1 || late[0].Body != "remark 498" || late[0].Edited() {
				t.Errorf("since then: %+v, %v", late, err)
			}
			if all, err = c.Comments(t.Context(), demo, 7, at(50)); err != nil || all[0].ID != 1001 || !all[0].Edited() {
				t.Errorf("the edited comment is %+v, %v", all[0], err)
			}
		})
	}
}

// TestRecentComments lists the comments of a whole repository, for free if there are no
// new ones.
func TestRecentComments(t *testing.T) {
	for _, tt := range []struct{ name, base string }{{"GitHub", ""}, {"Gitea", "/api/v1"}} {
		t.Run(tt.name, func(t *testing.T) {
			f, at := talk(t, 300)
			c := lister(t, f, tt.base)
			found, tag, err := c.RecentComments(t.Context(), demo, at(100), "")
			if err != nil || len(found) != 200 || found[0].Number != 7 || found[199].Number != 8 || !found[199].Bot || found[0].Bot {
				t.Fatalf("%d comments, %v", len(found), err)
			}
			before := len(f.Requests())
			if tt.name == "GitHub" { // Gitea has no tags
				if _, again, err := c.RecentComments(t.Context(), demo, at(100), tag); !errors.Is(err, forge.ErrUnchanged) || again != tag {
					t.Errorf("the tag is %q, error %v; want the same tag and ErrUnchanged", again, err)
				}
				if asked := len(f.Requests()) - before; asked != 1 {
					t.Errorf("%d requests for no change", asked)
				}
			}
			f.AddComment(7, "mona", "new")
			if found, now, err := c.RecentComments(t.Context(), demo, at(300), tag); err != nil || len(found) != 1 || now == tag && tag != "" {
				t.Errorf("found %+v, %v; want one comment and another tag", found, err)
			}
			f.Inject(forgetest.Fault{Path: "/comments", Status: 403})
			var denied *forge.DeniedError
			if _, _, err := c.RecentComments(t.Context(), demo, at(0), ""); !errors.As(err, &denied) || denied.Permission != "pull-requests: read" {
				t.Errorf("denied: %v", err)
			}
		})
	}
}

// TestOddComments: null and missing fields are not a reason to stop.
func TestOddComments(t *testing.T) {
	f := forgetest.New(t)
	f.Inject(forgetest.Fault{Path: "/comments", Status: 200, Body: `[{"id": 2, "body": null, "user": null}, {"id": 1, "pull_request_url": "https://x/pulls/9", "issue_url": ""}]`})
	found, _, err := lister(t, f, "").RecentComments(t.Context(), demo, time.Time{}, "")
	if err != nil || len(found) != 2 || found[0].Number != 9 || found[1].Number != 0 || found[1].Author != "" {
		t.Errorf("found %+v, %v; want one comment on pull request 9 and one of nobody", found, err)
	}
}

// TestReactions looks through all pages for the reactions of one account.
func TestReactions(t *testing.T) {
	for _, tt := range []struct{ name, base string }{{"GitHub", ""}, {"Gitea", "/api/v1"}} {
		t.Run(tt.name, func(t *testing.T) {
			f, _ := talk(t, 1)
			c := lister(t, f, tt.base)
			of := func(login string) []string {
				t.Helper()
				found, err := c.Reactions(t.Context(), demo, 1001, login)
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			if found := of("maintainer"); found != nil {
				t.Errorf("there is none, and it found %q", found)
			}
			f.React(1001, "maintainer", "eyes")
			for i := range 150 {
				f.React(1001, fmt.Sprint("user", i), "heart")
			}
			f.React(1001, "Maintainer", "-1")
			if diff := cmp.Diff([]string{"eyes", "-1"}, of("maintainer")); diff != "" || of("user") != nil {
				t.Errorf("found for somebody else, or -want +got:\n%s", diff)
			}
			var denied *forge.DeniedError
			if _, err := c.Reactions(t.Context(), demo, 5, "maintainer"); !errors.As(err, &denied) {
				t.Errorf("of a comment that is gone: %v", err)
			}
		})
	}
}

// TestStatuses are the last ones of a commit, by their ids: those of one second have no
// order in what Gitea lists.
func TestStatuses(t *testing.T) {
	for _, tt := range []struct{ name, base string }{{"GitHub", ""}, {"Gitea", "/api/v1"}} {
		t.Run(tt.name, func(t *testing.T) {
			f, _ := talk(t, 1) // whose clock stays
			for n, state := range []string{"pending", "failure", "success"} {
				f.AddStatus(forgetest.Status{SHA: headSHA, Context: "b", State: state, Description: fmt.Sprint(n), TargetURL: "https://forge.example/"})
				f.AddStatus(forgetest.Status{SHA: headSHA, Context: "a", State: "error"})
			}
			want := []forge.CommitStatus{{Context: "a", State: "error"}, {Context: "b", State: "success", Description: "2", Target: "https://forge.example/"}}
			got, err := lister(t, f, tt.base).Statuses(t.Context(), demo, headSHA)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}

// TestFirstStatus is the oldest one of ours, however many came later.
func TestFirstStatus(t *testing.T) {
	for _, tt := range []struct{ name, base string }{{"GitHub", ""}, {"Gitea", "/api/v1"}} {
		t.Run(tt.name, func(t *testing.T) {
			f, at := talk(t, 1)
			c := lister(t, f, tt.base)
			counts := func(context, target string) bool {
				return context != "c" && target == "https://forge.example/run?pr=7"
			}
			if first, err := c.FirstStatus(t.Context(), demo, headSHA, counts); err != nil || !first.IsZero() {
				t.Errorf("of none: %v, %v", first, err)
			}
			i := 0
			f.Now = func() time.Time { i++; return at(i) }
			for n := range 150 {
				f.AddStatus(forgetest.Status{SHA: headSHA, Context: []string{"c", "b", "a"}[n%3], State: "pending", TargetURL: "https://forge.example/run?pr=7"})
			}
			if first, err := c.FirstStatus(t.Context(), demo, headSHA, counts); err != nil || !first.Equal(at(2)) {
				t.Errorf("%v, want %v: %v", first, at(2), err)
			}
		})
	}
}
