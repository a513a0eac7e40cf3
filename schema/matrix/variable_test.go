package matrix_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// variableFiles are in the repository of the tests of variables from files.
var variableFiles = map[string]string{
	"r.txt": " root \n", "q.sql": "select 1;\n", "README": "plain\n", "a.go": "package a\n", "sub/r.txt": "sub\n", "sub/only.txt": "only\n",
	"v/a.yaml": "x: fromA\nz: zA\n", "v/b.yaml": "y: yB\n", "w/c.yaml": "x: fromC\n", "w/d.yaml": "x: fromD\n", "w/e.yaml": "x: fromD\n",
	"f.js":        "module.exports = (name, prompt, vars, provider) => ({output: [name, prompt.length, vars.y, provider.id].join('|')});\n",
	"own.mjs":     "export default async (name) => ({output: {made: name}});\n",
	"error.js":    "module.exports = () => ({error: 'no such row'});\n",
	"nothing.js":  "module.exports = () => ({});\n",
	"throws.js":   "module.exports = () => { throw new Error('bad'); };\n",
	"fs.js":       "const fs = require('fs');\nmodule.exports = () => ({output: fs.readFileSync('r.txt', 'utf8')});\n",
	"get.py":      "def get_var(name, prompt, vars): return {'output': 'x'}\n",
	"broken.yaml": "a: [\n",
	"i.png":       "PNG", "d.pdf": "PDF",
	"sub/t.csv":  "x,__expected\nfile://r.txt,contains:root\nfile://only.txt,contains:only\n",
	"sub/t.yaml": "- {vars: {x: file://r.txt}}\n- {vars: {x: file://sub/only.txt}}\n",
}

// TestVariablesFromFiles: files of every type but a few are texts, wherever the name is: in
// an object, a list, a table, and a file of tests in another folder, for which it begins at
// the folder of the definition, as in promptfoo.
func TestVariablesFromFiles(t *testing.T) {
	for _, tt := range []struct {
		tests string
		want  []string
	}{
		{"[{vars: {x: file://r.txt}}]", []string{"root"}},
		{"[{vars: {x: file://q.sql}}]", []string{"select 1;"}},
		{"[{vars: {x: file://a.go}}]", []string{"package a"}},
		{"[{vars: {x: file://README}}]", []string{"plain"}},
		{"[{vars: {x: [file://r.txt, file://q.sql, as it is]}}]", []string{"root", "select 1;", "as it is"}},
		{"[{vars: {x: 'file://w/*.yaml'}}]", []string{`{"x":"fromC"}`, `{"x":"fromD"}`, `{"x":"fromD"}`}},
		{"sub/t.csv", []string{"root", "only"}},
		{"sub/t.yaml", []string{"root", "only"}},
		{"[{vars: v/a.yaml}]", []string{"fromA"}},
		{"[{vars: [v/a.yaml, w/c.yaml]}]", []string{"fromC"}},
		{"[{vars: [w/c.yaml, v/a.yaml]}]", []string{"fromA"}},
		{"[{vars: 'v/*.yaml'}]", []string{"fromA"}},
		{"[{vars: 'file://v/*.yaml'}]", []string{"fromA"}},
		{"[{vars: {x: file://f.js, y: why}}]", []string{"x|5|why|bot"}},
		{"[{vars: {x: [file://f.js, b, file://own.mjs]}}]", []string{"x|5||bot", "b", `{"made":"x"}`}},
		{"[{vars: {x: file://own.mjs}}]", []string{`{"made":"x"}`}},
	} {
		got := cases(t, "prompts: ['{{x}}']\ntests: "+tt.tests+"\n", variableFiles)
		var said []string
		for _, c := range got {
			said = append(said, c.Drive.Messages[0].Content)
		}
		if !slices.Equal(said, tt.want) {
			t.Errorf("%s: sent %q, want %q", tt.tests, said, tt.want)
		}
	}
}

