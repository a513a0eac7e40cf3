// Package spec makes evaluators of the assertions of the matrix dialect, one by one.
//
// Most callers want [Compile].
package spec

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/javascript/jsregexp"
	"github.com/gavel-evals/gavel/schema/jsonschema"
	"github.com/gavel-evals/gavel/schema/matrix/catalog"
	"github.com/gavel-evals/gavel/schema/matrix/rawjson"
	"github.com/gavel-evals/gavel/schema/template"
)

// Compile makes an evaluator of an assertion of a kind, and its rule. The kind is written
// with not- in front or not, which the evaluator does not say. The error is a [*template.NeedError] about what is not read. Assertions that are code have a
// rule and no evaluator.
func Compile(kind, written string, value json.RawMessage, threshold *float64) (schema.Spec, schema.Rule, error) {
	spec := evaluator.Assertion{Type: kind, Value: value}
	rule := schema.Rule{Threshold: 1}
	switch kind {
	case "contains", "icontains", "starts-with", "ends-with", "regex", "levenshtein":
		s := template.Written(value)
		if s == "" {
			return nil, rule, &template.NeedError{What: "a value of the assertion " + kind}
		}
		spec.Value, _ = json.Marshal(s) // a text
		if kind == "levenshtein" {
			if spec.Most = 5; threshold != nil {
				spec.Most = int(*threshold)
			}
		}
		if kind == "regex" {
			switch _, err := regexp.Compile(s); {
			case err == nil:
			case jsregexp.IsNeeded(s):
				return evaluator.JavaScript{Code: matching(spec.Value)}, passes(), nil
			default:
				return nil, rule, &template.NeedError{What: fmt.Sprintf("a valid pattern, of at most %d bytes if RE2 does not have it, as the value of regex in place of %s", jsregexp.MaxSize, template.Clip(s))}
			}
		}
	case "contains-any", "contains-all", "icontains-any", "icontains-all":
		wanted, err := texts(value)
		switch {
		case err != nil:
			return nil, rule, &template.NeedError{What: fmt.Sprintf("a list of texts as the value of %s, which has %v", kind, err)}
		case len(wanted) == 0:
			return nil, rule, &template.NeedError{What: "a list of texts as the value of " + kind}
		}
		spec.Value, _ = json.Marshal(wanted) // texts
	case "equals":
		if len(value) == 0 {
			return nil, rule, &template.NeedError{What: "a value of the assertion equals"}
		}
	case "is-json", "contains-json":
		form, err := formOf(value)
		if err != nil {
			return nil, rule, err
		}
		spec.Value = form
	case "latency", "cost":
		return bounded(kind, threshold)
	case "llm-rubric", "model-graded-closedqa", "factuality", "model-graded-factuality", "g-eval", "answer-relevance", "trajectory:goal-success":
		return judged(kind, value, threshold)
	case "javascript", "python", "ruby":
		return nil, passes(), nil
	case "similar", "similar:cosine", "similar:dot", "similar:euclidean":
		return similar(kind, value, threshold)
	case "word-count":
		bounds, err := wordBounds(value)
		if err != nil {
			return nil, rule, err
		}
		spec.Value = bounds
	case "classifier", "moderation":
		return classified(kind, value, threshold)
	case "finish-reason":
		reason := template.Written(value)
		if reason == "" {
			return nil, rule, &template.NeedError{What: "a value of the assertion " + kind}
		}
		return evaluator.Finish{Reason: reason}, rule, nil
	case "is-valid-openai-tools-call", "is-valid-openai-function-call", "is-valid-function-call":
		return evaluator.Calls{Type: evaluator.CallsAreValid}, rule, nil
	case "select-best", "max-score":
		return selecting(kind, value, threshold)
	case "trajectory:tool-used", "trajectory:tool-sequence", "trajectory:tool-args-match", "trajectory:step-count", "skill-used":
		calls, err := assertion.Calls(kind, value)
		return calls, rule, err
	default:
		return nil, rule, &template.NeedError{What: catalog.Need(kind, written)}
	}
	return spec, rule, nil
}

