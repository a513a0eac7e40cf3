package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// oracleWorkflow is the workflow that asks the newest versions of other tools.
func oracleWorkflow(t *testing.T) (w struct {
	Jobs map[string]struct {
		If      string
		Env     map[string]string
		Outputs map[string]string
		Steps   []step
	}
}) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(workflowFiles(t)[".github/workflows/oracle.yml"]), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// scripted is a folder with programs, in the place of those that a script calls.
func scripted(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/usr/bin/env bash\n"+text), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	return dir
}

// runScript runs the script of a step as a runner does that is not told the shell.
func runScript(t *testing.T, script, dir, programs string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(env, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// gh is a program that knows the open issues in a file and records what changes them.
const gh = `if [ "$1 $2" = "issue list" ]; then
	[ "$*" = "issue list --state open --app github-actions --search $8 --json number --jq .[0].number // empty" ] || exit 2
	while read -r number title; do
		if [ "$8" = "in:title \"$title\"" ]; then echo "$number"; fi
	done < open
	exit 0
fi
echo "$*" >> calls
case "$*" in *"--body-file body"*) cat body >> calls ;; esac
`

// TestTheOracleReports: an issue is open as long as there is something to say, and only
// then.
func TestTheOracleReports(t *testing.T) {
	t.Parallel()
	const (
		changed, silent = "The newest promptfoo, Nunjucks or AgentV judges otherwise", "The newest promptfoo, Nunjucks or AgentV cannot be asked"
		log             = "https://github.com/octo/demo/actions/runs/5"
		failed, differs = "The job ended with \"failure\": " + log + "\n", "```\npromptfoo 9\n'row' $1\n```\n\n" + log + "\n"
		is7, is8        = "7 " + changed + "\n", "8 " + silent + "\n"
		over7, over8    = "issue close 7 --comment This is over: " + log + "\n", "issue close 8 --comment This is over: " + log + "\n"
	)
	job := oracleWorkflow(t).Jobs["report"]
	if job.If != "${{ !cancelled() }}" || len(job.Steps) != 1 {
		t.Fatalf("the job is run if %s, and has %d steps", job.If, len(job.Steps))
	}
	programs := scripted(t, map[string]string{"gh": gh})
	for _, tt := range []struct{ name, result, differs, open, want string }{
		{"no answer", "failure", "", "", "issue create --title " + silent + " --body-file body\n" + failed},
		{"no answer again", "failure", "", is7 + is8, "issue edit 8 --body-file body\n" + failed},
		{"a difference", "success", "true", "", "issue create --title " + changed + " --body-file body\n" + differs},
		{"a difference again", "success", "true", is7, "issue edit 7 --body-file body\n" + differs},
		{"a difference after no answer", "success", "true", is8, over8 + "issue create --title " + changed + " --body-file body\n" + differs},
		{"no difference", "success", "", "9 Another one\n", ""},
		{"no difference any more", "success", "", is7, over7},
		{"all is well again", "success", "", is7 + is8, over8 + over7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"open": tt.open, "calls": ""} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			names := map[string]any{
				"github": map[string]any{"token": "t", "repository": "octo/demo"},
				"needs":  map[string]any{"judge": map[string]any{"result": tt.result, "outputs": map[string]any{"differs": tt.differs, "report": "promptfoo 9\n'row' $1```"}}},
			}
			env := []string{"GITHUB_SERVER_URL=https://github.com", "GITHUB_REPOSITORY=octo/demo", "GITHUB_RUN_ID=5"}
			for name, value := range job.Env {
				if strings.Contains(value, "${{") {
					value = evaluateExpression(t, value, names)
				}
				env = append(env, name+"="+value)
			}
			runScript(t, job.Steps[0].Run, dir, programs, env...)
			calls, err := os.ReadFile(filepath.Join(dir, "calls"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(calls)); diff != "" {
				t.Errorf("calls of gh (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheOracleCompares: the outputs of the job have what the tests say of a difference, and
// the versions.
func TestTheOracleCompares(t *testing.T) {
	t.Parallel()
	job := oracleWorkflow(t).Jobs["judge"]
	last := job.Steps[len(job.Steps)-1]
	for name, value := range job.Outputs {
		if value != "${{ steps."+last.ID+".outputs."+name+" }}" {
			t.Errorf("the output %s is %s, want one of the last step", name, value)
		}
	}
	for status, want := range map[string]string{"0": "", "1": "differs=true\nreport<<END\npromptfoo 9\n\nrow 5 differs\n\nEND\n"} {
		dir := t.TempDir()
		programs := scripted(t, map[string]string{"go": "echo row 5 differs\nexit " + status, "npm": "echo promptfoo 9\nexit 1", "openssl": `[ "$*" = "rand -hex 16" ] && echo END`})
		outputs := filepath.Join(dir, "outputs")
		if err := os.WriteFile(outputs, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		runScript(t, last.Run, dir, programs, "RUNNER_TEMP="+dir, "GITHUB_OUTPUT="+outputs)
		if got, err := os.ReadFile(outputs); err != nil || string(got) != want {
			t.Errorf("status %s of the tests: %v, outputs %q, want %q", status, err, got, want)
		}
	}
}
