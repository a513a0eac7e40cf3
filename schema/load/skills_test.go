package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

const oneQuery = `[{"query": "Hello", "should_trigger": true}]`

const oneEval = `{"evals": [{"id": 1, "prompt": "p", "assertions": ["a"]}]}`

// finding are the settings of a repository whose skills are found.
func finding(definitions ...string) schema.Settings {
	return schema.Settings{
		Definitions: definitions, DefaultTarget: "coder", Skills: schema.SkillSettings{Find: true, Target: "coder"},
		Targets: map[string]schema.TargetSettings{"coder": {Agent: true, HasWorkspace: true}},
	}
}

func keysOf(cases []*schema.Case) string {
	var keys []string
	for _, c := range cases {
		keys = append(keys, c.Key)
	}
	return strings.Join(keys, " ")
}

// TestFindSkills: evals are found next to skills and nowhere else, whatever the folder of
// definitions is, and no other file of a dot folder or of evals/ is a definition.
func TestFindSkills(t *testing.T) {
	const md, other = "---\nname: x\ndescription: Does it.\n---\n", `{"name": "n", "initial_message": "Hello", "expected_outcomes": {"a": "b"}}`
	for _, tt := range []struct {
		name  string
		files map[string]string
		keys  string
		// problems are parts of what is said.
		problems string
	}{
		{"below skills", map[string]string{"skills/a/SKILL.md": md, "skills/a/evals/evals.json": oneEval}, "skills/a#1", ""},
		{"of Claude", map[string]string{".claude/skills/a/SKILL.md": md, ".claude/skills/a/evals/evals.json": oneEval}, ".claude/skills/a#1", ""},
		{"of agents", map[string]string{".agents/skills/a/SKILL.md": md, ".agents/skills/a/evals/evals.json": oneEval}, ".agents/skills/a#1", ""},
		{"of GitHub", map[string]string{".github/skills/a/SKILL.md": md, ".github/skills/a/evals/evals.json": oneEval}, ".github/skills/a#1", ""},
		{"in a folder of its name", map[string]string{"a/SKILL.md": md, "a/evals/evals.json": oneEval}, "a#1", ""},
		{"in the root", map[string]string{"SKILL.md": md, "evals/evals.json": oneEval}, "x#1", ""},
		{"of a plugin", map[string]string{"plugins/p/skills/a/SKILL.md": md, "plugins/p/skills/a/evals/evals.json": oneEval}, "plugins/p/skills/a#1", ""},
		{"in two places", map[string]string{"skills/a/SKILL.md": md, "skills/a/evals/evals.json": oneEval, "dist/a/SKILL.md": md, "dist/a/evals/evals.json": oneEval}, "dist/a#1 skills/a#1", ""},
		{"of another dot folder", map[string]string{".cache/skills/a/SKILL.md": md, ".cache/skills/a/evals/evals.json": oneEval}, "", ""},
		{"of packages", map[string]string{"node_modules/a/SKILL.md": md, "node_modules/a/evals/evals.json": oneEval}, "", ""},
		{"of a workspace", map[string]string{"a-workspace/a/SKILL.md": md, "a-workspace/a/evals/evals.json": oneEval}, "", ""},
		{"of results and fixtures", map[string]string{"skills/a/evals/results/b/SKILL.md": md, "skills/a/evals/results/b/evals/evals.json": oneEval}, "", ""},
		{"other files of a dot folder", map[string]string{".claude/skills/a/SKILL.md": md, ".claude/skills/a/evals/evals.json": oneEval, ".claude/skills/a/evals/test.json": other, ".claude/test.json": other, "evals/test.json": other, "skills/a/benchmark.json": other}, ".claude/skills/a#1", ""},
		{"evals of another tool", map[string]string{"evals/evals.json": `{"evals": [{"input": "x"}]}`, "more/evals/evals.json": "[1]"}, "", ""},
		{"evals with a mistake", map[string]string{"skills/a/SKILL.md": md, "skills/a/evals/evals.json": `{"evals": [`}, "", "skills/a/evals/evals.json:1:11: error"},
		{"evals of a skill without a list", map[string]string{"skills/a/SKILL.md": md, "skills/a/evals/evals.json": `{"suite": []}`}, "", "skills/a/evals/evals.json:1:1: error: the file has no list of evals"},
		{"evals by nearly the name", map[string]string{"skills/a/SKILL.md": md, "skills/a/evals/eval.json": oneEval}, "", "skills/a/evals/eval.json:1:1: warning: the evals in it are not read, since its name is not evals.json; rename it to skills/a/evals/evals.json, or move its evals there"},
		{"evals in YAML", map[string]string{"skills/a/SKILL.md": md, "skills/a/evals/evals.yaml": oneEval}, "", "skills/a/evals/evals.yaml:1:1: warning: the evals in it are not read, since its name is not evals.json; write it as JSON, in skills/a/evals/evals.json"},
		{"nearly the name next to evals", map[string]string{"skills/a/SKILL.md": md, "skills/a/evals/eval.json": oneEval, "skills/a/evals/evals.json": oneEval}, "skills/a#1", "skills/a/evals/eval.json:1:1: warning: the evals in it are not read"},
		{"nearly the name next to no skill", map[string]string{"evals/eval.json": oneEval}, "", "evals/eval.json:1:1: warning: the evals in it are not read"},
		{"nearly the name of another format", map[string]string{"skills/a/SKILL.md": md, "skills/a/evals/eval.json": other}, "", ""},
		{"excluded", map[string]string{".gavelignore": "skills/b/\n", "skills/a/SKILL.md": md, "skills/a/evals/evals.json": oneEval, "skills/b/SKILL.md": md, "skills/b/evals/evals.json": oneEval}, "skills/a#1", ""},
		{"in a folder of definitions", map[string]string{"test_definitions/a/SKILL.md": md, "test_definitions/a/evals/evals.json": oneEval}, "test_definitions/a#1", ""},
		{"a second file, in a folder of definitions", map[string]string{"test_definitions/a/SKILL.md": md, "test_definitions/a/evals/holdout.json": oneEval}, "test_definitions/a/holdout#1", ""},
		{"a trigger list", map[string]string{"skills/a/SKILL.md": md, "skills/a/evals/trigger-queries.json": oneQuery, "skills/a/evals/eval_queries.json": oneQuery, "skills/a/evals/holdout.json": oneQuery}, "skills/a/eval_queries#hello skills/a/trigger-queries#hello", ""},
		{"a trigger list next to a skill without an end", map[string]string{"skills/a/SKILL.md": md, "skills/a/evals/triggers.json": oneQuery, "skills/b/SKILL.md": "---\nname: b\ndescription: " + strings.Repeat("b", 17<<10) + "\n---\n"}, "skills/a/triggers#hello", "skills/a/evals/triggers.json:1:1: warning: the agent chooses from the other skills without 1 of them, such as skills/b/SKILL.md"},
		{"a trigger list of another tool", map[string]string{"evals/queries.json": `{"queries": [{"sql": "SELECT"}]}`}, "", ""},
		{"a trigger list without a skill", map[string]string{"evals/triggers.json": oneQuery}, "evals/triggers#hello", "there is no SKILL.md next to the folder of this file"},
		{"the name of a trigger list", map[string]string{"skills/a/SKILL.md": md, "skills/a/evals/queries.json": `{"queries": [{"sql": "SELECT"}]}`}, "", "skills/a/evals/queries.json:1:1: warning: the file has the name of a trigger list and no list of queries"},
		{"too deep", map[string]string{"1/2/3/4/5/6/7/8/a/SKILL.md": md, "1/2/3/4/5/6/7/8/a/evals/evals.json": oneEval}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			texts := maps.Clone(tt.files)
			texts["test_definitions/shop/domain.json"] = `{"id": "shop", "name": "S", "evaluator_id": "keyword"}`
			texts["test_definitions/shop/level_1/one.json"] = `{"id": "one", "name": "O", "prompt": "p", "expected": {"keywords": ["a"]}}`
			got := loadBy(t, finding("test_definitions"), texts)
			want := slices.DeleteFunc(append(strings.Fields(tt.keys), "shop/level_1/one"), func(s string) bool { return s == "" })
			slices.Sort(want)
			if keysOf(got.Cases) != strings.Join(want, " ") {
				t.Errorf("cases %s, want %s", keysOf(got.Cases), want)
			}
			var said []string
			for _, p := range got.Problems {
				said = append(said, p.String())
			}
			if tt.problems == "" && len(said) > 0 || !strings.Contains(strings.Join(said, "\n"), tt.problems) {
				t.Errorf("problems %q, want %q", said, tt.problems)
			}
		})
	}
}

