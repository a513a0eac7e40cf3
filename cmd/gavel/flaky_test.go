package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
)

// flakyList is the output of gavel flaky.
func (p *project) flakyList(args ...string) report.FlakyList {
	p.t.Helper()
	var list report.FlakyList
	if err := json.Unmarshal([]byte(p.local(exitPass, append([]string{"flaky", "--json"}, args...)...)), &list); err != nil {
		p.t.Fatal(err)
	}
	return list
}

// TestFlaky lists a case that comes to different verdicts without a change, with what
// it took and the sample that disagrees.
func TestFlaky(t *testing.T) {
	p := newProject(t)
	p.commit(map[string]string{casePath("hello"): caseOf("hello", moody)})
	if text := p.local(exitPass, "flaky"); !strings.Contains(text, "nothing was judged here yet") {
		t.Errorf("printed\n%s", text)
	}
	p.local(exitGate, "run", "--repeat", "2")
	if list := p.flakyList(); len(list.Cases) != 0 || list.Examined != 2 || list.Unknown != 2 {
		t.Errorf("of two measurements it lists %+v", list)
	}
	p.local(exitGate, "run", "--repeat", "6")
	list := p.flakyList()
	if len(list.Cases) != 1 || list.Unknown != 0 {
		t.Fatalf("it lists %+v", list)
	}
	c := list.Cases[0]
	if c.Name != "talk/level_1/hello" || c.Usual != "pass" || c.Measurements != 8 || c.Differ != 4 || c.Rate != 0.5 || c.Cost.Samples != 8 || c.Cost.Calls != 8 || c.Model != "small" {
		t.Errorf("it lists %+v, cost %+v", c, c.Cost)
	}
	if odd := c.Disagrees; odd.Verdict != "fail" || odd.Reply != "no" || !strings.Contains(odd.Reason, "missing") {
		t.Errorf("what disagrees is %+v", odd)
	}
	text := p.local(exitPass, "flaky", "talk/level_1/hel*")
	for _, want := range []string{"usually pass; 4 of 8 differ (about 50 %); 8 samples, 8 calls", "fail on ", "replied: no", "1 flaky case of 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}

	// Samples that were taken because of an outcome say nothing of how often it fails.
	p.local(exitPass, "run", "--only", "failed", "--fresh")
	if c := p.flakyList().Cases[0]; c.Measurements != 8 || c.Cost.Calls <= 8 {
		t.Errorf("it lists %+v, cost %+v", c, c.Cost)
	}
	// Another prompt is another digest, which is unknown.
	p.commit(map[string]string{casePath("hello"): caseOf("hello", "kindly")})
	if list := p.flakyList(); len(list.Cases) != 0 || list.Unknown != 1 {
		t.Errorf("after a change it lists %+v", list)
	}
}

// TestFlakyCasesHere are named in one line by the report on a change that affects them,
// unless the team ignores them, and fail the gate where it says so.
func TestFlakyCasesHere(t *testing.T) {
	const line = "1 affected case is known to be flaky: talk/level_1/hello (4 of 8 differ)"
	p := newProject(t)
	p.commit(map[string]string{casePath("hello"): caseOf("hello", moody)})
	p.local(exitGate, "run", "--repeat", "8")
	config, err := os.ReadFile(filepath.Join(p.folder, "gavel.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.commit(map[string]string{casePath("hello"): strings.Replace(caseOf("hello", moody), "}}", `}, "timeout_ms": 5000}`, 1), casePath("thanks"): caseOf("thanks", "nicely")})
	for _, tt := range []struct {
		settings, gate string
		named          bool
	}{
		{"", "gate pass", true},
		{"noise: {flaky: ignore}", "gate pass", false},
		{"noise: {flaky: fail}", "gate fail: 1 case is flaky (noise.flaky: fail): talk/level_1/hello (4 of 8", true},
		{"noise: {flaky: fail}\nquarantine: [{case: talk/level_1/hello, until: 2999-01-31, reason: slow}]", "gate pass", false},
	} {
		if err := os.WriteFile(filepath.Join(p.folder, "gavel.yaml"), append(config, tt.settings+"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, _ := gavel(t, p.folder, "run", "--base", "HEAD~1")
		text := strings.Join(strings.Fields(stdout+stderr), " ")
		if strings.Contains(text, line) != tt.named || !strings.Contains(text, tt.gate) {
			t.Errorf("%s: want %q, named %v\n%s", tt.settings, tt.gate, tt.named, stdout)
		}
	}
}
