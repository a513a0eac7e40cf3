package matrix_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/matrix"
)

func emptyFS() fs.FS { return fstest.MapFS{} }

func loadDocument(src document.Source, doc *document.Document) ([]*schema.Case, []schema.Problem) {
	return matrix.Load(src, doc)
}

// FuzzLoad holds that no file makes the loader panic, that problems have a place
// and that keys are unique unless targets tell the cases apart.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		rows(3, 1),
		"prompts: ['{{ a.b[0] }} {{- c -}} {% if x %}']\ntests: [{vars: {a: {b: [1]}, c: [x, y]}}]\n",
		"prompts: [{raw: x, label: y}, [{role: user, content: [{type: text, text: x}]}]]\nproviders: [{id: a, prompts: [y]}]\ntests: t.csv\n",
		"prompts: file://p.txt\ntests: [{assert: [{type: not-regex, value: '('}, {type: is-json, value: 'type: object'}, {type: javascript, value: 'x'}], options: {transform: y}}]\n",
		"prompts: ['{{q}}{{first}}{{env.A}}{{env.B}}']\nenv: {A: 1}\nt: {a: {type: equals, value: {$ref: '#/t/a'}}}\ntests: [{vars: {q: file://*.txt}, options: {storeOutputAs: first}, assert: [{$ref: '#/t/a', weight: 0}, {contains: x}]}]\n",
		"prompts: [p.txt, '*.txt', 'x.py:f']\nproviders: [a, {a: {prompts: [b], transform: file://p.js}}, {id: a}]\ntests: [{assert: [{type: not-empty}, {type: factuality, value: x}], options: {factuality: {}}}]\n",
		"prompts: {a: b}\ntests: [null, 1, 'x', {vars: x, assert: x, options: x}]\nevaluateOptions: {repeat: 1e9}\n",
	} {
		f.Add(seed, "q,__expected,__threshold\na,contains(2): b,x\n")
	}
	f.Add("tests: t*c* ", "prompt\n\"[\"\"role\"\"0]\"")
	f.Add("prompts: [file://p.csv, file://p.jsonl]\ntests: t.csv\n", "prompt,label,__expected1,__metric,__config:__expected:threshold\n\"[{\"\"role\"\": 5}]\",,contains: x,,1e999\n[]\n\n")
	f.Fuzz(func(t *testing.T, text, table string) {
		fsys := fstest.MapFS{"t.csv": {Data: []byte(table)}, "p.txt": {Data: []byte(table)}, "p.csv": {Data: []byte(table)}, "p.jsonl": {Data: []byte(table)}}
		doc, _ := document.Parse(file, []byte(text))
		if doc == nil {
			return
		}
		cases, problems := matrix.Load(document.Source{FS: fsys, Root: file, KeyRoot: file}, doc)
		for _, p := range problems {
			if p.File == "" || p.Message == "" {
				t.Errorf("the problem %+v has no file or message", p)
			}
		}
		seen := map[string]bool{}
		for _, c := range cases {
			if seen[c.ID()] {
				t.Errorf("two cases have the id %q", c.ID())
			}
			if seen[c.ID()] = true; len(c.Evaluators) == 0 {
				t.Errorf("nothing judges %s", c.Key)
			}
		}
	})
}
