package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/jsonschema"
)

// A judgement collects the evaluators of a case.
type judgement struct {
	// threshold is the least score that passes; nil where every assertion has to
	// hold.
	threshold  *float64
	prompt     string // that is sent
	transform  string // of the answer, for every assertion; empty for none
	names      map[string]int
	evaluators []schema.Evaluator
}

// ungated judges a case of which nothing is asked.
func ungated() []schema.Evaluator {
	spec := evaluator.ToolCounts{}
	return []schema.Evaluator{{Name: spec.Kind(), Weight: 1, Spec: spec, Rule: schema.Rule{Ungated: true}}}
}

// result are the evaluators, and the bands where the score decides. The weights
// of a case that gives none to anything are equal.
func (j *judgement) result() ([]schema.Evaluator, *schema.Bands) {
	if len(j.evaluators) == 0 {
		return ungated(), nil
	}
	if !slices.ContainsFunc(j.evaluators, func(ev schema.Evaluator) bool { return ev.Weight > 0 }) {
		for i := range j.evaluators {
			j.evaluators[i].Weight = 1
		}
	}
	if j.threshold == nil {
		return j.evaluators, nil
	}
	return j.evaluators, &schema.Bands{Pass: *j.threshold, Borderline: *j.threshold}
}

// add adds an assertion. The error is a [*needError] about one that is not read.
func (j *judgement) add(a assertion, vars variables) error {
	if a.need != "" {
		return &needError{a.need}
	}
	value := a.Value
	if len(value) > 0 {
		var err error
		if value, err = vars.fillJSON(value); err != nil {
			return err
		}
	}
	kind, not := strings.CutPrefix(a.Type, "not-")
	spec, rule, err := compile(kind, value, a)
	if kind == "javascript" && err == nil {
		spec, err = j.function(a, value, vars)
	}
	if err != nil {
		return err
	}
	switch s := spec.(type) {
	case evaluator.Assertion:
		s.Not = not
		spec = s
	case evaluator.Graded:
		s.Not = not
		spec = s
	case evaluator.JavaScript:
		s.Not = not
		spec = s
	default:
		if not {
			return &needError{"the assertion " + a.Type}
		}
	}
	if spec, err = j.transformed(spec, a, vars); err != nil {
		return err
	}
	ev := schema.Evaluator{Name: j.unique(cmp.Or(a.Metric, a.Type)), Weight: 1, Spec: spec, Rule: rule}
	if a.Weight != nil {
		ev.Weight = *a.Weight
	}
	if ev.Weight == 0 {
		ev.Rule.Threshold, ev.Rule.Required = 0, nil
	}
	if j.threshold != nil {
		ev.Rule.Required = nil // the score alone decides
	}
	j.evaluators = append(j.evaluators, ev)
	return nil
}

// function is an assertion in JavaScript, with what it is told of the row.
func (j *judgement) function(a assertion, value json.RawMessage, vars variables) (schema.Spec, error) {
	code, isText := text(value)
	switch {
	case !isText || strings.TrimSpace(code) == "":
		return nil, &needError{"code as the value of javascript"}
	case strings.HasPrefix(code, "file://"):
		return nil, &needError{"a program (javascript in a file)"}
	case foreign.MatchString(code):
		return nil, &needError{"a program (javascript with " + foreign.FindString(code) + ")"}
	}
	told, err := j.told(vars)
	return evaluator.JavaScript{Code: code, Context: told, Threshold: a.Threshold}, err
}

// told is the argument context of functions.
func (j *judgement) told(vars variables) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"vars": vars, "prompt": j.prompt})
}

// transformed has an evaluator look at what the transforms of the test and of the
// assertion make of the answer. What a sample took is not transformed.
func (j *judgement) transformed(spec schema.Spec, a assertion, vars variables) (schema.Spec, error) {
	var steps []string
	for _, code := range []string{j.transform, a.Transform} {
		switch {
		case code == "":
			continue
		case strings.HasPrefix(code, "file://"):
			return nil, &needError{"a program (transform in a file)"}
		case foreign.MatchString(code):
			return nil, &needError{"a program (transform with " + foreign.FindString(code) + ")"}
		}
		steps = append(steps, code)
	}
	if _, measured := spec.(evaluator.Checks); measured || len(steps) == 0 {
		return spec, nil
	}
	told, err := j.told(vars)
	return evaluator.Transformed{Steps: steps, Context: told, Spec: spec}, err
}

// foreign matches what functions of the interpreter do not have.
var foreign = regexp.MustCompile(`\b(require|import|await|fetch|process)\b`)

func (j *judgement) unique(name string) string {
	j.names[name]++
	if n := j.names[name]; n > 1 {
		return j.unique(name + " " + strconv.Itoa(n))
	}
	return name
}

// compile makes an evaluator of an assertion.
func compile(kind string, value json.RawMessage, a assertion) (schema.Spec, schema.Rule, error) {
	spec := evaluator.Assertion{Type: kind, Value: value}
	rule := schema.Rule{Threshold: 1}
	switch kind {
	case "contains", "icontains", "starts-with", "ends-with", "regex", "levenshtein":
		s := written(value)
		if s == "" {
			return nil, rule, &needError{"a value of the assertion " + kind}
		}
		spec.Value, _ = json.Marshal(s) // a text
		if kind == "levenshtein" {
			if spec.Most = 5; a.Threshold != nil {
				spec.Most = int(*a.Threshold)
			}
		}
		if kind == "regex" {
			if _, err := regexp.Compile(s); err != nil {
				return nil, rule, &needError{"the pattern " + clip(s) + ", which RE2 does not have"}
			}
		}
	case "contains-any", "contains-all", "icontains-any", "icontains-all":
		wanted, err := texts(value)
		if err != nil || len(wanted) == 0 {
			return nil, rule, &needError{"a list of texts as the value of " + kind}
		}
		spec.Value, _ = json.Marshal(wanted) // texts
	case "equals":
		if len(value) == 0 {
			return nil, rule, &needError{"a value of the assertion equals"}
		}
	case "is-json", "contains-json":
		form, err := formOf(value)
		if err != nil {
			return nil, rule, err
		}
		spec.Value = form
	case "latency", "cost":
		return bounded(kind, a)
	case "llm-rubric", "model-graded-closedqa", "factuality", "model-graded-factuality", "g-eval":
		return judged(kind, value, a)
	case "javascript":
		return nil, passes(), nil
	default:
		return nil, rule, &needError{needOf(kind)}
	}
	return spec, rule, nil
}

