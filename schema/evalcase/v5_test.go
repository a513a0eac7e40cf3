package evalcase

import (
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// TestIsV5 tells AgentV 5 from promptfoo, whose tests have no id, and from AgentV 4.
func TestIsV5(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"prompts: [x]\ntests: [{id: a, vars: {b: c}}]\n", true},
		{"providers: [x]\ntests: [{id: a, criteria: c}]\n", true},
		{"prompts: [x]\ndefault_test: {}\ntests: t.csv\n", true},
		{"prompts: [x]\ngovernance: {}\ntests: t.jsonl\n", true},
		{"prompts: [x]\ntests: [{vars: {b: c}}]\n", false},
		{"prompts: [x]\ntests: t.csv\n", false},
		{"prompts: [x]\ntarget: bot\ntests: ./t.yaml\n", true},
		{"prompts: [x]\ntarget: openai:chat:m\ntests: ./t.yaml\n", false},
		{"prompts: [x]\ntarget: bot\ntests: [{vars: {b: c}}]\n", false},
		{"prompts: [x]\nproviders: [openai:chat:m]\ntests: [{id: a, vars: {b: c}}]\n", false},
		{"prompts: [x]\nproviders: [{id: openai:chat:m, label: bot}]\ntests: [{id: a, vars: {b: c}}]\n", true},
		{"prompts: [x]\ndefaultTest: {}\ntests: [{id: a, vars: {b: c}}]\n", false},
		{"tests: [{id: a, input: b}]\n", false},
		{"prompts: [x]\n", false},
		{"[]\n", false},
	} {
		doc, problems := document.Parse("a.yaml", []byte(tt.text))
		if len(problems) > 0 {
			t.Fatalf("%s has the problems %v, want none", tt.text, problems)
		}
		if got := IsV5(doc); got != tt.want {
			t.Errorf("%s is of AgentV 5: %v, want %v", tt.text, got, tt.want)
		}
	}
}

// TestV5Bounds: few lines that multiply to many cases or much text are refused.
func TestV5Bounds(t *testing.T) {
	texts := func(n, size int) string {
		var all []string
		for i := range n {
			all = append(all, strconv.Itoa(i)+strings.Repeat("x", size))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	for _, tt := range []struct{ text, rule string }{
		{"default_test: {vars: {a: " + texts(300, 1) + ", b: " + texts(300, 1) + "}}\ntests: [" + strings.Repeat("{id: x}, ", 500) + "]\n", "too-many-rows"},
		{"prompts: ['{{a}}{{a}}{{a}}{{a}}{{a}}{{a}}{{a}}{{a}}']\ndefault_test: {vars: {a: " + texts(1, 50_000) + "}}\ntests: [" + strings.Repeat("{id: x, vars: {}}, ", 500) + "]\n", "too-many-bytes"},
	} {
		doc, problems := document.Parse("a.yaml", []byte(tt.text))
		if len(problems) > 0 {
			t.Fatalf("problems %v, want none", problems)
		}
		out := rewriteV5(document.Source{FS: fstest.MapFS{}}, doc)
		if out.Doc != nil || len(out.Problems) != 1 || out.Problems[0].Rule != tt.rule {
			t.Errorf("the problems are %v, want %s alone", out.Problems, tt.rule)
		}
	}
}

// FuzzRewriteV5 rewrites any text: it gives a document or problems that have a place.
func FuzzRewriteV5(f *testing.F) {
	for _, seed := range []string{
		"prompts: ['{{ input }}']\ntests: [{id: a, vars: {input: [x, y]}, assert: [good, {type: assert-set, assert: [{type: contains, value: x}]}]}]\n",
		"prompts: [{id: a, raw: b}, [{role: user, content: '{{x}}'}]]\nproviders: [a, {label: b}]\ndefault_test: {vars: {x: 1}}\ntests: [t.csv, {include: t.jsonl}, 5, null]\n",
		"prompts: '{% for x in vars %}{{ x }}{% endfor %}'\nthreshold: 2\ntests: [{id: 5, vars: []}]\n",
		"default_test: 5\nassert: {}\ntests: {}\n",
		"prompts: ['{{ input }}']\ndefault_test: {options: {transform: 'x', provider: 5}}\nassert: [{include: '{{ x }}'}, {include: ../a.yaml}]\ntests: [{id: a, vars: {x: [1]}, criteria: '{{ x }}', turns: [{input: '{{ x }}', assert: ['{{ vars.x }}', {type: javascript, value: '{{ x }}'}]}, 5, {}]}]\n",
		"prompts: [{role: user, content: '{% for y in z %}{{ y }}{% endfor %}'}]\nextensions: [5, {id: x}, 'file://../x.mjs:beforeAll']\nscenarios: [{config: [{vars: {z: [a]}}], tests: ['t*.csv', ./, {id: b, turns: {}}]}]\n",
	} {
		f.Add(seed, "id,input,__expected\n1,\"a\",contains-any: x,y\n")
	}
	f.Fuzz(func(t *testing.T, text, table string) {
		doc, _ := document.Parse("suites/a.yaml", []byte(text))
		if doc == nil || !IsV5(doc) {
			return
		}
		files := fstest.MapFS{"suites/t.csv": {Data: []byte(table)}, "suites/t.jsonl": {Data: []byte(`{"id": "l"}`)}}
		out := rewriteV5(document.Source{FS: files, Root: "suites", KeyRoot: "suites"}, doc)
		if out.Doc == nil && !schema.HasErrors(out.Problems) {
			t.Errorf("%q gives neither a document nor an error", text)
		}
		for _, p := range out.Problems {
			if p.File == "" || p.Line < 1 {
				t.Errorf("%q has a problem without a place: %v", text, p)
			}
		}
	})
}
