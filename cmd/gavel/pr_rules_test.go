package main

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestRulesOfAJobThatRunsAgain: the event of a job, and the forge's state of base, are
// from the first time. The rules are the branch's rules when it is judged.
func TestRulesOfAJobThatRunsAgain(t *testing.T) {
	for _, tt := range []struct{ name, token, api string }{
		{"a person's token", forgetest.TokenUser, ""},
		{"the token of a job", forgetest.TokenActions, ""},
		{"Gitea", forgetest.TokenUser, "/api/v1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newPassage(t, scenario{
				base: shopOf("a b", map[string]string{"gavel.yaml": usual("gate: {fail_on: never}\n")}),
				head: map[string]string{at("a"): asks("a", "say nothing", "a!")}, answer: echo,
			}, columns[2])
			c.env["GITHUB_API_URL"] += tt.api
			c.env["GITHUB_TOKEN"] = tt.token
			c.checkout = c.tree("main")
			c.open()
			const side = `{"sha": %q, "ref": %q, "repo": {"id": 1, "full_name": "octo/demo"}}`
			event := payload(`"action": "synchronize", "number": 1, "pull_request": {"number": 1, "state": "open", "user": {"login": "maintainer", "id": 5}, "head": `+side+`, "base": `+side+"}",
				c.head, "topic", c.base, "main")
			job := func(gate string, exit int, state string) {
				t.Helper()
				out, errs, code := c.event(t, "pull_request_target", event)
				if code != exit || !strings.Contains(out, gate) || c.states()["gavel/verdict"] != state {
					t.Errorf("the job ends with %d, statuses %v:\n%s%s", code, c.states(), out, errs)
				}
			}
			job("gate pass: fail_on: never; otherwise: 1 case regressed", exitPass, "success")
			c.git(t, "checkout", "-q", "main")
			gittest.Commit(t, c.folder, map[string]string{"gavel.yaml": strings.ReplaceAll(usual(), "MODELS", c.models.URL)})
			job("gate fail: 1 case regressed", exitGate, "failure")
			if body := c.forge.Comments(1)[0].Body; !strings.Contains(body, "is another one at main") {
				t.Errorf("the comment does not say whose rules hold:\n%s", body)
			}
		})
	}
}
