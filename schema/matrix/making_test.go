package matrix_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/matrix"
)

// making loads a file whose programs answer by their names.
func making(t *testing.T, text string, others map[string]string, by map[string]func(args []json.RawMessage) string) (got []*schema.Case, problems []schema.Problem, ran []schema.Making) {
	t.Helper()
	fsys := fstest.MapFS{file: {Data: []byte(text)}}
	for name, data := range others {
		fsys[name] = &fstest.MapFile{Data: []byte(data)}
	}
	src := document.Source{FS: fsys, Root: file, KeyRoot: file, Settings: schema.Settings{DefaultTarget: "bot", Targets: map[string]schema.TargetSettings{"bot": {}, "large": {}}}}
	src.Make = func(m schema.Making) ([]byte, error) {
		ran = append(ran, m)
		answer := by[m.Name()]
		if answer == nil {
			return nil, &schema.UnmadeError{Reason: "nobody runs " + m.Name(), Hint: "do it by hand"}
		}
		var said struct{ Calls [][]json.RawMessage }
		if err := json.Unmarshal(m.Stdin, &said); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, args := range said.Calls {
			made := answer(args)
			if made == "" {
				return nil, errors.New("it broke off")
			}
			out = append(out, made)
		}
		return []byte("[" + strings.Join(out, ",") + "]"), nil
	}
	doc, found := src.Open(file)
	if doc == nil {
		t.Fatal(found)
	}
	got, problems = matrix.Load(src, doc)
	return got, problems, ran
}

func valueOf(text string) string { return `{"value": ` + text + `}` }

// TestTestsByPrograms: a file of Python, and one of JavaScript that needs a program, makes tests as
// one that only computes does. Its cases depend on the files of the program.
func TestTestsByPrograms(t *testing.T) {
	others := map[string]string{
		"gen.py": "", "near.py": "", "lib/gen.js": "module.exports = (c) => require('./w').map((q) => ({vars: {q}}))", "lib/w.js": "", "plain.js": "module.exports = [{vars: {q: 'plain'}}]",
		"esm.mjs": "import w from './lib/w.js'\nexport default w\n", "n.yaml": "[n]\n",
		"types.ts": "export default []", "types.mts": "export const some = []",
	}
	by := map[string]func([]json.RawMessage) string{
		"gen.py:generate_tests": func(args []json.RawMessage) string {
			return valueOf(fmt.Sprintf(`[{"vars": {"q": "py%d"}}]`, len(args)))
		},
		"gen.py:Maker.make": func(args []json.RawMessage) string { return valueOf(`[{"vars": {"q": ` + string(args[0]) + `}}]`) },
		"lib/gen.js:":       func([]json.RawMessage) string { return valueOf(`[{"vars": {"q": "js"}}, {"vars": {"q": "js2"}}]`) },
		"types.ts:":         func([]json.RawMessage) string { return valueOf(`[{"vars": {"q": "ts"}}]`) },
		"types.mts:some":    func([]json.RawMessage) string { return valueOf(`[{"vars": {"q": "mts"}}]`) },
		"esm.mjs:":          func([]json.RawMessage) string { return valueOf(`[{"vars": {"q": "esm"}}]`) },
	}
	for _, tt := range []struct{ tests, want string }{
		{"file://gen.py", "py0"},
		{"[gen.py, {vars: {q: own}}]", "py0 own"},
		{"{path: file://gen.py:Maker.make, config: file://n.yaml}", "n"},
		{"[{path: 'file://lib/gen.js', config: {a: 1}}, file://plain.js]", "js js2 plain"},
		{"file://esm.mjs", "esm"},
		{"file://types.ts", "ts"},
		{"{path: file://types.mts:some}", "mts"},
	} {
		got, problems, ran := making(t, "prompts: ['{{q}}']\ntests: "+tt.tests+"\n", others, by)
		var said []string
		for _, c := range got {
			said = append(said, c.Drive.Messages[0].Content)
		}
		if strings.Join(said, " ") != tt.want || schema.HasErrors(problems) || len(ran) != 1 {
			t.Errorf("%s: sent %q, problems %v, %d programs; want %q", tt.tests, said, problems, len(ran), tt.want)
		}
	}
	got, _, ran := making(t, "prompts: ['{{q}}']\ntests: [{path: file://gen.py, config: {a: file://n.yaml}}]\n", others, by)
	if m := ran[0]; m.Definition != file || !slices.Equal(m.Reads, []string{"n.yaml", "gen.py"}) || strings.Join(m.Built.Paths(), " ") != "esm.mjs gen.py near.py plain.js types.mts types.ts" && strings.Join(m.Built.Paths(), " ") != "gen.py near.py" {
		t.Errorf("it runs %+v of %v", m, m.Built.Paths())
	}
	for _, in := range []string{"gen.py", "n.yaml", "."} {
		if !slices.ContainsFunc(got[0].Inputs, func(i schema.Input) bool { return i.File == in }) {
			t.Errorf("the inputs %v lack %s", got[0].Inputs, in)
		}
	}
}

