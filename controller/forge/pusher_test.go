package forge_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestPusher is who the forge saw pushing a commit to a branch, and nobody else.
func TestPusher(t *testing.T) {
	sha, other := strings.Repeat("a", 40), strings.Repeat("b", 40)
	type push struct{ branch, sha, login string }
	for _, tt := range []struct {
		name   string
		pushes []push
		base   string
		branch string
		want   string
		bot    bool
		err    error
	}{
		{name: "a person", pushes: []push{{"topic", sha, "mona"}}, want: "mona"},
		{name: "a name to quote", pushes: []push{{"a&ref=b#c", sha, "mona"}}, branch: "a&ref=b#c", want: "mona"},
		{name: "a bot", pushes: []push{{"topic", sha, "helper[bot]"}}, want: "helper[bot]", bot: true},
		{name: "the last one", pushes: []push{{"topic", sha, "mona"}, {"topic", other, "mona"}, {"topic", sha, "hubot"}}, want: "hubot"},
		{name: "before another push", pushes: []push{{"topic", sha, "mona"}, {"topic", other, "hubot"}}, want: "mona"},
		{name: "GitHub Enterprise", base: "/api/v3", pushes: []push{{"topic", sha, "mona"}}, want: "mona"},
		{name: "another commit", pushes: []push{{"topic", other, "mona"}}, err: forge.ErrNoPusher},
		{name: "another branch", pushes: []push{{"main", sha, "mona"}}, err: forge.ErrNoPusher},
		{name: "a deleted account", pushes: []push{{"topic", sha, "-"}}, err: forge.ErrNoPusher},
		{name: "Gitea", base: "/api/v1", pushes: []push{{"topic", sha, "mona"}}, err: forge.ErrNoPusher},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := forgetest.New(t)
			for _, p := range tt.pushes {
				f.Push(p.branch, p.sha, p.login)
			}
			c, err := forge.New(forge.Config{BaseURL: f.URL + tt.base, Token: forgetest.TokenUser})
			if err != nil {
				t.Fatal(err)
			}
			if tt.branch == "" {
				tt.branch = "topic"
			}
			got, err := c.Pusher(t.Context(), forge.Repo{Owner: "octo", Name: "demo"}, tt.branch, sha)
			if got.Login != tt.want || got.Bot != tt.bot || !errors.Is(err, tt.err) || err == nil && got.ID != f.UserID(tt.want) {
				t.Errorf("got %+v, %v, want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// TestPusherIsRefused says which permission is missing.
func TestPusherIsRefused(t *testing.T) {
	f := forgetest.New(t)
	f.Inject(forgetest.Fault{Path: "/activity", Status: 403})
	c, err := forge.New(forge.Config{BaseURL: f.URL, Token: forgetest.TokenUser})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Pusher(t.Context(), forge.Repo{Owner: "octo", Name: "demo"}, "topic", strings.Repeat("a", 40))
	if denied, ok := errors.AsType[*forge.DeniedError](err); !ok || denied.Permission != "contents: read" {
		t.Errorf("error %v, want one that names contents: read", err)
	}
}
