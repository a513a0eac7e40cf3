package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// TestEveryFormOfAFile writes a definition of every dialect into every type of
// file and every container that the dialect has: each loads, as the dialect
// that it is, with its case under the key that the form gives it.
func TestEveryFormOfAFile(t *testing.T) {
	const (
		talk   = `{"name": "Late parcel", "max_turns": 3}`
		plan   = `{"test_type": "agent", "name": "planner", "user_input": "Plan", "testing_prompt": "Is it a plan?"}`
		greets = `{"id": "greets", "input": "Hi", "expected_outcome": "A greeting"}`
		sum    = `{"id": "sum", "name": "Sum", "prompt": "1+1?", "expected": {"answer": 2}, "evaluator_id": "two_pass"}`
	)
	for _, form := range []struct {
		dialect, folder, container, local, text string
		// lines says that the form is a .jsonl file; the others are files of all other
		// types.
		lines bool
	}{
		{"testcase", "", "one", "", talk, false},
		{"testcase", "", "list", "#late-parcel", "[" + talk + "]", false},
		{"testcase", "", "envelope", "#late-parcel", `{"test_cases": [` + talk + `]}`, false},
		{"testcase", "", "lines", "#late-parcel", talk, true},
		{"promptval", "", "one", "", plan, false},
		{"promptval", "", "list", "", "[" + plan + "]", false},
		{"promptval", "", "lines", "", plan, true},
		{"evalcase", "", "suite", "#greets", `{"evalcases": [` + greets + `]}`, false},
		{"evalcase", "", "list", "#greets", "[" + greets + "]", false},
		{"evalcase", "", "lines", "#greets", greets, true},
		{"domain", "math/level_1/", "one", "", sum, false},
		{"domain", "math/level_1/", "list", "#sum", "[" + sum + "]", false},
		{"domain", "math/level_1/", "lines", "#sum", sum, true},
	} {
		types := []string{".json", ".yaml", ".yml", ".cue"}
		if form.lines {
			types = []string{".jsonl"}
		}
		for _, ext := range types {
			name := fmt.Sprint(form.dialect, " ", form.container, ext)
			t.Run(name, func(t *testing.T) {
				file := "test_definitions/" + form.folder + "x" + ext
				res := loadAll(t, map[string]string{"test_definitions/math/domain.json": `{"id": "math", "name": "Math"}`, file: form.text + "\n"})
				if len(res.Problems) > 0 || len(res.Cases) != 1 {
					t.Fatalf("%d cases; %v", len(res.Cases), res.Problems)
				}
				if c := res.Cases[0]; c.Dialect != form.dialect || c.Key != form.folder+"x"+form.local || c.Origin.File != file {
					t.Errorf("%s is %s at %s", c.Key, c.Dialect, c.Origin)
				}
			})
		}
	}
}

// TestEveryFormOfASharedFile writes what tests of a domain share into every
// type of file.
func TestEveryFormOfASharedFile(t *testing.T) {
	shared := map[string]string{
		"math/domain":         `{"id": "math", "name": "Math", "evaluator_id": "style", "tool_ids": ["clock"]}`,
		"math/level_1/level":  `{"system_prompt": "Be brief."}`,
		"evaluators/style":    `{"id": "style", "eval_prompt": "Is {response} good?"}`,
		"tools/clock":         `{"id": "clock", "function": {"name": "clock"}, "mock_response": "noon"}`,
		"math/level_1/one":    `{"id": "one", "name": "One", "prompt": "Now?"}`,
		"math/level_1/two":    `{"id": "two", "name": "Two", "prompt": "Then?", "weight": 2}`,
		"evaluators/unwanted": `{"id": "unwanted", "extraction_regex": "x"}`,
	}
	var first string
	for _, ext := range []string{".json", ".yaml", ".yml", ".cue"} {
		texts := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(shared)) {
			texts["test_definitions/"+name+ext] = shared[name] + "\n"
		}
		res := loadAll(t, texts)
		if len(res.Problems) > 0 || len(res.Cases) != 2 {
			t.Fatalf("%s: %d cases; %v", ext, len(res.Cases), res.Problems)
		}
		// The level file that is there is one of those that could be.
		for _, c := range res.Cases {
			c.Inputs = nil
		}
		got := strings.ReplaceAll(whole(t, res.Cases[0])+whole(t, res.Cases[1]), ext, ".json")
		if first == "" {
			first = got
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%s compiles to something else than .json:\n%s", ext, diff)
		}
	}
}

// TestKeysOfSeveralFolders holds where keys begin: below the definitions
// folder, or at the root of the repository where folders are listed, be it one.
func TestKeysOfSeveralFolders(t *testing.T) {
	texts := map[string]string{"a/tests/talk.yaml": "name: x\n", "b/tests/talk.yaml": "- name: x\n"}
	for _, tt := range []struct {
		with schema.Settings
		want []string
	}{
		{schema.Settings{Definitions: []string{"a/tests"}}, []string{"talk"}},
		{schema.Settings{Definitions: []string{"a/tests"}, Listed: true}, []string{"a/tests/talk"}},
		{schema.Settings{Definitions: []string{"a/tests", "b/tests"}, Listed: true}, []string{"a/tests/talk", "b/tests/talk#x"}},
		{schema.Settings{Definitions: []string{"."}}, []string{"a/tests/talk", "b/tests/talk#x"}},
	} {
		var got []string
		for _, c := range loadBy(t, tt.with, texts).Cases {
			got = append(got, c.Key)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.with.Definitions, diff)
		}
	}
}
