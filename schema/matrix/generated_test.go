package matrix_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestGeneratedTests: a function that makes tests gets the config next to its path, with
// the files that it names, and each of them is an input.
func TestGeneratedTests(t *testing.T) {
	others := map[string]string{
		"gen.js":   "module.exports = (c) => c === undefined ? [{description: 'none', vars: {q: 'x'}}] : c.names.map((name) => ({description: name, vars: {q: c.greet + ' ' + name}}));\nmodule.exports.later = async (c) => [{description: 'later', vars: {q: JSON.stringify(c)}}];\n",
		"list.js":  "module.exports = [{description: 'list', vars: {q: 'l'}}];\n",
		"n.yaml":   "- ann\n- bob\n",
		"greet.md": "good day",
		"t.csv":    "__description,q\nrow,from a table\n",
	}
	for _, tt := range []struct {
		tests string
		want  []string
	}{
		{"tests: {path: file://gen.js, config: {greet: hi, names: [ann, bob]}}", []string{"ann @bot user=hi ann", "bob @bot user=hi bob"}},
		{"tests: [{path: 'file://gen.js', config: {greet: file://greet.md, names: file://n.yaml}}, {description: own, vars: {q: o}}]", []string{"ann @bot user=good day ann", "bob @bot user=good day bob", "own @bot user=o"}},
		{"tests: [{path: gen.js:later, config: {a: [1], f: 'file://gen.js:later'}}]", []string{`later @bot user={"a":[1],"f":"file://gen.js:later"}`}},
		{"tests: [file://gen.js, file://list.js]", []string{"none @bot user=x", "list @bot user=l"}},
		{"tests: {path: gen.js}", []string{"none @bot user=x"}},
		{"tests: {path: file://t.csv}", []string{"row @bot user=from a table"}},
	} {
		got := cases(t, "prompts: ['{{q}}']\n"+tt.tests+"\n", others)
		said := lines(got)
		for i := range said {
			said[i] = strings.TrimPrefix(said[i], "promptfooconfig#")
		}
		if !slices.Equal(said, tt.want) {
			t.Errorf("%s: cases %q, want %q", tt.tests, said, tt.want)
		}
	}
	got := cases(t, "prompts: ['{{q}}']\ntests: {path: gen.js, config: {greet: x, names: file://n.yaml}}\n", others)
	for _, in := range []string{"gen.js", "n.yaml"} {
		if !slices.ContainsFunc(got[0].Inputs, func(i schema.Input) bool { return i.File == in && i.Role == "tests" }) {
			t.Errorf("the inputs %v lack %s", got[0].Inputs, in)
		}
	}
}

// TestTestsThatAreNotRead names each with the repair.
func TestTestsThatAreNotRead(t *testing.T) {
	others := map[string]string{"gen.py": "def generate_tests(): return []\n", "gen.ts": "export default [];\n", "fs.js": "module.exports = () => require('fs').readdirSync('.');\n", "t.xlsx": "PK", "t.txt": "a: b\n"}
	for _, tt := range []struct{ tests, want string }{
		{"file://gen.py", "warning: the tests of file://gen.py are not read: they need a program for the tests (py); print its tests into a file of JSON and name that: python3 -c 'import json, gen; print(json.dumps(gen.generate_tests()))' > gen.json"},
		{"[file://gen.py:make]", "warning: the tests of file://gen.py:make are not read: they need a program for the tests (py); print its tests into a file of JSON and name that: python3 -c 'import json, gen; print(json.dumps(gen.make()))' > gen.json"},
		{"gen.ts", "warning: the tests of gen.ts are not read: they need a program for the tests (ts); write them into a file of YAML, JSON, JSONL or CSV"},
		{"{path: fs.js, config: {a: 1}}", "warning: the tests of fs.js are not read: they need a program for the tests (require); write them into a file of YAML, JSON, JSONL or CSV"},
		{"file://t.xlsx#Sheet1", "warning: the tests of file://t.xlsx#Sheet1 are in a workbook of Excel and are not read; save each sheet as CSV (UTF-8, comma delimited) and name that file"},
		{"t.txt", "error: the tests of t.txt are in no file of a type that has tests; name a file of YAML, JSON, JSONL, CSV, JavaScript or Python"},
		{"{path: gen.js, conf: {a: 1}}", "error: unknown field `conf` next to the path of tests; write {path: file://tests.js:name, config: {…}}, and what all tests share under defaultTest"},
		{"{path: fs.js, config: {a: file://none.json}}", "error: the file none.json does not exist"},
	} {
		_, problems := load(t, "prompts: [x]\ntests: "+tt.tests+"\n", others)
		if !slices.ContainsFunc(problems, func(p schema.Problem) bool { return strings.Contains(p.String(), tt.want) }) {
			t.Errorf("%s: problems %v, want %q", tt.tests, problems, tt.want)
		}
	}
}
