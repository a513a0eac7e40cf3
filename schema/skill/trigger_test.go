package skill_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/skill"
)

const triggers = "skills/pdf/evals/trigger.json"

// TestTriggerForms: each form of a trigger list that people write has a case for each query,
// with its text as it is.
func TestTriggerForms(t *testing.T) {
	const usual = "fill-it + Fill {{it}}!; hello - Hello"
	for _, tt := range []struct{ name, text, want string }{
		{"a list", `[{"query": "Fill {{it}}!", "should_trigger": true, "area": "x"}, {"query": "Hello", "should_trigger": false, "reason": "r"}]`, usual},
		{"queries", `{"queries": [{"query": "Fill {{it}}!", "should_trigger": true}, {"query": "Hello", "should_trigger": false}]}`, usual},
		{"cases", `{"cases": [{"query": "Fill {{it}}!", "should_trigger": true}, {"query": "Hello", "should_trigger": false}]}`, usual},
		{"evals", `{"evals": [{"query": "Fill {{it}}!", "should_trigger": true}, {"query": "Hello", "should_trigger": false}]}`, usual},
		{"expected_trigger", `{"cases": [{"id": "a", "prompt": "Fill", "expected_trigger": true}, {"id": 7, "prompt": "Hello", "expected_trigger": false}]}`, "a + Fill; 7 - Hello"},
		{"two lists of texts", `{"skill_name": "pdf", "should_trigger": ["Fill {{it}}!"], "should_not_trigger": ["Hello"]}`, usual},
		{"a long query", `[{"query": "Please fill in the form of the tax office that is in the folder forms", "should_trigger": true}]`, "please-fill-in-the-form-of-the-tax-office-that-4276c4 + Please fill in the form of the tax office that is in the folder forms"},
		{"signs alone", `[{"query": "?!", "should_trigger": true}]`, "545f94 + ?!"},
		{"other letters", `[{"query": "填写 PDF 表格", "should_trigger": true}]`, "填写-pdf-表格 + 填写 PDF 表格"},
		{"equal words", `[{"query": "Fill it", "should_trigger": true}, {"query": "Fill it?", "should_trigger": true}]`, "fill-it-d99e08 + Fill it; fill-it-402832 + Fill it?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := repository("{}")
			files[triggers] = &fstest.MapFile{Data: []byte(tt.text)}
			cases, problems := read(t, files, triggers, running)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []string
			for _, c := range cases {
				spec, _ := c.Evaluators[0].Spec.(evaluator.SkillTrigger)
				sign := map[bool]string{false: "+", true: "-"}[spec.Never]
				if wanted := map[string]schema.Trigger{"+": schema.Wanted, "-": schema.Unwanted}[sign]; c.Trigger != wanted || !spec.Loaded || spec.Skill != "pdf" {
					t.Errorf("%s is %s, %+v", c.Key, c.Trigger, spec)
				}
				got = append(got, fmt.Sprintf("%s %s %s", strings.TrimPrefix(c.Key, "skills/pdf/trigger#"), sign, c.Drive.Messages[0].Content))
			}
			if all := strings.Join(got, "; "); all != tt.want {
				t.Errorf("got  %s\nwant %s", all, tt.want)
			}
		})
	}
}

// TestTriggerMistakes: a query with a mistake is named at its place, and costs no other one.
func TestTriggerMistakes(t *testing.T) {
	const good = `{"query": "Hello", "should_trigger": true}`
	for _, tt := range []struct{ name, text, problem string }{
		{"a word", `[{"query": "a", "should_trigger": "yes"}, ` + good + `]`, "1:17: error: `should_trigger` must be true or false"},
		{"no text", `[{"query": " ", "should_trigger": true}, ` + good + `]`, "1:3: error: the query has no text"},
		{"nothing is said", `[{"query": "a"}, ` + good + `]`, "1:2: error: the query does not say whether the skill should be loaded"},
		{"a misspelt flag", `[{"query": "a", "should_triger": true}, ` + good + `]`, "1:17: error: the query does not say whether the skill should be loaded, and `should_triger` is not known; did you mean `should_trigger`?"},
		{"a text", `["a", ` + good + `]`, "1:2: error: the query does not say"},
		{"twice", `[` + good + `, {"query": "Hello", "should_trigger": false}]`, `two queries are "hello"`},
		{"one id", `[{"id": 1, "query": "a", "should_trigger": true}, {"id": 1, "query": "b", "should_trigger": true}]`, `two queries are "1"`},
		{"no queries", `{"sql": ["SELECT"]}`, "warning: the file has the name of a trigger list and no list of queries"},
	} {
		files := repository("{}")
		files[triggers] = &fstest.MapFile{Data: []byte(tt.text)}
		cases, problems := read(t, files, triggers, running)
		if len(problems) != 1 || !strings.Contains(problems[0].String(), tt.problem) || (len(cases) != 1) != (tt.name == "no queries") {
			t.Errorf("%s: %d cases, %v", tt.name, len(cases), problems)
		}
	}
}

// TestTriggerRuns: a query passes by more than half of its runs, three by default.
func TestTriggerRuns(t *testing.T) {
	for iterations, want := range map[int]int{0: 2, 1: 1, 2: 2, 3: 2, 4: 3, 5: 3} {
		settings := running
		settings.Iterations = iterations
		files := repository(`{"evals": [{"id": 1, "prompt": "p", "skill_should_trigger": true}]}`)
		files[triggers] = &fstest.MapFile{Data: []byte(`[{"query": "a", "should_trigger": false}]`)}
		for _, file := range []string{evals, triggers} {
			cases, _ := read(t, files, file, settings)
			p := cases[0].Policy
			if runs := max(iterations, 3*(1-min(iterations, 1))); p.Iterations != runs || schema.NeededPasses(p.PassShare, p.Iterations) != want {
				t.Errorf("iterations %d, %s: %d of %d", iterations, file, schema.NeededPasses(p.PassShare, p.Iterations), p.Iterations)
			}
		}
	}
}

