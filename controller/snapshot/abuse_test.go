package snapshot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
	"github.com/gavel-evals/gavel/schema/javascript/interpreter"
	"github.com/gavel-evals/gavel/schema/load"
)

func TestMain(m *testing.M) {
	if cueeval.ServeChild() || interpreter.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

// secret is in a file next to the repository, in the environment, and in no case.
const secret = "the-secret-outside"

// laughs is a text of a few lines that expands to 10^9 values.
func laughs() string {
	var b strings.Builder
	b.WriteString("x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&b, "x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10), ", "))
	}
	return b.String()
}

// attacks are files of AgentV and of promptfoo that try to read, to run or to fill
// forbidden things. PLACE is the file outside, ROWS a huge table.
var attacks = []struct {
	name string
	// agentv and promptfoo are the values of a field, in one test each; see agentvOf and promptfooOf.
	field, value string
	files        map[string]string
	want         string // in a problem or the reason why a case is not run; empty if cases have the unchanged text
}{
	{"a loop of a template without end", "prompt", `{% for i in range(0, 1000000000) %}x{% endfor %}`, nil, "numbers of range"},
	{"loops within loops", "prompt", strings.Repeat(`{% for i in range(0, 1000) %}`, 9) + "x" + strings.Repeat(`{% endfor %}`, 9), nil, "steps"},
	{"a text that doubles", "prompt", `{% set a = "xxxxxxxx" %}` + strings.Repeat(`{% set a = a + a + a + a %}`, 30) + `{{ a }}`, nil, "bytes of texts"},
	{"an include", "prompt", `{% include "PLACE" %}`, nil, "include"},
	{"an import", "prompt", `{% import "PLACE" as x %}{{ x }}`, nil, "import"},
	{"an extension", "prompt", `{% extends "PLACE" %}`, nil, "extends"},
	{"the environment", "prompt", `{{ env.GAVEL_TEST_SECRET }}`, nil, "GAVEL_TEST_SECRET"},
	{"the process", "prompt", `{{ process.env.GAVEL_TEST_SECRET }}{{ range.constructor("return process")() }}`, nil, ""},
	{"a constructor", "prompt", `{{ "".constructor.constructor("return globalThis")() }}`, nil, ""},
	{"a prompt outside", "prompt", `file://../../PLACE`, nil, "outside"},
	{"an absolute prompt", "prompt", `file:///etc/passwd`, nil, ""},
	{"a prompt by a link", "prompt", `file://link.txt`, nil, "link"},
	{"a prompt in a linked folder", "prompt", `file://folder/secret.txt`, nil, "link"},
	{"tests outside", "tests", `file://../../PLACE`, nil, "outside"},
	{"tests by a link", "tests", `file://link.csv`, nil, "link"},
	{"tests of git", "tests", `file://../.git/secret.txt`, nil, ""},
	{"a table without end", "tests", `file://rows.csv`, map[string]string{"rows.csv": "ROWS"}, "more than 20000 rows"},
	{"a table with NUL", "tests", `file://rows.csv`, map[string]string{"rows.csv": "id,input,__expected\na,x\x00y,contains:x\n"}, ""},
	{"a table with formulas", "tests", `file://rows.csv`, map[string]string{"rows.csv": "id,input,__expected\na,\"=cmd|'/c calc'!A1\",contains:@SUM(1+1)\n"}, ""},
	{"a table with a prototype", "tests", `file://rows.csv`, map[string]string{"rows.csv": "id,input,__proto__,constructor,__expected\na,x,y,z,contains:x\n"}, ""},
	{"a table whose quote never ends", "tests", `file://rows.csv`, map[string]string{"rows.csv": "id,input\na,\"" + strings.Repeat("x\n", 1000)}, "quote"},
	{"a table of values that are deep", "tests", `file://rows.csv`, map[string]string{"rows.csv": "id,input,__expected\na," + strings.Repeat("[", 100_000) + ",contains:x\n"}, ""},
	{"deep nesting", "tests", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), nil, "deep"},
	{"laughs", "top", laughs(), nil, "too-many-values"},
	{"an anchor in itself", "top", "x: &x [*x]\n", nil, "alias-loop"},
	{"NUL in the file", "top", "x: \"\x00\"\n", nil, "NUL character"},
	{"variables that multiply", "vars", `{a: [` + numbers(200) + `], b: [` + numbers(200) + `], input: hi}`, nil, "more than"},
	{"a file among the variables", "vars", `{input: 'file://../../PLACE'}`, nil, ""},
	{"a judge's prompt outside", "assert", `{type: llm-rubric, value: x, prompt: 'file://../../PLACE', rubricPrompt: 'file://../../PLACE'}`, nil, "outside"},
	{"code outside", "assert", `{type: javascript, value: 'file://../../PLACE.js'}`, nil, ""},
	{"a pattern without end", "assert", `{type: regex, value: '(a{1,1000}){1,1000}'}`, nil, ""}, // its match is bounded
	{"a pattern with an open group", "assert", `{type: regex, value: '((a{1,1000}){1,1000}'}`, nil, "pattern"},
	{"a value by a link", "assert", `{type: javascript, value: 'file://link.js'}`, nil, "link"},
}

