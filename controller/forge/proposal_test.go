package forge

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestOpen opens a pull request on GitHub and on Gitea, and names the missing part if
// it cannot.
func TestOpen(t *testing.T) {
	for base, at := range map[string]string{"": "/pull/1", "/api/v3": "/pull/1", "/api/v1": "/pulls/1"} {
		f := forgetest.New(t)
		fake := &forgetest.Clock{}
		f.Tip = func(branch string) string {
			return map[string]string{"main": strings.Repeat("1", 40), "gavel/a": strings.Repeat("2", 40)}[branch]
		}
		client, err := New(Config{BaseURL: f.URL + base, Token: forgetest.TokenUser, Clock: fake})
		if err != nil {
			t.Fatal(err)
		}
		repo, err := ParseRepo(forgetest.Repository)
		if err != nil {
			t.Fatal(err)
		}
		p := Proposal{Branch: "gavel/a", Base: "main", Title: "settings: sum", Body: "the diff"}
		number, page, err := OpenProposal(t.Context(), client, repo, p)
		if err != nil || number != 1 || !strings.HasSuffix(page, at) {
			t.Errorf("%s: pull request %d at %s: %v", base, number, page, err)
		}
		got := f.Pull(1)
		if got.HeadRef != p.Branch || got.BaseRef != p.Base || got.Title != p.Title || got.Body != p.Body {
			t.Errorf("%s: the pull request is %+v", base, got)
		}
		f.AddPull(forgetest.Pull{Number: 2, HeadSHA: got.HeadSHA, BaseSHA: got.BaseSHA, HeadRef: p.Branch, HeadRepo: "mallory/demo"})
		if number, _, err := OpenProposal(t.Context(), client, repo, p); err != nil || number != 1 {
			t.Errorf("%s: a second one is %d: %v", base, number, err)
		}
		bad := p
		bad.Branch = "gavel/none"
		if _, _, err := OpenProposal(t.Context(), client, repo, bad); err == nil || !strings.Contains(err.Error(), "is not a branch") {
			t.Errorf("%s: without a branch: %v", base, err)
		}
		f.Inject(forgetest.Fault{Method: "POST", Status: 403})
		if _, _, err := OpenProposal(t.Context(), client, repo, p); err == nil || !strings.Contains(err.Error(), "pull-requests: write") {
			t.Errorf("%s: without the permission: %v", base, err)
		}
	}
}
