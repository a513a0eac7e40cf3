package main

import (
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// byContext are the last states of the head, without descriptions.
func (j *job) byContext() map[string]string {
	out := j.states()
	for context, state := range out {
		out[context], _, _ = strings.Cut(state, ": ")
	}
	return out
}

// judgedGroups are the groups after the demo's pull request.
var judgedGroups = map[string]string{
	"gavel/validate": "failure", "gavel/verdict": "failure",
	"gavel/verdict/conversation": "success", "gavel/verdict/math": "failure", "gavel/verdict/sql": "success",
	"gavel/verdict/support": "failure", "gavel/verdict/tool_calling": "success",
}

// TestGroupStatuses are set on the head after its comment, and are not written
// again where they say the same.
func TestGroupStatuses(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.configure(t, "statuses: groups\n")
	j.env["GITHUB_SERVER_URL"], j.env["GITHUB_RUN_ID"] = "https://github.com", "5"
	_, stderr, code := j.run(t)
	for _, s := range j.forge.Statuses(j.head) {
		if s.TargetURL != "https://github.com/octo/demo/actions/runs/5?pr=1" {
			t.Errorf("%s leads to %q", s.Context, s.TargetURL)
		}
	}
	if diff := cmp.Diff(judgedGroups, j.byContext()); diff != "" || code != exitUsage {
		t.Errorf("exit code %d, %s\n-want +got:\n%s", code, stderr, diff)
	}
	for _, tt := range []struct{ context, want string }{
		{"gavel/verdict/math", "failure: 1 invalid definition · 1 improvement · 1 of 3 cases rerun · score 0.000 → 1.000"},
		{"gavel/verdict/support", "failure: 1 regression, 1 improvement · 1 case regressed (fail_on: regression) · 3 of 3 cases rerun · score 0.833 → 0.667"},
		{"gavel/verdict/tool_calling", "success: no affected cases"},
	} {
		if got := j.states()[tt.context]; got != tt.want {
			t.Errorf("%s is\n%q, want\n%q", tt.context, got, tt.want)
		}
	}
	order := ""
	for _, w := range j.forge.Writes() {
		order += map[bool]string{true: "s", false: "c"}[strings.Contains(w.Path, "/statuses/")]
	}
	if order != "ss"+"c"+"sssss" { // what people merge by comes first
		t.Errorf("statuses and comments are written in the order %s", order)
	}
	j.run(t) // verdicts are reused, and the descriptions say so
	before := len(j.forge.Statuses(j.head))
	j.run(t)
	for _, s := range j.forge.Statuses(j.head)[before:] {
		if strings.HasPrefix(s.Context, "gavel/verdict/") {
			t.Errorf("%s was written again: %s", s.Context, s.Description)
		}
	}
}

// TestGroupStatusesAreBases: a head does not switch them on for itself.
func TestGroupStatusesAreBases(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	base := j.base
	j.configure(t, "statuses: groups\n")
	j.base = base // the change is the head's
	j.git(t, "branch", "-f", "main", base)
	j.move(t, j.head)
	_, stderr, _ := j.run(t)
	if diff := cmp.Diff(map[string]string{"gavel/validate": "failure", "gavel/verdict": "failure"}, j.byContext()); diff != "" {
		t.Errorf("%s\n-want +got:\n%s", stderr, diff)
	}
}

// TestGroupStatusesOfAFork: a group that nothing affects need not wait.
func TestGroupStatusesOfAFork(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.configure(t, "statuses: groups\n")
	j.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: j.head, BaseSHA: j.base, HeadRef: "friendlier-support", HeadRepo: "stranger/demo", Author: "stranger"})
	_, stderr, _ := j.run(t)
	want := map[string]string{
		"gavel/validate": "failure", "gavel/verdict": "failure", // the invalid definition
		"gavel/verdict/conversation": "success", "gavel/verdict/math": "failure", "gavel/verdict/sql": "error",
		"gavel/verdict/support": "error", "gavel/verdict/tool_calling": "success",
	}
	if diff := cmp.Diff(want, j.byContext()); diff != "" {
		t.Errorf("%s\n-want +got:\n%s", stderr, diff)
	}
	if got := j.states()["gavel/verdict/support"]; !strings.HasPrefix(got, "error: the head comes from the fork stranger/demo") || !strings.HasSuffix(got, " would run") {
		t.Errorf("support says %q", got)
	}
}

// TestGroupStatusesOfCommits in a merge queue and on a base branch.
func TestGroupStatusesOfCommits(t *testing.T) {
	const queue = "refs/heads/gh-readonly-queue/main/pr-1"
	for _, tt := range []struct {
		event string
		body  func(*job) string
	}{
		{"merge_group", func(j *job) string {
			return payload(`"action": "checks_requested", "merge_group": {"head_sha": %q, "head_ref": %q, "base_sha": %q, "base_ref": "refs/heads/main"}`,
				j.head, queue, j.base)
		}},
		{"push", func(j *job) string {
			return payload(`"ref": "refs/heads/main", "before": %q, "after": %q`, j.base, j.head)
		}},
	} {
		t.Run(tt.event, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			j.configure(t, "statuses: groups\n")
			for _, ref := range []string{queue, "refs/heads/main"} {
				if err := j.origin.Storer.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(ref), plumbing.NewHash(j.head))); err != nil {
					t.Fatal(err)
				}
			}
			_, stderr, _ := j.event(t, tt.event, tt.body(j))
			if diff := cmp.Diff(judgedGroups, j.byContext()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", stderr, diff)
			}
		})
	}
}

// TestGroupStatusesLater: the next job writes what the forge did not take.
func TestGroupStatusesLater(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.configure(t, "statuses: groups\n")
	j.forge.Inject(forgetest.Fault{Method: "POST", Path: "/statuses/", Status: 500, Times: -1})
	if _, stderr, _ := j.run(t); len(j.states()) != 0 || !strings.Contains(stderr, "could not be published") {
		t.Fatalf("states %v: %s", j.states(), stderr)
	}
	j.forge.Heal()
	judged := j.head
	j.move(t, j.base)
	_, stderr, _ := j.run(t)
	j.head = judged
	if diff := cmp.Diff(judgedGroups, j.byContext()); diff != "" {
		t.Errorf("%s\n-want +got:\n%s", stderr, diff)
	}
}
