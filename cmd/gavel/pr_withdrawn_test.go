package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// withFailures are a repository in which two cases fail, one of each way to say
// that a case does not run.
func withFailures(gate string) map[string]string {
	return map[string]string{
		"gavel.yaml": `
version: 1
default_target: bot
targets:
  bot: {provider: mock, replies: [{reply: "Hello."}]}
  judge: {provider: mock, replies: [{reply: '{"metrics": {"overall": {"score": 1}}, "summary": "Rude."}'}]}
roles: {judge: judge}
gate: ` + gate + "\n",
		"test_definitions/greetings.json":          greeting("active"),
		"test_definitions/talk/domain.json":        `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
		"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["hello"]}}`,
		"test_definitions/talk/level_1/bye.json":   goodbye(""),
	}
}

func greeting(status string) string {
	return `[{"name": "One", "status": "` + status + `", "initial_message": "One", "max_turns": 1, "evaluation_criteria_override": "Is it polite?"}]`
}

func goodbye(more string) string {
	return `{"id": "bye", "name": "Bye", "prompt": "bye", "expected": {"keywords": ["bye"]}` + more + `}`
}

// TestAbuseLeavingACaseOut: a pull request in which a case that fails
// is left out says so in its headline, in its warning, and in its status, with a
// ledger that has no verdict of base; gate.removed of base decides.
func TestAbuseLeavingACaseOut(t *testing.T) {
	t.Parallel()
	const bye = "test_definitions/talk/level_1/bye.json"
	for _, tc := range []struct {
		way  string
		head map[string]string
		git  []string
		// what the comment says of the case
		said string
	}{
		{"removed", nil, []string{"rm", "-q", bye}, "has no verdict at base and is removed here"},
		{"removed", nil, []string{"mv", bye, bye + ".off"}, "has no verdict at base and is removed here"},
		// A case of another name that passes does not stand in for the one that fails.
		{"removed", map[string]string{
			"test_definitions/talk/level_1/ciao.json": `{"id": "ciao", "name": "Bye", "prompt": "bye", "expected": {"keywords": ["hello"]}}`,
		}, []string{"rm", "-q", bye}, "has no verdict at base and is removed here"},
		{"ignored", map[string]string{".gavelignore": "bye.json\n"}, nil, "has no verdict at base and is ignored here: .gavelignore names its file"},
		{"disabled", map[string]string{bye: goodbye(`, "enabled": false`)}, nil, "has no verdict at base and is disabled here: the test is not enabled"},
		{"drafted", map[string]string{"test_definitions/greetings.json": greeting("draft")}, nil, "has no verdict at base and is drafted here: the status is draft"},
	} {
		for _, want := range []struct {
			gate            string
			code            int
			headline, state string
		}{
			{"{fail_on: regression}", exitPass, "✅ No regressions · 1 case " + tc.way, "success: no regressions · 1 case " + tc.way},
			{"{removed: fail}", exitGate, "❌ Gate failed: 1 case " + tc.way + " (removed: fail)",
				"failure: no regressions · 1 case " + tc.way + " · 1 case " + tc.way + " (removed: fail)"},
		} {
			t.Run(strings.Join(append([]string{tc.way, want.gate, fmt.Sprint(len(tc.head))}, tc.git...), " "), func(t *testing.T) {
				t.Parallel()
				j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
				head := map[string]string{"README": "about\n", "gavel.yaml": withFailures("{removed: allow}")["gavel.yaml"]}
				for file, text := range tc.head {
					head[file] = text
				}
				j.replace(t, withFailures(want.gate), head)
				if tc.git != nil {
					j.git(t, tc.git...)
					j.head = gittest.Commit(t, j.folder, nil)
					j.move(t, j.head)
				}
				_, stderr, code := j.run(t)
				if code != want.code {
					t.Errorf("exit code %d, want %d\n%s", code, want.code, stderr)
				}
				comment := j.forge.Comments(1)[0].Body
				for _, part := range []string{"### " + want.headline + "\n", "\n> [!WARNING]\n", tc.said} {
					if !strings.Contains(comment, part) {
						t.Errorf("the comment lacks %q:\n%s", part, comment)
					}
				}
				// The description names new cases where there are no regressions to name.
				got := strings.Replace(j.states()["gavel/verdict"], "1 new case", "no regressions", 1)
				if !strings.HasPrefix(got, want.state) {
					t.Errorf("the status is %q, want %q", got, want.state)
				}
			})
		}
	}
}

// TestAbuseWeighingACaseLess: the verdicts of base are known, none is
// affected, and the score stays below min_score.
func TestAbuseWeighingACaseLess(t *testing.T) {
	t.Parallel()
	const bye = "test_definitions/talk/level_1/bye.json"
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	base := withFailures("{min_score: 0.9}")
	delete(base, "test_definitions/greetings.json")
	j.replace(t, base, map[string]string{bye: goodbye(`, "weight": 0.001`)})
	j.git(t, "clone", "-q", "--branch", "friendlier-support", j.folder, j.checkout+"-head")
	j.checkout += "-head"
	if stdout, stderr, code := j.call(t, "run"); code != exitGate {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code := j.run(t)
	const said = "score 0.500 is below min_score 0.9, by base's weights: 1 weight is lowered here"
	if code != exitGate || !strings.Contains(stdout, said) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	comment := j.forge.Comments(1)[0].Body
	for _, part := range []string{"### ❌ Gate failed: " + said, "Score **0.500**", "weakens the gate: weight 1 → 0.001 (this run counts 1)"} {
		if !strings.Contains(comment, part) {
			t.Errorf("the comment lacks %q:\n%s", part, comment)
		}
	}
}