// matching is JavaScript that looks for a pattern which RE2 does not have, such as one
// that looks ahead. The pattern is a text as JSON.
func matching(pattern json.RawMessage) string {
	return `const pattern = ` + string(pattern) + `;
const found = new RegExp(pattern).test(output);
return {pass: found, reason: 'the answer ' + (found ? 'matches ' : 'does not match ') + pattern};`
}

// passes is the rule of what says itself whether an answer passes.
func passes() schema.Rule {
	return schema.Rule{Required: []string{evaluator.GradedPass}, Weights: map[string]float64{evaluator.GradedPass: 0}}
}

// geval is the least score of g-eval that passes where no threshold is written.
const geval = 0.7

// relevance and likeness are the least scores of answer-relevance and similar.
const (
	relevance = 0.5
	likeness  = 0.75
	// LikenessInTables is that of similar in a table.
	LikenessInTables = 0.8
)

// similar compares the answer with texts by their embeddings.
func similar(kind string, value json.RawMessage, threshold *float64) (schema.Spec, schema.Rule, error) {
	spec, rule := evaluator.Similar{Metric: evaluator.Cosine}, schema.Rule{Threshold: likeness}
	if _, metric, ok := strings.Cut(kind, ":"); ok {
		spec.Metric = metric
	}
	if s, isText := rawjson.Text(value); isText && s != "" {
		spec.Texts = []string{s}
	} else if spec.Texts, _ = list(value); len(spec.Texts) == 0 {
		return nil, rule, &template.NeedError{What: "a value of the assertion " + kind}
	}
	if threshold != nil {
		rule.Threshold = *threshold
	}
	return spec, rule, nil
}

// classified asks a model that classifies: for the score of a label, which has to be 1
// unless a threshold is written, or for the harm that the answer does.
func classified(kind string, value json.RawMessage, threshold *float64) (schema.Spec, schema.Rule, error) {
	spec, rule := evaluator.Classified{By: kind}, schema.Rule{Threshold: 1}
	switch labels, err := list(value); {
	case len(value) == 0 || string(value) == "null":
	case kind == evaluator.ByHarm && err == nil:
		spec.Labels = labels
	case kind == evaluator.ByLabel && template.Written(value) != "" && err != nil:
		spec.Labels = []string{template.Written(value)}
	default:
		return nil, rule, &template.NeedError{What: map[string]string{evaluator.ByHarm: "a list of categories", evaluator.ByLabel: "a label"}[kind] + " as the value of " + kind}
	}
	if threshold != nil && kind == evaluator.ByLabel {
		rule.Threshold = *threshold
	}
	return spec, rule, nil
}

// wordBounds are the bounds of a number of words: one number, or {min, max}.
func wordBounds(value json.RawMessage) (json.RawMessage, error) {
	if n, ok := rawjson.Number(value); ok {
		return json.RawMessage(fmt.Sprintf(`{"max":%v,"min":%v}`, n, n)), nil
	}
	var bounds struct{ Min, Max *float64 }
	if json.Unmarshal(value, &bounds) != nil || bounds.Min == nil && bounds.Max == nil {
		return nil, &template.NeedError{What: "a number or {min, max} as the value of word-count"}
	}
	return value, nil
}

// judged asks a judge about a rubric, a criterion, a reference or steps.
func judged(kind string, value json.RawMessage, threshold *float64) (schema.Spec, schema.Rule, error) {
	rubric, rule := template.Written(value), passes()
	if rubric == "" && kind != "answer-relevance" {
		return nil, rule, &template.NeedError{What: "a value of the assertion " + kind}
	}
	if threshold != nil {
		rule.Threshold = *threshold
	}
	switch kind {
	case "model-graded-closedqa":
		rubric = "The OUTPUT meets this criterion: " + rubric
	case "factuality", "model-graded-factuality":
		rubric = "The OUTPUT does not contradict this reference. It may say less or more, and may differ in what bears on no fact. Reference: " + rubric
	case "answer-relevance":
		rubric = "The OUTPUT answers what the INPUT asks for. The score is the share of the OUTPUT that does."
		if rule.Required = nil; threshold == nil {
			rule.Threshold = relevance
		}
	case "trajectory:goal-success":
		rubric = "The system under test reached this goal: " + rubric
	case "g-eval":
		if steps, err := list(value); err == nil {
			rubric = strings.Join(steps, "\n")
		}
		if rule.Required = nil; threshold == nil {
			rule.Threshold = geval
		}
	}
	return evaluator.Graded{Rubric: rubric, Type: kind}, rule, nil
}