// TestProgramsNamedByOtherFiles: what a program makes depends on the file that names its function,
// which a stranger may have changed.
func TestProgramsNamedByOtherFiles(t *testing.T) {
	by := map[string]func([]json.RawMessage) string{"../gen.py:other": func([]json.RawMessage) string { return valueOf(`[{"vars": {"q": "py"}}]`) }}
	others := map[string]string{"gen.py": "", "scenarios/one.yaml": "config: [{vars: {a: 1}}]\ntests: file:///gen.py:other\n"}
	for _, named := range []string{"file://scenarios/one.yaml", "file://scenarios/*.yaml"} {
		got, problems, ran := making(t, "prompts: ['{{q}}']\nscenarios: ["+named+"]\n", others, by)
		if len(got) != 1 || len(ran) != 1 || schema.HasErrors(problems) {
			t.Fatalf("%s: %d cases of %d programs, problems %v; want one of one", named, len(got), len(ran), problems)
		}
		if changed := ran[0].Changed([]string{"scenarios/one.yaml"}); changed == "" {
			t.Errorf("%s: a change of the file that names the function is none of the program, which reads %v", named, ran[0].Reads)
		}
	}
}

// TestVariablesByPrograms: the values of a variable are made with one start of its program, and
// those that need them with the next.
func TestVariablesByPrograms(t *testing.T) {
	others := map[string]string{"get.py": "", "get.js": "const os = require('os'); module.exports = () => ({output: 'x'})", "plain.js": "module.exports = (n, p, vars) => ({output: 'plain ' + vars.a})"}
	by := map[string]func([]json.RawMessage) string{
		"get.py:get_var": func(args []json.RawMessage) string {
			var vars map[string]any
			_ = json.Unmarshal(args[2], &vars) // as it is passed
			switch vars["k"] {
			case "number":
				return valueOf(`{"output": 5}`)
			case "throws":
				return `{"error": "KeyError: 'x' (get.py:3)"}`
			case "says":
				return valueOf(`{"error": "no row"}`)
			}
			return valueOf(fmt.Sprintf(`{"output": " %s of %v in %d\n"}`, strings.Trim(string(args[0]), `"`), vars["k"], len(args[1])))
		},
		"get.js:": func(args []json.RawMessage) string {
			var vars map[string]any
			_ = json.Unmarshal(args[2], &vars) // as it is passed
			return valueOf(fmt.Sprintf(`{"output": {"a": "%v"}}`, vars["a"]))
		},
	}
	const text = "prompts: ['{{a}}', '{{b}} {{c}}']\nproviders: [bot, large]\ntests:\n- vars: {k: 1, a: file://get.py, b: file://get.js, c: file://plain.js}\n- vars: {k: 2, a: file://get.py, b: file://get.js, c: file://plain.js}\n"
	got, problems, ran := making(t, text, others, by)
	var said []string
	for _, c := range got {
		if c.Target == "bot" {
			said = append(said, c.Drive.Messages[0].Content)
		}
	}
	want := []string{"a of 1 in 7", `{"a":"a of 1 in 13"} plain a of 1 in 13`, "a of 2 in 7", `{"a":"a of 2 in 13"} plain a of 2 in 13`}
	if !slices.Equal(said, want) || schema.HasErrors(problems) || len(ran) != 2 {
		t.Errorf("sent %q, problems %v, %d programs; want %q with two", said, problems, len(ran), want)
	}
	for _, tt := range []struct{ k, want string }{
		{"number", "gets no value for the test number-"}, {"throws", "KeyError: 'x' (get.py:3)"}, {"says", `it returns the error no row`},
	} {
		got, problems, _ := making(t, "prompts: ['{{a}}']\ntests:\n- vars: {k: "+tt.k+", a: file://get.py}\n- vars: {k: 2, a: file://get.py}\n", others, by)
		if len(got) != 2 || got[0].Skip == "" || got[1].Skip != "" || !slices.ContainsFunc(problems, func(p schema.Problem) bool {
			return p.Severity == schema.Error && p.Line == 3 && strings.Contains(p.Message, tt.want)
		}) {
			t.Errorf("%s: cases %q, problems %v; want the error %q of the first alone", tt.k, lines(got), problems, tt.want)
		}
	}
}

