package main

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestABaseBranchIsJudgedAsAWhole has each event of a base branch judge all of its
// cases, so that the pull request after it does not report cases without a verdict.
func TestABaseBranchIsJudgedAsAWhole(t *testing.T) {
	const lacking = "no stored verdict"
	before := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	if _, stderr, _ := before.run(t); !strings.Contains(before.forge.Comments(1)[0].Body, lacking) {
		t.Fatalf("a pull request without a judged base does not say so, so that this test shows nothing\n%s", stderr)
	}
	for _, tt := range []struct{ name, event, payload string }{
		{"a push", "push", ""},
		{"a schedule", "schedule", `{"schedule": "17 3 * * 1,4"}`},
		{"a person", "workflow_dispatch", payload(`"ref": "refs/heads/main", "inputs": null`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			j.env["GITHUB_REPOSITORY"], j.env["GITHUB_REF"], j.env["GITHUB_SHA"] = "octo/demo", "refs/heads/main", j.base
			if tt.payload == "" {
				// The push changes nothing that a case is made of.
				j.git(t, "checkout", "-q", "main")
				j.git(t, "commit", "-q", "--allow-empty", "-m", "nothing")
				tt.payload = payload(`"ref": "refs/heads/main", "before": %q, "after": %q`, j.base, gittest.Resolve(t, j.folder, "main"))
				j.git(t, "checkout", "-q", "friendlier-support")
			}
			stdout, stderr, code := j.event(t, tt.event, tt.payload)
			if keys, _, _ := j.call(t, "pr", "--cache-keys"); !strings.Contains(keys, "save=gavel-base-") || !strings.Contains(keys, "folder=base") {
				t.Errorf("its ledger is not saved as that of base:\n%s", keys)
			}
			if code != 0 {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
			j.run(t)
			if body := j.forge.Comments(1)[0].Body; strings.Contains(body, lacking) || !strings.Contains(body, "1 regression") {
				t.Errorf("after %s the comment says\n%s", tt.name, body)
			}
			stdout, stderr, _ = j.event(t, tt.event, tt.payload)
			if !strings.Contains(stdout, "no affected cases") {
				t.Errorf("a second time is not free:\n%s%s", stdout, stderr)
			}
		})
	}
}

// TestAnEventWithoutAPushNamesWhatIsMissing leaves out and damages what such an event
// is read from.
func TestAnEventWithoutAPushNamesWhatIsMissing(t *testing.T) {
	for _, tt := range []struct{ name, variable, value, want string }{
		{"no repository", "GITHUB_REPOSITORY", "", "GITHUB_REPOSITORY"},
		{"no commit", "GITHUB_SHA", "", "GITHUB_SHA"},
		{"a commit that is an option", "GITHUB_SHA", "--upload-pack=x", "GITHUB_SHA"},
		{"a branch that is an option", "GITHUB_REF", "refs/heads/--x", "GITHUB_REF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			j.env["GITHUB_REPOSITORY"], j.env["GITHUB_REF"], j.env["GITHUB_SHA"] = "octo/demo", "refs/heads/main", j.base
			j.env[tt.variable] = tt.value
			if stdout, stderr, code := j.event(t, "schedule", "{}"); code != exitUsage || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}
