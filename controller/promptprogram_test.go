package controller_test

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// matrixFiles are rows whose prompt is a text or written by a program, with tests in another
// file than the one that names programs.
var matrixFiles = map[string]string{
	"test_definitions/promptfooconfig.yaml": `prompts: ['{{q}}', 'file://p.py:f']
tests: file://rows.yaml
defaultTest: {assert: [{type: javascript, value: 'output === context.vars.q'}]}
`,
	"test_definitions/rows.yaml": "- {description: a, vars: {q: one}}\n- {description: b, vars: {q: file://v.txt}}\n",
	"test_definitions/v.txt":     "two",
	"test_definitions/p.py":      "def f(c): return 'three'",
	"test_definitions/other.txt": "four",
}

// TestStartsOfRows tells which rows start a program, and by which change they are withheld:
// one of the program, of what names it, and of the variables that are filled into code.
func TestStartsOfRows(t *testing.T) {
	const folder = "test_definitions/"
	python := strings.Replace(matrixFiles[folder+"promptfooconfig.yaml"], "{type: javascript, value: 'output === context.vars.q'}", "{type: python, value: 'len(output) < 9'}", 1)
	compared := strings.Replace(matrixFiles[folder+"promptfooconfig.yaml"], "{type: javascript, value: 'output === context.vars.q'}", "{type: select-best, value: short}", 1)
	for _, tt := range []struct {
		name         string
		base, change map[string]string
		want         []string // rows that start a program, each with the file that withholds it
	}{
		{"a program", nil, map[string]string{"p.py": "def f(c): return 'four'"}, []string{"a/test-definitions-p-py-f p.py", "b/test-definitions-p-py-f p.py"}},
		{"a program of another name", nil, map[string]string{"promptfooconfig.yaml": strings.Replace(matrixFiles[folder+"promptfooconfig.yaml"], ":f", ":g", 1)}, []string{"a/test-definitions-p-py-g promptfooconfig.yaml", "b/test-definitions-p-py-g promptfooconfig.yaml"}},
		{"a variable", nil, map[string]string{"v.txt": "2"}, []string{"b/test-definitions-p-py-f v.txt"}},
		{"code in another file than the tests", map[string]string{"promptfooconfig.yaml": python}, map[string]string{"promptfooconfig.yaml": strings.Replace(python, "9", "10", 1)}, []string{"a/test-definitions-p-py-f promptfooconfig.yaml", "b/test-definitions-p-py-f promptfooconfig.yaml", "a/56e2eea1 promptfooconfig.yaml", "b/56e2eea1 promptfooconfig.yaml"}},
		{"a program whose answer is compared", map[string]string{"promptfooconfig.yaml": compared}, map[string]string{"p.py": "def f(c): return 'four'"}, []string{"a/56e2eea1 p.py", "b/56e2eea1 p.py", "a/test-definitions-p-py-f p.py", "b/test-definitions-p-py-f p.py"}},
		{"a file next to the program", nil, map[string]string{"other.txt": "five"}, []string{"a/test-definitions-p-py-f other.txt", "b/test-definitions-p-py-f other.txt"}},
		{"nothing of it", nil, map[string]string{"../other.txt": "five"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, change := fstest.MapFS{}, map[string]string{}
			for name, text := range matrixFiles {
				base[name] = &fstest.MapFile{Data: []byte(text)}
			}
			for name, text := range tt.base {
				base[folder+name] = &fstest.MapFile{Data: []byte(text)}
			}
			for name, text := range tt.change {
				change[path.Join(folder, name)] = text
			}
			head, changed := clone(base, change)
			b, cfg := newFixture(t), settings()
			cfg.Roles.Judge = "bot"
			p, err := controller.Prepare(t.Context(), controller.Request{
				Head:       controller.Checkout{Commit: controller.Worktree, FS: head, Config: cfg},
				Base:       &controller.Checkout{Commit: strings.Repeat("4b07d1a4", 5), FS: base, Config: cfg},
				ConfigFile: "gavel.yaml", Ledger: b.store, LookupEnv: nowhere,
				HeadTrust: ledger.Trust{Level: ledger.LevelOperator}, BaseTrust: ledger.Trust{Level: ledger.LevelOperator},
				Changed: func(context.Context, []string) ([]string, error) { return changed, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, row := range p.Plan.Rows {
				if start, starts := p.Starts(row); starts {
					file, _ := start.Changed(slices.Collect(maps.Keys(change)))
					got = append(got, strings.TrimPrefix(row.Key, "promptfooconfig#")+" "+strings.TrimPrefix(file, folder))
				}
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the rows that start programs (-want +got):\n%s", diff)
			}
		})
	}
}
