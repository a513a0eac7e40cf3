package matrix

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/template"
)

const (
	// maxKeepers bounds the names of answers that the tests of a file keep.
	maxKeepers = 16
	// maxBefore bounds the answers that a case waits for, counted along every way.
	maxBefore = 32
)

// takesKept are the assertions whose value is one text, which is not read before the answer
// of another test is in it.
var takesKept = map[string]bool{
	"contains": true, "icontains": true, "equals": true, "starts-with": true, "levenshtein": true, "similar": true, "rouge-n": true, "bleu": true, "context-recall": true,
	"llm-rubric": true, "model-graded-closedqa": true, "factuality": true, "model-graded-factuality": true, "g-eval": true, "answer-relevance": true,
	"javascript": true, "python": true, "ruby": true, // which refuse it themselves, by the name of code
}

// keepers are the latest rows whose answers are kept, by the names of these.
type keepers map[string]int

func (k keepers) add(name string, row int) { k[name] = row }

// of returns the rows whose answers a row of a test may have: by the names that its own texts
// or the prompts have, and all where a program could read them.
func (k keepers) of(c *compiler, t *test) map[string]int {
	if len(k) == 0 {
		return nil
	}
	texts, isProgram := c.texts(t)
	found := map[string]int{}
	for name, row := range k {
		if isProgram || strings.Contains(texts, name) {
			found[name] = row
		}
	}
	if len(k) > maxKeepers {
		t.require(fmt.Sprintf("at most %d outputs that tests keep (storeOutputAs)", maxKeepers))
	}
	return found
}

// texts returns the texts that may name a variable, from a test and from all prompts.
// isProgram means that there is code besides, which gets all variables.
func (c *compiler) texts(t *test) (all string, isProgram bool) {
	parts := []string{t.prefix, t.suffix, t.rubricPrompt, t.transform, t.postprocess}
	for _, value := range t.vars {
		parts = append(parts, string(value))
	}
	var add func(a written)
	add = func(a written) {
		parts = append(parts, string(a.Value), a.code, a.Metric, a.Transform, a.ContextTransform, a.rubricPrompt, string(a.Config))
		isProgram = isProgram || a.program != nil
		for _, part := range a.set {
			add(part)
		}
	}
	for _, a := range t.asserts {
		add(a)
	}
	for _, p := range c.prompts {
		parts = append(parts, p.template())
		isProgram = isProgram || p.source != nil
	}
	for _, p := range c.providers {
		parts = append(parts, p.transform)
		isProgram = isProgram || c.Settings.Targets[p.target].TakesRow
	}
	all = strings.Join(parts, "\n")
	c.Budget.Spend(document.Text, len(all))
	return all, isProgram
}

// withKept returns variables with the places of the answers that the row may have. As in
// promptfoo they are in the place of variables with their names.
func (r row) withKept(vars template.Variables) template.Variables {
	if len(r.kept) == 0 {
		return vars
	}
	vars = maps.Clone(vars)
	for name := range r.kept {
		vars[name], _ = json.Marshal(schema.KeptMark(name)) // a text
	}
	return vars
}

// withoutKept returns filled variables as a row is named by them: with its own ones in the
// places of answers.
func (r row) withoutKept(filled, own template.Variables) template.Variables {
	if len(r.kept) == 0 {
		return filled
	}
	filled = maps.Clone(filled)
	for name := range r.kept {
		if value, has := own[name]; has {
			filled[name] = value
		} else {
			delete(filled, name)
		}
	}
	return filled
}

// hasKept reports whether a variable of the row has the place of an answer.
func (r row) hasKept() bool {
	for _, value := range r.vars {
		if schema.HasKept(string(value)) {
			return true
		}
	}
	return false
}

// shown returns variables for people.
func shown(vars template.Variables) template.Variables {
	if !slices.ContainsFunc(slices.Collect(maps.Values(vars)), func(v json.RawMessage) bool { return schema.HasKept(string(v)) }) {
		return vars
	}
	vars = maps.Clone(vars)
	for name, value := range vars {
		vars[name] = json.RawMessage(schema.ShowKept(string(value)))
	}
	return vars
}

// keep finds the answers that a case has, and says how others have its own. The error is
// its need.
func (c *compiler) keep(tc *schema.Case, r row, j *judgement) error {
	if r.test.keeps != "" {
		steps, err := j.steps("")
		if err != nil {
			return err
		}
		context, err := j.told(written{}, r.resolved, steps...)
		if err != nil {
			return err
		}
		c.keptBy[tc] = schema.Kept{Name: r.test.keeps, Case: tc, Steps: steps, Context: context}
	}
	if len(r.kept) == 0 {
		return nil
	}
	raw, err := json.Marshal(struct {
		System string
		Drive  schema.Drive
		Specs  []schema.Evaluator
	}{tc.System, tc.Drive, tc.Evaluators})
	if err != nil {
		return err
	}
	c.Budget.Spend(document.Text, len(raw))
	for _, name := range slices.Sorted(maps.Keys(r.kept)) {
		if !strings.Contains(string(raw), schema.KeptMark(name)) {
			continue
		}
		if slices.ContainsFunc(tc.Evaluators, func(ev schema.Evaluator) bool { _, selects := evaluator.Selects(ev.Spec); return selects }) {
			return &template.NeedError{What: "answers to compare that have no output of another test (storeOutputAs)"}
		}
		kept, err := c.keeper(tc, r.kept[name])
		if err != nil {
			return &template.NeedError{What: fmt.Sprintf("%s (storeOutputAs: %s)", err, name)}
		}
		if tc.Kept = append(tc.Kept, kept); len(tc.Answering()) > maxBefore {
			return &template.NeedError{What: fmt.Sprintf("at most %d answers of tests before it (storeOutputAs)", maxBefore)}
		}
		tc.Inputs = sorted(append(slices.Clip(tc.Inputs), kept.Case.Inputs...))
	}
	return nil
}

// keeper returns the answer that a case has of an earlier row, with the same prompt and
// target, else with the same target, else the last.
func (c *compiler) keeper(tc *schema.Case, number int) (schema.Kept, error) {
	all := c.keeping[number]
	if len(all) == 0 {
		return schema.Kept{}, fmt.Errorf("the answer of a test that has no case")
	}
	best, rank := all[len(all)-1], 0
	for _, from := range all {
		is := 0
		if from.Target == tc.Target {
			is = 1
			if from.Row.Label == tc.Row.Label && from.Row.Prompt == tc.Row.Prompt && from.Row.PromptFile == tc.Row.PromptFile {
				is = 2
			}
		}
		if is > rank || is == rank && is < 2 {
			best, rank = from, is
		}
	}
	if best.Skip != "" {
		return schema.Kept{}, fmt.Errorf("the answer of a test that is not run")
	}
	return c.keptBy[best], nil
}