// TestVariablesOfLists: each program in a list of values, or that a name with * means, makes the
// value of a row of its own, next to texts and files.
func TestVariablesOfLists(t *testing.T) {
	others := map[string]string{"get.py": "", "get.ts": "", "own.js": "module.exports = (n, p, vars) => ({output: n + ' ' + vars.k})", "t.txt": "text\n", "all/1.js": "module.exports = () => ({output: 'one'})", "all/2.py": "", "all/3.txt": "three\n"}
	by := map[string]func([]json.RawMessage) string{
		"get.py:get_var": func(args []json.RawMessage) string { return valueOf(`{"output": "py"}`) },
		"get.ts:":        func(args []json.RawMessage) string { return valueOf(`{"output": "ts"}`) },
		"all/2.py:get_var": func(args []json.RawMessage) string {
			return valueOf(`{"output": "two"}`)
		},
	}
	for vars, want := range map[string]string{
		"[plain, file://get.py, file://own.js, file://t.txt]":          "plain,py,a k,text",
		"[file://get.py, file://get.py]":                               "py,py",
		"[file://get.ts, b]":                                           "ts,b",
		"file://all/*":                                                 "one,two,three",
		"[file://get.py, x]\n    b: [file://own.js, y, file://get.py]": "py,py,py,x,x,x",
	} {
		got, problems, ran := making(t, "prompts: ['{{a}}']\nproviders: [bot]\ntests:\n- vars:\n    k: k\n    a: "+vars+"\n", others, by)
		var said []string
		for _, c := range got {
			said = append(said, c.Drive.Messages[0].Content)
		}
		if strings.Join(said, ",") != want || schema.HasErrors(problems) || len(ran) != 1 && !strings.Contains(vars, "b:") {
			t.Errorf("%s: sent %q, problems %v, %d programs; want %q", vars, said, problems, len(ran), want)
		}
	}
	got, problems, _ := making(t, "prompts: ['{{a}}']\ntests:\n- vars: {a: [x, file://gone.py]}\n", others, by)
	if len(got) != 2 || got[0].Skip == "" || !slices.ContainsFunc(problems, func(p schema.Problem) bool {
		return p.Severity == schema.Error && strings.Contains(p.Message, "gone.py")
	}) {
		t.Errorf("a program that is not there: cases %q, problems %v", lines(got), problems)
	}
}