// bounded compares what a sample took.
func bounded(kind string, threshold *float64) (schema.Spec, schema.Rule, error) {
	if threshold == nil {
		return nil, schema.Rule{}, &template.NeedError{What: "a threshold of the assertion " + kind}
	}
	check := evaluator.Check{ID: kind, Kind: map[string]string{"latency": evaluator.CheckLatency, "cost": evaluator.CheckCost}[kind]}
	return evaluator.Checks{Checks: []evaluator.Check{check}}, schema.Rule{Threshold: 1, Most: map[string]float64{kind: *threshold}}, nil
}

// texts reads a list of texts, or a text with commas.
func texts(value json.RawMessage) ([]string, error) {
	if s, ok := rawjson.Text(value); ok {
		return divided(s)
	}
	return list(value)
}

// divided are the parts of a text between its commas. A part in double quotes may have
// commas, and a quote that is written twice or after a backslash. The error says what is
// wrong with the quotes.
func divided(s string) ([]string, error) {
	var parts []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if s[0] != '"' {
			part, rest, _ := strings.Cut(s, ",")
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
			s = rest
			continue
		}
		end := closing.FindStringIndex(s)
		if end == nil {
			return nil, errors.New("a part whose quote is not closed")
		}
		part, rest := s[1:end[1]-1], strings.TrimSpace(s[end[1]:])
		if rest != "" && rest[0] != ',' {
			return nil, errors.New("a quoted part that is not followed by a comma")
		}
		parts, s = append(parts, quotes.Replace(part)), strings.TrimPrefix(rest, ",")
	}
	return parts, nil
}

var (
	// closing finds a part in quotes, with those within it.
	closing = regexp.MustCompile(`^"(?:[^"\\]|""|\\.)*"`)
	quotes  = strings.NewReplacer(`""`, `"`, `\"`, `"`)
)

// list reads a list of texts.
func list(value json.RawMessage) ([]string, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return nil, err
	}
	var texts []string
	for _, item := range items {
		texts = append(texts, template.Written(item))
	}
	return texts, nil
}

// formOf reads a JSON Schema: an object, or YAML or JSON in a text.
func formOf(value json.RawMessage) (json.RawMessage, error) {
	if s, ok := rawjson.Text(value); ok {
		doc, problems := schema.Parse("value.yaml", []byte(s))
		if doc == nil || schema.HasErrors(problems) {
			return nil, &template.NeedError{What: "a JSON Schema as the value of is-json"}
		}
		value = doc.JSON()
	}
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	if _, err := jsonschema.Compile(value); err != nil {
		return nil, &template.NeedError{What: "a JSON Schema as the value of is-json"}
	}
	return value, nil
}

// selecting compiles an assertion that compares the answers of a test.
func selecting(kind string, value json.RawMessage, threshold *float64) (schema.Spec, schema.Rule, error) {
	rule := schema.Rule{Threshold: 1}
	if kind == "select-best" {
		criterion := template.Written(value)
		if criterion == "" {
			return nil, rule, &template.NeedError{What: "a value of the assertion select-best"}
		}
		return evaluator.SelectBest{Criterion: criterion}, rule, nil
	}
	var how struct {
		Method    string
		Threshold *float64
	}
	if len(value) > 0 && json.Unmarshal(value, &how) != nil || !slices.Contains([]string{"", "average", "sum"}, how.Method) {
		return nil, rule, &template.NeedError{What: "{method: average|sum, weights, threshold} as the value of max-score"}
	}
	return evaluator.MaxScore{Sum: how.Method == "sum", Least: cmp.Or(how.Threshold, threshold)}, rule, nil
}