// TestSkillsAloneAreEnough: the folder of definitions may be missing where there are
// skills, and evals that gavel.yaml pins to another format are read as that.
func TestSkillsAloneAreEnough(t *testing.T) {
	texts := map[string]string{"skills/a/SKILL.md": "---\nname: a\ndescription: Does it.\n---\n", "skills/a/evals/evals.json": oneEval}
	if got := loadBy(t, finding("test_definitions"), texts); keysOf(got.Cases) != "skills/a#1" || len(got.Problems) > 0 {
		t.Errorf("%s, %v", keysOf(got.Cases), got.Problems)
	}
	without := finding("test_definitions")
	without.Skills.Find = false
	if got := loadBy(t, without, texts); len(got.Cases) > 0 || len(got.Problems) != 1 || got.Problems[0].Rule != "missing-folder" {
		t.Errorf("%s, %v", keysOf(got.Cases), got.Problems)
	}
	pinned := finding("test_definitions")
	pinned.Dialects = map[string]string{"skills/**": schema.DialectEvalcase}
	if got := loadBy(t, pinned, texts); len(got.Cases) > 0 || len(got.Problems) == 0 {
		t.Errorf("%s, %v", keysOf(got.Cases), got.Problems)
	}
}

// TestChecksOfSkills: sentences under checks are criteria, and anything else there is the
// checks of every format.
func TestChecksOfSkills(t *testing.T) {
	for checks, want := range map[string]string{`["It is short"]`: "criteria", `[{"contains": "x"}]`: "checks"} {
		got := loadBy(t, finding("test_definitions"), map[string]string{"skills/a/SKILL.md": "---\nname: a\ndescription: Does it.\n---\n", "skills/a/evals/evals.json": `{"evals": [{"id": 1, "prompt": "p", "checks": ` + checks + `}]}`})
		if len(got.Cases) != 1 || len(got.Problems) > 0 || len(got.Cases[0].Evaluators) != 1 || got.Cases[0].Evaluators[0].Name != want || got.Cases[0].Skip != "" {
			t.Errorf("%s: %v, %v", checks, got.Cases, got.Problems)
		}
	}
}

