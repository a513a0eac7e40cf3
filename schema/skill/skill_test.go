package skill_test

import (
	"encoding/json"
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

const evals = "skills/pdf/evals/evals.json"

// repository is a skill with evals, and with what skills have next to them.
func repository(text string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		evals:                              text,
		"skills/pdf/SKILL.md":              "---\nname: \"pdf\"\ndescription: d\n---\nRead.\n",
		"skills/pdf/references/forms.md":   "r",
		"skills/pdf/assets/in/one.csv":     "1",
		"skills/pdf/assets/in/two.csv":     "2",
		"skills/pdf/evals/files/own.csv":   "own",
		"skills/pdf/evals/trigger.json":    "[]",
		"fixtures/root.csv":                "root",
		"skills/pdf/evals/results/old.txt": "x",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	files["skills/pdf/scripts/run.sh"] = &fstest.MapFile{Data: []byte("s"), Mode: 0o755}
	return files
}

var running = schema.Settings{
	Definitions: []string{"test_definitions"}, DefaultTarget: "bot", Skills: schema.SkillSettings{Find: true, Target: "coder"},
	Targets: map[string]schema.TargetSettings{"bot": {}, "coder": {Agent: true, HasWorkspace: true}},
}

func read(t *testing.T, files fstest.MapFS, file string, settings schema.Settings) ([]*schema.Case, []schema.Problem) {
	t.Helper()
	doc, problems := document.Open(files, file)
	if doc == nil {
		t.Fatal(problems)
	}
	cases, found := skill.Load(skill.Source{Source: document.Source{FS: files, Settings: settings}}, doc)
	return cases, append(problems, found...)
}

// asked shows what is asked of a case: j a sentence for the judge, c a check, t a trace.
func asked(c *schema.Case) []string {
	var out []string
	for _, ev := range c.Evaluators {
		switch s := ev.Spec.(type) {
		case evaluator.Rubrics:
			for _, r := range s.Criteria {
				out = append(out, "j "+r.ID+" | "+r.Outcome)
			}
			if s.ExpectedOutcome != "" {
				out = append(out, "context | "+s.ExpectedOutcome)
			}
		case evaluator.Checks:
			for _, check := range s.Checks {
				out = append(out, fmt.Sprintf("c %s | %s %s", check.ID, check.Kind, check.Text))
			}
		case evaluator.Traces:
			for _, id := range s.IDs() {
				out = append(out, "t "+id)
			}
		case evaluator.SkillTrigger:
			out = append(out, fmt.Sprintf("skill %s never=%v", s.Skill, s.Never))
		}
	}
	return out
}

// TestForms: every form of criteria that people write asks what its author means, each
// criterion once.
func TestForms(t *testing.T) {
	for _, tt := range []struct{ name, eval, want string }{
		{"assertions", `"assertions": ["a", "b"]`, "j criterion 1 | a; j criterion 2 | b"},
		{"expectations", `"expectations": ["a"]`, "j criterion 1 | a"},
		{"expected_behavior, a list", `"expected_behavior": ["a"]`, "j criterion 1 | a"},
		{"expected_behavior, a text", `"expected_behavior": "Does it.", "assertions": ["a"]`, "j criterion 1 | a; context | Does it."},
		{"expected_behavior, a text alone", `"expected_behavior": "Does it."`, "j expected-output | Does it."},
		{"a list and expected_output", `"expected_output": "All.", "assertions": ["a"]`, "j criterion 1 | a; context | All."},
		{"expected_output alone", `"expected_output": "All."`, "j expected-output | All."},
		{"expected_output next to an empty list", `"expected_output": "All.", "assertions": []`, "j expected-output | All."},
		{"name and description", `"assertions": [{"name": "n", "description": "d"}]`, "j n | d"},
		{"text", `"assertions": [{"text": "a"}]`, "j criterion 1 | a"},
		{"text and category", `"assertions": [{"text": "a", "category": "x"}]`, "j criterion 1 | a"},
		{"id and text", `"assertions": [{"id": "i", "text": "a"}]`, "j i | a"},
		{"id, a number", `"assertions": [{"id": 7, "text": "a"}]`, "j 7 | a"},
		{"id and description", `"assertions": [{"id": "i", "description": "d"}]`, "j i | d"},
		{"text and description", `"assertions": [{"text": "a", "description": "d"}]`, "j criterion 1 | a\nd"},
		{"a sentence under check", `"assertions": [{"name": "n", "check": "It is short."}]`, "j n | It is short."},
		{"a formula under check", `"assertions": [{"name": "n", "check": "em_dash_count == 0"}]`, "j n | em_dash_count == 0"},
		{"a sentence of type contains", `"assertions": [{"text": "It has a.", "type": "contains"}, {"text": "b", "type": "output"}]`, "j criterion 1 | It has a.; j criterion 2 | b"},
		{"a name alone", `"assertions": [{"name": "It is short."}]`, "j criterion 1 | It is short."},
		{"contains", `"assertions": [{"name": "n", "type": "contains", "value": "v", "description": "d"}]`, "c n | contains v"},
		{"not_contains", `"assertions": [{"name": "n", "type": "not_contains", "value": "v"}]`, "c n | not_contains v"},
		{"regex", `"assertions": [{"name": "n", "type": "regex", "value": "(?i)v+"}]`, "c n | regex (?i)v+"},
		{"types of checks that a judge makes", `"assertions": [{"id": "i", "description": "d", "type": "verdict_check"}]`, "j i | d"},
		{"methods", `"assertions": [{"text": "a", "method": "deterministic", "criterion_class": "x", "severity": "high", "check": [{"field": "f", "op": "eq", "value": 1}]}]`, "j criterion 1 | a"},
		{"a result that was written back", `"assertions": [{"text": "a", "name": "n", "passed": true, "evidence": "e"}]`, "j n | a"},
		{"a retired one", `"assertions": [{"check": "a", "cmd": ["x"], "retired": true}, "b"]`, "j criterion 1 | b"},
		{"a retired one, with the reason", `"deterministic_assertions": [{"check": "a", "retired": "since v2"}], "assertions": ["b"]`, "j criterion 1 | b"},
		{"sentences under checks", `"checks": ["a", "b"], "expected_output": "All."`, "j criterion 1 | a; j criterion 2 | b; context | All."},
		{"a rubric that says when it passes", `"rubric": [{"dimension": "d", "pass_if": "a"}]`, "j d | a"},
		{"sentences under evaluation_criteria", `"evaluation_criteria": ["a"]`, "j criterion 1 | a"},
		{"one name twice", `"assertions": [{"name": "n", "text": "a"}, {"name": "n", "text": "b"}]`, "j n | a; j n 2 | b"},
		{"anti_expectations", `"expectations": ["a"], "anti_expectations": ["b"]`, "j criterion 1 | a; j criterion 2 | This is avoided, so that it did not happen: b"},
		{"unexpected_behavior", `"unexpected_behavior": ["b"]`, "j criterion 1 | This is avoided, so that it did not happen: b"},
		{"must_have and must_not_have", `"must_have": ["a"], "must_not_have": ["b"]`, "j criterion 1 | a; j criterion 2 | This is avoided, so that it did not happen: b"},
		{"files_exist and logs_contain", `"files_exist": ["out/a.txt"], "logs_contain": ["done"]`, "t file out/a.txt; t log done"},
		{"skill_should_trigger", `"skill_should_trigger": false`, "skill pdf never=true"},
		{"execution", `"execution": {"expected_output": "All.", "assertions": ["a"]}`, "j criterion 1 | a; context | All."},
		{"execution next to own ones", `"assertions": ["a"], "execution": {"assertions": ["b"]}`, "j criterion 1 | a"},
		{"one text in place of a list", `"assertions": "a"`, "j criterion 1 | a"},
		{"white space", `"assertions": ["  a\n"], "expected_output": " "`, "j criterion 1 | a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cases, problems := read(t, repository(`{"skill_name": "pdf", "evals": [{"id": 1, "prompt": "p", `+tt.eval+`}]}`), evals, running)
			if len(problems) > 0 || len(cases) != 1 {
				t.Fatalf("%d cases, %v", len(cases), problems)
			}
			if diff := cmp.Diff(tt.want, strings.Join(asked(cases[0]), "; ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if cases[0].Skip != "" || cases[0].Target != "coder" {
				t.Errorf("skip %q, target %q", cases[0].Skip, cases[0].Target)
			}
			for _, ev := range cases[0].Evaluators {
				if len(ev.Rule.Required) == 0 && ev.Rule.Threshold < 1 {
					t.Errorf("the evaluator %s passes whatever holds: %+v", ev.Name, ev.Rule)
				}
			}
		})
	}
}

// TestExpectedOutputAsCriterion is AgentV's reading.
func TestExpectedOutputAsCriterion(t *testing.T) {
	settings := running
	settings.Skills.JudgesOutput = true
	cases, problems := read(t, repository(`{"evals": [{"id": 1, "prompt": "p", "expected_output": "All.", "assertions": ["a"]}]}`), evals, settings)
	if len(cases) != 1 || len(problems) > 0 {
		t.Fatal(problems)
	}
	if got, want := strings.Join(asked(cases[0]), "; "), "j expected-output | All.; j criterion 2 | a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestLists: the list of evals has four names, ids are numbers or texts, and a prompt is
// text even where it has braces.
func TestLists(t *testing.T) {
	for _, name := range []string{"evals", "evaluations", "cases", "test_cases"} {
		text := fmt.Sprintf(`{"schema_version": "1", "repo_criteria": ["for all"], %q: [{"id": 0, "prompt": "{{p}} {%% x %%}", "assertions": ["a"]}, {"id": "two", "input": "q", "tags": ["b", "a"], "category": "c", "name": "second", "description": "d"}]}`, name)
		cases, problems := read(t, repository(text), evals, running)
		if len(problems) > 0 || len(cases) != 2 {
			t.Fatalf("%s: %d cases, %v", name, len(cases), problems)
		}
		if doc, _ := document.Open(repository(text), evals); !skill.Fits(doc) {
			t.Errorf("%s is not recognized", name)
		}
		first, second := cases[0], cases[1]
		if first.Key != "skills/pdf#0" || second.Key != "skills/pdf#two" || first.Drive.Messages[0].Content != "{{p}} {% x %}" || second.Drive.Messages[0].Content != "q" {
			t.Errorf("%s: %s %v, %s", name, first.Key, first.Drive.Messages, second.Key)
		}
		if got := strings.Join(append(asked(first), asked(second)...), "; "); got != "j criterion 1 | a; j repo_criteria 1 | for all; j repo_criteria 1 | for all" {
			t.Errorf("%s asks %s", name, got)
		}
		labels := second.Labels
		if diff := cmp.Diff(schema.Labels{Name: "second", Description: "d", Tags: []string{"a", "b"}, Groups: []string{"skills/pdf"}, Facts: schema.Facts{Metadata: json.RawMessage(`{"category":"c"}`)}}, labels); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", name, diff)
		}
	}
}

// TestUnjudged: an eval without criteria is listed with the reason and never passes.
func TestUnjudged(t *testing.T) {
	for _, tt := range []struct{ eval, skip, problem string }{
		{`"name": "n"`, "not judged: no criteria", `3:1: warning: eval 1 has no criteria, so that it is not judged; add "assertions": [ … ] with sentences that a judge can find true or false`},
		{`"assertions": []`, "not judged: no criteria", "3:1: warning: eval 1 has no criteria"},
		{`"rubric": {"a": 5}`, "not judged: no criteria", "3:22: warning: `rubric` of eval 1 is kept and not judged; write what it demands as sentences under `assertions`"},
		{`"criteria": [{"points": 5}]`, "not judged: no criteria", "3:22: warning: `criteria` of eval 1 is kept and not judged"},
		{`"rubric": ["a"], "deterministic_assertions": [{"check": "c", "cmd": ["make"]}]`, "not judged: the criterion in line 3 runs a command, which is not run", "3:83: warning: the eval 1 is not judged"},
		{`"assertions": ["a", {"check": "c", "cmd": ["make"], "expect_exit": 0}]`, "not judged: the criterion in line 3 runs a command, which is not run", "3:57: warning: the eval 1 is not judged, since a criterion of it runs a command"},
	} {
		cases, problems := read(t, repository("{\"evals\": [\n\n"+`{"id":1,"prompt":"p",`+tt.eval+"}]}"), evals, running)
		if len(cases) != 1 || cases[0].Skip != tt.skip || len(cases[0].Evaluators) > 0 {
			t.Fatalf("%s: %+v", tt.eval, cases)
		}
		if !slices.ContainsFunc(problems, func(p schema.Problem) bool {
			return strings.HasPrefix(strings.TrimPrefix(p.String(), evals+":"), tt.problem)
		}) {
			t.Errorf("%s: problems %v, want %s", tt.eval, problems, tt.problem)
		}
	}
}

// TestProblems: a mistake has its place and its repair, and costs its eval alone.
func TestProblems(t *testing.T) {
	const rest = `, {"id": 2, "prompt": "p", "assertions": ["a"]}`
	for _, tt := range []struct {
		eval, want string
		cases      int
	}{
		{`{"prompt": "p", "assertions": ["a"]}`, "1:12: error: the eval has no id; add \"id\": … with a number or a text that no other eval of the file has; verdicts are stored by it", 1},
		{`{"id": true, "prompt": "p"}`, "1:13: error: `id` must be a number or a text; write a number", 1},
		{`{"id": 2, "prompt": "p", "assertions": ["a"]}`, `1:60: error: two evals have the id "2"; the other is in skills/pdf/evals/evals.json:1:13; give this one another id`, 1},
		{`{"id": 1}`, "1:12: error: the eval 1 has no prompt; add \"prompt\": … with what the user says", 1},
		{`{"id": 1, "prompt": ["p"]}`, "1:22: error: `prompt` must be a text; write what the user says", 1},
		{`{"id": 1, "prompt": " "}`, "1:22: error: `prompt` is empty; write what the user says", 1},
		{`"p"`, "1:12: error: an eval must be an object; write `id`, `prompt` and `assertions`", 1},
		{`{"id": 1, "prompt": "p", "assertions": [5]}`, "1:52: error: a criterion must be a sentence or an object with one; write a text", 1},
		{`{"id": 1, "prompt": "p", "assertions": [{"passed": true}]}`, "1:52: error: the criterion has no sentence; write \"text\": … with what a judge can find true or false", 1},
		{`{"id": 1, "prompt": "p", "assertions": {"a": "b"}}`, "1:37: error: `assertions` must be a list; write a list of sentences", 1},
		{`{"id": 1, "prompt": "p", "assertions": [{"type": "regex", "value": "(?=a)"}]}`, "1:70: error: the pattern cannot be read: invalid or unsupported Perl syntax: `(?=`; write it in RE2, which looks neither ahead nor behind, or write a sentence for a judge: text", 1},
		{`{"id": 1, "prompt": "p", "assertions": [{"name": "n", "type": "contain", "value": "v"}]}`, "1:66: error: the type \"contain\" of a criterion is not known; did you mean `contains`?", 1},
		{`{"id": 1, "prompt": "p", "assertions": [{"name": "n", "type": "starts_with", "value": "v"}]}`, "1:66: error: the type \"starts_with\" of a criterion is not known; write contains, not_contains or regex, or a sentence for a judge: text", 1},
		{`{"id": 1, "prompt": "p", "assertions": [{"name": "n", "type": "contains", "valeu": "v"}]}`, "1:52: error: a criterion of the type contains needs a `value`; add \"value\": … with the text that is looked for, or write a sentence for a judge: text", 1},
		{`{"id": 1, "prompt": "p", "must_not_have": [{"name": "n", "type": "contains", "value": "v"}]}`, "1:55: error: a text is looked for in a list of what must not happen; move it to assertions, with the type not_contains", 1},
		{`{"id": 1, "prompt": "p", "assertions": [{"type": "contains", "value": 5}]}`, "1:73: error: `value` must be a text; write the text that is looked for", 1},
		{`{"id": 1, "prompt": "p", "assertions": ["a"], "files": [5]}`, "1:68: error: an item of `files` must be the path of a file; write a path below the folder of the skill", 1},
		{`{"id": 1, "prompt": "p", "skill_should_trigger": "yes"}`, "1:37: error: `skill_should_trigger` must be true or false; write true or false", 1},
		{`{"id": 1, "prompt": "p", "assertions": ["a"], "files": ["evals/evals.json"]}`, "1:68: error: skills/pdf/evals/evals.json cannot be laid out: it has the answers; make it a plain file of the repository", 1},
	} {
		cases, problems := read(t, repository(`{"evals": [`+tt.eval+rest+`]}`), evals, running)
		var errs []string
		for _, p := range problems {
			if p.Severity == schema.Error {
				errs = append(errs, strings.TrimPrefix(p.String(), evals+":"))
			}
		}
		if strings.Join(errs, "\n") != tt.want || len(cases) != tt.cases {
			t.Errorf("%s: %d cases, %q\nwant %q", tt.eval, len(cases), errs, tt.want)
		}
	}
	for text, want := range map[string]string{
		`{"skill_name": "pdf"}`: `1:1: error: the file has no list of evals; write "evals": [{"id": 1, "prompt": …, "assertions": […]}]`,
		`{"skill_name": "pdf", "evls": [{"id": 1, "prompt": "p"}]}`: "1:23: error: the file has no list of evals, and `evls` is not known; did you mean `evals`?",
		`{"evals": []}`: "1:2: error: the list of evals is empty; add an eval, or remove the file",
	} {
		if _, problems := read(t, repository(text), evals, running); len(problems) != 1 || problems[0].String() != evals+":"+want {
			t.Errorf("%s: %v, want %s", text, problems, want)
		}
	}
}

// TestFiles: a file is looked for next to SKILL.md, next to the evals and in the root, and
// is laid out at its path, and by its base name where the prompt has only that.
func TestFiles(t *testing.T) {
	const nowhere = ` is in none of the three places in which it is looked for: `
	for _, tt := range []struct{ files, prompt, want, problem string }{
		{`["references/forms.md"]`, "p", "references/forms.md", ""},
		{`["evals/files/own.csv"]`, "p", "evals/files/own.csv", ""},
		{`["files/own.csv"]`, "p", "files/own.csv", ""},
		{`["./files/own.csv"]`, "Read own.csv", "files/own.csv own.csv", ""},
		{`["files/own.csv"]`, "Read files/own.csv", "files/own.csv", ""},
		{`["fixtures/root.csv"]`, "p", "fixtures/root.csv", ""},
		{`["../../fixtures/root.csv"]`, "p", "fixtures/root.csv", ""},
		{`["assets/in"]`, "p", "assets/in/one.csv assets/in/two.csv", ""},
		{`["assets/in/"]`, "p", "assets/in/one.csv assets/in/two.csv", ""},
		{`["evals"]`, "p", "evals/files/own.csv evals/results/old.txt evals/trigger.json", ""},
		{`["fixtures/root.csv", "fixtures/root.csv"]`, "p", "fixtures/root.csv", ""},
		{`[]`, "p", "", ""},
		{`["post.md"]`, "p", "", `warning: the file "post.md"` + nowhere + "skills/pdf/post.md, skills/pdf/evals/post.md, post.md; the case runs without it"},
		{`["/tmp/x"]`, "p", "", `warning: the path "/tmp/x" is one of a single machine`},
		{`["C:\\x"]`, "p", "", `warning: the path "C:\\x" is one of a single machine`},
		{`["a\\x"]`, "p", "", `warning: the path "a\\x" has a backslash`},
		{`["../../../../x"]`, "p", "", `warning: the path "../../../../x" leaves the repository`},
	} {
		cases, problems := read(t, repository(fmt.Sprintf(`{"evals": [{"id": 1, "prompt": %q, "assertions": ["a"], "files": %s}]}`, tt.prompt, tt.files)), evals, running)
		if len(cases) != 1 {
			t.Fatalf("%s: %v", tt.files, problems)
		}
		var laid []string
		for _, f := range cases[0].Drive.Workspace.Staged {
			laid = append(laid, f.Path)
		}
		if got := strings.Join(laid, " "); got != tt.want {
			t.Errorf("%s lays out %q, want %q", tt.files, got, tt.want)
		}
		if tt.problem == "" && len(problems) > 0 || tt.problem != "" && (len(problems) != 1 || !strings.Contains(problems[0].String(), tt.problem)) {
			t.Errorf("%s: problems %v, want %s", tt.files, problems, tt.problem)
		}
	}
	cases, _ := read(t, repository(`{"evals": [{"id": 1, "prompt": "p", "assertions": ["a"], "workspace": "assets/in"}]}`), evals, running)
	if got := cases[0].Drive.Workspace.Staged; len(got) != 2 || got[0].Path != "one.csv" || got[0].From != "skills/pdf/assets/in/one.csv" {
		t.Errorf("the workspace has %v", got)
	}
}

// TestTheSkill: all of the folder but the evals is the program under test, with the name
// of its SKILL.md, and a file of one eval is an input of that alone.
func TestTheSkill(t *testing.T) {
	cases, problems := read(t, repository(`{"skill_name": "PDF", "evals": [{"id": 1, "prompt": "p", "assertions": ["a"], "files": ["fixtures/root.csv"]}, {"id": 2, "prompt": "p", "assertions": ["a"]}]}`), evals, running)
	if len(cases) != 2 || len(problems) > 0 {
		t.Fatal(problems)
	}
	work := cases[1].Drive.Workspace
	var files []string
	for _, f := range work.Skill.Files {
		files = append(files, fmt.Sprintf("%s %v", f.Path, f.Executable))
	}
	want := []string{"SKILL.md false", "assets/in/one.csv false", "assets/in/two.csv false", "references/forms.md false", "scripts/run.sh true"}
	if diff := cmp.Diff(want, files); diff != "" || work.Skill.Name != "pdf" || work.Skill.Dir != "skills/pdf" || len(work.Staged) > 0 {
		t.Errorf("%+v (-want +got):\n%s", work, diff)
	}
	isInput := func(c *schema.Case, name string) bool {
		return slices.ContainsFunc(c.Inputs, func(in schema.Input) bool { return in.File == name && !in.Absent })
	}
	if !isInput(cases[0], "fixtures/root.csv") || isInput(cases[1], "fixtures/root.csv") || !isInput(cases[1], "skills/pdf/references/forms.md") || isInput(cases[1], "skills/pdf/evals/trigger.json") {
		t.Errorf("inputs %v and %v", cases[0].Inputs, cases[1].Inputs)
	}
}

// TestWhereSkillsAre: the skill is above the evals, or is found by its name.
func TestWhereSkillsAre(t *testing.T) {
	const text = `{"skill_name": "pdf", "evals": [{"id": 1, "prompt": "p", "assertions": ["a"]}]}`
	md := "---\nname: pdf\n---\n"
	for _, tt := range []struct {
		name, file      string
		files           map[string]string
		key, dir, agent string
		problem         string
	}{
		{"next to it", "a/pdf/evals/evals.json", map[string]string{"a/pdf/SKILL.md": md}, "a/pdf#1", "a/pdf", "pdf", ""},
		{"without a head", "a/doc/evals/evals.json", map[string]string{"a/doc/SKILL.md": "Read."}, "a/doc#1", "a/doc", "doc",
			"a/doc/evals/evals.json:1:2: warning: `skill_name` is \"pdf\", and the skill in a/doc is doc, which the evals test; write \"doc\", or move the file into evals/ of the skill pdf"},
		{"by what it says of two", "evals/evals.json", map[string]string{"skills/doc/SKILL.md": md, "skills/pd/SKILL.md": md}, "skills/doc#1", "skills/doc", "pdf",
			"evals/evals.json:1:2: warning: two skills have the name pdf, in skills/doc and in skills/pd; the first one counts; give one another name, or name its folder in .gavelignore"},
		{"in the root", "evals/evals.json", map[string]string{"SKILL.md": md, "references/a.md": "x", "LICENSE": "x", "README.md": "x", ".github/x.yml": "x", "docs/a.md": "x"}, "pdf#1", ".", "pdf", ""},
		{"in the root, which names a file", "evals/evals.json", map[string]string{"SKILL.md": md + "Follow docs", "docs/a.md": "x", "test_definitions/a.yaml": "x", "LICENSE": "x"}, "pdf#1", ".", "pdf", ""},
		{"of a plugin, by its folder", "plugins/p/evals/evals.json", map[string]string{"plugins/p/skills/pdf/SKILL.md": "x"}, "plugins/p/skills/pdf#1", "plugins/p/skills/pdf", "pdf", ""},
		{"of a name under skill", "q/evals/evals.json", map[string]string{"q/x/pdf/SKILL.md": md}, "q/x/pdf#1", "q/x/pdf", "pdf", ""},
		{"of a plugin, by what it says", "evals/evals.json", map[string]string{"skills/doc/SKILL.md": md, "skills/csv/SKILL.md": "x"}, "skills/doc#1", "skills/doc", "pdf", ""},
		{"in a second file", "a/pdf/evals/holdout-evals.json", map[string]string{"a/pdf/SKILL.md": md}, "a/pdf/holdout-evals#1", "a/pdf", "pdf", ""},
		{"nowhere", "x/evals/evals.json", nil, "x#1", "", "", "x/evals/evals.json:1:2: warning: the evals name a skill \"pdf\", and no SKILL.md below x has that name; write x/SKILL.md, or correct the name"},
	} {
		files := fstest.MapFS{tt.file: {Data: []byte(strings.Replace(text, "skill_name", map[bool]string{true: "skill", false: "skill_name"}[tt.name == "of a name under skill"], 1))}}
		for name, text := range tt.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		cases, problems := read(t, files, tt.file, running)
		if len(cases) != 1 {
			t.Fatalf("%s: %v", tt.name, problems)
		}
		c := cases[0]
		got := schema.WorkspaceSkill{}
		if c.Drive.Workspace.Skill != nil {
			got = *c.Drive.Workspace.Skill
		}
		said := ""
		problems = slices.DeleteFunc(problems, func(p schema.Problem) bool { return p.Rule == "skill-frontmatter" }) // TestHeadProblems
		if len(problems) > 0 {
			said = problems[0].String()
		}
		if c.Key != tt.key || got.Dir != tt.dir || got.Name != tt.agent || said != tt.problem || (c.Skip != "") != (tt.dir == "") {
			t.Errorf("%s: %s, %+v, skip %q, %s", tt.name, c.Key, got, c.Skip, said)
		}
		if tt.dir == "." && (len(got.Files) != 2 || got.Files[1].Path != map[bool]string{true: "docs/a.md", false: "references/a.md"}[tt.name == "in the root, which names a file"]) {
			t.Errorf("%s: files %v", tt.name, got.Files)
		}
	}
}

// TestTargets: a case runs where a target works in a folder and is named for skills.
func TestTargets(t *testing.T) {
	named := func(skills, against string) schema.Settings {
		s := running
		s.Skills.Target, s.Against = skills, against
		return s
	}
	coding := named("", "")
	coding.DefaultTarget = "claude"
	coding.Targets = map[string]schema.TargetSettings{"claude": {CodingAgent: true, HasWorkspace: true}}
	for _, tt := range []struct {
		settings     schema.Settings
		target, skip string
	}{
		{named("coder", ""), "coder", ""},
		{named("", ""), "", "no coding agent is configured (a target such as {provider: claude-code}, or skills: {target: …}, in gavel.yaml)"},
		{named("", "coder"), "coder", ""},
		{named("bot", ""), "bot", "the target bot has no folder to work in, in which it would find the skill"}, // gavel.yaml has the repair
		{named("codr", ""), "codr", "gavel.yaml does not have the target codr"},
		{named("coder", "bot"), "bot", "the target bot has no folder to work in, in which it would find the skill: name a command"},
		{coding, "", ""},
		{schema.Settings{}, "", "no coding agent is configured (a target such as {provider: claude-code}, or skills: {target: …}, in gavel.yaml)"},
	} {
		cases, _ := read(t, repository(`{"evals": [{"id": 1, "prompt": "p", "assertions": ["a"]}]}`), evals, tt.settings)
		if len(cases) != 1 || cases[0].Target != tt.target || cases[0].Skip != tt.skip {
			t.Errorf("%+v: %+v", tt.settings.Skills, cases[0].CaseInfo)
		}
	}
}

// TestHeadProblems: a SKILL.md that agents do not find has a warning with the repair.
func TestHeadProblems(t *testing.T) {
	for text, want := range map[string]string{
		"---\nname: pdf\ndescription: Reads.\n---\nBody\n":          "",
		"---\r\nname: pdf\r\ndescription: >\r\n  Reads.\r\n---\r\n": "",
		"# PDF\nBody\n": "skills/pdf/SKILL.md does not begin with the fields by which agents find a skill; begin it with the lines ---, name: …, description: … and ---",
		"---\nname: pdf\ndescription: Reads.\nBody": "skills/pdf/SKILL.md has no end of the fields by which agents find a skill; write --- below the last one",
		"---\nname: pdf\ndescription:\n---\n":       "skills/pdf/SKILL.md has no description, by which agents choose a skill; add description: … below its name",
	} {
		tree := repository(`{"evals": [{"id": 1, "prompt": "p", "assertions": ["a"]}]}`)
		tree["skills/pdf/SKILL.md"] = &fstest.MapFile{Data: []byte(text)}
		_, problems := read(t, tree, evals, running)
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if want != "" {
			want = evals + ":1:1: warning: " + want
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
	// A name that differs in case alone is the file that was meant.
	tree := repository(`{"skill_name": "pdf", "evals": [{"id": 1, "prompt": "p", "assertions": ["a"]}]}`)
	tree["skills/pdf/skill.md"] = tree["skills/pdf/SKILL.md"]
	delete(tree, "skills/pdf/SKILL.md")
	if _, problems := read(t, tree, evals, running); len(problems) != 1 || problems[0].Hint != "rename skills/pdf/skill.md to SKILL.md" {
		t.Errorf("the problems are %v", problems)
	}
}

// TestUnreadFields: a field that is written nearly like one that is read is a warning with
// the repair, and every other one is metadata.
func TestUnreadFields(t *testing.T) {
	for _, tt := range []struct{ fields, want string }{
		{`"assertion": ["a"]`, "`assertion` of eval 1 is not known, so that it is kept and not read; did you mean `assertions`?"},
		{`"asertions": ["a"], "assertions": ["b"]`, ""}, // both are there: nothing is lost
		{`"expectatons": ["a"]`, "did you mean `expectations`?"},
		{`"must_have": ["a"], "must_not_hav": ["b"]`, "did you mean `must_not_have`?"},
		{`"assertions": ["a"], "flies": ["a.csv"]`, "`flies` of eval 1 is not known, so that it is kept and not read; did you mean `files`?"},
		{`"assertions": ["a"], "skill_shuold_trigger": true`, "did you mean `skill_should_trigger`?"},
		{`"assertions": ["a"], "inputs": {}, "eval_name": "n", "input_files": [], "category": "c", "notes": "n", "type": "t"`, ""},
	} {
		_, problems := read(t, repository(`{"skill_name": "pdf", "evals": [{"id": 1, "prompt": "p", `+tt.fields+`}]}`), evals, running)
		problems = slices.DeleteFunc(problems, func(p schema.Problem) bool { return p.Rule != "unknown-field" })
		if (len(problems) == 0) != (tt.want == "") || len(problems) > 0 && (!strings.Contains(problems[0].String(), tt.want) || problems[0].Severity != schema.Warning || problems[0].Column < 40) {
			t.Errorf("%s: %v, want %q", tt.fields, problems, tt.want)
		}
	}
	_, problems := read(t, repository(`{"skillname": "other", "version": 2, "evals": [{"id": 1, "prompt": "p", "assertions": ["a"]}]}`), evals, running)
	if want := evals + ":1:2: warning: `skillname` of the file is not known, so that it is kept and not read; did you mean `skill_name`?"; len(problems) != 1 || problems[0].String() != want {
		t.Errorf("%v, want %s", problems, want)
	}
}

// TestNearlyNamed: a file with a misspelt name of evals has a repair, and the files of
// trigger lists and second files of evals have none.
func TestNearlyNamed(t *testing.T) {
	for file, want := range map[string]string{
		"a/evals/eval.json":         "rename it to a/evals/evals.json, or move its evals there",
		"a/evals/Evals.json":        "rename it to a/evals/evals.json, or move its evals there",
		"a/evals/evlas.json":        "rename it to a/evals/evals.json, or move its evals there",
		"a/evals/evaluations.json":  "rename it to a/evals/evals.json, or move its evals there",
		"evals/evals.yaml":          "write it as JSON, in evals/evals.json",
		"a/evals/evals.json":        "",
		"a/evals/evals-v2.json":     "",
		"a/evals/holdout.json":      "",
		"a/evals/queries.json":      "",
		"a/evals/eval_queries.json": "",
		"a/evals/eval.md":           "",
		"a/eval.json":               "",
	} {
		if hint, ok := skill.IsNearlyNamed(file); hint != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", file, hint, ok, want)
		}
	}
}
