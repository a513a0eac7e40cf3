package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/cmd/internal/oracle"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestSameAsAgentV holds that Gavel judges the suites of the oracle as AgentV did, but for
// the rows of a rule that the format's page has.
func TestSameAsAgentV(t *testing.T) {
	t.Parallel()
	suites := oracle.Suites()
	theirs, err := oracle.RecordedSuites(suites)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../examples/formats/evalcase.md")
	if err != nil {
		t.Fatal(err)
	}
	ours := judgedSuites(t, suites)
	rows, differ, used := 0, 0, map[string]int{}
	for i, suite := range suites {
		for j, test := range suite.Tests {
			rows++
			id := fmt.Sprintf("r%d", j)
			want, got := theirs[i][id], ours[fmt.Sprintf("s%d %s", i, id)]
			raw, _ := json.Marshal(test) // JSON values
			rule := oracle.SuiteRuleOf(suite.Answer, string(raw), want, got)
			used[rule]++
			if got == want || rule != "" {
				continue
			}
			if differ++; differ <= 60 {
				t.Errorf("%q, %s: %s, and AgentV says %s", suite.Answer, raw, got, want)
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d rows differ without a rule", differ, rows)
	}
	if rows < 1600 {
		t.Errorf("there are %d rows, want 1600", rows)
	}
	for _, rule := range oracle.SuiteRules {
		if used[rule.Name] == 0 {
			t.Errorf("no row differs by the rule %q: remove it", rule.Name)
		}
		if !strings.Contains(string(page), rule.Page) {
			t.Errorf("examples/formats/evalcase.md does not have the rule %q: %s", rule.Name, rule.Page)
		}
	}
	t.Logf("rows by their rule: %v", used)
}

// judgedSuites returns what Gavel says of tests, by their suite and id.
func judgedSuites(t *testing.T, suites []oracle.Suite) map[string]string {
	t.Helper()
	files, err := oracle.Files(suites)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	gittest.Commit(t, dir, files)
	stdout, stderr, _ := withModelKey(t, dir, "run", "--json")
	var run struct {
		Cases []struct {
			Key, Verdict string
			Score        *float64
		}
	}
	if err := json.Unmarshal([]byte(stdout), &run); err != nil || len(run.Cases) == 0 {
		t.Fatalf("the run prints no cases (%v):\n%.3000s", err, stderr)
	}
	out := map[string]string{}
	for _, c := range run.Cases {
		file, test, _ := strings.Cut(c.Key, "#")
		id, _, _ := strings.Cut(test, "@")
		suite, _, _ := strings.Cut(file[strings.LastIndex(file, "/")+1:], ".")
		score := 0.0
		if c.Score != nil {
			score = *c.Score
		}
		out[suite+" "+id] = oracle.Answer(c.Verdict == "pass", c.Verdict != "pass" && c.Verdict != "fail", score)
	}
	return out
}