// TestSkillsUpdate: loading what a change can affect leads to the same as loading all.
func TestSkillsUpdate(t *testing.T) {
	settings := finding("test_definitions")
	first := map[string]string{
		"skills/a/SKILL.md": "x", "skills/a/references/r.md": "r", "skills/a/evals/evals.json": oneEval,
		"e/SKILL.md": "x", "e/evals/eval.json": oneEval, "f/evals/eval.json": oneEval,
		"skills/b/SKILL.md": "x", "skills/b/evals/evals.json": strings.Replace(oneEval, `"p"`, `"p", "files": ["data.csv"]`, 1),
		"test_definitions/one.yaml": "evalcases: [{id: a, input: i, expected_outcome: o}]\n",
	}
	for name, edit := range map[string]map[string]string{
		"a body":                 {"skills/a/SKILL.md": "y"},
		"a new reference":        {"skills/a/references/more.md": "m"},
		"a removed reference":    {"skills/a/references/r.md": ""},
		"an eval":                {"skills/a/evals/evals.json": strings.Replace(oneEval, `"p"`, `"q"`, 1)},
		"a misspelt file":        {"skills/a/evals/eval.json": oneEval, "skills/a/evals/evals.json": ""},
		"a misspelt file more":   {"skills/a/evals/eval.json": oneEval},
		"evals of a misspelt":    {"e/evals/evals.json": oneEval},
		"a skill of a misspelt":  {"f/SKILL.md": "x"},
		"a broken file":          {"skills/a/evals/evals.json": "{"},
		"a new skill":            {"c/SKILL.md": "x", "c/evals/evals.json": oneEval},
		"a removed skill":        {"skills/a/SKILL.md": "", "skills/a/references/r.md": "", "skills/a/evals/evals.json": ""},
		"a skill without a body": {"skills/a/SKILL.md": ""},
		"a file that is missing": {"data.csv": "1"},
		"a nearer one":           {"skills/b/evals/data.csv": "2", "data.csv": "1"},
		"another definition":     {"test_definitions/two.yaml": "evalcases: [{id: a, input: i, expected_outcome: o}]\n"},
		"a package":              {"node_modules/a/SKILL.md": "x", "node_modules/a/evals/evals.json": oneEval},
		"a result":               {"skills/a/evals/results/b/SKILL.md": "x", "skills/a/evals/results/b/evals/evals.json": oneEval},
		"an exclusion":           {".gavelignore": "skills/a\n"},
	} {
		texts := maps.Clone(first)
		snap := scan(t, settings, texts)
		changed := apply(texts, edit)
		after := loadBy(t, settings, texts)
		change, err := snap.Update(t.Context(), fsOf(texts), Options{Settings: settings}, changed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(state(after.Snapshot()), state(change.Snapshot())); diff != "" {
			t.Errorf("after %s (-fresh +updated):\n%s", name, diff)
		}
		if name != "an exclusion" && change.Files != nil && len(change.Files) > 30 {
			t.Errorf("%s loads %d files", name, len(change.Files))
		}
	}
}

// TestOutsideHasSkills: evals and the folders of their skills are watched, and so is a
// file of evals that has a mistake.
func TestOutsideHasSkills(t *testing.T) {
	settings := finding("test_definitions")
	snap := scan(t, settings, map[string]string{"a/SKILL.md": "x", "a/evals/evals.json": oneEval, "b/SKILL.md": "x", "b/evals/evals.json": "{"})
	got := snap.Outside(settings)
	for _, name := range []string{"a", "a/SKILL.md", "a/evals/evals.json", "b/evals/evals.json"} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not among %v", name, got)
		}
	}
	files := fsOf(map[string]string{"c/SKILL.md": "x", "c/evals/evals.json": oneEval})
	folders, err := SkillFolders(t.Context(), files, settings)
	if none, _ := SkillFolders(t.Context(), files, schema.Settings{}); err != nil || none != nil {
		t.Errorf("%v; without a search: %v", err, none)
	}
	for _, name := range []string{"c", "skills", ".claude/skills"} {
		if !slices.Contains(folders, name) {
			t.Errorf("%s is not among %v", name, folders)
		}
	}
}

