package main

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestABranchThatNobodyJudged is judged as a whole at every door that judges branches, although
// its last commit changes no case. The next push costs nothing. Where a budget forbids a case,
// the branch is not green.
func TestABranchThatNobodyJudged(t *testing.T) {
	const limit = "budget: {calls: 2}\n"
	for _, tt := range []struct {
		name, settings, first, second string
		calls                         int
	}{
		{"all cases", "", "success: no affected cases · 3 of 3 cases rerun", "success: no affected cases · score 1.000", 3},
		{"a small budget", limit, "error: 1 case was not run, since the budget of 2 calls is not enough", "success: no affected cases · 1 of 3 cases rerun", 3},
	} {
		for _, d := range columns {
			if !d.onForge() {
				continue
			}
			t.Run(tt.name+" by "+d.name, func(t *testing.T) {
				t.Parallel()
				c := newPassage(t, scenario{base: shopOf("a b c", map[string]string{"gavel.yaml": usual(tt.settings)}), answer: echo}, d)
				c.git(t, "checkout", "-q", "main")
				file := ""
				for push, want := range []string{tt.first, tt.second} {
					before := gittest.Resolve(t, c.folder, "main")
					tip := c.commit(map[string]string{"docs.md": strings.Repeat("words", push+1)})
					switch {
					case d.door() == "pr":
						if c.checkout == "" {
							c.checkout = c.tree("main")
						}
						c.event(t, "push", payload(`"ref": "refs/heads/main", "before": %q, "after": %q`, before, tip))
					default:
						if file == "" {
							file = c.operators()
						}
						c.judgeBranch(file)
					}
					said := ""
					for _, s := range c.forge.Statuses(tip) {
						if s.Context == "gavel/verdict" {
							said = s.State + ": " + s.Description
						}
					}
					if !strings.HasPrefix(said, want) {
						t.Errorf("push %d: the status is %q, want %q", push+1, said, want)
					}
				}
				calls := 0
				for _, n := range c.models.all() {
					calls += n
				}
				if calls != tt.calls {
					t.Errorf("%d calls, want %d\n%s", calls, tt.calls, c.models)
				}
			})
		}
	}
}

// judgeBranch has a server judge the tip of main, with workers if the door has them.
func (c *passage) judgeBranch(file string) {
	c.t.Helper()
	log, end := c.starting(c.t, file, map[bool][]string{true: {"--judge"}}[c.d.name == "serve on PostgreSQL"]...)
	ends := []func() int{end}
	if c.d.door() == "workers" {
		ends = append(c.workers(file), end)
	}
	log.await(c.t, `"branch":"main"`)
	go c.drain(log)
	for _, end := range ends {
		if code := end(); code != exitPass {
			c.t.Errorf("it ends with %d", code)
		}
	}
}
