package load

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
	"github.com/gavel-evals/gavel/schema/document"
)

// TestMain answers as the child that evaluates.
func TestMain(m *testing.M) {
	if cueeval.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

const teamFile = "test_definitions/schema/team.cue"

// constrained are settings under which a team demands something, and the
// repository that it is demanded of.
func constrained(texts map[string]string, rules map[string]string) (schema.Settings, map[string]string) {
	all := maps.Clone(texts)
	maps.Copy(all, rules)
	out := settings
	var err error
	if out.Constraints, err = document.ReadConstraints(fsOf(all), out.Definitions); err != nil {
		panic(err) // the files are in memory
	}
	return out, all
}

const teamRules = `package team

import "list"

_owned: list.MatchN(>0, =~"^owner:") | error("every testcase needs a tag with its owner, such as owner:billing")

#Testcase: tags: _owned

#Test: {
	// a test of ours has an hour at most
	timeout_ms?: <=3600000 | null
	owner:       string
}

#Promptval: iterations?: >=3 | error("once is not enough")
#EvalcaseRubric: weight?: <=10
#EvalcaseSuite: name: string
#Domain: description: string
#Level: name?: #Short
#Short: =~"^.{0,80}$"
`

// TestConstraints holds the messages about definitions of every dialect that violate
// their team's demands.
func TestConstraints(t *testing.T) {
	texts := map[string]string{
		"test_definitions/d/domain.json":         "{\"id\": \"d\", \"name\": \"D\", \"evaluator_id\": \"keyword\"}",
		"test_definitions/d/level_1/fine.json":   `{"id": "fine", "name": "F", "prompt": "x", "expected": {"keywords": ["x"]}, "owner": "me", "other": 1}`,
		"test_definitions/d/level_1/slow.json":   "{\"id\": \"slow\", \"name\": \"S\", \"prompt\": \"x\",\n  \"expected\": {\"keywords\": [\"x\"]}, \"owner\": \"me\",\n  \"timeout_ms\": 3600001}",
		"test_definitions/d/level_1/orphan.yaml": "id: orphan\nname: O\nprompt: x\nexpected: {keywords: [x]}\n",
		"test_definitions/polite.json":           `{"name": "Polite"}`,
		"test_definitions/list.yaml":             "- name: A\n  tags: [owner:me]\n- name: B\n  tags: [red-team]\n- name: C\n  tags: 5\n",
		"test_definitions/lines.jsonl":           "{\"name\": \"L\", \"tags\": [\"owner:me\"]}\n{\"name\": \"M\", \"tags\": []}\n",
		"test_definitions/once.json":             "{\"test_type\": \"agent\", \"name\": \"a\", \"user_input\": \"x\", \"testing_prompt\": \"y\",\n \"iterations\": 1}",
		"test_definitions/suite.yaml":            "name: S\nevalcases:\n- id: a\n  input: x\n  expected_outcome: y\n  rubrics:\n  - {id: r, expected_outcome: z, weight: 11}\n",
		"test_definitions/nameless.yaml":         "evalcases:\n- id: a\n  input: x\n  expected_outcome: y\n",
	}
	with, texts := constrained(texts, map[string]string{teamFile: teamRules})
	var got []string
	for _, p := range loadBy(t, with, texts).Problems {
		got = append(got, strings.TrimPrefix(p.String(), "test_definitions/"))
	}
	want := []string{
		"d/domain.json:1:1: error: the field `description` is missing; add \"description\": …, which test_definitions/schema/team.cue:18:10 demands",
		"d/level_1/fine.json:1:1: error: test_definitions/d/domain.json is invalid; fix it first; this test depends on it",
		"d/level_1/fine.json:1:92: warning: unknown field `other`; it is ignored; remove it",
		"d/level_1/orphan.yaml:1:1: error: the field `owner` is missing; add \"owner\": …, which test_definitions/schema/team.cue:12:2 demands",
		"d/level_1/orphan.yaml:1:1: error: test_definitions/d/domain.json is invalid; fix it first; this test depends on it",
		"d/level_1/slow.json:1:1: error: test_definitions/d/domain.json is invalid; fix it first; this test depends on it",
		"d/level_1/slow.json:3:3: error: a test of ours has an hour at most; see test_definitions/schema/team.cue:11:15",
		"lines.jsonl:2:15: error: every testcase needs a tag with its owner, such as owner:billing; see test_definitions/schema/team.cue:5:40",
		"list.yaml:4:3: error: every testcase needs a tag with its owner, such as owner:billing; see test_definitions/schema/team.cue:5:40",
		"list.yaml:6:9: error: `tags` must be a list, not a number; write [5]",
		"nameless.yaml:1:1: error: the field `name` is missing; add \"name\": …, which test_definitions/schema/team.cue:17:17 demands",
		"once.json:2:2: error: once is not enough; see test_definitions/schema/team.cue:15:32",
		"polite.json:1:1: error: every testcase needs a tag with its owner, such as owner:billing; add \"tags\": …, which test_definitions/schema/team.cue:7:12 demands",
		"suite.yaml:7:34: error: `weight`: invalid value 11 (out of bound <=10); see test_definitions/schema/team.cue:16:27",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAddedFieldsAreKnown holds that a case is one also where its fields are
// those that the team adds, and that these are misspelt like any other.
func TestAddedFieldsAreKnown(t *testing.T) {
	with, texts := constrained(map[string]string{
		"test_definitions/a.yaml":    "name: A\nowner: me\n",
		"test_definitions/b.yaml":    "name: B\nowner: 5\n",
		"test_definitions/list.yaml": "- {name: C, owner: me}\n- {name: D, ownr: me}\n",
	}, map[string]string{teamFile: "#Testcase: owner: string\n"})
	res := loadBy(t, with, texts)
	var got []string
	for _, c := range res.Cases {
		got = append(got, c.Key)
	}
	for _, p := range res.Problems {
		got = append(got, strings.TrimPrefix(p.String(), "test_definitions/"))
	}
	want := []string{
		"a", "list#c",
		"b.yaml:2:1: error: `owner`: it must be a string, not a whole number; see test_definitions/schema/team.cue:1:19",
		"list.yaml:2:13: error: unknown field `ownr`; did you mean `owner`?",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConstraintsThatCannotBeUsed holds that they are problems at their place,
// and cost no definition anything.
func TestConstraintsThatCannotBeUsed(t *testing.T) {
	for _, tt := range []struct{ name, rules, want string }{
		{"syntax", "#Testcase: {", teamFile + ":1:13: error: expected '}', found 'EOF'; look for a missing comma, quote or bracket at or before this place"},
		{"a misspelt name", "#TestCase: tags: _", teamFile + ":1:1: error: unknown definition `#TestCase`; did you mean `#Testcase`?"},
		{"a misspelt field", "#Testcase: tagz: _", teamFile + ":1:12: error: `#Testcase` has no field `tagz`; did you mean `tags`?"},
		{"no such field", "#TestcasePersona: colour: string", teamFile + ":1:19: error: `#TestcasePersona` has no field `colour`; known are type, description, instructions"},
		{"a field that is none", "#Testcase: agent_tools: _", teamFile + ":1:12: error: `agent_tools` does not belong here: the agent's tools are captured on the run, so that the same case fits every version of the agent; remove them; calls that are wanted go into expected_tool_calls, their answers into its mock_responses"},
		{"an unknown name", "#Agent: name: _", teamFile + ":1:1: error: unknown definition `#Agent`, and nothing refers to it: it constrains nothing; open one of #Testcase, #Promptval, #Evalcase, #EvalcaseSuite, #EvalcaseSidecar, #Domain, #Level, #Test, #Tool, #Evaluator, or another of those that gavel schema prints"},
		{"a name in itself", "#List: {#Agent: 1}\n_x: #Agent\n#Agent: 1", teamFile + ":1:1: error: unknown definition `#List`, and nothing refers to it: it constrains nothing; open one of #Testcase, #Promptval, #Evalcase, #EvalcaseSuite, #EvalcaseSidecar, #Domain, #Level, #Test, #Tool, #Evaluator, or another of those that gavel schema prints"},
		{"no definition", "testcase: {}", teamFile + ":1:1: error: `testcase` constrains nothing; open a definition again, such as #Testcase: {…}; names of your own begin with _"},
		{"memory", "import \"strings\"\n#Testcase: name: !=strings.Repeat(\"x\", 2000000000)", teamFile + ":1:1: error: the constraints are not checked: the evaluation needed more memory than 512 MiB, or is nested too deeply; look for comprehensions, lists or strings that grow, and for definitions that refer to themselves"},
		{"too large", "// " + strings.Repeat("x", schema.MaxFile), teamFile + ":1:1: error: the file cannot be read: it has 262147 bytes and may have 262144; make it a plain file of the repository"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with, texts := constrained(seed(), map[string]string{teamFile: tt.rules, "test_definitions/polite.json": `{"name": "Polite"}`})
			res := loadBy(t, with, texts)
			if len(res.Problems) != 1 || res.Problems[0].String() != tt.want {
				t.Errorf("problems are\n%v\nwant\n%s", res.Problems, tt.want)
			}
			if len(res.Cases) != 6 {
				t.Errorf("%d cases are left of 6", len(res.Cases))
			}
			snap := updated(t, with, scan(t, with, texts), []string{"test_definitions/polite.json"}, texts, texts)
			if len(snap.problems) != 1 {
				t.Errorf("an update counts the problem %d times", len(snap.problems))
			}
		})
	}
}

// TestConstraintsAreOfTheirFolder holds that one folder's say nothing of
// another's.
func TestConstraintsAreOfTheirFolder(t *testing.T) {
	texts := map[string]string{
		"a/schema/team.cue": "#Testcase: tags: _", "a/x.json": `{"name": "X"}`,
		"b/schema/team.cue": "#Testcase: status: _", "b/x.json": `{"name": "X"}`,
	}
	with := schema.Settings{Definitions: []string{"a", "b/"}}
	var err error
	if with.Constraints, err = document.ReadConstraints(fsOf(texts), with.Definitions); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range loadBy(t, with, texts).Problems {
		got = append(got, p.String())
	}
	want := []string{
		"a/x.json:1:1: error: the field `tags` is missing; add \"tags\": …, which a/schema/team.cue:1:12 demands",
		"b/x.json:1:1: error: the field `status` is missing; add \"status\": …, which b/schema/team.cue:1:12 demands",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConstraintsAreGivenUp holds that constraints that come to no end with
// one definition are a problem of their file and of nothing else: what they
// had found until then is by chance. The end of it is seen, too.
func TestConstraintsAreGivenUp(t *testing.T) {
	const rules = "import \"strings\"\n#Testcase: {\n\tname: _\n\ttags: [_, ...]\n\tif name == \"Boom\" {description: !=strings.Repeat(\"x\", 2000000000)}\n}\n"
	const boom, calm = `{"name": "Boom", "tags": ["x"], "description": "x"}`, `{"name": "Calm", "tags": ["x"], "description": "x"}`
	with, texts := constrained(map[string]string{
		"test_definitions/a.json": `{"name": "A"}`, "test_definitions/boom.json": calm,
	}, map[string]string{teamFile: rules})
	snap := scan(t, with, texts)
	for _, tt := range []struct{ text, want string }{
		{calm, `test_definitions/a.json:1:1: error: the field ` + "`tags`" + ` is missing; add "tags": …, which test_definitions/schema/team.cue:4:2 demands`},
		{boom, teamFile + ":1:1: error: the constraints are not checked: the evaluation needed more memory than 512 MiB, or is nested too deeply; look for comprehensions, lists or strings that grow, and for definitions that refer to themselves"},
		{calm, `test_definitions/a.json:1:1: error: the field ` + "`tags`" + ` is missing; add "tags": …, which test_definitions/schema/team.cue:4:2 demands`},
	} {
		texts["test_definitions/boom.json"] = tt.text
		change, err := snap.Update(t.Context(), fsOf(texts), Options{Settings: with}, []string{"test_definitions/boom.json"})
		if err != nil {
			t.Fatal(err)
		}
		snap = change.Snapshot()
		if found := snap.Problems(); len(found) != 1 || found[0].String() != tt.want {
			t.Errorf("problems are\n%v\nwant\n%s", found, tt.want)
		}
		if diff := cmp.Diff(state(scan(t, with, texts)), state(snap)); diff != "" {
			t.Errorf("(-fresh +updated):\n%s", diff)
		}
	}
}

// TestEvaluationsAreBoundedTogether holds that a repository whose evaluations take too
// long together only loses the evaluated parts, with a message.
func TestEvaluationsAreBoundedTogether(t *testing.T) {
	with, texts := constrained(map[string]string{
		"test_definitions/a.json": `{"name": "A"}`, "test_definitions/b.cue": `name: "B"`, "test_definitions/c.cue": `name: "C"`,
	}, map[string]string{teamFile: "#Testcase: tags: _"})
	res, err := Load(t.Context(), fsOf(texts), Options{Settings: with, evaluations: &cuefile.Budget{}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range res.Problems {
		got = append(got, p.String())
	}
	const hint = "; look for comprehensions, lists or strings that grow, and for definitions that refer to themselves"
	want := []string{
		"test_definitions/b.cue:1:1: error: the .cue files took more than 30s together, and this one is not evaluated any more" + hint,
		"test_definitions/c.cue:1:1: error: the .cue files took more than 30s together, and this one is not evaluated any more" + hint,
		teamFile + ":1:1: error: the constraints are not checked: they and the .cue files took more than 30s together" + hint,
	}
	if diff := cmp.Diff(want, got); diff != "" || len(res.Cases) != 1 {
		t.Errorf("%d cases; (-want +got):\n%s", len(res.Cases), diff)
	}
}