// TestOneOfManySkills: of 120 skills with two evals each, an edit of one loads that one,
// and only its cases are built from the edited file.
func TestOneOfManySkills(t *testing.T) {
	settings := finding("test_definitions")
	texts := map[string]string{"test_definitions/one.yaml": "evalcases: [{id: a, input: i, expected_outcome: o}]\n"}
	for i := range 120 {
		dir := fmt.Sprintf("skills/s%03d/", i)
		texts[dir+"SKILL.md"], texts[dir+"scripts/run.py"] = "x", "print()"
		texts[dir+"evals/evals.json"] = `{"evals": [{"id": 1, "prompt": "p", "assertions": ["a"]}, {"id": 2, "prompt": "q", "assertions": ["a"]}]}`
	}
	snap := scan(t, settings, texts)
	if got := snap.Totals(); got.Cases != 241 || got.Definitions != 121 {
		t.Fatalf("%+v", got)
	}
	changed := apply(texts, map[string]string{"skills/s007/scripts/run.py": "print(1)"})
	change, err := snap.Update(t.Context(), fsOf(texts), Options{Settings: settings}, changed)
	if err != nil {
		t.Fatal(err)
	}
	if got := keysOf(change.Result.Cases); got != "skills/s007#1 skills/s007#2" {
		t.Errorf("an edit of one skill loads %s", got)
	}
}

