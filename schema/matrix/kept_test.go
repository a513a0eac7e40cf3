package matrix_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// keptOf compiles tests behind one that keeps its output as got, and returns their cases.
func keptOf(t *testing.T, prompt, tests string, others map[string]string) []*schema.Case {
	t.Helper()
	got, problems := load(t, "prompts: ["+prompt+"]\nproviders: [bot]\ntests:\n- {description: first, vars: {x: a}, options: {storeOutputAs: got, transform: 'output + 1'}}\n"+tests, others)
	if schema.HasErrors(problems) {
		t.Fatal(problems)
	}
	return got
}

// TestKeptOutputs: a later test has an output where it names it, and no other has one.
func TestKeptOutputs(t *testing.T) {
	all := keptOf(t, "'say {{x}}'", `- {description: second, vars: {x: 'so {{got}}'}, options: {storeOutputAs: more}, assert: [{type: contains, value: '{{got}}'}]}
- {description: third, vars: {x: '{{more}} {{got}}'}}
- {description: fourth, vars: {x: c}, assert: [{type: javascript, value: 'output > context.vars.got'}]}
- {description: fifth, vars: {x: c}, assert: [{type: python, value: 'True'}]}
- {description: none, vars: {x: c}, assert: [{type: javascript, value: 'output > 3'}]}
`, nil)
	want := map[string]string{"first": "", "second": "got of first", "third": "got of first, more of second", "fourth": "got of first", "fifth": "got of first, more of second", "none": ""}
	for _, c := range all {
		var has []string
		for _, k := range c.Kept {
			has = append(has, k.Name+" of "+k.Case.Labels.Name)
		}
		if got := strings.Join(has, ", "); got != want[c.Labels.Name] || c.Skip != "" {
			t.Errorf("%s has %q (%s), want %q", c.Labels.Name, got, c.Skip, want[c.Labels.Name])
		}
	}
	second := all[1]
	if said := second.Drive.Messages[0].Content; said != "say so "+schema.KeptMark("got") {
		t.Errorf("it sends %q", said)
	}
	if steps := second.Kept[0].Steps; len(steps) != 1 || steps[0] != "output + 1" {
		t.Errorf("the output passes through %q", steps)
	}
	if value := second.Evaluators[0].Spec.(evaluator.Assertion).Value; !strings.Contains(string(value), schema.KeptMark("got")) {
		t.Errorf("it asks for %s", value)
	}
	if strings.Contains(fmt.Sprint(second.Row.Vars, second.Labels), schema.KeptMark("got")) || string(second.Row.Vars["got"]) != `"{{got}}"` {
		t.Errorf("people see %v of %v", second.Row.Vars, second.Labels)
	}
}

// TestKeptOutputOfItsRow is of the same prompt and target, else of the same target.
func TestKeptOutputOfItsRow(t *testing.T) {
	const text = `prompts: [{raw: 'a {{x}}', label: a}, {raw: 'b {{x}}', label: b}]
providers: [bot, large]
tests:
- {description: all, vars: {x: a}, options: {storeOutputAs: got}}
- {description: own, vars: {x: '{{got}}'}}
- {description: one, vars: {x: a}, prompts: [a], options: {storeOutputAs: got}}
- {description: other, vars: {x: '{{got}}'}, prompts: [b]}
`
	got, problems := load(t, text, nil)
	if schema.HasErrors(problems) {
		t.Fatal(problems)
	}
	seen := 0
	for _, c := range got {
		for _, k := range c.Kept {
			seen++
			label := map[string]string{"own": c.Row.Label, "other": "a"}[c.Labels.Name]
			if k.Case.Target != c.Target || k.Case.Row.Label != label {
				t.Errorf("%s of %s has the output of %s of %s", c.Key, c.Target, k.Case.Key, k.Case.Target)
			}
		}
	}
	if seen != 6 {
		t.Errorf("%d outputs are kept, want 6", seen)
	}
}

