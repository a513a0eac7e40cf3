package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/report"
)

// TestALabelInAJob has the label gavel:run ask for a run where the workflow turned labels
// on; a job for any other label ends at once.
func TestALabelInAJob(t *testing.T) {
	for _, tt := range []struct {
		name, label, base string
		flags             []string
		idle              bool
	}{
		{"GitHub", "gavel:run", "", []string{"--labels"}, false},
		{"Gitea", "gavel:run", "/api/v1", []string{"--labels"}, false},
		{"labels are off", "gavel:run", "", nil, true},
		{"another label", "bug", "", []string{"--labels"}, true},
	} {
		j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
		j.forge.SetPermission("maintainer", "admin")
		j.forge.SetPermission("mona", "write")
		j.env["GITHUB_API_URL"] = j.forge.URL + tt.base
		body := payload(`"action": "labeled", "label": {"name": %q}, "sender": {"login": "mona", "id": %d}, "pull_request": {
			"number": 1, "state": "open", "updated_at": "2026-03-01T12:00:00Z", "head": {"sha": %q, "ref": "topic", "repo": {"id": 1, "full_name": "octo/demo"}},
			"base": {"sha": %q, "ref": "main", "repo": {"id": 1, "full_name": "octo/demo"}}}`, tt.label, j.forge.UserID("mona"), j.head, j.base)
		stdout, stderr, code := j.event(t, "pull_request", body, append(tt.flags, "--json")...)
		if tt.idle {
			if code != exitPass || len(j.forge.Requests()) != 0 || !strings.Contains(stdout, "the label asks for nothing") {
				t.Errorf("%s: exit code %d after %d requests\n%s%s", tt.name, code, len(j.forge.Requests()), stdout, stderr)
			}
			continue
		}
		r, err := report.Decode([]byte(stdout))
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", tt.name, err, stdout, stderr)
		}
		if !slices.ContainsFunc(r.Commands, func(o report.Command) bool { return o.Verb == report.CommandRun && o.Author == "mona" }) {
			t.Errorf("%s: the commands are %+v\n%s", tt.name, r.Commands, stderr)
		}
	}
}
