package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/template"
)

// A judgement collects the evaluators of a case.
type judgement struct {
	// threshold is the least score that passes; nil if every assertion must hold.
	threshold *float64
	prompt    string // that is sent
	// transforms apply to the answer for every assertion: the provider's and the
	// test's; empty for none.
	transforms []string
	by         assessors
	given      *given
	structured bool // the target's replies are JSON
	test       *test
	provider   provider
	// rubricPrompt replaces Gavel's question to judges.
	rubricPrompt string
	names        map[string]int
	engine       *template.Engine
	budget       *document.Budget
	scanner      *scanner
	evaluators   []schema.Evaluator
	written      []written // parallel to the evaluators
	// failed is the assertion that the last error is about, which may be one of a set.
	failed written
}

// ungated returns the evaluators of a case without demands.
func ungated() []schema.Evaluator {
	spec := evaluator.ToolCounts{}
	return []schema.Evaluator{{Name: spec.Kind(), Weight: 1, Spec: spec, Rule: schema.Rule{Ungated: true}}}
}

// result returns the evaluators, and the bands if the score decides. If a case has no
// weight above 0, its score is 0.
func (j *judgement) result() ([]schema.Evaluator, *schema.Bands) {
	if len(j.evaluators) == 0 {
		return ungated(), nil
	}
	j.weigh()
	if !slices.ContainsFunc(j.evaluators, func(ev schema.Evaluator) bool { return ev.Weight > 0 }) {
		for i := range j.evaluators {
			j.evaluators[i].Weight, j.evaluators[i].Rule.Weightless = 1, true
		}
	}
	if j.threshold == nil {
		return j.evaluators, nil
	}
	return j.evaluators, &schema.Bands{Pass: *j.threshold, Borderline: *j.threshold}
}

// add adds an assertion. The error is a [*template.NeedError] about one that is not read, a
// [*template.MistakeError] about one that is wrong, or one of [template.Engine.Fill].
func (j *judgement) add(a written, vars template.Variables) error {
	j.budget.Spend(document.Values, len(a.Value)+len(a.code))
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
	j.failed = a
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
		ev.Rule.Required = nil // only the score decides
	}
	return ev, nil
}

// spec compiles an assertion, negated if not- is written.
func (j *judgement) spec(a written, vars template.Variables) (schema.Spec, schema.Rule, error) {
	kind, not := strings.CutPrefix(a.Type, "not-")
	if kind == "assert-set" && !not {
		return j.set(a, vars)
	}
	value := a.Value
	if len(value) > 0 && a.code == "" {
		var err error
		if value, err = j.engine.FillJSON(vars, value); err != nil {
			return nil, schema.Rule{}, err
		}
		j.budget.Spend(document.Values, max(0, len(value)-len(a.Value)))
	}
	if schema.HasKept(string(value)) && !takesKept[kind] {
		return nil, schema.Rule{}, &template.NeedError{What: "the output of another test in the value of " + a.Type + " (storeOutputAs)"}
	}
	if slices.Contains(countedKinds, kind) {
		return j.counted(kind, a, value, vars)
	}
	asks := cmp.Or(a.rubricPrompt, j.rubricPrompt)
	spec, rule, err := compileAssertion(kind, a.Type, value, a.Threshold)
	if kind == "llm-rubric" && asks != "" && template.Written(value) == "" { // the question is complete
		spec, rule, err = evaluator.Graded{Type: kind}, rubricAlone(a.Threshold), nil
	}
	if codes[kind] && err == nil {
		spec, err = j.code(a, value, vars)
	}
	if err != nil {
		return nil, rule, err
	}
	by := a.assessors.over(j.by)
	switch s := spec.(type) {
	case evaluator.Graded:
		if s.Not, s.Target = not, by.judge; not && (rule.Threshold > 0 || len(rule.Required) == 0) {
			least := rule.Threshold
			s.Least, s.ByScore = &least, len(rule.Required) == 0
			rule = passes()
		}
		if s.Template, err = j.question(kind, asks, value, vars); err != nil {
			return nil, rule, err
		}
		spec = s
	case evaluator.SelectBest:
		switch s.Target = by.judge; {
		case not:
			return nil, rule, &template.NeedError{What: "the assertion " + a.Type}
		case asks != "":
			return nil, rule, &template.NeedError{What: "Gavel's own question of select-best in place of rubricPrompt"}
		}
		spec = s
	case evaluator.Similar:
		if s.Not, s.Target = not, by.embedder; not {
			rule.Threshold = 1 - rule.Threshold
		}
		s.Signed = rule.Threshold <= 0
		spec = s
	case evaluator.Classified:
		switch s.Not, s.Target = not, by.classifier; {
		case s.By == evaluator.ByHarm:
			s.Target = by.moderator
		case not: // which the threshold itself does not pass
			rule.Threshold = max(1-rule.Threshold, leastMiss)
		}
		spec = s
	default:
		return inverted(spec, rule, a.Type, not)
	}
	return spec, rule, nil
}

