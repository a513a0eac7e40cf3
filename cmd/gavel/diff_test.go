package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// says runs gavel diff and asks for words, wherever its lines are broken.
func (p *project) says(code int, args string, words ...string) {
	p.t.Helper()
	text := strings.Join(strings.Fields(p.local(code, append([]string{"diff"}, strings.Fields(args)...)...)), " ")
	for _, want := range words {
		if !strings.Contains(text, want) {
			p.t.Errorf("gavel diff %s: no %q in\n%s", args, want, text)
		}
	}
}

// TestDiffOfCommits reads stored verdicts without a call; with --confirm it measures,
// including improvements.
func TestDiffOfCommits(t *testing.T) {
	p := newProject(t)
	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong)})
	p.says(exitGate, "main topic", "nothing was judged here yet", "1 case without a stored verdict; gavel diff --confirm judges")
	p.says(exitGate, "main topic --confirm", "regression talk/level_1/hello", "failed in 4 of 4 reruns here, passed 4 of 4 at base", "1 regression (confirmed)")
	if asked := p.calls(); len(asked) != 10 {
		t.Errorf("asked %q", asked)
	}
	p.says(exitGate, "main topic", "1 regression (confirmed)")
	p.says(exitPass, "topic main", "improved talk/level_1/hello")
	if asked := p.calls(); len(asked) != 0 {
		t.Errorf("comparing what is stored asked %q", asked)
	}
	// The same pairs say that it got better, as many as are needed.
	p.says(exitPass, "topic main --confirm --markdown diff.md", "improved talk/level_1/hello", "passed 4 of 4 reruns here, failed 4 of 4 at base")
	if text, err := os.ReadFile(filepath.Join(p.folder, "diff.md")); err != nil || !strings.Contains(string(text), "improved · talk/level_1/hello") {
		t.Errorf("%v: the file has %s", err, text)
	}
	p.calls()
	p.says(exitPass, "topic topic", "gate pass")
	p.says(exitPass, "topic worktree", "gate pass")
	p.says(exitUsage, "main nothing", `no commit, branch or tag is called "nothing"`)
	p.says(exitUsage, "main", "diff takes two commits, runs or result files")
	p.says(exitUsage, "main gavel.yaml", "gavel.yaml: it has no results; write it with")
}

// TestDiffOfRunsAndFiles compares the stored runs and files.
func TestDiffOfRunsAndFiles(t *testing.T) {
	p := newProject(t)
	keep := func(name string, code int, args ...string) string {
		t.Helper()
		text := p.local(code, append([]string{"run"}, args...)...)
		if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`"run": "([0-9a-f]+)"`).FindStringSubmatch(text)[1]
	}
	before := keep("before.json", exitPass, "--json")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong)})
	after := keep("after.json", exitGate, "--json")
	p.calls()
	for _, args := range []string{"before.json after.json", before + " " + after, before + " after.json", before + " HEAD", "HEAD~1 HEAD"} {
		p.says(exitPass, args, "unclear talk/level_1/hello", "failed once; it was not rerun", "the cases did not get worse on the whole; 1 unclear in one run a side")
	}
	p.says(exitPass, "before.json after.json", "the results in before.json and after.json cannot be measured again")
	p.says(exitPass, "before.json after.json --json", `"class": "unclear"`)
	p.says(exitUsage, "befor.json after.json", "befor.json is neither a file nor a run, commit, branch or tag")
	p.says(exitUsage, "before.json /nowhere/after.json", "/nowhere/after.json is neither a file nor a run, commit, branch or tag")
	p.says(exitUsage, "before.json feature//after", `"feature//after" is not the name of a commit, branch or tag`)
	p.says(exitUsage, "before.json after.json --confirm", "before.json has results alone")
	if asked := p.calls(); len(asked) != 0 {
		t.Errorf("asked %q", asked)
	}
}
