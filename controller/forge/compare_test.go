package forge_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestMergeBase is the one that the forge reports; Gitea's compare has none.
func TestMergeBase(t *testing.T) {
	base, head, common := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)
	for _, tt := range []struct {
		name, path, head, want, says string
		err                          error
	}{
		{name: "GitHub", head: head, want: common},
		{name: "GitHub Enterprise", path: "/api/v3", head: head, want: common},
		{name: "Gitea", path: "/api/v1", head: head, err: forge.ErrNoMergeBase},
		{name: "a commit that is not there", head: common, says: "Not Found"},
		{name: "no commit id", head: "main", says: "not a commit id"},
	} {
		f := forgetest.New(t)
		f.Compares(base, head, common)
		c, err := forge.New(forge.Config{BaseURL: f.URL + tt.path, Token: forgetest.TokenUser})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.MergeBase(t.Context(), forge.Repo{Owner: "octo", Name: "demo"}, base, tt.head)
		wrong := err != nil
		switch {
		case tt.err != nil:
			wrong = !errors.Is(err, tt.err)
		case tt.says != "":
			wrong = err == nil || !strings.Contains(err.Error(), tt.says)
		}
		if got != tt.want || wrong {
			t.Errorf("%s: %q, %v, want %q, %v %s", tt.name, got, err, tt.want, tt.err, tt.says)
		}
	}
}