// inverted inverts an evaluator that asks no model, if not is set.
func inverted(spec schema.Spec, rule schema.Rule, written string, not bool) (schema.Spec, schema.Rule, error) {
	if !not {
		return spec, rule, nil
	}
	switch s := spec.(type) {
	case evaluator.Assertion:
		s.Not = true
		spec = s
	case evaluator.JavaScript:
		s.Not = true
		spec = s
	case evaluator.Function:
		s.Not = true
		spec = s
	case evaluator.Calls:
		s.Not = true
		spec = s
	case evaluator.Refusal:
		s.Not = true
		spec = s
	case evaluator.Overlap:
		s.Not = true
		spec = s
	case evaluator.Finish:
		s.Not = true
		spec = s
	default:
		return nil, rule, &template.NeedError{What: "the assertion " + written}
	}
	return spec, rule, nil
}

// leastMiss is the distance that a score must be below its threshold for
// not-classifier.
const leastMiss = 1e-9

// codes are the assertions that run code.
var codes = map[string]bool{"javascript": true, "python": true, "ruby": true}

// set combines several assertions into one: all must hold or, with a threshold, the
// mean must reach it.
func (j *judgement) set(a written, vars template.Variables) (schema.Spec, schema.Rule, error) {
	inner := j.within(a.Threshold)
	rule := schema.Rule{Weights: map[string]float64{}, Least: map[string]float64{}}
	var spec evaluator.Composite
	for _, part := range a.set {
		j.budget.Spend(document.Values, len(part.Value)+len(part.code))
		ev, err := inner.evaluator(part, vars)
		if err != nil {
			j.failed = inner.failed
			return nil, rule, err
		}
		m, err := j.member(part, ev, vars)
		if err != nil {
			return nil, rule, err
		}
		spec.Members = append(spec.Members, m)
		rule.Weights[ev.Name] = ev.Weight
		if a.Threshold == nil && ev.Weight > 0 {
			rule.Required, rule.Least[ev.Name] = append(rule.Required, ev.Name), ev.Rule.Threshold
		}
	}
	if len(spec.Members) == 0 {
		return nil, rule, &template.MistakeError{Message: "the assert-set has no assertions", Hint: "add assert: with a list of them"}
	}
	if a.Threshold != nil {
		rule.Threshold = *a.Threshold
	}
	return spec, rule, nil
}

// within returns the judgement of assertions that are parts of one.
func (j *judgement) within(threshold *float64) judgement {
	inner := *j
	inner.threshold, inner.names, inner.evaluators, inner.written = threshold, map[string]int{}, nil, nil
	return inner
}

// member returns an assertion as a part of another.
func (j *judgement) member(a written, ev schema.Evaluator, vars template.Variables) (evaluator.Member, error) {
	m := evaluator.Member{ID: ev.Name, Spec: ev.Spec, Rule: ev.Rule}
	if _, selects := evaluator.Selects(ev.Spec); selects {
		return m, &template.NeedError{What: a.Type + map[bool]string{true: " in a test without assertScoringFunction", false: " next to the assert-set, not in it"}[j.test.scoring != nil]}
	}
	if j.test.scoring == nil {
		return m, nil
	}
	metric, err := j.engine.Fill(vars, a.Metric)
	if err != nil {
		return m, err
	}
	m.Assertion, err = json.Marshal(schema.RowAssertion{Type: a.Type, Value: a.Value, Threshold: a.Threshold, Weight: a.Weight, Metric: metric})
	j.budget.Spend(document.Values, len(m.Assertion))
	return m, err
}

// question compiles a judge's own prompt: a text, or messages whose texts are joined.
// {{output}}, {{rubric}} and {{input}} are filled in when it is asked.
// promptfoo calls the output and the value otherwise for some kinds, and does
// not read a text for g-eval and answer-relevance.
func (j *judgement) question(kind, prompt string, value json.RawMessage, vars template.Variables) (string, error) {
	switch {
	case prompt == "":
		return "", nil
	case kind == "g-eval" || kind == "answer-relevance":
		if json.Valid([]byte(prompt)) && strings.HasPrefix(strings.TrimSpace(prompt), "{") {
			return "", &template.NeedError{What: "Gavel's own question of " + kind + " in place of rubricPrompt"}
		}
		return "", nil
	}
	own := template.Variables{}
	maps.Copy(own, vars)
	later := map[string]string{"output": "output", "rubric": "rubric"}
	if called := calledValue[kind]; called != "" {
		later = map[string]string{"input": "input", "completion": "output", "output": "output", "rubric": "rubric"}
		own[called], _ = json.Marshal(template.Written(value)) // a text
	}
	for name, of := range later {
		own[name], _ = json.Marshal("{{" + of + "}}") // a text
	}
	return j.asked(prompt, own)
}