// TestVariationsByPrograms: transformVars in Python, and in JavaScript that needs a program, adds
// to the variables of all its tests with one start.
func TestVariationsByPrograms(t *testing.T) {
	others := map[string]string{"vary.py": "", "vary.js": "const os = require('os'); module.exports = {some: (vars) => vars}", "x.txt": "from a file"}
	by := map[string]func([]json.RawMessage) string{}
	for name, word := range map[string]string{"vary.py:get_transform": "py", "vary.py:own": "own", "vary.js:some": "js"} {
		by[name] = func(args []json.RawMessage) string {
			var vars map[string]any
			_ = json.Unmarshal(args[0], &vars) // as it is passed
			switch vars["x"] {
			case "throws":
				return `{"error": "KeyError: 'q' (vary.py:2)"}`
			case "list":
				return valueOf(`{"y": ["1", "2"]}`)
			case "text":
				return valueOf(`"text"`)
			}
			return valueOf(fmt.Sprintf(`{"y": "%s of %v, %s"}`, word, vars["x"], strings.ReplaceAll(string(args[1]), `"`, "'")))
		}
	}
	for source, word := range map[string]string{"file://vary.py": "py", "file://vary.py:own": "own", "file://vary.js:some": "js"} {
		got, problems, ran := making(t, "prompts: ['{{x}} {{y}}']\ndefaultTest: {options: {transformVars: '"+source+"'}}\ntests: [{vars: {x: one}}, {vars: {x: list}}, {vars: {x: file://x.txt}}]\n", others, by)
		var said []string
		for _, c := range got {
			said = append(said, c.Drive.Messages[0].Content)
		}
		want := []string{"one " + word + " of one, {'prompt':{}}", "list 1", "list 2", "from a file " + word + " of from a file, {'prompt':{}}"}
		if !slices.Equal(said, want) || schema.HasErrors(problems) || len(ran) != 1 || !slices.Contains(ran[0].Reads, "x.txt") {
			t.Errorf("%s: sent %q, problems %v, programs %+v; want %q with one", source, said, problems, ran, want)
		}
	}
	for _, tt := range []struct{ x, rule, want string }{
		{"throws", schema.RuleNotMade, "`transformVars` gives nothing: KeyError: 'q' (vary.py:2)"},
		{"text", "function", "`transformVars` gives nothing: the function must return an object"},
	} {
		got, problems, _ := making(t, "prompts: ['{{x}} {{y}}']\ntests: [{vars: {x: one}, options: {transformVars: file://vary.py}}, {vars: {x: "+tt.x+"}, options: {transformVars: file://vary.py}}]\n", others, by)
		if len(got) != 2 || got[0].Skip != "" || got[1].Skip == "" || !slices.ContainsFunc(problems, func(p schema.Problem) bool { return p.Rule == tt.rule && strings.Contains(p.Message, tt.want) }) {
			t.Errorf("%s: cases %q, problems %v; want the error %q of the second alone", tt.x, lines(got), problems, tt.want)
		}
	}
	got, problems, _ := making(t, "prompts: ['{{x}}']\ntests: [{vars: {x: one}, options: {transformVars: 'file://vary.py:nobody'}}, {vars: {x: two}}]\n", others, by)
	if len(got) != 2 || got[0].Skip == "" || got[1].Skip != "" || !slices.ContainsFunc(problems, func(p schema.Problem) bool {
		return p.Rule == schema.RuleNotMade && strings.Contains(p.String(), "transformVars of vary.py: nobody runs vary.py:nobody; do it by hand")
	}) {
		t.Errorf("a program that does not run: cases %q, problems %v", lines(got), problems)
	}
}

// TestProgramsThatMakeNothing: tests that are not made are an error at their name, and never fewer
// tests.
func TestProgramsThatMakeNothing(t *testing.T) {
	others := map[string]string{"gen.py": "", "other.py": "", "get.py": ""}
	by := map[string]func([]json.RawMessage) string{
		"gen.py:generate_tests": func([]json.RawMessage) string { return valueOf("[]") },
		"gen.py:throws":         func([]json.RawMessage) string { return `{"error": "ValueError: bad (gen.py:1)"}` },
		"gen.py:ends":           func([]json.RawMessage) string { return "" },
		"gen.py:two":            func([]json.RawMessage) string { return valueOf("[]") + "," + valueOf("[]") },
	}
	many := "[" + strings.Repeat("{path: gen.py:one}, ", 40) + "]"
	for i := range 40 {
		by[fmt.Sprintf("gen.py:f%d", i)] = func([]json.RawMessage) string { return valueOf(`[{"vars": {"q": "x"}}]`) }
		many = strings.Replace(many, "gen.py:one", fmt.Sprintf("gen.py:f%d", i), 1)
	}
	for _, tt := range []struct{ tests, rule, want string }{
		{"gen.py", "no-test", "2:1: error: gen.py makes no test; return a list of tests, or remove its name"},
		{"[{vars: {q: x}}, gen.py:throws]", schema.RuleNotMade, "2:25: error: the tests of gen.py are not made: ValueError: bad (gen.py:1); correct the function"},
		{"gen.py:ends", schema.RuleNotMade, "2:1: error: the tests of gen.py: it broke off; correct the program"},
		{"gen.py:two", schema.RuleNotMade, "2:1: error: the tests of gen.py: it prints something else than the values of its function"},
		{"other.py", schema.RuleNotMade, "2:1: error: the tests of other.py: nobody runs other.py:generate_tests; do it by hand"},
		{"[{vars: {q: file://get.py}}]", schema.RuleNotMade, "2:17: error: the variable q of get.py: nobody runs get.py:get_var; do it by hand"},
		{many, schema.RuleNotMade, "the file has more than 32 programs that make parts of it"},
	} {
		got, problems, _ := making(t, "prompts: ['{{q}}']\ntests: "+tt.tests+"\n", others, by)
		if slices.ContainsFunc(got, func(c *schema.Case) bool { return c.Skip == "" }) || !slices.ContainsFunc(problems, func(p schema.Problem) bool { return p.Rule == tt.rule && strings.Contains(p.String(), tt.want) }) {
			t.Errorf("%s: cases %q, problems %v; want %q", tt.tests, lines(got), problems, tt.want)
		}
	}
}
