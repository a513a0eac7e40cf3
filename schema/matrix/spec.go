package matrix

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/javascript"
	"github.com/gavel-evals/gavel/schema/jsonschema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/template"
)

// compileAssertion compiles an assertion of a kind to an evaluator and its rule.
// written is the kind with or without not- in front, which the evaluator does not know.
// The error is a [*template.MistakeError] about a wrong value, or a
// [*template.NeedError] about an unsupported part. Code assertions have a rule and no
// evaluator.
func compileAssertion(kind, written string, value json.RawMessage, threshold *float64) (schema.Spec, schema.Rule, error) {
	spec := evaluator.Assertion{Type: kind, Value: value}
	rule := schema.Rule{Threshold: 1}
	switch kind {
	case "contains", "icontains", "starts-with", "ends-with", "regex", "levenshtein":
		text, err := oneText(kind, written, value)
		if err != nil {
			return nil, rule, err
		}
		spec.Value, _ = json.Marshal(text) // a text
		if kind == "levenshtein" {
			if spec.Most = 5; threshold != nil {
				spec.Most = int(*threshold)
			}
		}
		if kind == "regex" {
			if err := assertion.CheckPattern(text, ""); err != nil {
				return nil, rule, err
			}
		}
	case "contains-any", "contains-all", "icontains-any", "icontains-all":
		wanted, err := texts(value)
		switch {
		case err != nil:
			return nil, rule, mistake(fmt.Sprintf("the value of %s has %v", written, err), "write a list of texts, such as [one, two]")
		case len(wanted) == 0:
			return nil, rule, mistake(fmt.Sprintf("the assertion %s has no texts to look for", written), "add a list of texts, such as value: [one, two]")
		}
		spec.Value, _ = json.Marshal(wanted) // texts
	case "equals":
		if len(value) == 0 {
			return nil, rule, noValue(written)
		}
		if value[0] != '[' && value[0] != '{' && string(value) != "null" {
			spec.Value, _ = json.Marshal(scalar(value)) // a text
		}
	case "is-json", "contains-json":
		form, err := formOf(written, value)
		if err != nil {
			return nil, rule, err
		}
		spec.Value = form
	case "latency", "cost":
		return bounded(kind, written, threshold)
	case "llm-rubric", "model-graded-closedqa", "factuality", "model-graded-factuality", "g-eval", "answer-relevance", "trajectory:goal-success":
		return judged(kind, written, value, threshold)
	case "javascript", "python", "ruby":
		return nil, passes(), nil
	case "similar", "similar:cosine", "similar:dot", "similar:euclidean":
		return similar(kind, written, value, threshold)
	case "word-count":
		bounds, err := wordBounds(written, value)
		if err != nil {
			return nil, rule, err
		}
		spec.Value = bounds
	case "is-xml", "contains-xml", "is-html", "contains-html":
		return markup(kind, written, value)
	case "is-refusal":
		return evaluator.Refusal{}, passes(), nil
	case "rouge-n", "bleu":
		return overlap(kind, written, value, threshold)
	case "classifier", "moderation":
		return classified(kind, written, value, threshold)
	case "finish-reason":
		reason, err := oneText(kind, written, value)
		return evaluator.Finish{Reason: reason}, rule, err
	case "is-valid-openai-tools-call", "is-valid-openai-function-call", "is-valid-function-call":
		return evaluator.Calls{Type: evaluator.CallsAreValid}, rule, nil
	case "select-best", "max-score":
		return selecting(kind, value, threshold)
	case "trajectory:tool-used", "trajectory:tool-sequence", "trajectory:tool-args-match", "trajectory:step-count", "skill-used":
		calls, err := assertion.Calls(kind, value)
		return calls, rule, err
	default:
		return nil, rule, refusedAssertion(kind, written)
	}
	return spec, rule, nil
}

// scalar returns a text, a number, true or false as JavaScript writes it.
func scalar(value json.RawMessage) string {
	var number float64
	if json.Unmarshal(value, &number) == nil {
		text, _ := template.Text(number) // numbers always have one
		return text
	}
	return template.Written(value)
}

// mistake returns the error of a wrong value.
func mistake(message, hint string) error { return &template.MistakeError{Message: message, Hint: hint} }

// noValue returns the error of an assertion without its value.
func noValue(written string) error {
	return mistake(fmt.Sprintf("the assertion %s has no value", written), "add value: with what it looks for")
}

