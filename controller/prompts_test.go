package controller_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
)

// deskFiles are two cases of a model whose prompt is in a file, and one of another
// model.
func deskFiles(url string) map[string]string {
	return map[string]string{
		"gavel.yaml": strings.ReplaceAll(`version: 1
default_target: desk
targets:
  desk: {provider: openai, model: m1, base_url: URL/desk, system_prompt: {file: prompts/desk.md}}
  clerk: {provider: openai, model: m1, base_url: URL/clerk, system_prompt: You are a clerk.}
  judge: {provider: openai, model: m2, base_url: URL/judge}
roles: {judge: judge}
`, "URL", url),
		"prompts/desk.md":             "You sell hats.",
		"test_definitions/talk.yaml":  "name: Talk\ninitial_message: Hello\nmax_turns: 1\n",
		"test_definitions/plan.yaml":  "test_type: agent\nname: desk\nuser_input: Plan\ntesting_prompt: Is it a plan?\n",
		"test_definitions/other.yaml": "test_type: agent\nname: clerk\nuser_input: Plan\ntesting_prompt: Is it a plan?\n",
	}
}

// with is a repository with other texts.
func with(texts, changes map[string]string) map[string]string {
	texts = maps.Clone(texts)
	maps.Copy(texts, changes)
	maps.DeleteFunc(texts, func(_, text string) bool { return text == "" })
	return texts
}

// TestAnEditedPromptIsWhatAPullRequestTests has each side sent the prompt that is in
// its own tree, of the file that base names.
func TestAnEditedPromptIsWhatAPullRequestTests(t *testing.T) {
	s := newModels(t)
	base := deskFiles(s.URL)
	head := with(base, map[string]string{
		"prompts/desk.md": "You sell coats.", "prompts/else.md": "You sell shoes.",
		"gavel.yaml": strings.NewReplacer("prompts/desk.md", "prompts/else.md", "a clerk", "a thief").Replace(base["gavel.yaml"]),
	})
	was, is := scan(t, base), stateOf(t, controller.Worktree, head)
	is.Config = was.Config // base's decides
	samePlans(t, was, is, func(key string) bool { return key != "other" })
	got := map[string][3]string{}
	for _, row := range between(t, was.Checkout, is, nil).Plan.Rows {
		if row.Action == plan.Run {
			got[row.Key] = [3]string{row.BaseCase.System, row.HeadCase.System, row.Reasons[0].File}
		}
	}
	each := [3]string{"You sell hats.", "You sell coats.", "prompts/desk.md"}
	if diff := cmp.Diff(map[string][3]string{"talk": each, "plan": each}, got); diff != "" {
		t.Errorf("the prompts of base and head, and the reason (-want +got):\n%s", diff)
	}
}

// TestTheJudgeIsShownThePromptOfTheTarget has a testcase judged with the prompt of
// the target as the agent's.
func TestTheJudgeIsShownThePromptOfTheTarget(t *testing.T) {
	s := newModels(t)
	files := deskFiles(s.URL)
	s.perform(t, stateOf(t, controller.Worktree, files))
	shown := map[string]bool{}
	for sender, requests := range s.asked {
		for _, r := range requests {
			role, _, _ := strings.Cut(r, " ")
			if strings.HasSuffix(sender, " talk") && strings.Contains(r, "You sell hats.") {
				shown[role] = true
			}
		}
	}
	if want := map[string]bool{"target": true, "judge": true}; !maps.Equal(shown, want) {
		t.Errorf("the prompt of the target is shown to %v, want %v", shown, want)
	}
}

// TestAPromptInAMerge: marks of a merge in the prompt of a target are a warning where
// gavel.yaml names it. They may be meant, so that its cases are judged.
func TestAPromptInAMerge(t *testing.T) {
	base := deskFiles("http://127.0.0.1:1")
	text := "You sell hats.\n<<<<<<< HEAD\nBe brief.\n=======\nBe kind.\n>>>>>>> topic\n"
	prepared := planOf(t, stateOf(t, strings.Repeat("b", 40), base), controller.Request{Head: stateOf(t, controller.Worktree, with(base, map[string]string{"prompts/desk.md": text}))})
	const want = "warning: prompts/desk.md has a merge conflict that is not resolved, from line 2 on; keep one of its sides, and remove the lines with the marks"
	if found := prepared.Requirements(); len(found) != 1 || found[0].File != "gavel.yaml" || found[0].Line != 4 || !strings.HasSuffix(found[0].String(), want) {
		t.Errorf("the problems are %v, want one: %s", found, want)
	}
}

// TestAPromptThatIsMissing is one error where gavel.yaml names it, and no case of
// the target is judged without its prompt.
func TestAPromptThatIsMissing(t *testing.T) {
	base := deskFiles("http://127.0.0.1:1")
	for _, tt := range []struct{ name, text, want string }{
		{"no file", "", "the system prompt of the target desk is missing: the file prompts/desk.md does not exist"},
		{"no text", "\xff\xfe", "the system prompt of the target desk is missing: the file prompts/desk.md is not text in UTF-8"},
		{"no words", " \n", ""},
	} {
		prepared := planOf(t, stateOf(t, strings.Repeat("b", 40), base), controller.Request{Head: stateOf(t, controller.Worktree, with(base, map[string]string{"prompts/desk.md": tt.text}))})
		found := prepared.Requirements()
		if tt.want == "" {
			if len(found) > 0 {
				t.Errorf("%s: the problems are %v, want none", tt.name, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Message != tt.want || found[0].Severity != schema.Error || found[0].Line != 4 || found[0].File != "gavel.yaml" {
			t.Errorf("%s: the problems are %v, want one in line 4 of gavel.yaml: %s", tt.name, found, tt.want)
		}
		rep, err := prepared.Execute(t.Context(), controller.Opener(nil), controller.RunOptions{ID: "run"})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rep.Cases {
			if row.Key != "other" && (!row.Unrun() || !strings.HasPrefix(tt.want, *row.Error)) {
				t.Errorf("%s: %s is judged, or not withheld for the prompt: %+v", tt.name, row.Key, row)
			}
		}
	}
}
