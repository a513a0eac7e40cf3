package matrix_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestPromptProgram: the rows with a prompt by a program depend on its files, and on
// its input. The others do not.
func TestPromptProgram(t *testing.T) {
	const text = "prompts: ['{{q}}', 'file://p.py:f']\ntests: [{description: a, vars: {q: one}}]\n"
	got := cases(t, text, map[string]string{"p.py": "def f(c): return ''", "words.py": "x = 1", "other.js": ""})
	if len(got) != 2 || got[0].Drive.Program != nil || got[1].Drive.Program == nil || got[1].Drive.Messages != nil {
		t.Fatalf("the cases are %v, want that a program writes the second", got)
	}
	p := got[1].Drive.Program
	if p.Name() != "p.py:f" || strings.Join(p.Built.Paths(), " ") != "p.py words.py" {
		t.Errorf("the program is %s of %v, want p.py:f of p.py and words.py", p.Name(), p.Built.Paths())
	}
	if want := `{"config":{},"provider":{"id":"bot","label":""},"vars":{"q":"one"}}`; string(p.Stdin) != want {
		t.Errorf("it is told %s, want %s", p.Stdin, want)
	}
	file := func(c *schema.Case, name string) bool {
		return slices.ContainsFunc(c.Inputs, func(in schema.Input) bool { return in.File == name })
	}
	for _, name := range []string{"p.py", "."} {
		if file(got[0], name) || !file(got[1], name) {
			t.Errorf("%s is an input of the rows: %v and %v, want of the second alone", name, got[0].Inputs, got[1].Inputs)
		}
	}
	changed := cases(t, strings.Replace(text, "q: one", "q: two", 1), map[string]string{"p.py": "def f(c): return 1", "words.py": "x = 1"})[1].Drive.Program
	if changed.Built.Files[0] == p.Built.Files[0] || changed.Built.Files[1] != p.Built.Files[1] || string(changed.Stdin) == string(p.Stdin) {
		t.Errorf("with another p.py and another variable the program is %v told %s", changed.Built.Files, changed.Stdin)
	}
}

// TestPromptProgramOfAFileWithTests: a file that has the tests of other rows, too, is still a
// program of the row whose prompt it writes.
func TestPromptProgramOfAFileWithTests(t *testing.T) {
	const text = "prompts: ['file://gen.js:prompt']\ntests: ['file://gen.js:tests', {description: own, vars: {q: two}}]\n"
	const gen = "exports.tests = () => [{description: 'made', vars: {q: 'one'}}]\nexports.prompt = () => process.version\n"
	got := cases(t, text, map[string]string{"gen.js": gen})
	if len(got) != 2 {
		t.Fatalf("%d cases, want 2", len(got))
	}
	for _, c := range got {
		if c.Drive.Program == nil || !slices.Contains(c.Inputs, schema.Input{File: "gen.js", Role: "program"}) {
			t.Errorf("%s has the inputs %v, want gen.js as a program", c.Key, c.Inputs)
		}
	}
}

// TestRowsThatAreTold: a target that takes its row gets the variables and the prompt as it is
// written, and another target does not.
func TestRowsThatAreTold(t *testing.T) {
	got := cases(t, "prompts: [{label: p, raw: 'Say {{q}}'}]\nproviders: [bot, program]\ntests: [{description: a, vars: {q: one, n: [1]}}]\n", nil)
	if len(got) != 2 || got[0].Drive.Row != nil {
		t.Fatalf("cases %q, want two, of which the first is told nothing", lines(got))
	}
	if want := `{"prompt":{"label":"p","raw":"Say {{q}}"},"vars":{"n":[1],"q":"one"}}`; string(got[1].Drive.Row) != want {
		t.Errorf("the program is told %s, want %s", got[1].Drive.Row, want)
	}
}

