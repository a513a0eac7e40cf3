package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// withPrograms are a repository with an agent and a judge that are programs.
// Either says where it has its words from, also from a file that it does not
// declare.
func withPrograms() map[string]string {
	return map[string]string{
		"gavel.yaml": `
version: 1
default_target: planner
targets:
  planner: {provider: command, argv: ["sh", "agent/run.sh"], inputs: ["agent/**"]}
  bot: {provider: mock, replies: [{reply: "42"}]}
gate: {required: ["judged#sum"]}
programs: {inputs: [undeclared.sh]}
`,
		"agent/run.sh":                      "cat >/dev/null; . agent/words.sh; . ./undeclared.sh; echo \"$words $more\"\n",
		"agent/words.sh":                    "words='agent of base'\n",
		"undeclared.sh":                     "more='undeclared of base'\n",
		"test_definitions/talk/domain.json": `{"id": "talk", "name": "Talk", "evaluator_id": "keyword", "system_prompt": "Be kind."}`,
		"test_definitions/talk/level_1/hello.json": `
{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["agent of base", "undeclared of base"]}}`,
		"test_definitions/judged.yaml": `
evalcases:
  - id: sum
    expected_outcome: It is right.
    input_messages:
      - {role: user, content: [{type: file, value: question.md}]}
    execution:
      target: bot
      evaluators:
        - {name: sum, type: code_judge, script: [sh, judge.sh]}
`,
		"test_definitions/question.md": "What is 6 times 7?",
		"test_definitions/judge.sh":    "cat >/dev/null; . ../undeclared.sh; [ \"$more\" = 'undeclared of base' ] && echo '{\"score\": 1}'\n",
	}
}

// replace makes base and head of the pull request from files.
func (j *job) replace(t *testing.T, base, head map[string]string) {
	t.Helper()
	if err := errors.Join(j.origin.Storer.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, plumbing.Main)), empty(j.folder)); err != nil {
		t.Fatal(err)
	}
	j.base = gittest.Commit(t, j.folder, base)
	gittest.Branch(t, j.folder, "friendlier-support")
	j.head = gittest.Commit(t, j.folder, head)
	j.move(t, j.head)
}

// empty removes all that is in a working tree.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != git.GitDirName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// needsIsolation skips a test on a machine that cannot isolate programs, such as
// one without Linux. Where CI runs it has to be able to.
func needsIsolation(t *testing.T) {
	t.Helper()
	isolated, err := condition("isolated")
	switch {
	case err == nil && isolated:
	case os.Getenv("CI") != "":
		t.Fatalf("programs cannot be isolated here: %v", err)
	default:
		t.Skip("programs cannot be isolated here")
	}
}

// needsPrograms skips a test where programs cannot be isolated, or the machine lacks one of
// them. CI has all.
func needsPrograms(t *testing.T, names ...string) {
	t.Helper()
	needsIsolation(t)
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is not installed", name)
		}
		t.Skipf("%s is not installed", name)
	}
}

// TestProgramsOfAPullRequest runs them as base has them, and not at all where
// they or what names them are changed.
func TestProgramsOfAPullRequest(t *testing.T) {
	needsIsolation(t)
	const (
		domain = "test_definitions/talk/domain.json"
		hello  = "test_definitions/talk/level_1/hello.json"
		judged = "test_definitions/judged.yaml"
		judge  = "test_definitions/judge.sh"
		read   = "test_definitions/question.md"
		kinder = `{"id": "talk", "name": "Talk", "evaluator_id": "keyword", "system_prompt": "Be kinder."}`
	)
	base := withPrograms()
	for _, tt := range []struct {
		name   string
		change map[string]string
		// said is in the summary, next to the gate.
		gate, said string
	}{
		{"nothing of them", map[string]string{domain: kinder}, "pass", "2 of 2 cases rerun"},
		{"what they load besides", map[string]string{domain: kinder, "undeclared.sh": "more='undeclared of head'\n"}, "undetermined", "undeclared.sh is changed here"},
		{"an input of the agent", map[string]string{"agent/words.sh": "words='agent of base'; : of head\n"}, "undetermined", "agent/words.sh is changed here"},
		{"the agent's definition", map[string]string{hello: strings.Replace(base[hello], `"prompt": "hello"`, `"prompt": "hi"`, 1)}, "undetermined", hello + " is changed here"},
		{"the judge", map[string]string{judge: "echo '{\"score\": 1}'"}, "undetermined", judge + " is changed here"},
		{"the judge's definition", map[string]string{judged: strings.Replace(base[judged], "[sh, judge.sh]", "[sh, -c, 'exit 1']", 1)}, "undetermined", judged + " is changed here"},
		{"what the judge may read", map[string]string{read: "What is 7 times 6?"}, "undetermined", "it has a program read " + read},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			j.replace(t, base, tt.change)
			stdout, stderr, _ := j.run(t)
			summary, err := os.ReadFile(j.summary)
			if err != nil || !strings.Contains(stdout, "gate "+tt.gate) || !strings.Contains(strings.ReplaceAll(string(summary), "<wbr>", ""), tt.said) {
				t.Errorf("%s%s\n%s\n%v, want the gate %s and %q", stdout, stderr, summary, err, tt.gate, tt.said)
			}
		})
	}
	t.Run("merged", func(t *testing.T) {
		j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
		j.replace(t, base, map[string]string{"agent/words.sh": "words='agent of head'\n"})
		stdout, stderr, _ := j.event(t, "push", payload(`"ref": "refs/heads/friendlier-support", "before": %q, "after": %q`, j.base, j.head))
		if !strings.Contains(stdout, "1 case was not run") {
			t.Errorf("a push elsewhere: %s%s", stdout, stderr)
		}
		if err := j.origin.Storer.SetReference(plumbing.NewHashReference(plumbing.Main, plumbing.NewHash(j.head))); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, _ = j.event(t, "push", payload(`"ref": "refs/heads/main", "before": %q, "after": %q`, j.base, j.head))
		if !strings.Contains(stdout, "1 case regressed") {
			t.Errorf("%s%s, want the agent of head to have answered", stdout, stderr)
		}
	})
}

