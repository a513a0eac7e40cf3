package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// git runs git in the repository that the pull request is of.
func (j *job) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = j.folder
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Gavel", "GIT_AUTHOR_EMAIL=gavel@localhost", "GIT_COMMITTER_NAME=Gavel", "GIT_COMMITTER_EMAIL=gavel@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// constrain puts constraints into both sides of the pull request.
func (j *job) constrain(t *testing.T, base, head string) {
	t.Helper()
	file := filepath.Join(j.folder, "test_definitions/schema/team.cue")
	for _, side := range []struct{ branch, text string }{{"main", base}, {"friendlier-support", head}} {
		j.git(t, "checkout", "-q", side.branch)
		if side.branch != "main" {
			j.git(t, "merge", "-q", "main")
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(side.text), 0o600); err != nil {
			t.Fatal(err)
		}
		j.git(t, "add", "-A")
		j.git(t, "commit", "-q", "--allow-empty", "-m", "constraints")
	}
	j.base, j.head = j.git(t, "rev-parse", "main"), j.git(t, "rev-parse", "HEAD")
	j.move(t, j.head)
}

// TestConstraintsOfAPullRequest holds that those at base decide, and that a
// pull request that changes them is told so: it cannot make itself valid, and
// is not invalid for what stands at base.
func TestConstraintsOfAPullRequest(t *testing.T) {
	const never = "#Test: prompt: error(\"no test is good enough\")\n"
	const changed = "test_definitions/schema/<wbr>team.cue](https://github.com/octo/demo/blob/%s/test_definitions/schema/team.cue) is changed here; this run was decided by the one at base"
	for name, tt := range map[string]struct {
		base, head string
		invalid    string // of the definitions one is invalid without any constraint
		comment    string
	}{
		"base demands":          {never, "", "failure: 12 invalid definitions", "no test is good enough"},
		"head demands":          {"", never, "failure: 1 invalid definition", changed},
		"head's cannot be used": {"", "#Tset: _\n", "failure: 2 invalid definitions", "there is no definition &#96;#Tset&#96;; did you mean &#96;#Test&#96;?"},
		"base's are mended":     {"#Tset: _\n", never, "failure: 1 invalid definition, 1 warning", changed},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			j.constrain(t, tt.base, tt.head)
			j.run(t)
			if state := j.states()["gavel/validate"]; state != tt.invalid {
				t.Errorf("gavel/validate is %q, want %q", state, tt.invalid)
			}
			if text := j.forge.Comments(1)[0].Body; !strings.Contains(text, strings.ReplaceAll(tt.comment, "%s", j.head)) {
				t.Errorf("the comment does not say %q:\n%s", tt.comment, text)
			}
		})
	}
}
