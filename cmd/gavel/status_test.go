package main

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestStatus shows the statuses of the branch's pull request, and exits with 0 only once
// its verdict is a success.
func TestStatus(t *testing.T) {
	t.Parallel()
	j := newJob(t, forgetest.Pull{Title: "Friendlier"}, forgetest.TokenUser)
	j.env["GITHUB_REPOSITORY"] = "octo/demo"
	j.checkout = j.folder
	stdout, stderr, code := j.call(t, "status")
	if code != ExitGate || !strings.Contains(stdout, "#1 Friendlier  ") || !strings.Contains(stdout, "/octo/demo/pull/1\n  nothing was reported for "+j.head[:7]+" yet\n") {
		t.Errorf("before the first status: exit code %d\n%s%s", code, stdout, stderr)
	}
	j.forge.AddStatus(forgetest.Status{SHA: j.head, Context: "build", State: "success"})
	j.forge.AddStatus(forgetest.Status{SHA: j.head, Context: "gavel/validate", State: "success", Description: "3 cases"})
	j.forge.AddStatus(forgetest.Status{SHA: j.head, Context: "gavel/verdict", State: "pending", Description: "judging"})
	j.forge.AddStatus(forgetest.Status{SHA: j.head, Context: "gavel/verdict", State: "failure", Description: "1 regression", TargetURL: "https://ci.example/7"})
	stdout, stderr, code = j.call(t, "status")
	want := "  gavel/validate  success  3 cases\n  gavel/verdict   failure  1 regression\n                  https://ci.example/7\n"
	if code != ExitGate || !strings.HasSuffix(stdout, want) {
		t.Errorf("after a failure: exit code %d\n%s%s\nwant at the end\n%s", code, stdout, stderr, want)
	}
	j.forge.AddStatus(forgetest.Status{SHA: j.head, Context: "gavel/verdict", State: "success", Description: "no regression"})
	gittest.Run(t, j.folder, "commit", "-q", "--allow-empty", "-m", "more")
	here := gittest.Resolve(t, j.folder, "HEAD")
	stdout, stderr, code = j.call(t, "status")
	if want := "the pull request is at " + j.head[:7] + " and this branch at " + here[:7] + "; push it"; code != ExitPass || !strings.Contains(stdout, want) {
		t.Errorf("after a success: exit code %d, want %q\n%s%s", code, want, stdout, stderr)
	}
	gittest.Run(t, j.folder, "checkout", "-q", "-b", "alone")
	if _, stderr, code = j.call(t, "status"); code != ExitUsage || !strings.Contains(stderr, "octo/demo has no open pull request of the branch alone") {
		t.Errorf("a branch without a pull request: exit code %d\n%s", code, stderr)
	}
}

// TestStatusWithoutAForge names the variable that is missing.
func TestStatusWithoutAForge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ remote, want string }{
		{"", "write git remote add origin URL, or export GITHUB_REPOSITORY=owner/name"},
		{"https://git.corp.example/shop/bot.git", "write export GITHUB_API_URL=https://git.corp.example/api/v3 for GitHub Enterprise"},
	} {
		dir := t.TempDir()
		gittest.Init(t, dir, "main")
		gittest.Commit(t, dir, map[string]string{"a": "b"})
		if tt.remote != "" {
			gittest.Run(t, dir, "remote", "add", "origin", tt.remote)
		}
		if _, stderr, code := gavel(t, dir, "status"); code != ExitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: exit code %d, want %q\n%s", tt.remote, code, tt.want, stderr)
		}
	}
}