// several maps assertions that look for one text to the ones that take a list.
var several = map[string]string{"contains": "contains-any or contains-all", "icontains": "icontains-any or icontains-all"}

// oneText returns the value of an assertion that looks for one text. A list or an
// object is rejected, since its compact JSON would be a text that no answer has.
func oneText(kind, written string, value json.RawMessage) (string, error) {
	text := template.Written(value)
	switch {
	case text == "":
		return "", noValue(written)
	case value[0] != '[' && value[0] != '{':
		return text, nil
	}
	what := "a list"
	if value[0] == '{' {
		what = "an object"
	}
	hint := "write one text"
	switch {
	case several[kind] != "" && value[0] == '[':
		hint = "write type: " + several[kind] + " for several texts"
		if strings.HasPrefix(written, "not-") {
			hint = "write type: not-" + kind + "-any, which no text of the list may be in, or not-" + kind + "-all"
		}
	case kind == "regex" && value[0] == '[':
		hint = "write one pattern such as (one|two), or type: contains-any for several texts"
	case value[0] == '[':
		hint = "write one text; contains-any and contains-all take a list, and regex a pattern such as ^(one|two)"
	}
	return "", mistake(fmt.Sprintf("the value of %s is %s, and it looks for one text", written, what), hint)
}

// passes returns the rule of a measurement that itself decides about passing.
func passes() schema.Rule {
	return schema.Rule{Required: []string{evaluator.GradedPass}, Weights: map[string]float64{evaluator.GradedPass: 0}}
}

// geval is the default threshold of g-eval.
const geval = 0.7

// relevance and likeness are the least scores of answer-relevance and similar.
const (
	relevance = 0.5
	likeness  = 0.75
	// likenessInTables is similar's threshold in a table.
	likenessInTables = 0.8
)

// similar compares the answer with texts by their embeddings.
func similar(kind, written string, value json.RawMessage, threshold *float64) (schema.Spec, schema.Rule, error) {
	spec, rule := evaluator.Similar{Metric: evaluator.Cosine}, schema.Rule{Threshold: likeness}
	if _, metric, ok := strings.Cut(kind, ":"); ok {
		spec.Metric = metric
	}
	if s, isText := document.ParseText(value); isText && s != "" {
		spec.Texts = []string{s}
	} else if texts, err := list(value); err != nil && len(value) > 0 && string(value) != "null" && !isText {
		return nil, rule, mistake(fmt.Sprintf("the value of %s has %v", written, err), "write a text or a list of texts")
	} else if spec.Texts = texts; len(texts) == 0 {
		return nil, rule, noValue(written)
	}
	if threshold != nil {
		rule.Threshold = *threshold
	}
	if spec.Metric == evaluator.Euclidean { // the threshold is the largest distance
		rule.Threshold = 1 / (1 + max(0, rule.Threshold))
	}
	return spec, rule, nil
}

// classified asks a classifying model: for the score of a label, which must be 1
// without a threshold, or for the harm of the answer.
func classified(kind, written string, value json.RawMessage, threshold *float64) (schema.Spec, schema.Rule, error) {
	spec, rule := evaluator.Classified{By: kind}, schema.Rule{Threshold: 1}
	switch {
	case len(value) == 0 || string(value) == "null":
	case kind == evaluator.ByHarm:
		labels, err := list(value)
		if err != nil {
			return nil, rule, mistake(fmt.Sprintf("the value of %s is not a list of categories", written), "write a list of categories, such as [hate, violence]")
		}
		spec.Labels = labels
	default:
		label, err := oneText(kind, written, value)
		if err != nil {
			return nil, rule, err
		}
		spec.Labels = []string{label}
	}
	if threshold != nil && kind == evaluator.ByLabel {
		rule.Threshold = *threshold
	}
	return spec, rule, nil
}

// overlap compares words with those of one text or, by bleu, of several.
func overlap(kind, written string, value json.RawMessage, threshold *float64) (schema.Spec, schema.Rule, error) {
	spec := evaluator.Overlap{By: kind, Least: map[string]float64{evaluator.ByROUGE: 0.75, evaluator.ByBLEU: 0.5}[kind]}
	if threshold != nil {
		spec.Least = *threshold
	}
	var err error
	if kind == evaluator.ByBLEU && len(value) > 0 && value[0] == '[' {
		spec.Texts, err = list(value)
		if err != nil {
			err = mistake(fmt.Sprintf("the value of %s has %v", written, err), "write a text or a list of texts")
		} else if len(spec.Texts) == 0 {
			err = noValue(written)
		}
		return spec, passes(), err
	}
	text, err := oneText(kind, written, value)
	spec.Texts = []string{text}
	return spec, passes(), err
}

