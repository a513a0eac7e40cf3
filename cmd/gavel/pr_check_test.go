package main

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestAJobWritesACheckRun with annotations at the lines of definitions, once; a job
// without the permission gets a note, and nothing else is different.
func TestAJobWritesACheckRun(t *testing.T) {
	for _, tt := range []struct {
		name   string
		token  string
		refuse bool
		want   int
		said   string
	}{
		{"a job", forgetest.TokenActions, false, 1, ""},
		{"a job that may not", forgetest.TokenActions, true, 0, "checks: write"},
		{"a token of somebody's", forgetest.TokenUser, false, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, tt.token)
			j.env["GITHUB_ACTIONS"] = "true"
			if tt.refuse {
				j.forge.Inject(forgetest.Fault{Method: "POST", Path: "/check-runs", Status: 403, Times: -1})
			}
			for range 2 {
				_, stderr, code := j.run(t)
				if code != exitUsage || !strings.Contains(stderr, tt.said) || tt.said == "" && strings.Contains(stderr, "check run") {
					t.Errorf("exit code %d: %s", code, stderr)
				}
			}
			runs := j.forge.CheckRuns(j.head)
			if len(runs) != tt.want || len(j.forge.Comments(1)) != 1 {
				t.Fatalf("%d check runs, comments %v", len(runs), j.forge.Comments(1))
			}
			for _, run := range runs {
				if run.Conclusion != "failure" || len(run.Requests) != 1 || len(run.Output.Annotations) == 0 {
					t.Errorf("the check run is %+v, want a failure in one request with annotations", run)
				}
				for _, a := range run.Output.Annotations {
					if !strings.HasPrefix(a.Path, "test_definitions/") || a.StartLine < 1 {
						t.Errorf("the annotation is %+v, want one at a line of a definition", a)
					}
				}
			}
		})
	}
}
