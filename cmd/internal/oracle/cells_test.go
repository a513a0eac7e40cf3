package oracle_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/cmd/internal/oracle"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/matrix"
)

// TestCellsSameAsPromptfoo holds that each cell is the assertion that it is in promptfoo,
// unless a rule on the format's page says otherwise.
func TestCellsSameAsPromptfoo(t *testing.T) {
	cells := oracle.Cells()
	theirs, err := oracle.RecordedCells(cells)
	if err != nil {
		t.Fatal(err)
	}
	if len(cells) < 700 {
		t.Errorf("there are %d cells, want 700", len(cells))
	}
	tally := &oracle.Tally[oracle.ReadCell]{Rules: oracle.CellRules}
	for i, text := range cells {
		row := oracle.ReadCell{Text: text, Theirs: theirs[i]}
		if row.Theirs.Failed {
			row.Theirs = oracle.Cell{Failed: true}
		}
		var problems []schema.Problem
		row.Ours, problems = readCell(t, text)
		if name, isText := row.Theirs.Value.(string); isText && strings.HasPrefix(strings.TrimSpace(name), "file://") && !row.Ours.Failed {
			row.Ours.Value = name // in place of what the file has
		}
		if !tally.Add(row, row.Ours.String() == row.Theirs.String()) {
			t.Errorf("no rule is about %q: %s, want %s (%v)", text, row.Ours, row.Theirs, problems)
		}
	}
	page, err := os.ReadFile("../../../examples/formats/matrix.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range tally.Check(string(page)) {
		t.Error(err)
	}
	t.Logf("cells by their rule: %v", tally.Used)
}

// listed matches the types whose value is a list.
var listed = regexp.MustCompile(`-(?:any|all)$`)

// readCell returns the assertion that a cell of a table is read as.
func readCell(t *testing.T, text string) (oracle.Cell, []schema.Problem) {
	t.Helper()
	const file = "promptfooconfig.yaml"
	src := document.Source{Root: file, KeyRoot: file, Settings: schema.Settings{DefaultTarget: "bot", Targets: map[string]schema.TargetSettings{"bot": {}}}, FS: fstest.MapFS{
		file:         {Data: []byte("prompts: ['{{q}}']\ntests: file://t.csv\n")},
		"t.csv":      {Data: []byte("q,query,context,__expected\na,why,because,\"" + strings.ReplaceAll(text, `"`, `""`) + "\"\n")},
		"check.py":   {Data: []byte("def get_assert(output, context):\n    return True\n")},
		"check.js":   {Data: []byte("module.exports = () => true;\nmodule.exports.check = () => true;\n")},
		"check.cjs":  {Data: []byte("module.exports = () => true;\n")},
		"check.mjs":  {Data: []byte("export default () => true;\n")},
		"text.txt":   {Data: []byte("x\n")},
		"value.json": {Data: []byte("{\"type\": \"object\"}\n")},
		"value.yaml": {Data: []byte("type: object\n")},
	}}
	doc, problems := src.Open(file)
	cases, more := matrix.Load(src, doc)
	if problems = append(problems, more...); schema.HasErrors(problems) || len(cases) != 1 || len(cases[0].Row.Asserts) != 1 {
		return oracle.Cell{Failed: true}, problems
	}
	a := cases[0].Row.Asserts[0]
	read := oracle.Cell{Type: a.Type, Threshold: a.Threshold}
	if spec, ok := cases[0].Evaluators[0].Spec.(evaluator.Assertion); ok && listed.MatchString(a.Type) {
		a.Value = spec.Value // the texts of the list
	}
	if len(a.Value) > 0 {
		if err := json.Unmarshal(a.Value, &read.Value); err != nil {
			t.Fatal(err)
		}
	}
	return read, problems
}
