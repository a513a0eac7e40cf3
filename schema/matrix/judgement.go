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
	default:
		if not {
			return &needError{"the assertion " + a.Type}
		}
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
		list, err := texts(value)
		if err != nil || len(list) == 0 {
			return nil, rule, &needError{"a list of texts as the value of " + kind}
		}
		spec.Value, _ = json.Marshal(list) // texts
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
	case "llm-rubric":
		rubric := written(value)
		if rubric == "" {
			return nil, rule, &needError{"a value of the assertion llm-rubric"}
		}
		rule = schema.Rule{Required: []string{evaluator.GradedPass}, Weights: map[string]float64{evaluator.GradedPass: 0}}
		if a.Threshold != nil {
			rule.Threshold = *a.Threshold
		}
		return evaluator.Graded{Rubric: rubric}, rule, nil
	default:
		return nil, rule, &needError{unread(kind)}
	}
	return spec, rule, nil
}

// unread names what an assertion that is not read needs.
func unread(kind string) string {
	switch kind {
	case "javascript", "python", "ruby", "webhook":
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
	"is-json", "contains-json", "levenshtein", "latency", "cost", "llm-rubric",
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
		var list []string
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return nil, err
	}
	var list []string
	for _, item := range items {
		list = append(list, written(item))
	}
	return list, nil
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
	isType := m != nil && (slices.Contains(known, m[2]) || strings.HasPrefix(unread(m[2]), "a program") || strings.HasPrefix(unread(m[2]), "a model"))
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
