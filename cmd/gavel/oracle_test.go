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

// oracleBatch is how many rows a run judges, which a file may have.
const oracleBatch = 2000

// TestSameAsPromptfoo holds that Gavel judges the rows of the oracle as promptfoo did,
// but for the rows of a rule that the format's page has.
func TestSameAsPromptfoo(t *testing.T) {
	t.Parallel()
	rows := oracle.Rows()
	theirs, err := oracle.Recorded(rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 12_000 {
		t.Errorf("there are %d rows, want 12000", len(rows))
	}
	page, err := os.ReadFile("../../examples/formats/matrix.md")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]int{}
	differ := 0
	for from := 0; from < len(rows); from += oracleBatch {
		batch := rows[from:min(from+oracleBatch, len(rows))]
		for i, ours := range judgedRows(t, batch) {
			rule := oracle.RuleOf(batch[i], theirs[from+i], ours)
			used[rule]++
			if ours == theirs[from+i] || rule != "" {
				continue
			}
			if differ++; differ <= 60 {
				shown, _ := json.Marshal(batch[i]) // texts and numbers
				t.Errorf("%s: %s, and promptfoo says %s", shown, ours, theirs[from+i])
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d rows differ without a rule", differ, len(rows))
	}
	for _, rule := range oracle.Rules {
		if used[rule.Name] == 0 {
			t.Errorf("no row differs by the rule %q: remove it", rule.Name)
		}
		if !strings.Contains(string(page), rule.Page) {
			t.Errorf("examples/formats/matrix.md does not have the rule %q: %s", rule.Name, rule.Page)
		}
	}
	t.Logf("rows by their rule: %v", used)
}

// judgedRows returns what Gavel says of rows.
func judgedRows(t *testing.T, rows []oracle.Row) []string {
	t.Helper()
	config, err := oracle.Config(rows)
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
	if err := json.Unmarshal([]byte(stdout), &run); err != nil {
		t.Fatalf("the run prints no JSON (%v):\n%s", err, stderr)
	}
	if len(run.Cases) == 0 {
		t.Fatalf("the run has no cases:\n%.2000s%.2000s", stderr, stdout)
	}
	out := make([]string, len(rows))
	for i := range out {
		out[i] = "no case"
	}
	for _, c := range run.Cases {
		_, name, _ := strings.Cut(c.Key, "#")
		var i int
		if _, err := fmt.Sscanf(name, "r%d", &i); err != nil || i >= len(rows) {
			t.Fatalf("the case %s is of no row", c.Key)
		}
		score := 0.0
		if c.Score != nil {
			score = *c.Score
		}
		out[i] = oracle.Answer(c.Verdict == "pass", c.Verdict != "pass" && c.Verdict != "fail", score)
	}
	return out
}
