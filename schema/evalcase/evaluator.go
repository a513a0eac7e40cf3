package evalcase

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// definitions are those of the evaluators by type.
var definitions = map[string]string{
	"code_judge": "#EvalcaseCodeJudge", "llm_judge": "#EvalcaseLLMJudge", "rubric": "#EvalcaseRubricEvaluator",
	"composite": "#EvalcaseComposite", "tool_trajectory": "#EvalcaseToolTrajectory",
	"field_accuracy": "#EvalcaseFieldAccuracy", "execution_metrics": "#EvalcaseExecutionMetrics",
	"latency": "#EvalcaseLatency", "cost": "#EvalcaseCost", "token_usage": "#EvalcaseTokenUsage",
}

// evaluators are the rubrics of the case as one evaluator, then those that the
// case lists, else the suite. Without any, a judge compares with the
// expected outcome.
func (c *compiler) evaluators(threshold float64) []schema.Evaluator {
	if c.isTests {
		return c.assertions(threshold)
	}
	var out []schema.Evaluator
	if rubrics := c.tc.sub("rubrics"); len(rubrics.list()) > 0 {
		criteria, rule := c.rubrics(rubrics, threshold)
		spec := evaluator.Rubrics{Criteria: criteria, Target: c.target.Judge, Subject: c.subject()}
		out = append(out, schema.Evaluator{Name: "rubrics", File: c.file, Weight: 1, Spec: spec, Rule: rule})
	}
	listed := c.listed()
	for _, p := range listed.list() {
		ev, ok := c.evaluator(p, threshold)
		if !ok {
			continue
		}
		if slices.ContainsFunc(out, func(other schema.Evaluator) bool { return other.Name == ev.Name }) {
			c.fail(p.problem("duplicate-name", fmt.Sprintf("two evaluators have the name %q", ev.Name), "give each a name of its own", "name"))
		}
		out = append(out, ev)
	}
	if len(out) == 0 && len(listed.list()) == 0 {
		listed = c.keys.sub("evaluator")
		out = c.fallback(threshold)
		for i := range out {
			out[i].Fallback = !listed.has()
		}
	}
	if len(out) > 0 && !slices.ContainsFunc(out, func(ev schema.Evaluator) bool { return ev.Weight > 0 }) {
		c.fail(listed.problem("no-weight", "the weights of the evaluators sum to 0", "give one of them a weight above 0"))
	}
	return out
}

// listed finds the list of evaluators: that of the case wins.
func (c *compiler) listed() part {
	own, short := c.tc.sub("execution", "evaluators"), c.tc.sub("evaluators")
	switch {
	case own.has() && short.has():
		c.fail(c.tc.problem("both-forms", "`evaluators` says the same as `execution.evaluators`", "remove one of them", "evaluators"))
		return own
	case own.has():
		return own
	case short.has():
		return short
	}
	return c.keys.sub("execution", "evaluators")
}

// fallback is how a case is judged that says nothing of it.
func (c *compiler) fallback(threshold float64) []schema.Evaluator {
	p := c.keys.sub("evaluator")
	if p.isObject() {
		if ev, ok := c.evaluator(p, threshold); ok {
			return []schema.Evaluator{ev}
		}
		return nil
	}
	switch kind := p.text(); kind {
	case "", "llm_judge":
	case "rubric", "code_judge", "composite", "tool_trajectory", "field_accuracy", "execution_metrics", "latency", "cost", "token_usage":
		c.fail(p.problem("missing-field", fmt.Sprintf("an evaluator of type %s needs more than its type", kind), "list it under execution.evaluators"))
		return nil
	default:
		c.unknownType(p, kind)
		return nil
	}
	return []schema.Evaluator{{
		Name: "llm_judge", File: c.file, Weight: 1, Rule: schema.Rule{Threshold: threshold},
		Spec: evaluator.LLMJudge{Target: c.target.Judge, Subject: c.subject()},
	}}
}

func (c *compiler) unknownType(p part, kind string) {
	hint := suggest.DidYouMean(kind, types())
	if hint == "" {
		hint = "write one of " + strings.Join(types(), ", ")
	}
	c.fail(p.problem("unknown-evaluator", fmt.Sprintf("unknown evaluator type %q", kind), hint))
}

