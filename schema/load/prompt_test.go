package load

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// prompted are the settings of a model whose system prompt is in a file, and of one
// whose prompt is in gavel.yaml.
func prompted() schema.Settings {
	out := settings
	out.DefaultTarget = "desk"
	out.Targets = map[string]schema.TargetSettings{
		"desk":  {Prompt: schema.TargetPrompt{File: "prompts/desk.md", At: schema.Position{File: "gavel.yaml", Line: 4, Column: 5}}},
		"clerk": {Prompt: schema.TargetPrompt{Text: "Be a clerk.", At: schema.Position{File: "gavel.yaml", Line: 6, Column: 5}}},
		"plain": {},
	}
	return out
}

func promptedFiles() map[string]string {
	return map[string]string{
		"prompts/desk.md":                           "You are the desk.\n",
		"test_definitions/shop/domain.json":         `{"id": "shop", "name": "Shop", "evaluator_id": "keyword"}`,
		"test_definitions/shop/level_1/bare.json":   `{"id": "bare", "name": "N", "prompt": "Hi", "expected": {"keywords": ["hi"]}}`,
		"test_definitions/shop/level_1/behind.json": `{"id": "behind", "name": "N", "prompt": "Hi", "expected": {"keywords": ["hi"]}, "system_prompt": "Be kind.", "system_prompt_mode": "append"}`,
		"test_definitions/shop/level_1/own.json":    `{"id": "own", "name": "N", "prompt": "Hi", "expected": {"keywords": ["hi"]}, "system_prompt": "Be kind."}`,
		"test_definitions/talk.yaml":                "name: Talk\nmax_turns: 1\n",
		"test_definitions/plan.yaml":                "test_type: agent\nname: clerk\nuser_input: Hi\ntesting_prompt: Good?\n",
		"test_definitions/plain.yaml":               "test_type: agent\nname: plain\nuser_input: Hi\ntesting_prompt: Good?\n",
		"test_definitions/suite.yaml": "evalcases:\n- {id: bare, expected_outcome: x, input: Hi}\n" +
			"- {id: own, expected_outcome: x, input: [{role: system, content: Mine.}, {role: user, content: Hi}]}\n",
	}
}

