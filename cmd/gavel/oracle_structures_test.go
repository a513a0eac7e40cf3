package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/cmd/internal/oracle"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestStructuresSameAsPromptfoo holds that files whose parts act on each other have the
// rows, verdicts and scores that promptfoo gave them.
func TestStructuresSameAsPromptfoo(t *testing.T) {
	t.Parallel()
	structures := oracle.Structures()
	theirs, err := oracle.RecordedStructures(structures)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../examples/formats/matrix.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, used := 0, map[string]int{}
	for i, s := range structures {
		ours, tests := judgedStructure(t, s), s.Tests()
		for name, want := range theirs[i] {
			rows += len(want)
			got := ours[name]
			slices.Sort(got)
			rule := oracle.StructureRuleOf(tests[name], want, got)
			used[rule] += len(want)
			if !slices.Equal(got, want) && rule == "" {
				t.Errorf("%s: %s gives %q, and promptfoo says %q", s.Name, tests[name], got, want)
			}
		}
	}
	if rows < 900 {
		t.Errorf("the structures have %d rows, want 900", rows)
	}
	for _, rule := range oracle.StructureRules {
		if used[rule.Name] == 0 {
			t.Errorf("no row differs by the rule %q: remove it", rule.Name)
		}
		if !strings.Contains(string(page), rule.Page) {
			t.Errorf("examples/formats/matrix.md does not have the rule %q: %s", rule.Name, rule.Page)
		}
	}
	t.Logf("rows by their rule: %v", used)
}

var structureName = regexp.MustCompile(`#(r\d+x)`)

// judgedStructure returns what Gavel says of the rows of each test of a structure.
func judgedStructure(t *testing.T, s oracle.Structure) map[string][]string {
	t.Helper()
	config, err := json.Marshal(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	gittest.Commit(t, dir, map[string]string{"promptfooconfig.json": string(config), "gavel.yaml": "version: 1\ntargets: {x: {provider: mock, replies: [{echo: true}]}}\n"})
	stdout, stderr, _ := withModelKey(t, dir, "run", "--json")
	var run struct {
		Cases []struct {
			Key, Verdict string
			Score        *float64
		}
	}
	if err := json.Unmarshal([]byte(stdout), &run); err != nil || len(run.Cases) == 0 {
		t.Fatalf("%s: the run prints no cases (%v):\n%.3000s", s.Name, err, stderr)
	}
	out := map[string][]string{}
	for _, c := range run.Cases {
		m := structureName.FindStringSubmatch(c.Key)
		if m == nil {
			t.Fatalf("the case %s is of no test", c.Key)
		}
		score := 0.0
		if c.Score != nil {
			score = *c.Score
		}
		out[m[1]] = append(out[m[1]], oracle.Answer(c.Verdict == "pass", c.Verdict != "pass" && c.Verdict != "fail", score))
	}
	return out
}