// TestProgramsOfPeopleWhoMayWrite run as the head has them, in the sandbox, unless
// the job or a bot that pushed demands an approval.
func TestProgramsOfPeopleWhoMayWrite(t *testing.T) {
	needsIsolation(t)
	for _, tt := range []struct {
		pusher string
		args   []string
		said   string
	}{
		{"maintainer", nil, "agent of head, 0 tokens, gavel-scratch-"},
		{"maintainer", []string{"--programs", "approved", "--bots", ""}, "agent/words.sh is changed here: programs run as base has them until the head is approved"},
		{"maintainer", []string{"--programs", "never"}, "it starts a program, and the operator allows none"},
		{"helper[bot]", nil, ", who pushed it, is a bot"},
		{"helper[bot]", []string{"--bots", "41898282, HELPER"}, "agent of head, 0 tokens, gavel-scratch-"},
	} {
		j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
		j.replace(t, withPrograms(), map[string]string{
			"agent/words.sh": "words=\"agent of head, $(env | grep -c TOKEN) tokens, ${HOME##*/}\"\n",
		})
		for i, arg := range tt.args {
			tt.args[i] = strings.ReplaceAll(arg, "HELPER", fmt.Sprint(j.forge.UserID("helper[bot]")))
		}
		j.forge.Push("friendlier-support", j.head, tt.pusher)
		stdout, stderr, _ := j.run(t, tt.args...)
		summary, err := os.ReadFile(j.summary)
		if err != nil || !strings.Contains(strings.ReplaceAll(string(summary), "<wbr>", ""), tt.said) {
			t.Errorf("%s %q: %s%s\n%s\n%v, want %q", tt.pusher, tt.args, stdout, stderr, summary, err, tt.said)
		}
	}
}

// TestTrustOfAJob that is written wrongly is refused before anything is read.
func TestTrustOfAJob(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	for _, tt := range []struct {
		want string
		args []string
	}{
		{`--programs: "writer" is not one of writers, approved, base-only, never`, []string{"--programs", "writer"}},
		{`--bots: "dependabot" is not the id of an account`, []string{"--bots", "7,dependabot"}},
		{`--bots: "-7" is not the id of an account`, []string{"--bots", "-7"}},
	} {
		if _, stderr, code := j.run(t, tt.args...); code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: exit code %d: %s", tt.args, code, stderr)
		}
	}
	if n := len(j.forge.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// TestImpliedInputsAreTheProgram if a target names none: the files in its folder are
// not run as head has them, and head cannot remove a file from it.
func TestImpliedInputsAreTheProgram(t *testing.T) {
	needsIsolation(t)
	base := withPrograms()
	base["gavel.yaml"] = strings.Replace(base["gavel.yaml"], `, inputs: ["agent/**"]`, "", 1)
	const words = "words='agent of base'; : of head\n"
	for _, tt := range []struct {
		name   string
		change map[string]string
		gate   string
		said   string
	}{
		{"a file next to it", map[string]string{"agent/words.sh": words}, "undetermined", "agent/words.sh is changed here"},
		{"one that head ignores", map[string]string{"agent/words.sh": words, ".gavelignore": "agent/words.sh\n"}, "undetermined", "agent/words.sh is changed here"},
		{"one that programs are given", map[string]string{"undeclared.sh": "more='undeclared of head'\n"}, "undetermined", "undeclared.sh is changed here"},
		{"a file elsewhere", map[string]string{"elsewhere.sh": "more='elsewhere'\n"}, "pass", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			j.replace(t, base, tt.change)
			stdout, stderr, _ := j.run(t, "--programs", "approved")
			summary, err := os.ReadFile(j.summary)
			if err != nil || !strings.Contains(stdout, "gate "+tt.gate) || !strings.Contains(strings.ReplaceAll(string(summary), "<wbr>", ""), tt.said) {
				t.Errorf("%s%s\n%s\n%v, want the gate %s and %q", stdout, stderr, summary, err, tt.gate, tt.said)
			}
		})
	}
}