// markup asks for HTML, or for XML with elements.
func markup(kind, written string, value json.RawMessage) (schema.Spec, schema.Rule, error) {
	if strings.HasSuffix(kind, "html") {
		value = nil
	}
	elements, err := elementsOf(written, value)
	return evaluator.Assertion{Type: kind, Value: elements}, schema.Rule{Threshold: 1}, err
}

// elementsOf returns the elements that XML must have, as a list: from a text with commas,
// a list, or {requiredElements}. It is nil for none.
func elementsOf(written string, value json.RawMessage) (json.RawMessage, error) {
	const hint = "write names of elements, such as [note.to, note.body], or remove the value to ask for any XML"
	var object struct{ RequiredElements json.RawMessage }
	var elements []string
	if text, isText := document.ParseText(value); isText {
		for name := range strings.SplitSeq(text, ",") {
			elements = append(elements, strings.TrimSpace(name))
		}
	} else {
		if err := onlyKeys(written, value, "requiredElements"); err != nil {
			return nil, err
		}
		if json.Unmarshal(value, &object) == nil && string(value) != "null" {
			value = object.RequiredElements
		}
		var err error
		if elements, err = list(value); err != nil {
			return nil, mistake(fmt.Sprintf("the value of %s has %v", written, err), hint)
		}
	}
	if slices.Contains(elements, "") {
		return nil, mistake(fmt.Sprintf("the value of %s has an empty name of an element", written), hint)
	}
	if len(elements) == 0 {
		return nil, nil
	}
	out, _ := json.Marshal(elements) // texts
	return out, nil
}

// wordBounds returns the bounds of a number of words: one number, or {min, max}.
func wordBounds(written string, value json.RawMessage) (json.RawMessage, error) {
	if s, isText := document.ParseText(value); isText { // as each cell of a table is
		value = json.RawMessage(strings.TrimSpace(s))
	}
	if n, ok := document.ParseNumber(value); ok {
		return json.RawMessage(fmt.Sprintf(`{"max":%v,"min":%v}`, n, n)), nil
	}
	if err := onlyKeys(written, value, "min", "max"); err != nil {
		return nil, err
	}
	var bounds struct{ Min, Max *float64 }
	if json.Unmarshal(value, &bounds) != nil || bounds.Min == nil && bounds.Max == nil {
		return nil, mistake(fmt.Sprintf("the value of %s is neither a number nor {min, max}", written), "write a number of words, or {min: 5, max: 10}")
	}
	if bounds.Min != nil && bounds.Max != nil && *bounds.Min > *bounds.Max {
		return nil, mistake(fmt.Sprintf("the value of %s has a min of %v above its max of %v, so that no answer has so many words", written, *bounds.Min, *bounds.Max), "write the smaller number as min")
	}
	return value, nil
}

// onlyKeys rejects an object with unknown keys.
func onlyKeys(written string, value json.RawMessage, known ...string) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) != nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, key) {
			hint := cmp.Or(suggest.DidYouMean(key, known), "known are "+strings.Join(known, ", "))
			return mistake(fmt.Sprintf("the value of %s has the unknown field `%s`", written, template.Clip(key)), hint)
		}
	}
	return nil
}