// passes is the rule of what says itself whether an answer passes.
func passes() schema.Rule {
	return schema.Rule{Required: []string{evaluator.GradedPass}, Weights: map[string]float64{evaluator.GradedPass: 0}}
}

// geval is the least score of g-eval that passes where no threshold is written.
const geval = 0.7

// judged asks a judge about a rubric, a criterion, a reference or steps.
func judged(kind string, value json.RawMessage, a assertion) (schema.Spec, schema.Rule, error) {
	rubric, rule := written(value), passes()
	if rubric == "" {
		return nil, rule, &needError{"a value of the assertion " + kind}
	}
	if a.Threshold != nil {
		rule.Threshold = *a.Threshold
	}
	switch kind {
	case "model-graded-closedqa":
		rubric = "The OUTPUT meets this criterion: " + rubric
	case "factuality", "model-graded-factuality":
		rubric = "The OUTPUT does not contradict this reference. It may say less or more, and may differ in what bears on no fact. Reference: " + rubric
	case "g-eval":
		if steps, err := list(value); err == nil {
			rubric = strings.Join(steps, "\n")
		}
		if rule.Required = nil; a.Threshold == nil {
			rule.Threshold = geval
		}
	}
	return evaluator.Graded{Rubric: rubric}, rule, nil
}

// needOf names what an assertion that is not read needs.
func needOf(kind string) string {
	switch kind {
	case "python", "ruby", "webhook":
		return "a program (" + kind + ")"
	case "similar", "classifier", "moderation":
		return "a model that embeds or classifies (" + kind + ")"
	}
	if near := schema.Suggest(kind, known); near != "" {
		return fmt.Sprintf("the assertion %q, which is not known; did you mean %s", clip(kind), near)
	}
	return fmt.Sprintf("the assertion %q", clip(kind))
}

// known are the assertions that are read.
var known = []string{
	"contains", "icontains", "contains-any", "contains-all", "icontains-any", "icontains-all", "starts-with", "ends-with", "equals", "regex",
	"is-json", "contains-json", "levenshtein", "latency", "cost", "llm-rubric", "javascript",
	"model-graded-closedqa", "factuality", "model-graded-factuality", "g-eval",
}

// bounded compares what a sample took.
func bounded(kind string, a assertion) (schema.Spec, schema.Rule, error) {
	if a.Threshold == nil {
		return nil, schema.Rule{}, &needError{"a threshold of the assertion " + kind}
	}
	check := evaluator.Check{ID: kind, Kind: map[string]string{"latency": evaluator.CheckLatency, "cost": evaluator.CheckCost}[kind]}
	return evaluator.Checks{Checks: []evaluator.Check{check}}, schema.Rule{Threshold: 1, Most: map[string]float64{kind: *a.Threshold}}, nil
}

// texts reads a list of texts, or a text with commas.
func texts(value json.RawMessage) ([]string, error) {
	if s, ok := text(value); ok {
		var parts []string
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
		}
		return parts, nil
	}
	return list(value)
}

// list reads a list of texts.
func list(value json.RawMessage) ([]string, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return nil, err
	}
	var texts []string
	for _, item := range items {
		texts = append(texts, written(item))
	}
	return texts, nil
}

// formOf reads a JSON Schema: an object, or YAML or JSON in a text.
func formOf(value json.RawMessage) (json.RawMessage, error) {
	if s, ok := text(value); ok {
		doc, problems := schema.Parse("value.yaml", []byte(s))
		if doc == nil || schema.HasErrors(problems) {
			return nil, &needError{"a JSON Schema as the value of is-json"}
		}
		value = doc.JSON()
	}
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	if _, err := jsonschema.Compile(value); err != nil {
		return nil, &needError{"a JSON Schema as the value of is-json"}
	}
	return value, nil
}

// short matches type(threshold): value.
var short = regexp.MustCompile(`^(not-)?([a-z][a-z-]*)(?:\(([\d.]+)\))?(?::\s?([\s\S]*))?$`)

// shortForm reads an assertion as tables have it: type(threshold): value. Without a
// type that is known, the answer has to equal the text.
func shortForm(s string) assertion {
	m := short.FindStringSubmatch(strings.TrimSpace(s))
	isType := m != nil && (slices.Contains(known, m[2]) || strings.HasPrefix(needOf(m[2]), "a program") || strings.HasPrefix(needOf(m[2]), "a model"))
	raw := func(s string) json.RawMessage { out, _ := json.Marshal(s); return out } // a text
	if !isType {
		return assertion{Type: "equals", Value: raw(s)}
	}
	a := assertion{Type: m[1] + m[2]}
	if m[4] != "" {
		a.Value = raw(m[4])
	}
	if n, err := strconv.ParseFloat(m[3], 64); err == nil {
		a.Threshold = &n
	}
	return a
}
