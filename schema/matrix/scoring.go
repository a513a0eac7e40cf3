package matrix

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/javascript"
	"github.com/gavel-evals/gavel/schema/template"
)

// scoringName is the function of a scoring file that names none.
const scoringName = "func"

// readScoring reads the function that decides by the results of a test's assertions: a file
// of JavaScript or Python, with the name of a function or without.
func (c *compiler) readScoring(t *test, doc *document.Document, at ...any) {
	value := doc.JSON(at...)
	if !doc.Has(at...) || string(value) == "null" || string(value) == `""` {
		return
	}
	name, isFile := fileName(value)
	file, function := assertion.SplitFunction(name)
	language := languages[path.Ext(file)]
	if !isFile || language == "" {
		c.note(t, []schema.Problem{doc.Problem("wrong-value", "`assertScoringFunction` names no file of JavaScript or Python", "write file://score.js, or file://score.py:function", at...)})
		return
	}
	place := doc.At(at...)
	if t.scoring = (&written{Type: language, Value: value}); language == "javascript" {
		found := c.Read(document.Reference{At: place, Path: file, Role: "program", Most: command.MaxFile})
		if assertion.Computing(found.File, function) != "" {
			t.inputs = append(t.inputs, found.Inputs...)
			c.note(t, found.Problems)
			if function == "" {
				function = scoringName
			}
			source := "return " + strings.TrimSuffix(javascript.Module(string(found.File.Data), function), "\n") + "(output, context)"
			t.scoring.Value, _ = json.Marshal(source) // a text
			return
		}
	} else if function == "" {
		t.scoring.Value, _ = json.Marshal("file://" + file + ":" + scoringName) // a text
	}
	c.functionFile(t, t.scoring, language, place)
	if p := t.scoring.program; p != nil && language == "javascript" && function == "" {
		p.Argv = append(p.Argv, "", scoringName) // of a file that exports no function itself
	}
}

// score makes the evaluators parts of one, on which the test's function decides.
func (j *judgement) score(vars template.Variables) error {
	var spec evaluator.Composite
	for i, ev := range j.evaluators {
		m, err := j.member(j.written[i], ev, vars)
		if err != nil {
			j.failed = j.written[i]
			return err
		}
		spec.Members = append(spec.Members, m)
	}
	told, err := json.Marshal(struct {
		Threshold *float64 `json:"threshold,omitempty"`
	}{j.test.threshold})
	if err != nil {
		return err
	}
	source, _ := document.ParseText(j.test.scoring.Value)
	spec.Function = &evaluator.Member{Spec: evaluator.JavaScript{Code: source, Context: told}}
	if p := j.test.scoring.program; p != nil {
		spec.Function.Spec = evaluator.Function{Program: *p, Context: told}
	}
	j.evaluators = []schema.Evaluator{{Name: "assertScoringFunction", Weight: 1, Spec: spec, Rule: rubricAlone(nil)}}
	return nil
}

// decidesAlone prepares a judgement for the function of the test: the threshold is an input of
// the function, whose criteria have names of their own.
func (j *judgement) decidesAlone() {
	j.threshold, j.names = nil, map[string]int{evaluator.GradedPass: 1, evaluator.GradedScore: 1}
}