// TestTriggersHaveHeads: the agent chooses from the skills of the repository, the one under
// test among them, by the fields that it chooses by. The layout of the head does not count.
func TestTriggersHaveHeads(t *testing.T) {
	files := repository("{}")
	files[triggers] = &fstest.MapFile{Data: []byte(`[{"query": "a", "should_trigger": true}]`)}
	doc, _ := document.Open(files, triggers)
	others := []schema.SkillHead{{Name: "pdf", Text: "another", Dir: "dist/pdf"}, {Name: "doc", Text: "d", Dir: "skills/doc"}}
	cases, problems := skill.Load(skill.Source{Source: document.Source{FS: files, Settings: running}, Skills: func() ([]schema.SkillHead, []string) { return others, nil }}, doc)
	const twice = triggers + ":1:1: warning: two skills have the name pdf, in skills/pdf and in dist/pdf; the first one counts; give one another name, or name its folder in .gavelignore"
	if len(problems) != 1 || problems[0].String() != twice || len(cases) != 1 {
		t.Fatal(problems)
	}
	copied := slices.Clone(others)
	copied[0].Text = "---\nname: pdf\ndescription: \"d\"\n---\n"
	if _, problems := skill.Load(skill.Source{Source: document.Source{FS: files, Settings: running}, Skills: func() ([]schema.SkillHead, []string) { return copied, nil }}, doc); len(problems) > 0 {
		t.Errorf("a copy: %v", problems)
	}
	want := []schema.SkillHead{{Name: "doc", Text: "d", Dir: "skills/doc"}, {Name: "pdf", Text: "---\nname: pdf\ndescription: \"d\"\n---\n", Dir: "skills/pdf"}}
	work := cases[0].Drive.Workspace
	if diff := cmp.Diff(want, work.Choice.Skills); diff != "" || work.Choice.Skill != "pdf" || work.Skill != nil || work.Staged != nil {
		t.Errorf("%+v, %s", work, diff)
	}
	var inputs []string
	for _, in := range cases[0].Inputs {
		inputs = append(inputs, in.File)
	}
	if !slices.Equal(inputs, []string{"skills/doc/SKILL.md", triggers, "skills/pdf/SKILL.md"}) && !slices.Equal(inputs, []string{"skills/doc/SKILL.md", "skills/pdf/SKILL.md", triggers}) {
		t.Errorf("inputs %s", inputs)
	}
	for text, want := range map[string]string{
		"---\nname: x\ndescription: A b\n---\nbody":                                                             "description: A b\n",
		"---\r\nname: x\r\nlicense: MIT\r\ndescription: >\r\n  A\r\n  b\r\n---\r\n":                             "description: A b\n",
		"\ufeff---\ndescription: \"A b\" # now\nname: x\nmetadata:\n  description: no\n---":                     "description: A b\n",
		"---\nname: x\ndescription: Use when: asked\n---\n":                                                     "description: Use when: asked\n",
		"---\nname: x\ndescription: \"yes\"\n---\n":                                                             "description: \"yes\"\n",
		"---\nname: x\ndescription: d\nwhen_to_use: w\ndisable-model-invocation: true\npaths:\n- \"*.md\"\n---": "description: \"d\"\nwhen_to_use: \"w\"\ndisable-model-invocation: true\npaths: [\"*.md\"]\n",
		"no head": "",
	} {
		if head, ok := skill.HeadOf(text, "skills/x"); !ok || head.Text != "---\nname: x\n"+want+"---\n" {
			t.Errorf("%q has the head %q", text, head.Text)
		}
	}
	if _, ok := skill.HeadOf("---\ndescription: "+strings.Repeat("a", 17<<10)+"\n---\n", "x"); ok {
		t.Error("a head of 17 KiB is laid out")
	}
}

// TestAnEvalOfATriggerAlone chooses as a query does, with its files; one that has criteria
// works with its skill.
func TestAnEvalOfATriggerAlone(t *testing.T) {
	cases, problems := read(t, repository(`{"evals": [
		{"id": 1, "prompt": "p", "skill_should_trigger": true, "files": ["assets/in/one.csv"]},
		{"id": 2, "prompt": "p", "skill_should_trigger": false, "assertions": ["a"]}]}`), evals, running)
	if len(problems) > 0 || len(cases) != 2 {
		t.Fatal(problems)
	}
	one, two := cases[0], cases[1]
	if one.Key != "skills/pdf#1" || one.Trigger != schema.Wanted || one.Drive.Workspace.Choice == nil || one.Drive.Workspace.Skill != nil || len(one.Drive.Workspace.Staged) != 1 {
		t.Errorf("%+v", one)
	}
	if slices.ContainsFunc(one.Inputs, func(in schema.Input) bool { return strings.HasPrefix(in.File, "skills/pdf/scripts") }) {
		t.Errorf("a script counts for a choice: %v", one.Inputs)
	}
	if two.Trigger != "" || two.Drive.Workspace.Choice != nil || two.Drive.Workspace.Skill == nil || two.Policy.PassShare != 0 {
		t.Errorf("%+v", two)
	}
}

// TestAbuseAHeadOfLines: a SKILL.md of very many lines is left out, and costs next to nothing.
func TestAbuseAHeadOfLines(t *testing.T) {
	text := "---\nname: x\n" + strings.Repeat("\n", 1<<20) + "---\n"
	if head, ok := skill.HeadOf(text, "skills/x"); ok || len(head.Text) > 0 {
		t.Errorf("the head is %d bytes, %v", len(head.Text), ok)
	}
}