func types() []string {
	var names []string
	for name := range definitions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// evaluator reads one evaluator.
func (c *compiler) evaluator(p part, threshold float64) (schema.Evaluator, bool) {
	kind := p.text("type")
	def, ok := definitions[kind]
	switch {
	case !p.isObject():
		return schema.Evaluator{}, false // which the check of the list has said
	case !ok && p.isText("type"):
		c.unknownType(p.sub("type"), kind)
		return schema.Evaluator{}, false
	case !ok:
		def = "#EvalcaseEvaluator" // says that the type is missing
	}
	if !c.checkEvaluator(p, def) {
		return schema.Evaluator{}, false
	}
	ev := schema.Evaluator{Name: cmp.Or(p.text("name"), kind), File: p.doc.File, Weight: 1}
	if p.has("weight") {
		ev.Weight = p.number("weight")
	}
	before := len(c.problems)
	ev.Spec, ev.Rule = c.spec(p, kind, threshold)
	ev.Rule.NonZero = p.truth("required")
	return ev, !schema.HasErrors(c.problems[before:])
}

// checkEvaluator compares an evaluator with the definition of its type. Fields
// that the definition lacks go to a program that wants them; no other evaluator
// looks at them.
func (c *compiler) checkEvaluator(p part, def string) bool {
	return c.checkFields(p, def, p.has("script") || p.isObject("prompt"))
}

// checkFields warns of unknown fields unless the definition is open.
func (c *compiler) checkFields(p part, def string, isOpen bool) bool {
	found := p.check(def, schema.Note)
	found = slices.DeleteFunc(found, func(x schema.Problem) bool { return isOpen && x.Severity == schema.Note })
	for i := range found {
		if found[i].Severity == schema.Note {
			found[i].Severity = schema.Warning
		}
	}
	c.problems = append(c.problems, found...)
	return !schema.HasErrors(found)
}

func (c *compiler) spec(p part, kind string, threshold float64) (schema.Spec, schema.Rule) {
	rule := schema.Rule{Threshold: threshold}
	switch kind {
	case "code_judge":
		return c.codeJudge(p), rule
	case "llm_judge":
		if len(p.list("rubrics")) == 0 {
			return c.llmJudge(p), rule
		}
		fallthrough
	case "rubric":
		if p.has("prompt") {
			c.warn(p.problem("ignored", "`prompt` is ignored, since the judge is asked about the rubrics", "remove one of them", "prompt"))
		}
		criteria, rule := c.rubrics(p.sub("rubrics"), threshold)
		return evaluator.Rubrics{Criteria: criteria, Target: c.judge(p), Subject: c.subject()}, rule
	case "composite":
		return c.composite(p, threshold)
	case "tool_trajectory":
		return c.trajectory(p), rule
	case "field_accuracy":
		return c.fields(p, threshold)
	}
	return c.measured(p, kind, threshold)
}

// subject is what every judge is told about the case.
func (c *compiler) subject() evaluator.Subject {
	return evaluator.Subject{ExpectedOutcome: c.ExpectedOutcome, Reference: c.answer.reference, Note: c.Note}
}

// judge returns the model that an evaluator names, else that of the case's target,
// or nothing.
func (c *compiler) judge(p part) string {
	if p.text("target") == "" {
		return c.target.Judge
	}
	return c.resolve(p.sub("target"))
}

func (c *compiler) trajectory(p part) schema.Spec {
	spec := evaluator.Trajectory{Mode: cmp.Or(p.text("mode"), evaluator.AnyOrder)}
	if p.has("minimums") {
		if err := p.sub("minimums").decode(&spec.Minimums); err != nil {
			c.fail(p.problem("decode", err.Error(), "", "minimums"))
		}
	}
	for _, item := range p.list("expected") {
		step := evaluator.Step{Tool: item.text("tool"), MaxMS: item.number("max_duration_ms")}
		step.Args, step.AnyValue = arguments(item)
		spec.Steps = append(spec.Steps, step)
	}
	spec.NoCall = spec.Mode == evaluator.ExactOrder && len(spec.Steps) == 0 && p.isList("expected")
	if len(spec.Steps)+len(spec.Minimums) == 0 && !spec.NoCall {
		c.fail(p.problem("no-check", "the trajectory expects nothing", "add `expected` or `minimums`; for no call at all write mode: exact with expected: []"))
	}
	return spec
}

// arguments parts those that are compared from those that may have any value.
func arguments(item part) (json.RawMessage, []string) {
	if !item.isObject("args") {
		return nil, nil
	}
	var anyValue []string
	compared := map[string]json.RawMessage{}
	for _, key := range item.keys("args") {
		if item.text("args", key) == "any" {
			anyValue = append(anyValue, key)
			continue
		}
		compared[key] = item.json("args", key)
	}
	slices.Sort(anyValue)
	raw, err := json.Marshal(compared)
	if err != nil || len(compared) == 0 {
		return nil, anyValue
	}
	if canonical, err := schema.Canonical(raw); err == nil {
		raw = canonical
	}
	return raw, anyValue
}

// quantities are the bounds that evaluators may have, with what each bounds.
var quantities = map[string]map[string]string{
	"execution_metrics": {
		"max_tool_calls": evaluator.ToolCallCount, "max_llm_calls": evaluator.ModelCallCount,
		"max_tokens": evaluator.TotalTokens, "max_cost_usd": evaluator.CostUSD, "max_duration_ms": evaluator.DurationMS,
		"max_input_tokens": evaluator.InputTokens, "max_output_tokens": evaluator.OutputTokens,
	},
	"latency": {"threshold": evaluator.DurationMS, "max_ms": evaluator.DurationMS},
	"cost":    {"budget": evaluator.CostUSD, "max_usd": evaluator.CostUSD},
	"token_usage": {
		"max_total": evaluator.TotalTokens, "max_input": evaluator.InputTokens,
		"max_output": evaluator.OutputTokens, "max_total_tokens": evaluator.TotalTokens,
	},
}

// measured reads the bounds of what a sample takes.
func (c *compiler) measured(p part, kind string, threshold float64) (schema.Spec, schema.Rule) {
	spec, rule := evaluator.Measured{Type: kind}, schema.Rule{Threshold: threshold}
	for _, key := range p.keys() {
		quantity, ok := quantities[kind][key]
		if !ok || !p.has(key) {
			continue
		}
		if _, twice := rule.Most[quantity]; twice {
			c.fail(p.problem("both-forms", fmt.Sprintf("`%s` bounds what another field bounds already", key), "remove one of them", key))
		}
		rule.Most = put(rule.Most, quantity, p.number(key))
		spec.Quantities = append(spec.Quantities, quantity)
	}
	slices.Sort(spec.Quantities)
	if kind == "execution_metrics" {
		rule.Aggregate = schema.AllOrNothing
		spec.Exploration = c.exploration(p)
	}
	if len(spec.Quantities) == 0 && spec.Exploration == nil {
		first := map[string]string{"execution_metrics": "max_tool_calls", "latency": "threshold", "cost": "budget", "token_usage": "max_total"}[kind]
		c.fail(p.problem("no-check", "the evaluator bounds nothing", fmt.Sprintf("add %q: …", first)))
	}
	return spec, rule
}

// explorationTolerance is how far the share of calls that read may be from the
// one that is wanted, where the evaluator does not say it.
const explorationTolerance = 0.2

// exploration reads the share of calls that is to be spent on reading; nil where
// none is written.
func (c *compiler) exploration(p part) *evaluator.Exploration {
	if !p.has("target_exploration_ratio") {
		if p.has("exploration_tolerance") {
			c.warn(p.problem("ignored", "`exploration_tolerance` means nothing without a ratio", "add `target_exploration_ratio`, or remove it", "exploration_tolerance"))
		}
		return nil
	}
	out := &evaluator.Exploration{Ratio: p.number("target_exploration_ratio"), Tolerance: explorationTolerance}
	if p.has("exploration_tolerance") {
		out.Tolerance = p.number("exploration_tolerance")
	}
	if p.isObject("config") {
		out.Tools = p.strings("config", "exploration_tools")
		slices.Sort(out.Tools)
	}
	return out
}
