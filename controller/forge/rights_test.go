package forge_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestRightsToAsk: an App may ask what others may do; the account of a token has
// to be one that may write, and on Gitea one that may do everything.
func TestRightsToAsk(t *testing.T) {
	for _, tt := range []struct {
		name       string
		base       string
		permission string
		app        bool
		want       string // of the repair; empty if nothing has to be repaired
	}{
		{name: "a writer", permission: "write"},
		{name: "an administrator", permission: "admin"},
		{name: "a reader", permission: "read", want: "give it the role Write"},
		{name: "an App", permission: "read", app: true},
		{name: "Gitea, a writer", base: "/api/v1", permission: "write", want: "only an administrator"},
		{name: "Gitea, an administrator", base: "/api/v1", permission: "admin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, fake := newForge(t), new(forgetest.Clock)
			f.SetPermission("maintainer", tt.permission)
			cfg := forge.Config{BaseURL: f.URL + tt.base, Token: forgetest.TokenUser, Clock: fake}
			if tt.app {
				key := f.AddApp(t, forgetest.App{ID: 5, Slug: "gavel-judge", Installation: 77})
				cfg.App = &forge.AppConfig{ID: 5, Key: func() (forge.Token, error) { return forge.Token(key), nil }}
			}
			client, err := forge.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			rights, err := client.Rights(t.Context(), demo)
			if err != nil {
				t.Fatal(err)
			}
			if err := rights.Asks(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Asks = %v, want %q", err, tt.want)
			}
		})
	}
}