// TestTheSearchEnds with its context, and at its bounds.
func TestTheSearchEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	files := fstest.MapFS{"skills/a/SKILL.md": {}, "skills/a/evals/evals.json": {Data: []byte(oneEval)}}
	if _, err := Load(ctx, files, Options{Settings: finding("test_definitions")}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if _, err := searchSkills(ctx, files, mostSkillEntries); !errors.Is(err, context.Canceled) {
		t.Errorf("the search ends with %v", err)
	}
	files["node_modules/a/evals/evals.json"] = &fstest.MapFile{}
	if found, err := searchSkills(t.Context(), files, 3); found.complete || err != nil {
		t.Errorf("three of five files and folders are all: %v", err)
	}
	if found, err := searchSkills(t.Context(), files, mostSkillEntries); !found.complete || err != nil || len(found.evals) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
}

// TestTriggersUpdate: a trigger list is loaded again when a skill comes, goes or has another
// head, wherever that is, and its inputs are the heads alone.
func TestTriggersUpdate(t *testing.T) {
	const md = "---\nname: x\ndescription: Does it all.\n---\n"
	texts := map[string]string{
		"skills/a/SKILL.md": md, "skills/a/run.sh": "x", "skills/a/evals/triggers.json": oneQuery, "skills/b/SKILL.md": md, "skills/b/examples/c/SKILL.md": "c",
		"node_modules/d/SKILL.md": "d", "skills/a/evals/fixtures/e/SKILL.md": "e", "test_definitions/x.txt": "",
	}
	settings := finding("test_definitions")
	heads := func(c *schema.Case) (out string) {
		for _, s := range c.Drive.Workspace.Choice.Skills {
			out += s.Dir + " "
		}
		return strings.TrimSpace(out)
	}
	for _, tt := range []struct{ edit, text, loaded, heads string }{
		{"skills/a/run.sh", "y", "", ""},
		{"README.md", "y", "", ""},
		{"skills/b/SKILL.md", "---\nname: b\ndescription: Nothing.\n---\n", "skills/a/triggers#hello", "skills/b skills/a"},
		{"deep/er/f/SKILL.md", "---\nname: f\n---\n", "skills/a/triggers#hello", "deep/er/f skills/a"},
	} {
		before := maps.Clone(texts)
		snap, err := Scan(t.Context(), fsOf(before), Options{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		changed := apply(before, map[string]string{tt.edit: tt.text})
		change, err := snap.Update(t.Context(), fsOf(before), Options{Settings: settings}, changed)
		if err != nil {
			t.Fatal(err)
		}
		cases := change.Result.Cases
		if keysOf(cases) != tt.loaded || len(cases) == 1 && heads(cases[0]) != tt.heads {
			t.Errorf("an edit of %s loads %s", tt.edit, keysOf(cases))
			for _, c := range cases {
				t.Error(heads(c))
			}
		}
	}
	stored := schema.CaseInfo{Trigger: schema.Unwanted}
	var read schema.CaseInfo
	if !decodeListing(encodeListing(&stored), &read) || read.Trigger != schema.Unwanted {
		t.Errorf("a listing is read as %+v", read)
	}
}