// TestListedRow: a case has the name of its prompt and its variables in one line, with
// long values shortened.
func TestListedRow(t *testing.T) {
	text := "prompts: [{label: p, raw: 'Say {{q}}'}, 'Do {{q}}']\ndefaultTest: {vars: {a: [1]}}\ntests: [{description: a, vars: {q: \"one\\n two\", b: " + strings.Repeat("x", 100) + "}}]\n"
	got := cases(t, text, nil)
	want := "q: one two · b: " + strings.Repeat("x", 80) + "… · a: [1]" // of all tests
	for i, name := range []string{"p", "Do {{q}}"} {
		if l := got[i].Labels; l.Prompt != name || l.Vars != want {
			t.Errorf("the case of prompt %d is listed as %q with %q, want %q with %q", i, l.Prompt, l.Vars, name, want)
		}
	}
	if a, b := got[0].Labels.GridColumn, got[1].Labels.GridColumn; a < 1 || a >= b {
		t.Errorf("the prompts are in the columns %d and %d, want those in the order of the file", a, b)
	}
	got = cases(t, "prompts: ['Say {{q}}']\ndefaultTest: {vars: {q: a, r: b}}\ntests: [{vars: {s: c, q: d}}]\n", nil)
	if want := "q: d · s: c · r: b"; got[0].Labels.Vars != want {
		t.Errorf("the variables are %q, want %q", got[0].Labels.Vars, want)
	}
}

// TestPromptsByPrograms: a prompt that promptfoo has a program print is never sent as a text,
// however it is written. One that is not run here is named.
func TestPromptsByPrograms(t *testing.T) {
	others := map[string]string{"p.sh": "echo hi", "p.rb": "puts 1", "p.bat": "echo", "lib.sh": "x=1", "sub/p.pl": "print 1", "gen": "#!/bin/sh", "bin/gen": "#!/bin/sh"}
	for _, tt := range []struct{ prompt, argv, skip string }{
		{"'exec:./p.sh a'", "./p.sh a", ""},
		{"{label: s, raw: 'exec:p.sh'}", "./p.sh", ""},
		{"{id: 'exec:sh -c \"echo hi there\"'}", "sh -c echo hi there", ""},
		{"./p.sh", "./p.sh", ""},
		{"file://p.sh", "./p.sh", ""},
		{"p.rb", "./p.rb", ""},
		{"file://sub/p.pl", "sub/p.pl", ""},
		{"file://gen", "./gen", ""},
		{"bin/gen", "bin/gen", ""},
		{"p.bat", "", "it needs a program of Windows (.bat)"},
		{"'package:@team/prompts:make'", "", "it needs a prompt of a package of JavaScript or Python"},
		{"'pf://prompt_1'", "", "it needs a prompt that is fetched from the net; download it and name the file"},
		{"'https://example.com/p.txt'", "", "it needs a prompt that is fetched from the net; download it and name the file"},
	} {
		got, problems := load(t, "prompts: ["+tt.prompt+"]\ntests: [{description: a, vars: {q: one}, assert: [{type: contains, value: x}]}]\n", others)
		if len(got) != 1 || got[0].Skip != tt.skip || got[0].Drive.Messages != nil || schema.HasErrors(problems) {
			t.Errorf("%s: cases %q, problems %v, want no message and the skip %q", tt.prompt, lines(got), problems, tt.skip)
			continue
		}
		if p := got[0].Drive.Program; tt.argv != "" && (p == nil || !p.Plain || strings.Join(p.Argv, " ") != tt.argv) {
			t.Errorf("%s: the program is %+v, want %s", tt.prompt, p, tt.argv)
		}
	}
	got, _ := load(t, "prompts: {'exec:./p.sh': said}\ntests: [{description: a, vars: {q: one}}]\n", others)
	if len(got) != 1 || got[0].Drive.Program == nil || got[0].Row.Label != "said" || strings.Join(got[0].Drive.Program.Built.Paths(), " ") != "lib.sh p.sh" {
		t.Errorf("cases %q, want one that p.sh writes, with the file of its language", lines(got))
	}
	_, problems := load(t, "prompts: ['exec:./gone.sh']\ntests: [{description: a}]\n", nil)
	if said := errorsOf(problems); len(said) != 1 || said[0] != "promptfooconfig.yaml:1:11: error: the file gone.sh does not exist; add it or correct the path" {
		t.Errorf("errors %q, want that there is no gone.sh", said)
	}
}
