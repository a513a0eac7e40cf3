package matrix_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// TestTablesOfOtherRows: a row is in its own table and in no other, so that a reason names
// none of the others; they are inputs all the same, for each of them may add a row.
func TestTablesOfOtherRows(t *testing.T) {
	got := cases(t, "prompts: ['{{q}}']\ndefaultTest: file://shared.yaml\ntests: [a.csv, b.csv, file://c.yaml, {vars: {q: four}}, {vars: {q: file://b.csv}}]\n", map[string]string{
		"a.csv": "q\none\n", "b.csv": "q\ntwo\n", "c.yaml": "- vars: {q: three}\n", "shared.yaml": "vars: {k: v}\n",
	})
	var said []string
	for _, c := range got {
		line := c.Origin.File
		for _, in := range c.Inputs {
			line += fmt.Sprintf(" %s=%s", in.File, in.Role)
		}
		said = append(said, line)
	}
	want := []string{
		"a.csv a.csv=tests b.csv=other tests c.yaml=other tests promptfooconfig.yaml=definition shared.yaml=tests",
		"b.csv a.csv=other tests b.csv=tests c.yaml=other tests promptfooconfig.yaml=definition shared.yaml=tests",
		"c.yaml a.csv=other tests b.csv=other tests c.yaml=tests promptfooconfig.yaml=definition shared.yaml=tests",
		"promptfooconfig.yaml a.csv=other tests b.csv=other tests c.yaml=other tests promptfooconfig.yaml=definition shared.yaml=tests",
		"promptfooconfig.yaml a.csv=other tests b.csv=tests c.yaml=other tests promptfooconfig.yaml=definition shared.yaml=tests",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}

// TestLargeTable: a table of some MiB is read, as a file with a test a line is. A larger one
// is refused at the place that names it, with its size, the bound and the repair.
func TestLargeTable(t *testing.T) {
	row := strings.Repeat("What is one plus one? ", 40) + "\n"
	for _, tt := range []struct{ name, line string }{{"big.csv", row}, {"big.jsonl", `{"vars": {"q": "` + strings.TrimSpace(row) + `"}}` + "\n"}, {"big.json", `{"vars": {"q": "` + strings.TrimSpace(row) + `"}},` + "\n"}} {
		name, text := tt.name, strings.Repeat(tt.line, 1000)
		switch name {
		case "big.csv":
			text = "q\n" + text
		case "big.json":
			text = "[" + strings.TrimSuffix(text, ",\n") + "]"
		}
		if got, problems := load(t, "prompts: ['{{q}}']\ntests: ["+name+"]\n", map[string]string{name: text}); len(got) != 1000 || schema.HasErrors(problems) {
			t.Errorf("%s of %d bytes: %d cases, problems %v, want 1000", name, len(text), len(got), problems)
		}
	}
	got, problems := load(t, "prompts: ['{{q}}']\ntests:\n- big.csv\n", map[string]string{"big.csv": "q\n" + strings.Repeat(row, 9600)})
	want := "promptfooconfig.yaml:3:3: error: big.csv cannot be read: it has 8457602 bytes and may have 8388608; shorten it, or split it into several files and name each"
	if len(got) > 0 || len(problems) != 1 || problems[0].String() != want {
		t.Errorf("%d cases, problems %v, want %s", len(got), problems, want)
	}
}

// TestSettingsOfATable: __metric names the assertions of a row, and a column of __config
// has the threshold of one of them. Neither is of what all tests share.
func TestSettingsOfATable(t *testing.T) {
	got := cases(t, "prompts: ['{{q}}']\ndefaultTest: {assert: [{type: similar, value: x}]}\ntests: t.csv\n", map[string]string{
		"t.csv": "q,__expected1,__expected2,__metric,__config:__expected:threshold,__config:__expected2:threshold\na,similar: b,similar: c,near,0.6,0.9\nd,similar: e,,,,\n",
	})
	var said []string
	for _, c := range got {
		for _, ev := range c.Evaluators {
			said = append(said, fmt.Sprintf("%s %.2g", ev.Name, ev.Rule.Threshold))
		}
	}
	if diff := cmp.Diff([]string{"similar 0.75", "near 0.6", "near 2 0.9", "similar 0.75", "similar 2 0.8"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// errorsOf are the errors among problems, as people read them.
func errorsOf(problems []schema.Problem) []string {
	var said []string
	for _, p := range problems {
		if p.Severity == schema.Error {
			said = append(said, p.String())
		}
	}
	return said
}

// TestTablesKeepTheirAssertions: a table that would lose an assertion is an error with its
// place and the repair, in a table of tests and in one of prompts. A record that is wrong
// costs its own row alone.
func TestTablesKeepTheirAssertions(t *testing.T) {
	for _, tt := range []struct {
		table, want string
		run         int // cases that are run
	}{
		{"x;__expected\nhola;contains:zzz\n", "t.csv:1:1: error: the table has one column, whose name holds a semicolon; save it with commas between the cells, as CSV (comma delimited)", 0},
		{"x\t__expected\nhola\tcontains:zzz\n", "t.csv:1:1: error: the table has one column, whose name holds a tab; save it with commas between the cells, as CSV (comma delimited)", 0},
		{"\xff\xfex\x00,\x00", "t.csv:1:1: error: the file is not UTF-8 but UTF-16; save it as UTF-8", 0},
		{"x,__expected\na\xf1o,b\n", "t.csv:2:2: error: the line is not valid UTF-8; save the file as UTF-8", 0},
		{"", "t.csv:1:1: error: the table is empty; write a line with the names of the columns, then a line for each row", 0},
		{"x,y\n1,\"open\n", `t.csv:2:1: error: a cell of the record begins with a quote that is not closed; close the quote; double the quotes and put the cell in quotes, as in "say ""hi"""`, 0},
		{"x,__Expected\nhola,contains:zzz\n", "t.csv:1:3: error: the column \"__Expected\" means nothing; did you mean `__expected`?", 0},
		{"x,__expect\nhola,contains:zzz\n", "t.csv:1:3: error: the column \"__expect\" means nothing; did you mean `__expected`?", 0},
		{"x,__metadata\nhola,a\n", "t.csv:1:3: error: the column \"__metadata\" means nothing; did you mean `__metadata:category`?", 0},
		{"x,__expected,__config:__expected2:threshold\nhola,contains:h,1\n", "t.csv:1:14: error: the column __config:__expected2:threshold is about a column __expected2, which the table does not have; name the column of the assertion, as in __config:__expected2:threshold", 0},
		{"x,__expected\nhola\nhi,contains:h\n", "t.csv:2:1: error: the record has 1 cell, and the header has 2 columns; write every cell, also one that is empty: a comma for each", 1},
		{"x,__expected\nhola,contains-all:ho,zzz\nhi,contains:h\n", "t.csv:2:22: error: the record has 3 cells, and the header has 2 columns; put a cell that holds a comma in double quotes", 1},
		{"x,__expected,__threshold\nhola,contains:h,high\nhi,contains:h,0.5\n", `t.csv:2:17: error: __threshold is "high"; write a number with a point, such as 0.5`, 1},
		{"x,__expected,__threshold\nhola,contains:h,\"0,5\"\nhi,contains:h,\n", `t.csv:2:17: error: __threshold is "0,5"; write a number with a point, such as 0.5`, 1},
		{"x,__expected,__threshold\nhola,contains:h,7\nhi,contains:h,1\n", `t.csv:2:17: error: __threshold is "7"; write a number from 0 to 1`, 1},
		{"x,__expected,__config:__expected:threshold\nhola,similar:h,much\nhi,similar:h,1\n", `t.csv:2:16: error: __config:__expected:threshold is "much"; write a number with a point, such as 0.5`, 1},
		{"x,__expected\nhola,similar(high): h\nhi,contains:h\n", `t.csv:2:6: error: the threshold of similar is "high"; write a number with a point, as in similar(0.5), or equals: before a text that the answer has to equal`, 1},
		{"x,__expected\nhola,contains\nhi,contains:h\n", "t.csv:2:6: error: the assertion contains has no value; add value: with what it looks for", 1},
		{"x,__expected\nhola,regex:(\nhi,contains:h\n", "t.csv:2:6: error: the pattern ( of regex cannot be read: expecting ')'; correct it; a sign that is meant itself is written with a backslash, as in \\(", 1},
	} {
		got, problems := load(t, "prompts: ['{{x}}']\ntests: file://t.csv\n", map[string]string{"t.csv": tt.table})
		run := 0
		for _, c := range got {
			if c.Skip == "" {
				run++
			}
		}
		if said := errorsOf(problems); run != tt.run || len(said) != 1 || said[0] != tt.want {
			t.Errorf("%.40q: %d cases run, errors %q, want %d and %q", tt.table, run, said, tt.run, tt.want)
		}
	}
}

// TestTablesOfPrompts are held to their header as tables of tests are.
func TestTablesOfPrompts(t *testing.T) {
	for _, tt := range []struct{ table, want string }{
		{"prompt;label\nA;B\n", "p.csv:1:1: error: the table has one column, whose name holds a semicolon; save it with commas between the cells, as CSV (comma delimited)"},
		{"prompt,label\nA, b,B\n", "p.csv:2:6: error: the record has 3 cells, and the header has 2 columns; put a cell that holds a comma in double quotes"},
		{"text,label\nA,B\n", "p.csv:1:1: error: the table of prompts has no column named prompt; name the column with the prompts prompt, and the one with their names label"},
		{"prompt,label\n,B\n", "p.csv:2:1: error: the row has no prompt; write the prompt, or remove the row"},
		{"prompt,label\n\"A,B\n", `p.csv:2:1: error: a cell of the record begins with a quote that is not closed; close the quote; double the quotes and put the cell in quotes, as in "say ""hi"""`},
		{"prompt,label\nA\xf1o,B\n", "p.csv:2:2: error: the line is not valid UTF-8; save the file as UTF-8"},
		{"\n", "p.csv:1:1: error: the file has no prompt; write a text with {{variables}}"},
	} {
		got, problems := load(t, "prompts: file://p.csv\ntests: [{assert: [{type: contains, value: x}]}]\n", map[string]string{"p.csv": tt.table})
		if said := errorsOf(problems); len(got) > 0 || len(said) != 1 || said[0] != tt.want {
			t.Errorf("%.40q: %d cases, errors %q, want none and %q", tt.table, len(got), said, tt.want)
		}
	}
}

// TestTextsAreUTF8: a prompt, a variable and a rubric in another encoding are errors.
func TestTextsAreUTF8(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"prompts: file://p.txt\ntests: [{vars: {x: 1}}]\n", "p.txt:1:4: error: the line is not valid UTF-8; save the file as UTF-8"},
		{"prompts: ['{{x}}']\ntests: [{vars: {x: file://p.txt}}]\n", "p.txt:1:4: error: the line is not valid UTF-8; save the file as UTF-8"},
		{"prompts: file://u.md\ntests: [{vars: {x: 1}}]\n", "u.md:1:1: error: the file is not UTF-8 but UTF-16; save it as UTF-8"},
		{"prompts: ['{{x}}']\ntests: [{vars: {x: 1}, assert: [{type: llm-rubric, value: x, rubricPrompt: file://p.txt}]}]\n", "p.txt:1:4: error: the line is not valid UTF-8; save the file as UTF-8"},
	} {
		_, problems := load(t, tt.text, map[string]string{"p.txt": "Caf\xe9 {{x}}", "u.md": "\xfe\xff\x00H\x00i"})
		if said := errorsOf(problems); len(said) != 1 || said[0] != tt.want {
			t.Errorf("%s: errors %q, want %q", tt.text, said, tt.want)
		}
	}
}

// TestCells shows what the strings of promptfoo's tables are, each by its type and value.
func TestCells(t *testing.T) {
	others := map[string]string{"check.py": "def get_assert(output, context):\n    return True\n", "check.js": "module.exports = (output) => true;"}
	for _, tt := range []struct{ cell, want string }{
		{"fn:output.length > 2", `javascript "output.length \u003e 2"`},
		{"eval: output.length > 2", `javascript "output.length \u003e 2"`},
		{"javascript: output == 'x'", `javascript "output == 'x'"`},
		{"grade: is polite", `llm-rubric "is polite"`},
		{"llm-rubric: is polite", `llm-rubric "is polite"`},
		{"python: len(output) > 2", `python "len(output) \u003e 2"`},
		{"file://check.py", `python "file://check.py"`},
		{"file://check.py:get_assert", `python "file://check.py:get_assert"`},
		{"not-contains:  x ", `not-contains "x"`},
		{"similar: x", `similar "x" 0.8`},
		{"similar(0.5): x", `similar "x" 0.5`},
		{"similar(0): x", `similar "x" 0`},
		{"answer-relevance", `answer-relevance  0.75`},
		{"classifier: joy", `classifier "joy" 0.75`},
		{"levenshtein: x", `levenshtein "x" 0.75`},
		{"levenshtein(2): x", `levenshtein "x" 2`},
		{"word-count: 5", `word-count "5"`},
		{"similar:cosine(0.9): x", `similar:cosine "x" 0.9`},
		{"contains-any: a,\"b, c\"", `contains-any "a,\"b, c\""`},
		{"Paris", `equals "Paris"`},
		{"fn", `equals "fn"`},
		{"answer: (a) or (b)", `equals "answer: (a) or (b)"`},
	} {
		got, problems := load(t, "prompts: ['{{x}}']\ntests: file://t.csv\n", map[string]string{
			"t.csv": "x,__expected\nhola,\"" + strings.ReplaceAll(tt.cell, `"`, `""`) + "\"\n", "check.py": others["check.py"], "check.js": others["check.js"],
		})
		if len(got) != 1 || got[0].Skip != "" || schema.HasErrors(problems) {
			t.Errorf("%s: cases %q, problems %v", tt.cell, lines(got), problems)
			continue
		}
		a := got[0].Row.Asserts[0]
		said := fmt.Sprintf("%s %s", a.Type, a.Value)
		if a.Threshold != nil {
			said += fmt.Sprintf(" %v", *a.Threshold)
		}
		if said != tt.want {
			t.Errorf("%s is %s, want %s", tt.cell, said, tt.want)
		}
		if kind := got[0].Evaluators[0].Spec.Kind(); a.Type == "python" && kind != "function" {
			t.Errorf("%s is measured by %s, want a program", tt.cell, kind)
		}
	}
}

// TestCountOfRows counts unknown tests among those that are not run.
func TestCountOfRows(t *testing.T) {
	_, problems := load(t, "prompts: [x]\ntests: [https://example.com/t.csv, {description: a}]\n", nil)
	i := slices.IndexFunc(problems, func(p schema.Problem) bool { return p.Rule == "rows-not-run" })
	if want := "1 of 2 cases are run; 1 needs what is not read (tests that are fetched from the net: 1)"; i < 0 || problems[i].Message != want {
		t.Errorf("problems %v, want %q", problems, want)
	}
}

// TestWideTable reads a row with very many variables, tags, assertions and their settings.
func TestWideTable(t *testing.T) {
	var head, row strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&head, ",v%d,__expected%d,__config:__expected%d:threshold", i, i+2, i+2)
		row.WriteString(",1,similar:a,0.25")
	}
	got, problems := load(t, "prompts: ['x']\ntests: file://t.csv\n", map[string]string{
		"t.csv": "__metadata:tags[]" + head.String() + "\n\"" + strings.Repeat("t,", 400_000) + "\"" + row.String() + "\n",
	})
	if len(got) != 1 || schema.HasErrors(problems) || len(got[0].Evaluators) != 30_000 {
		t.Fatalf("%d cases, problems %v; want one with 30,000 evaluators", len(got), problems)
	}
}
