package serve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/serve"
)

// TestALabelAsksForARun has a delivery about a label do what /gavel run does, only if the
// operator turned labels on; it approves nothing.
func TestALabelAsksForARun(t *testing.T) {
	for _, tt := range []struct {
		name   string
		on     bool
		pull   forgetest.Pull
		sender string
		want   string // a part of the report
		not    string
		states string
	}{
		{"a writer", true, forgetest.Pull{}, "mona", "mona asked for a run", "", "success success"},
		{"labels are off", false, forgetest.Pull{}, "mona", "", "mona", "success success"},
		{"a reader", true, forgetest.Pull{}, "reader", "", "reader", "success success"},
		{"a writer at a fork", true, fork, "mona", "", "", "success error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.configure = func(cfg *serve.Config) { cfg.Policy.Labels = tt.on }
			w.forge.SetPermission("mona", "write")
			w.pull("one", tt.pull)
			w.start()
			w.idle()
			asked := len(w.agent.asked)
			body := fmt.Sprintf(`{"action": "labeled", "number": 1, "label": {"name": "gavel:run"}, "sender": {"login": %q, "id": %d, "type": "User"},
				"repository": {"id": 1, "full_name": "octo/demo"}, "pull_request": {"number": 1, "updated_at": "2026-03-01T12:00:00Z", "head": {"sha": %q}}}`,
				tt.sender, w.forge.UserID(tt.sender), w.commits["one"])
			hint, err := forge.ParseHint("pull_request", []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := w.server.Enqueue(hint); err != nil {
					t.Fatal(err)
				}
				w.idle()
			}
			report := w.report()
			if !strings.Contains(report, tt.want) || tt.not != "" && strings.Contains(report, tt.not) || len(w.agent.asked) != asked {
				t.Errorf("the agent was asked %d times more, and the report is\n%s", len(w.agent.asked)-asked, report)
			}
			w.wantStates("one", tt.states)
		})
	}
}