func numbers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("'%d'", i))
	}
	return strings.Join(all, ", ")
}

// agentvOf and promptfooOf are files of both tools with a value in a field.
func agentvOf(field, value string) string {
	with := map[string]string{"prompt": "'{{ input }}'", "tests": "", "vars": "{input: hi}", "assert": "{type: contains, value: hi}", "top": ""}
	with[field] = value
	tests := "[{id: a, vars: " + with["vars"] + ", assert: [" + with["assert"] + "]}]"
	if with["tests"] != "" {
		tests = with["tests"]
	}
	return with["top"] + "default_test: {}\nprompts: [" + quotedPrompt(with["prompt"]) + "]\ntests: " + tests + "\n"
}

func promptfooOf(field, value string) string {
	return strings.Replace(strings.Replace(agentvOf(field, value), "default_test", "defaultTest", 1), "id: a, ", "", 1)
}

func quotedPrompt(text string) string {
	if strings.HasPrefix(text, "'") {
		return text
	}
	raw, _ := json.Marshal(text)
	return string(raw)
}

// TestAbuseFilesOfOtherTools loads each attack as a file of AgentV and of promptfoo.
// Each ends soon with a problem or a text that is data, and no text from outside is in
// any case.
func TestAbuseFilesOfOtherTools(t *testing.T) {
	t.Setenv("GAVEL_TEST_SECRET", secret)
	dir := t.TempDir()
	root, outside := filepath.Join(dir, "repository"), filepath.Join(dir, "outside")
	writeFile(t, outside+"/secret.txt", "id,input\na,"+secret+"\n")
	writeFile(t, root+"/notes.txt", "hello\n")
	gittest.Init(t, root, "main")
	writeFile(t, root+"/.git/secret.txt", secret)
	type attack struct{ name, folder, want string }
	var all []attack
	for i, tt := range attacks {
		for _, of := range []struct{ file, text string }{{"a.eval.yaml", agentvOf(tt.field, tt.value)}, {"promptfooconfig.yaml", promptfooOf(tt.field, tt.value)}} {
			one := attack{tt.name + " in " + of.file, fmt.Sprintf("%d-%s", i, of.file), tt.want}
			writeFile(t, filepath.Join(root, one.folder, of.file), strings.ReplaceAll(of.text, "PLACE", "outside/secret.txt"))
			for name, text := range tt.files {
				writeFile(t, filepath.Join(root, one.folder, name), strings.Replace(text, "ROWS", tableRows(), 1))
			}
			for _, link := range [][2]string{{"link.txt", "secret.txt"}, {"link.csv", "secret.txt"}, {"link.js", "secret.txt"}, {"folder", ""}} {
				if err := os.Symlink(filepath.Join(outside, link[1]), filepath.Join(root, one.folder, link[0])); err != nil {
					t.Skip("this system does not allow symbolic links: ", err)
				}
			}
			all = append(all, one)
		}
	}
	repo, err := gitrepo.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	work, err := repo.WorkFS()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		t.Run(one.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			res, err := load.Load(ctx, work, load.Options{Settings: schema.Settings{Definitions: []string{one.folder}}})
			if err != nil {
				t.Fatal(err)
			}
			said := outcome(res)
			cases, err := json.Marshal(res.Cases)
			if err != nil {
				t.Fatal(err)
			}
			if all := string(cases) + said; strings.Contains(all, secret) || strings.Contains(all, "root:x:0") {
				t.Errorf("what is outside is in the cases:\n%.2000s", all)
			}
			if !strings.Contains(said, one.want) {
				t.Errorf("%d cases with\n%.2000s\nwant %q", len(res.Cases), said, one.want)
			}
			if said == "" {
				t.Error("the file has neither cases nor problems")
			}
		})
	}
	if err := errors.Join(work.Close(), repo.Close()); err != nil {
		t.Error(err)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tableRows is a table that is larger than the limit.
func tableRows() string {
	var rows strings.Builder
	rows.WriteString("id,input,__expected\n")
	for i := range 25_000 {
		fmt.Fprintf(&rows, "r%d,x,contains:x\n", i)
	}
	return rows.String()
}

// outcome is the result of loading, without links that are named.
func outcome(res *load.Result) string {
	var said strings.Builder
	for _, p := range res.Problems {
		if p.Rule != "not-a-file" {
			fmt.Fprintf(&said, "%s [%s]\n", p, p.Rule)
		}
	}
	for _, c := range res.Cases {
		fmt.Fprintf(&said, "%s: %s\n", c.Key, c.Skip)
	}
	return said.String()
}
