package forge_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestNewBranch finds the rule that refuses a branch, of those that a forge shows.
func TestNewBranch(t *testing.T) {
	pattern := func(operator, pattern string, negate bool) map[string]any {
		return map[string]any{"type": "branch_name_pattern", "parameters": map[string]any{"operator": operator, "pattern": pattern, "negate": negate}}
	}
	of := func(rules ...map[string]any) []map[string]any { return rules }
	for _, tt := range []struct {
		name       string
		gitea      bool
		permission string
		rules      []map[string]any
		want       string // of the error; empty for none
	}{
		{name: "no rule"},
		{name: "other rules", rules: of(map[string]any{"type": "deletion"}, map[string]any{"type": "non_fast_forward"})},
		{name: "no creation", rules: of(map[string]any{"type": "deletion"}, map[string]any{"type": "creation"}), want: "a ruleset restricts the creation of branches such as gavel/x: exclude gavel/** from it"},
		{name: "a pull request", rules: of(map[string]any{"type": "pull_request", "parameters": map[string]any{"required_approving_review_count": 1}}), want: "requires a pull request before a push to branches such as gavel/x"},
		{name: "signatures", rules: of(map[string]any{"type": "required_signatures"}), want: "Gavel signs none"},
		{name: "a start", rules: of(pattern("starts_with", "gavel/", false))},
		{name: "another start", rules: of(pattern("starts_with", "feature/", false)), want: `the pattern "feature/" for names, which does not allow branches such as gavel/x`},
		{name: "an end", rules: of(pattern("ends_with", "/y", false)), want: `"/y"`},
		{name: "not containing", rules: of(pattern("contains", "/", true)), want: `"/"`},
		{name: "an expression", rules: of(pattern("regex", "^(feature|gavel)/", false))},
		{name: "another expression", rules: of(pattern("regex", "^JIRA-[0-9]+", false)), want: `"^JIRA-[0-9]+"`},
		{name: "an expression of another engine", rules: of(pattern("regex", "^(?=x)", false))},
		{name: "an unknown operator", rules: of(pattern("sounds_like", "x", false))},
		{name: "Gitea, no rule", gitea: true, permission: "admin"},
		{name: "Gitea, another branch", gitea: true, permission: "admin", rules: of(map[string]any{"rule_name": "main"}, map[string]any{"rule_name": "release/*"})},
		{name: "Gitea, pushed to", gitea: true, permission: "admin", rules: of(map[string]any{"rule_name": "gavel/*", "enable_push": true})},
		{name: "Gitea, nobody", gitea: true, permission: "admin", rules: of(map[string]any{"rule_name": "main"}, map[string]any{"rule_name": "**"}), want: `the protected branch "**" lets nobody push gavel/x: narrow its pattern`},
		{name: "Gitea, listed accounts", gitea: true, permission: "admin", rules: of(map[string]any{"rule_name": "gavel/*", "enable_push": true, "enable_push_whitelist": true}), want: "only listed accounts push gavel/x: add the account of the token"},
		{name: "Gitea, an earlier version", gitea: true, permission: "admin", rules: of(map[string]any{"branch_name": "gavel/x"}), want: `"gavel/x" lets nobody`},
		{name: "Gitea, not shown", gitea: true, permission: "write", rules: of(map[string]any{"rule_name": "**"})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForge(t)
			cfg := forge.Config{BaseURL: f.URL, Token: forgetest.TokenUser, Clock: new(forgetest.Clock)}
			if f.Rules = tt.rules; tt.gitea {
				f.Rules, f.Protections = nil, tt.rules
				cfg.BaseURL += "/api/v1"
				f.SetPermission("maintainer", tt.permission)
			}
			client, err := forge.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = client.NewBranch(t.Context(), demo, "gavel/x")
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewBranch = %v, want %q", err, tt.want)
			}
		})
	}
}
