package main

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// constrain puts constraints into both sides of the pull request.
func (j *job) constrain(t *testing.T, base, head string) {
	t.Helper()
	const file = "test_definitions/schema/team.cue"
	j.git(t, "checkout", "-q", "main")
	j.base = gittest.Commit(t, j.folder, map[string]string{file: base})
	j.git(t, "checkout", "-q", "friendlier-support")
	j.git(t, "merge", "-q", "main")
	j.head = gittest.Commit(t, j.folder, map[string]string{file: head})
	j.move(t, j.head)
}

// TestConstraintsOfAPullRequest holds that base's constraints decide, and that a pull
// request that changes them gets a note: it cannot make itself valid, and is not
// invalid because of base's definitions.
func TestConstraintsOfAPullRequest(t *testing.T) {
	const never = "#Test: prompt: error(\"no test is good enough\")\n"
	const changed = "test_definitions/schema/<wbr>team.cue](https://github.com/octo/demo/blob/%s/test_definitions/schema/team.cue) is changed here; this run was decided by the one at main"
	for _, tt := range []struct {
		name       string
		base, head string
		invalid    string // of the definitions one is invalid without any constraint
		comment    string
	}{
		{"base demands", never, "", "failure: 12 invalid definitions", "no test is good enough"},
		{"head demands", "", never, "failure: 1 invalid definition", changed},
		{"head's cannot be used", "", "#Tset: _\n", "failure: 2 invalid definitions", "unknown definition &#96;#Tset&#96;; did you mean &#96;#Test&#96;?"},
		{"base's are mended", "#Tset: _\n", never, "failure: 1 invalid definition, 1 warning", changed},
	} {
		t.Run(tt.name, func(t *testing.T) {
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