// TestTheSystemPromptOfATarget is the prompt under test: a domain puts its own behind
// it or in its place, and a case of another dialect that has one of its own wins.
func TestTheSystemPromptOfATarget(t *testing.T) {
	res, err := Load(t.Context(), fsOf(promptedFiles()), Options{Settings: prompted()})
	if err != nil || len(res.Problems) > 0 {
		t.Fatal(err, res.Problems)
	}
	var got []string
	for _, c := range res.Cases {
		var files []string
		for _, l := range c.Layers {
			files = append(files, l.File)
		}
		got = append(got, fmt.Sprintf("%s %q %s", c.Key, c.System, files))
	}
	want := []string{
		`plain "" []`,
		`plan "Be a clerk." [gavel.yaml]`,
		`shop/level_1/bare "You are the desk.\n" [prompts/desk.md]`,
		`shop/level_1/behind "You are the desk.\n\n\nBe kind." [prompts/desk.md test_definitions/shop/level_1/behind.json]`,
		`shop/level_1/own "Be kind." [test_definitions/shop/level_1/own.json]`,
		`suite#bare "You are the desk.\n" [prompts/desk.md]`,
		`suite#own "Mine." [test_definitions/suite.yaml]`,
		`talk "You are the desk.\n" [prompts/desk.md]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("system prompts (-want +got):\n%s", diff)
	}
}

// TestAPromptFileThatChanges has exactly those definitions loaded again that have a
// case of its target, and so has one that was missing and appears.
func TestAPromptFileThatChanges(t *testing.T) {
	for _, missing := range []bool{false, true} {
		files := promptedFiles()
		if missing {
			delete(files, "prompts/desk.md")
		}
		snapshot, err := Scan(t.Context(), fsOf(files), Options{Settings: prompted()})
		if err != nil {
			t.Fatal(err)
		}
		if outside := snapshot.Outside(prompted()); !slices.Contains(outside, "prompts/desk.md") {
			t.Errorf("the files outside that matter are %s, want prompts/desk.md among them", outside)
		}
		files["prompts/desk.md"] = "You are another desk."
		change, err := snapshot.Update(t.Context(), fsOf(files), Options{Settings: prompted()}, []string{"prompts/desk.md"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range change.Result.Cases {
			if strings.Contains(c.System, "another desk") {
				got = append(got, c.Key)
			}
		}
		want := []string{"shop/level_1/bare", "shop/level_1/behind", "suite#bare", "talk"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("missing before: %v: the cases with the new prompt (-want +got):\n%s", missing, diff)
		}
		if slices.Contains(change.Files, "test_definitions/plan.yaml") || slices.Contains(change.Files, "test_definitions/plain.yaml") {
			t.Errorf("missing before: %v: the definitions loaded again are %s, want none of other targets", missing, change.Files)
		}
	}
}

// TestAKindWithoutATool is an error at the case: a model that is declared an agent
// and has nothing to act with would be judged as a bare model.
func TestAKindWithoutATool(t *testing.T) {
	files := map[string]string{
		"test_definitions/shop/domain.json":        `{"id": "shop", "name": "Shop", "evaluator_id": "keyword"}`,
		"test_definitions/shop/level_1/bare.json":  `{"id": "bare", "name": "N", "prompt": "Hi", "expected": {"keywords": ["hi"]}}`,
		"test_definitions/shop/level_1/armed.json": `{"id": "armed", "name": "N", "prompt": "Hi", "expected": {"keywords": ["hi"]}, "tool_ids": ["look"]}`,
		"test_definitions/tools/look.json":         `{"id": "look", "function": {"name": "look"}, "mock_response": "x"}`,
		"test_definitions/talk.json":               `{"test_cases": [{"name": "One", "id": "0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c"}, {"name": "Two", "status": "draft"}]}`,
	}
	for _, tt := range []struct {
		name   string
		target schema.TargetSettings
		warned int // cases that have no tool of their own
	}{
		{"an agent", schema.TargetSettings{Kind: "agent"}, 2},
		{"a workflow", schema.TargetSettings{Kind: "workflow"}, 2},
		{"a custom workflow", schema.TargetSettings{Kind: "custom_workflow"}, 2},
		{"an agent with tools: []", schema.TargetSettings{Kind: "agent", Tools: []string{}}, 0},
		{"an agent with a tool", schema.TargetSettings{Kind: "agent", Tools: []string{"look"}}, 0},
		{"an agent that runs its own tools", schema.TargetSettings{Kind: "agent", Agent: true}, 0},
		{"a model", schema.TargetSettings{Kind: "model"}, 0},
		{"no kind", schema.TargetSettings{}, 0},
	} {
		with := settings
		with.DefaultTarget, with.Targets = "bot", map[string]schema.TargetSettings{"bot": tt.target}
		res, err := Load(t.Context(), fsOf(files), Options{Settings: with})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, c := range res.Cases {
			keys = append(keys, c.Key)
		}
		if got := strings.Join(keys, " "); got != "shop/level_1/armed shop/level_1/bare talk#0b9f6a34-58a5-4b8a-9a6e-0f0c6d1b2a3c talk#two" {
			t.Errorf("%s: the cases are %s, want all", tt.name, got)
		}
		if len(res.Problems) != tt.warned {
			t.Errorf("%s: %d problems, want %d: %v", tt.name, len(res.Problems), tt.warned, res.Problems)
		}
		for _, p := range res.Problems {
			want := fmt.Sprintf("the target bot is declared as kind: %s and offers no tool, so that a bare model is judged", tt.target.Kind)
			if p.Rule != "no-tools" || p.Severity != schema.Warning || p.Message != want || !strings.Contains(p.Hint, "tools: []") {
				t.Errorf("%s: the problem is %v, want %s", tt.name, p, want)
			}
		}
	}
}