// TestKeptOutputsThatAreNotRead are skipped by name: nothing is computed before the output is
// known, and no output is code.
func TestKeptOutputsThatAreNotRead(t *testing.T) {
	files := map[string]string{"p.js": "module.exports = ({vars}) => 'say ' + vars.x"}
	for test, want := range map[string]string{
		"{vars: {x: '{{got | upper}}'}}":                                               "the output of another test in an expression",
		"{vars: {x: '{% if got %}a{% endif %}'}}":                                      "the output of another test in an expression",
		"{vars: {x: '{% filter upper %}{{got}}{% endfilter %}'}}":                      "the output of another test in an expression",
		"{vars: {x: '{{got}}'}, assert: [{type: contains, value: '{{x | trim}}'}]}":    "the output of another test in an expression",
		"{vars: {x: a}, assert: [{type: javascript, value: 'output == \"{{got}}\"'}]}": "the output of another test in code",
		"{vars: {x: a}, assert: [{type: python, value: 'output == \"{{got}}\"'}]}":     "the output of another test in code",
		"{vars: {x: a}, assert: [{type: contains-any, value: '{{got}}'}]}":             "the output of another test in the value of contains-any",
		"{vars: {x: a}, assert: [{type: is-json, value: {const: '{{got}}'}}]}":         "the output of another test in the value of is-json",
		"{vars: {x: a}, assert: [{type: select-best, value: '{{got}}'}]}":              "the output of another test in the value of select-best",
	} {
		c := keptOf(t, "'say {{x}}'", "- "+test+"\n", files)[1]
		if !strings.Contains(c.Skip, want) || len(c.Kept) > 0 {
			t.Errorf("%s: %q, want %q", test, c.Skip, want)
		}
	}
	if c := keptOf(t, "'{{vars.got}}'", "- {vars: {x: a}}\n", nil)[1]; !strings.Contains(c.Skip, "in an expression") {
		t.Errorf("a member of vars: %q, %+v", c.Skip, c.Drive.Messages)
	}
	if c := keptOf(t, "file://p.js", "- {vars: {x: '{{got}}'}}\n", files)[1]; c.Skip == "" && c.Drive.Program == nil {
		t.Errorf("a prompt in code is computed before the output is known: %+v", c.Drive)
	}
	got, _ := load(t, "prompts: ['{{x}}']\nproviders: [bot]\ntests:\n- {vars: {x: a}, options: {storeOutputAs: got}, assert: [{type: is-sql}]}\n- {vars: {x: '{{got}}'}}\n", nil)
	if !strings.Contains(got[1].Skip, "the answer of a test that is not run") {
		t.Errorf("the output of a test that is skipped: %q", got[1].Skip)
	}
}

// TestKeptOutputsAreBounded in their names, and in how many come before a case.
func TestKeptOutputsAreBounded(t *testing.T) {
	chain := func(n int, name func(int) string, has func(int) string) *schema.Case {
		var b strings.Builder
		b.WriteString("prompts: ['{{x}}']\nproviders: [bot]\ntests:\n- {vars: {x: a}, options: {storeOutputAs: n0}}\n")
		for i := 1; i <= n; i++ {
			fmt.Fprintf(&b, "- {vars: {x: '%d %s'}, options: {storeOutputAs: %s}}\n", i, has(i), name(i))
		}
		got, problems := load(t, b.String(), nil)
		if schema.HasErrors(problems) {
			t.Fatal(problems)
		}
		return got[n]
	}
	same := func(int) string { return "n0" }
	line := func(int) string { return "{{n0}}" }
	if c := chain(32, same, line); c.Skip != "" || len(c.Answering()) != 32 {
		t.Errorf("32 before it: %q with %d", c.Skip, len(c.Answering()))
	}
	if c := chain(33, same, line); !strings.Contains(c.Skip, "at most 32 answers of tests before it") {
		t.Errorf("33 before it: %q", c.Skip)
	}
	each := func(i int) string { return fmt.Sprintf("n%d", i) }
	if c := chain(17, each, func(int) string { return "{{n0}}" }); !strings.Contains(c.Skip, "at most 16 outputs that tests keep") {
		t.Errorf("17 names: %q", c.Skip)
	}
	twice := func(i int) string { return fmt.Sprintf("{{n%d}} {{n%d}}", i-1, max(0, i-2)) }
	if c := chain(15, each, twice); !strings.Contains(c.Skip, "at most 32 answers") && !strings.Contains(c.Skip, "not run") {
		t.Errorf("ways without end: %q with %d", c.Skip, len(c.Answering()))
	}
}
