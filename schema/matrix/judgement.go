package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/jsonschema"
	"github.com/gavel-evals/gavel/schema/matrix/catalog"
	"github.com/gavel-evals/gavel/schema/template"
)

// A judgement collects the evaluators of a case.
type judgement struct {
	// threshold is the least score that passes; nil where every assertion has to
	// hold.
	threshold *float64
	prompt    string // that is sent
	// transforms are of the answer, for every assertion: those of the provider and of
	// the test; empty for none.
	transforms []string
	judgedBy   string // in place of the judge
	// rubricPrompt is what judges are asked in place of Gavel's question.
	rubricPrompt string
	names        map[string]int
	engine       *template.Engine
	evaluators   []schema.Evaluator
	written      []written // parallel to the evaluators
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
	j.weigh()
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

// add adds an assertion. The error is a [*template.NeedError] about one that is not read,
// or one of [template.Engine.Fill].
func (j *judgement) add(a written, vars template.Variables) error {
	ev, err := j.evaluator(a, vars)
	if err != nil {
		return err
	}
	j.evaluators, j.written = append(j.evaluators, ev), append(j.written, a)
	return nil
}

// evaluator compiles an assertion.
func (j *judgement) evaluator(a written, vars template.Variables) (schema.Evaluator, error) {
	none := schema.Evaluator{}
	if a.need != "" {
		return none, &template.NeedError{What: a.need}
	}
	spec, rule, err := j.spec(a, vars)
	if err != nil {
		return none, err
	}
	if spec, err = j.transformed(spec, a, vars); err != nil {
		return none, err
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
	return ev, nil
}

// spec is what an assertion measures, with its opposite where not- is written.
func (j *judgement) spec(a written, vars template.Variables) (schema.Spec, schema.Rule, error) {
	kind, not := strings.CutPrefix(a.Type, "not-")
	if kind == "assert-set" && !not {
		return j.set(a, vars)
	}
	value := a.Value
	if len(value) > 0 {
		var err error
		if value, err = j.engine.FillJSON(vars, value); err != nil {
			return nil, schema.Rule{}, err
		}
	}
	spec, rule, err := compile(kind, value, a)
	if codes[kind] && err == nil {
		spec, err = j.code(a, value, vars)
	}
	if err != nil {
		return nil, rule, err
	}
	switch s := spec.(type) {
	case evaluator.Assertion:
		s.Not = not
		spec = s
	case evaluator.Graded:
		s.Not, s.Target = not, j.judge(a)
		if s.Template, err = j.question(cmp.Or(a.rubricPrompt, j.rubricPrompt), vars); err != nil {
			return nil, rule, err
		}
		spec = s
	case evaluator.SelectBest:
		switch s.Target = j.judge(a); {
		case not:
			return nil, rule, &template.NeedError{What: "the assertion " + a.Type}
		case cmp.Or(a.rubricPrompt, j.rubricPrompt) != "":
			return nil, rule, &template.NeedError{What: "Gavel's own question of select-best in place of rubricPrompt"}
		}
		spec = s
	case evaluator.JavaScript:
		s.Not = not
		spec = s
	case evaluator.Function:
		s.Not = not
		spec = s
	case evaluator.Calls:
		s.Not = not
		spec = s
	case evaluator.Finish:
		s.Not = not
		spec = s
	case evaluator.Similar:
		if s.Not, s.Target = not, a.embedder; not {
			rule.Threshold = 1 - rule.Threshold
		}
		spec = s
	default:
		if not {
			return nil, rule, &template.NeedError{What: "the assertion " + a.Type}
		}
	}
	return spec, rule, nil
}

// judge is the model that judges in the place of the judge; empty for the judge.
func (j *judgement) judge(a written) string { return cmp.Or(a.judge, j.judgedBy) }

// codes are the assertions that run code.
var codes = map[string]bool{"javascript": true, "python": true, "ruby": true}

// set makes one assertion of several: all have to hold or, with a threshold, the mean
// has to reach it.
func (j *judgement) set(a written, vars template.Variables) (schema.Spec, schema.Rule, error) {
	inner := judgement{
		threshold: a.Threshold, prompt: j.prompt, transforms: j.transforms, judgedBy: j.judgedBy, rubricPrompt: j.rubricPrompt, names: map[string]int{}, engine: j.engine,
	}
	rule := schema.Rule{Weights: map[string]float64{}, Least: map[string]float64{}}
	var spec evaluator.Composite
	for _, part := range a.set {
		ev, err := inner.evaluator(part, vars)
		if err != nil {
			return nil, rule, err
		}
		if _, selects := evaluator.Selects(ev.Spec); selects {
			return nil, rule, &template.NeedError{What: part.Type + " next to the assert-set, not in it"}
		}
		spec.Members = append(spec.Members, evaluator.Member{ID: ev.Name, Spec: ev.Spec, Rule: ev.Rule})
		rule.Weights[ev.Name] = ev.Weight
		if a.Threshold == nil && ev.Weight > 0 {
			rule.Required, rule.Least[ev.Name] = append(rule.Required, ev.Name), ev.Rule.Threshold
		}
	}
	if len(spec.Members) == 0 {
		return nil, rule, &template.NeedError{What: "assertions in the assert-set"}
	}
	if a.Threshold != nil {
		rule.Threshold = *a.Threshold
	}
	return spec, rule, nil
}

// question is a judge's prompt of its own: a text, or messages whose texts are
// joined. Its {{output}} and {{rubric}} are filled in when it is asked.
func (j *judgement) question(prompt string, vars template.Variables) (string, error) {
	if prompt == "" {
		return "", nil
	}
	var chat []chatMessage
	if json.Unmarshal([]byte(prompt), &chat) == nil && len(chat) > 0 {
		var texts []string
		for _, m := range chat {
			s, _ := text(m.Content)
			texts = append(texts, s)
		}
		prompt = strings.Join(texts, "\n\n")
	}
	own := template.Variables{}
	maps.Copy(own, vars)
	for _, name := range []string{"output", "rubric"} {
		own[name], _ = json.Marshal("{{" + name + "}}") // a text
	}
	return j.engine.Fill(own, prompt)
}

func (j *judgement) unique(name string) string {
	j.names[name]++
	if n := j.names[name]; n > 1 {
		return j.unique(name + " " + strconv.Itoa(n))
	}
	return name
}

// compile makes an evaluator of an assertion.
func compile(kind string, value json.RawMessage, a written) (schema.Spec, schema.Rule, error) {
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
			if spec.Most = 5; a.Threshold != nil {
				spec.Most = int(*a.Threshold)
			}
		}
		if kind == "regex" {
			if _, err := regexp.Compile(s); err != nil {
				return nil, rule, &template.NeedError{What: "the pattern " + template.Clip(s) + ", which RE2 does not have"}
			}
		}
	case "contains-any", "contains-all", "icontains-any", "icontains-all":
		wanted, err := texts(value)
		if err != nil || len(wanted) == 0 {
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
		return bounded(kind, a)
	case "llm-rubric", "model-graded-closedqa", "factuality", "model-graded-factuality", "g-eval", "answer-relevance", "trajectory:goal-success":
		return judged(kind, value, a)
	case "javascript", "python", "ruby":
		return nil, passes(), nil
	case "similar", "similar:cosine", "similar:dot", "similar:euclidean":
		return similar(kind, value, a)
	case "word-count":
		bounds, err := wordBounds(value)
		if err != nil {
			return nil, rule, err
		}
		spec.Value = bounds
	case "finish-reason":
		reason := template.Written(value)
		if reason == "" {
			return nil, rule, &template.NeedError{What: "a value of the assertion " + kind}
		}
		return evaluator.Finish{Reason: reason}, rule, nil
	case "is-valid-openai-tools-call", "is-valid-openai-function-call", "is-valid-function-call":
		return evaluator.Calls{Type: evaluator.CallsAreValid}, rule, nil
	case "select-best", "max-score":
		return selecting(kind, value, a)
	case "trajectory:tool-used", "trajectory:tool-sequence", "trajectory:tool-args-match", "trajectory:step-count", "skill-used":
		calls, err := assertion.Calls(kind, value)
		return calls, rule, err
	default:
		return nil, rule, &template.NeedError{What: catalog.Need(kind, a.Type)}
	}
	return spec, rule, nil
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
	// likenessInTables is that of similar in a table.
	likenessInTables = 0.8
)

// similar compares the answer with texts by their embeddings.
func similar(kind string, value json.RawMessage, a written) (schema.Spec, schema.Rule, error) {
	spec, rule := evaluator.Similar{Metric: evaluator.Cosine}, schema.Rule{Threshold: likeness}
	if _, metric, ok := strings.Cut(kind, ":"); ok {
		spec.Metric = metric
	}
	if s, isText := text(value); isText && s != "" {
		spec.Texts = []string{s}
	} else if spec.Texts, _ = list(value); len(spec.Texts) == 0 {
		return nil, rule, &template.NeedError{What: "a value of the assertion " + kind}
	}
	if a.Threshold != nil {
		rule.Threshold = *a.Threshold
	}
	return spec, rule, nil
}

// wordBounds are the bounds of a number of words: one number, or {min, max}.
func wordBounds(value json.RawMessage) (json.RawMessage, error) {
	if n, ok := number(value); ok {
		return json.RawMessage(fmt.Sprintf(`{"max":%v,"min":%v}`, n, n)), nil
	}
	var bounds struct{ Min, Max *float64 }
	if json.Unmarshal(value, &bounds) != nil || bounds.Min == nil && bounds.Max == nil {
		return nil, &template.NeedError{What: "a number or {min, max} as the value of word-count"}
	}
	return value, nil
}

// judged asks a judge about a rubric, a criterion, a reference or steps.
func judged(kind string, value json.RawMessage, a written) (schema.Spec, schema.Rule, error) {
	rubric, rule := template.Written(value), passes()
	if rubric == "" && kind != "answer-relevance" {
		return nil, rule, &template.NeedError{What: "a value of the assertion " + kind}
	}
	if a.Threshold != nil {
		rule.Threshold = *a.Threshold
	}
	switch kind {
	case "model-graded-closedqa":
		rubric = "The OUTPUT meets this criterion: " + rubric
	case "factuality", "model-graded-factuality":
		rubric = "The OUTPUT does not contradict this reference. It may say less or more, and may differ in what bears on no fact. Reference: " + rubric
	case "answer-relevance":
		rubric = "The OUTPUT answers what the INPUT asks for. The score is the share of the OUTPUT that does."
		if rule.Required = nil; a.Threshold == nil {
			rule.Threshold = relevance
		}
	case "trajectory:goal-success":
		rubric = "The system under test reached this goal: " + rubric
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

// bounded compares what a sample took.
func bounded(kind string, a written) (schema.Spec, schema.Rule, error) {
	if a.Threshold == nil {
		return nil, schema.Rule{}, &template.NeedError{What: "a threshold of the assertion " + kind}
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
		texts = append(texts, template.Written(item))
	}
	return texts, nil
}

// formOf reads a JSON Schema: an object, or YAML or JSON in a text.
func formOf(value json.RawMessage) (json.RawMessage, error) {
	if s, ok := text(value); ok {
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

// short matches type(threshold): value.
var short = regexp.MustCompile(`^(not-)?([a-z][a-z-]*)(?:\(([\d.]+)\))?(?::\s?([\s\S]*))?$`)

// shortForm reads an assertion as tables have it: type(threshold): value. Without a
// type that is known, the answer has to equal the text.
func shortForm(s string) written {
	m := short.FindStringSubmatch(strings.TrimSpace(s))
	isType := m != nil && catalog.Known(m[2])
	raw := func(s string) json.RawMessage { out, _ := json.Marshal(s); return out } // a text
	if !isType {
		return written{Type: "equals", Value: raw(s)}
	}
	a := written{Type: m[1] + m[2]}
	if m[4] != "" {
		a.Value = raw(m[4])
	}
	least := likenessInTables
	if m[3] != "" {
		if n, err := strconv.ParseFloat(m[3], 64); err == nil {
			a.Threshold = &n
		}
	} else if strings.HasPrefix(m[2], "similar") {
		a.Threshold = &least
	}
	return a
}