// asked fills in a judge's own prompt.
func (j *judgement) asked(prompt string, own template.Variables) (string, error) {
	var list []chat.Message
	if json.Unmarshal([]byte(prompt), &list) == nil && len(list) > 0 {
		var texts []string
		for _, m := range list {
			s, _ := document.ParseText(m.Content)
			texts = append(texts, s)
		}
		prompt = strings.Join(texts, "\n\n")
	}
	asked, err := j.engine.Fill(own, prompt)
	j.budget.Spend(document.Values, len(asked))
	return asked, err
}

// calledValue are the names of the value in a judge's own prompt, by the kind.
var calledValue = map[string]string{"model-graded-closedqa": "criteria", "factuality": "ideal", "model-graded-factuality": "ideal"}

func (j *judgement) unique(name string) string {
	j.names[name]++
	if n := j.names[name]; n > 1 {
		return j.unique(name + " " + strconv.Itoa(n))
	}
	return name
}

// following matches the part after a type in a table: (threshold): value.
var following = lazyregexp.New(`^(?:\(([^()]*)\))?(?::([\s\S]*))?$`)

// plainNumber matches the numbers that promptfoo reads in brackets.
var plainNumber = lazyregexp.New(`^\d+(?:\.\d+)?$`)

// older maps prefixes before a colon to types of assertions.
var older = map[string]string{"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}

// sourced matches the name of a file of code that is an assertion by itself.
var sourced = lazyregexp.New(`^file://[^\n]*\.(?:(py)|[cm]?[jt]s)(?::[\w.]+)?$`)

// inTables are the default thresholds of assertions in a table.
var inTables = map[string]float64{
	"similar": likenessInTables, "similar:cosine": likenessInTables, "similar:dot": likenessInTables, "similar:euclidean": likenessInTables,
	"answer-relevance": 0.75, "classifier": 0.75, "levenshtein": 0.75, "starts-with": 0.75, "rouge-n": 0.75, "perplexity": 0.75, "perplexity-score": 0.75,
	"context-faithfulness": 0.75, "context-recall": 0.75, "context-relevance": 0.75,
}

// shortForm reads an assertion in the form of tables: type(threshold): value, or the
// name of a file of code. Without a known type, the answer must equal the text.
func shortForm(s string) (written, *template.MistakeError) {
	s = strings.TrimSpace(s)
	raw := func(s string) json.RawMessage { out, _ := json.Marshal(s); return out } // a text
	if m := sourced.FindStringSubmatch(s); m != nil {
		return written{Type: map[bool]string{true: "python", false: "javascript"}[m[1] != ""], Value: raw(s)}, nil
	}
	if word, value, isLed := strings.Cut(s, ":"); isLed && older[word] != "" {
		return written{Type: older[word], Value: raw(strings.TrimSpace(value))}, nil
	}
	plain, not := strings.CutPrefix(s, "not-")
	kind := leadingAssertion(plain)
	m := following.FindStringSubmatch(plain[len(kind):])
	if kind == "" || m == nil {
		return written{Type: "equals", Value: raw(s)}, nil
	}
	a := written{Type: kind}
	if not {
		a.Type = "not-" + kind
	}
	if value := strings.TrimSpace(m[2]); value != "" {
		a.Value = raw(value)
	}
	least, isSet := inTables[kind]
	if strings.HasPrefix(plain[len(kind):], "(") {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil || !plainNumber.MatchString(m[1]) {
			a.need = corrected
			return a, &template.MistakeError{
				Message: fmt.Sprintf("the threshold of %s is %q", a.Type, m[1]),
				Hint:    fmt.Sprintf("write a number with a point, as in %s(0.5), or equals: before a text that the answer has to equal", a.Type),
			}
		}
		least, isSet = n, true
	}
	if isSet {
		a.Threshold = &least
	}
	return a, nil
}

// rubricAlone returns the rule of a judge that is only told its question.
func rubricAlone(threshold *float64) schema.Rule {
	rule := schema.Rule{Required: []string{evaluator.GradedPass}, Weights: map[string]float64{evaluator.GradedPass: 0}}
	if threshold != nil {
		rule.Threshold = *threshold
	}
	return rule
}
