package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestTargetsFileOfAPullRequest holds that the targets at base answer, and that a pull
// request that changes them gets a note.
func TestTargetsFileOfAPullRequest(t *testing.T) {
	const file = ".agentv/targets.yaml"
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.git(t, "checkout", "-q", "main")
	j.base = gittest.Commit(t, j.folder, map[string]string{
		file:                         "targets: [{name: clerk, provider: mock, response: the words of base}]\n",
		"test_definitions/desk.yaml": "- {id: greets, expected_outcome: Greets., input: Hi, execution: {target: clerk}, checks: [{contains: nothing of the kind}]}\n",
	})
	j.git(t, "checkout", "-q", "friendlier-support")
	j.git(t, "merge", "-q", "main")
	j.head = gittest.Commit(t, j.folder, map[string]string{
		file:                         "targets: [{name: clerk, provider: cli, command: 'touch /tmp/of-head && echo the words of head'}]\n",
		"test_definitions/desk.yaml": "- {id: greets, expected_outcome: Greets., input: Hello, execution: {target: clerk}, checks: [{contains: the words of base}]}\n",
	})
	j.move(t, j.head)
	j.run(t)
	text := j.forge.Comments(1)[0].Body
	for _, want := range []string{
		"targets.yaml](https://github.com/octo/demo/blob/" + j.head + "/.agentv/targets.yaml) is changed here; this run was decided by the one at main",
		"2 improvements, 1 case not run", "not run · [desk#greets]", // whose target is another one at head
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the comment does not say %q:\n%s", want, text)
		}
	}
	stdout, stderr, code := gavel(t, j.folder, "explain", "desk#greets", "--json")
	if strings.Contains(stdout, "the words of head") {
		t.Errorf("the target of head answered: exit code %d\n%s%s", code, stdout, stderr)
	}
	if strings.Contains(text, "gavel.yaml) is changed here") {
		t.Errorf("the comment says that gavel.yaml is changed:\n%s", text)
	}
}

// TestTheEnvironmentOfAPullRequest: nothing at head gets a variable that head lists,
// and it appears nowhere.
func TestTheEnvironmentOfAPullRequest(t *testing.T) {
	const file, value = ".agentv/targets.yaml", "the-value-of-the-variable"
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.env["PRIVATE"] = value
	settings, err := os.ReadFile(filepath.Join(j.folder, "gavel.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	j.head = gittest.Commit(t, j.folder, map[string]string{
		"gavel.yaml":                 string(settings) + "\nenvironment: [PRIVATE]\n",
		file:                         "targets: [{name: clerk, provider: openai, model: '${{ PRIVATE }}', api_key: '${{ KEY }}'}]\n",
		"test_definitions/desk.yaml": "- {id: greets, expected_outcome: Greets., input: Hello, execution: {target: clerk}, checks: [{contains: x}]}\n",
	})
	j.move(t, j.head)
	stdout, stderr, _ := j.run(t)
	text := j.forge.Comments(1)[0].Body
	if !strings.Contains(text, "clerk") {
		t.Errorf("the comment does not say that there is no target clerk:\n%s", text)
	}
	if strings.Contains(text+stdout+stderr, value) {
		t.Errorf("the value of a variable that head lists is published:\n%s\n%s%s", text, stdout, stderr)
	}
}
