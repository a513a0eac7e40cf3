package main

import (
	"strings"
	"testing"
)

// TestTheBaseBranchIsGone: at every door with a forge both statuses and the comment of a pull
// request say that its base branch does not exist, and nothing is run.
func TestTheBaseBranchIsGone(t *testing.T) {
	for _, d := range columns {
		if !d.onForge() || d.door() == "workers" {
			continue // a worker has nothing to do
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			c := newPassage(t, scenario{
				base: shopOf("a", nil), release: map[string]string{"docs.md": "words"}, listed: true,
				head: map[string]string{at("a"): asks("a", "say b", "b!")}, answer: echo,
			}, d)
			leave := func() {
				c.git(t, "branch", "-q", "-D", "release") // a server may see the pull request at once
				c.open()
			}
			if d.door() == "pr" {
				c.checkout = c.tree("main")
				leave()
				c.run(t, "--branches", "main,release")
			} else {
				file := c.operators()
				log, end := c.starting(t, file, map[bool][]string{true: {"--judge"}}[d.database]...)
				address := log.listens(t)
				leave()
				deliver(t, address+"/hooks", hookSecret)
				for !strings.HasPrefix(c.job.states()["gavel/verdict"], "error: ") {
					log.await(t, "")
				}
				go c.drain(log)
				rest(t, address)
				if code := end(); code != exitPass {
					t.Errorf("serve ends with %d", code)
				}
			}
			for _, context := range []string{"gavel/validate", "gavel/verdict"} {
				if said := c.job.states()[context]; !strings.HasPrefix(said, "error: ") || !strings.Contains(said, "the branch release is gone") {
					t.Errorf("%s is %q, want an error that names the branch", context, said)
				}
			}
			comments := c.forge.Comments(1)
			if len(comments) != 1 || !strings.Contains(comments[0].Body, "the branch release is gone") {
				t.Errorf("the comments are %+v, want one that names the branch", comments)
			}
			if n := c.models.calls("Be kind. | say b"); n != 0 {
				t.Errorf("%d calls for a head that is not judged", n)
			}
		})
	}
}