// judged asks a judge about a rubric, a criterion, a reference or steps.
func judged(kind, written string, value json.RawMessage, threshold *float64) (schema.Spec, schema.Rule, error) {
	rubric, rule := template.Written(value), passes()
	if rubric == "" && kind != "answer-relevance" {
		return nil, rule, noValue(written)
	}
	if one := map[string]bool{"model-graded-closedqa": true, "factuality": true, "model-graded-factuality": true}; one[kind] {
		if _, err := oneText(kind, written, value); err != nil {
			return nil, rule, err
		}
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

// bounded compares a quantity of a sample.
func bounded(kind, written string, threshold *float64) (schema.Spec, schema.Rule, error) {
	if threshold == nil {
		return nil, schema.Rule{}, mistake(fmt.Sprintf("the assertion %s has no threshold", written), "add threshold: with "+map[string]string{"latency": "milliseconds", "cost": "dollars"}[kind])
	}
	check := evaluator.Check{ID: kind, Kind: map[string]string{"latency": evaluator.CheckLatency, "cost": evaluator.CheckCost}[kind]}
	return evaluator.Checks{Checks: []evaluator.Check{check}}, schema.Rule{Threshold: 1, Most: map[string]float64{kind: *threshold}}, nil
}

// texts reads a list of texts, or a text with commas.
func texts(value json.RawMessage) ([]string, error) {
	if s, ok := document.ParseText(value); ok {
		return divided(s)
	}
	return list(value)
}

// divided splits a text at its commas. A part in double quotes may have commas, and
// quotes that are doubled or escaped by a backslash. The error describes the mistake in
// the quotes.
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
	// closing matches a part in quotes, with inner quotes.
	closing = lazyregexp.New(`^"(?:[^"\\]|""|\\.)*"`)
	quotes  = strings.NewReplacer(`""`, `"`, `\"`, `"`, `\\`, `\`)
)

// list reads a list of texts. The error describes another value.
func list(value json.RawMessage) ([]string, error) {
	var items []json.RawMessage
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	if json.Unmarshal(value, &items) != nil {
		return nil, fmt.Errorf("%s in place of a list of texts", template.Clip(string(value)))
	}
	var texts []string
	for _, item := range items {
		if item[0] == '[' || item[0] == '{' || string(item) == "null" {
			return nil, fmt.Errorf("%s in place of a text in its list", template.Clip(string(item)))
		}
		texts = append(texts, template.Written(item))
	}
	return texts, nil
}

// formOf reads a JSON Schema: an object, or YAML or JSON in a text.
func formOf(written string, value json.RawMessage) (json.RawMessage, error) {
	wrong := func(why string) error {
		return mistake(fmt.Sprintf("the value of %s is not a JSON Schema: %s", written, why), "correct the schema, or remove it to ask for any JSON")
	}
	if s, ok := document.ParseText(value); ok {
		doc, problems := document.Parse("value.yaml", []byte(s))
		if i := slices.IndexFunc(problems, func(p schema.Problem) bool { return p.Severity == schema.Error }); i >= 0 {
			return nil, wrong(problems[i].Message)
		}
		value = doc.JSON()
	}
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	if _, err := jsonschema.Compile(value); err != nil {
		if what := unreadForm(value); what != "" {
			return nil, &template.NeedError{What: what + " in a JSON Schema"}
		}
		return nil, wrong(err.Error())
	}
	return value, nil
}

// unreadForm returns a valid but unsupported part of a JSON Schema: a pattern that only
// JavaScript supports, or a reference to another file. It is empty for any other
// schema.
func unreadForm(value json.RawMessage) string {
	var object map[string]json.RawMessage
	var items []json.RawMessage
	if json.Unmarshal(value, &object) != nil {
		_ = json.Unmarshal(value, &items) // none for any other value
	}
	for key, inner := range object {
		text, isText := document.ParseText(inner)
		_, err := regexp.Compile(text)
		_, keyErr := regexp.Compile(key) // a key of patternProperties, or one that compiles
		switch {
		case key == "pattern" && isText && err != nil && javascript.CheckPattern(text, "") == nil, keyErr != nil && javascript.CheckPattern(key, "") == nil:
			return "a pattern that RE2 does not have"
		case key == "$ref" && isText && !strings.HasPrefix(text, "#"):
			return "a reference to another file"
		}
		items = append(items, inner)
	}
	for _, inner := range items {
		if what := unreadForm(inner); what != "" {
			return what
		}
	}
	return ""
}

// selecting compiles an assertion that compares the answers of a test.
func selecting(kind string, value json.RawMessage, threshold *float64) (schema.Spec, schema.Rule, error) {
	rule := schema.Rule{Threshold: 1}
	if kind == "select-best" {
		criterion, err := oneText(kind, kind, value)
		if err != nil {
			return nil, rule, err
		}
		return evaluator.SelectBest{Criterion: criterion}, rule, nil
	}
	if err := onlyKeys(kind, value, "method", "weights", "threshold"); err != nil {
		return nil, rule, err
	}
	var how struct {
		Method    string
		Threshold *float64
	}
	if len(value) > 0 && json.Unmarshal(value, &how) != nil || !slices.Contains([]string{"", "average", "sum"}, how.Method) {
		return nil, rule, mistake("the value of max-score cannot be read", "write {method: average, weights, threshold}, where the method is average or sum, or no value")
	}
	return evaluator.MaxScore{Sum: how.Method == "sum", Least: cmp.Or(how.Threshold, threshold)}, rule, nil
}