// TestVariablesThatAreNotRead are named, with the reason, and cost their own test.
func TestVariablesThatAreNotRead(t *testing.T) {
	for _, tt := range []struct{ vars, want string }{
		{"{x: file://get.py}", "a program for the variable (.py)"},
		{"{x: file://fs.js}", "a program for the variable x (require)"},
		{"{x: [file://get.py]}", "a program for the variable (.py)"},
		{"{x: [file://fs.js]}", "a program for the variable x (require)"},
		{"{x: file://i.png}", "a variable from an image (.png)"},
		{"{x: file://d.pdf}", "a variable from the text of PDF (.pdf)"},
		{"{x: file://error.js}", "2:17: error: the variable x gets no value for the test t: it returns the error no such row; correct the function"},
		{"{x: file://nothing.js}", "2:17: error: the variable x gets no value for the test t: it returns no output; correct the function"},
		{"{x: file://throws.js}", "2:17: error: the variable x gets no value for the test t: the function throws Error: bad"},
		{"{x: file://none.txt}", "2:17: error: the file none.txt does not exist"},
		{"{x: file://broken.yaml}", "broken.yaml:1:4: error"},
		{"none.yaml", "2:10: error: the file none.yaml does not exist"},
		{"'none/*.yaml'", "2:10: error: no file fits \"none/*.yaml\""},
		{"{x: 'file://none/*'}", "2:17: error: no file fits \"none/*\""},
		{"sub/t.yaml", "sub/t.yaml:1:1: error: the file of variables is not an object"},
		{"'w/*.yaml'", "2:10: error: the variable x has one value in w/c.yaml and another in w/d.yaml; name the files in a list, of which the last one counts, or remove the variable from one of them"},
	} {
		got, problems := load(t, "prompts: ['{{x}}']\ntests: [{vars: "+tt.vars+", description: t}, {vars: {x: right}, description: r}]\n", variableFiles)
		named := slices.ContainsFunc(problems, func(p schema.Problem) bool { return strings.Contains(p.String(), tt.want) }) || len(got) > 0 && got[0].Skip == "it needs "+tt.want
		if !named {
			t.Errorf("%s: cases %q, problems %v, want %q", tt.vars, lines(got), problems, tt.want)
		}
		if len(got) != 2 || got[0].Skip == "" || got[1].Skip != "" {
			t.Errorf("%s: the cases are %q, want one that is not run and one that is", tt.vars, lines(got))
		}
	}
}

// TestFunctionsOfVariables keep the name of their row when they change, and are its inputs.
func TestFunctionsOfVariables(t *testing.T) {
	with := func(code string) *schema.Case {
		return cases(t, "prompts: ['{{x}}']\ntests: [{vars: {x: file://f.js}}]\n", map[string]string{"f.js": code})[0]
	}
	before, after := with("module.exports = () => ({output: 'one'})"), with("module.exports = () => ({output: 'two'})")
	if before.Key != after.Key || before.Drive.Messages[0].Content != "one" || after.Drive.Messages[0].Content != "two" {
		t.Errorf("%s sends %q, and %s %q", before.Key, before.Drive.Messages[0].Content, after.Key, after.Drive.Messages[0].Content)
	}
	if in := (schema.Input{File: "f.js", Role: "program"}); !slices.Contains(after.Inputs, in) {
		t.Errorf("the inputs %v lack %v", after.Inputs, in)
	}
}

// TestLargeVariables: the text of a variable may have 1 MiB. A larger one costs its own test.
func TestLargeVariables(t *testing.T) {
	long := strings.Repeat("x", 600<<10)
	got := cases(t, "prompts: ['{{x}}']\ntests: [{vars: {x: file://long.txt}}]\n", map[string]string{"long.txt": long})
	if sent := got[0].Drive.Messages[0].Content; sent != long {
		t.Errorf("%d bytes are sent, want %d", len(sent), len(long))
	}
	got, problems := load(t, "prompts: ['{{x}}']\ntests: [{description: a, vars: {x: file://long.txt}}, {description: b, vars: {x: right}}]\n", map[string]string{"long.txt": long + long})
	want := "promptfooconfig.yaml:2:33: error: long.txt cannot be read: it has 1228800 bytes and may have 1048576; shorten it, or split it into several files and name each"
	if said := errorsOf(problems); len(said) != 1 || said[0] != want || len(got) != 2 || got[0].Skip == "" || got[1].Skip != "" {
		t.Errorf("cases %.200q, errors %q, want %q", lines(got), said, want)
	}
}
