package forge_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

func lister(t *testing.T, f *forgetest.Forge, base string) *forge.Client {
	t.Helper()
	fake := &forgetest.Clock{}
	c, err := forge.New(forge.Config{BaseURL: f.URL + base, Token: forgetest.TokenUser, Clock: fake})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOpenPulls(t *testing.T) {
	for _, tt := range []struct{ name, base string }{{"GitHub", ""}, {"GitHub Enterprise", "/api/v3"}, {"Gitea", "/api/v1"}} {
		t.Run(tt.name, func(t *testing.T) {
			f := forgetest.New(t)
			for n := 1; n <= 230; n++ {
				f.AddPull(forgetest.Pull{Number: n, HeadSHA: fmt.Sprintf("%040x", n), BaseSHA: fmt.Sprintf("%040x", 1000), HeadRef: "x", Closed: n == 5})
			}
			c := lister(t, f, tt.base)
			pulls, tag, err := c.OpenPulls(t.Context(), demo, "")
			if err != nil || len(pulls) != 229 || pulls[0].Number != 230 || pulls[228].Number != 1 {
				t.Fatalf("%d pulls, %v", len(pulls), err)
			}
			if tt.name == "Gitea" { // which has no tags
				if tag != "" {
					t.Errorf("the tag is %q", tag)
				}
				return
			}
			before := len(f.Requests())
			if _, again, err := c.OpenPulls(t.Context(), demo, tag); !errors.Is(err, forge.ErrUnchanged) || again != tag {
				t.Errorf("the tag is %q, error %v; want the same tag and ErrUnchanged", again, err)
			}
			if asked := len(f.Requests()) - before; asked != 1 {
				t.Errorf("%d requests for no change", asked)
			}
			f.AddPull(forgetest.Pull{Number: 7, HeadSHA: fmt.Sprintf("%040x", 7000), BaseSHA: fmt.Sprintf("%040x", 1000), HeadRef: "x"})
			pulls, now, err := c.OpenPulls(t.Context(), demo, tag)
			if err != nil || now == tag || pulls[0].Number != 7 {
				t.Errorf("after a push: %v %v", pulls[0], err)
			}
		})
	}
}

func TestOpenPullsDenied(t *testing.T) {
	f := forgetest.New(t)
	f.Inject(forgetest.Fault{Method: "GET", Status: 403, Body: `{"message": "Resource not accessible"}`})
	_, _, err := lister(t, f, "").OpenPulls(t.Context(), demo, "")
	var denied *forge.DeniedError
	if !errors.As(err, &denied) || denied.Permission != "pull-requests: read" {
		t.Errorf("got %v", err)
	}
}

func TestRepository(t *testing.T) {
	f := forgetest.New(t)
	f.CloneURL = "https://git.example/octo/demo.git"
	got, err := lister(t, f, "").Repository(t.Context(), forge.Repo{Owner: "OCTO", Name: "Demo"})
	want := forge.Repository{ID: 1, Repo: demo, DefaultBranch: "main", CloneURL: f.CloneURL}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := lister(t, f, "").Repository(t.Context(), forge.Repo{Owner: "octo", Name: "other"}); err == nil {
		t.Error("a repository that is not there was read")
	}
	for _, tt := range []struct{ name, body string }{
		{"no id", `{"full_name": "octo/demo", "default_branch": "main"}`}, {"a hostile name", `{"id": 1, "full_name": "octo/../demo", "default_branch": "main"}`},
		{"a hostile branch", `{"id": 1, "full_name": "octo/demo", "default_branch": "--x"}`}, {"null", `null`},
	} {
		f.Inject(forgetest.Fault{Method: "GET", Status: 200, Body: tt.body})
		if got, err := lister(t, f, "").Repository(t.Context(), demo); err == nil {
			t.Errorf("%s: %+v, want an error", tt.name, got)
		}
	}
}

func TestWebURL(t *testing.T) {
	for _, tt := range []struct{ api, want string }{
		{"https://api.github.com", "https://github.com"},
		{"https://git.example/api/v3", "https://git.example"},
		{"https://git.example/forgejo/api/v1", "https://git.example/forgejo"},
	} {
		if got := forge.WebURL(tt.api); got != tt.want {
			t.Errorf("the pages of %s are at %s, want %s", tt.api, got, tt.want)
		}
	}
}
