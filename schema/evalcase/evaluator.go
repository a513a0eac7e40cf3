package evalcase

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// definitions maps evaluator types to their definitions.
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
	switch {
	case c.hasTurns():
		return c.turns(threshold)
	case c.isTests:
		return c.assertions(threshold)
	}
	var out []schema.Evaluator
	if rubrics := c.tc.Sub("rubrics"); len(rubrics.List()) > 0 {
		criteria, rule := c.rubrics(rubrics, threshold)
		spec := evaluator.Rubrics{Criteria: criteria, Target: c.standardJudge(), Subject: c.subject()}
		out = append(out, schema.Evaluator{Name: "rubrics", File: c.file, Weight: 1, Spec: spec, Rule: rule})
	}
	listed := c.listed()
	for _, p := range listed.List() {
		ev, ok := c.evaluator(p, threshold)
		if !ok {
			continue
		}
		if slices.ContainsFunc(out, func(other schema.Evaluator) bool { return other.Name == ev.Name }) {
			c.fail(p.Problem("duplicate-name", fmt.Sprintf("two evaluators have the name %q", ev.Name), "give each a name of its own", "name"))
		}
		out = append(out, ev)
	}
	if len(out) == 0 && len(listed.List()) == 0 {
		listed = c.keys.Sub("evaluator")
		out = c.fallback(threshold)
		for i := range out {
			out[i].Fallback = !listed.Has()
		}
	}
	if len(out) > 0 && !slices.ContainsFunc(out, func(ev schema.Evaluator) bool { return ev.Weight > 0 }) {
		c.fail(listed.Problem("no-weight", "the weights of the evaluators sum to 0", "give one of them a weight above 0"))
	}
	return out
}

// listed returns the list of evaluators: the case's wins.
func (c *compiler) listed() document.Place {
	own, short := c.tc.Sub("execution", "evaluators"), c.tc.Sub("evaluators")
	switch {
	case own.Has() && short.Has():
		c.fail(c.tc.Problem("both-forms", "`evaluators` says the same as `execution.evaluators`", "remove one of them", "evaluators"))
		return own
	case own.Has():
		return own
	case short.Has():
		return short
	}
	return c.keys.Sub("execution", "evaluators")
}

// fallback is how a case is judged that says nothing of it.
func (c *compiler) fallback(threshold float64) []schema.Evaluator {
	p := c.keys.Sub("evaluator")
	if p.IsObject() {
		if ev, ok := c.evaluator(p, threshold); ok {
			return []schema.Evaluator{ev}
		}
		return nil
	}
	switch kind := p.Text(); kind {
	case "", "llm_judge":
	case "rubric", "code_judge", "composite", "tool_trajectory", "field_accuracy", "execution_metrics", "latency", "cost", "token_usage":
		c.fail(p.Problem("missing-field", fmt.Sprintf("an evaluator of type %s needs more than its type", kind), "list it under execution.evaluators"))
		return nil
	default:
		c.unknownType(p, kind)
		return nil
	}
	return []schema.Evaluator{{
		Name: "llm_judge", File: c.file, Weight: 1, Rule: schema.Rule{Threshold: threshold},
		Spec: evaluator.LLMJudge{Target: c.standardJudge(), Subject: c.subject()},
	}}
}

func (c *compiler) unknownType(p document.Place, kind string) {
	hint := suggest.DidYouMean(kind, types())
	if hint == "" {
		hint = "write one of " + strings.Join(types(), ", ")
	}
	c.fail(p.Problem("unknown-evaluator", fmt.Sprintf("unknown evaluator type %q", kind), hint))
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
func (c *compiler) evaluator(p document.Place, threshold float64) (schema.Evaluator, bool) {
	c.takes(p)
	kind := p.Text("type")
	def, ok := definitions[kind]
	switch {
	case !p.IsObject():
		return schema.Evaluator{}, false // the check of the list has reported it
	case !ok && p.IsText("type"):
		c.unknownType(p.Sub("type"), kind)
		return schema.Evaluator{}, false
	case !ok:
		def = "#EvalcaseEvaluator" // says that the type is missing
	}
	if !c.checkEvaluator(p, def) {
		return schema.Evaluator{}, false
	}
	ev := schema.Evaluator{Name: cmp.Or(p.Text("name"), kind), File: p.Doc.File, Weight: 1}
	if p.Has("weight") {
		ev.Weight = p.Number("weight")
	}
	before := len(c.problems)
	ev.Spec, ev.Rule = c.spec(p, kind, threshold)
	ev.Rule.NonZero = p.Truth("required")
	return ev, !schema.HasErrors(c.problems[before:])
}

// checkEvaluator compares an evaluator with the definition of its type. Fields
// that the definition lacks go to a program that wants them; no other evaluator
// looks at them.
func (c *compiler) checkEvaluator(p document.Place, def string) bool {
	return c.checkFields(p, def, p.Has("script") || p.IsObject("prompt"))
}

// checkFields warns of unknown fields unless the definition is open: then they are for a
// program, also where they look like other fields, and a note says so.
func (c *compiler) checkFields(p document.Place, def string, isOpen bool) bool {
	found := p.Check(def, schema.Note)
	if isOpen {
		found = c.handedOver(found, p)
	}
	for i := range found {
		if found[i].Severity == schema.Note {
			found[i].Severity = schema.Warning
		}
	}
	c.problems = append(c.problems, found...)
	return !schema.HasErrors(found)
}

// handedOver turns probable mistakes in the names of a program's fields into notes, and
// drops other unknown names.
func (c *compiler) handedOver(found []schema.Problem, p document.Place) []schema.Problem {
	return slices.DeleteFunc(found, func(x schema.Problem) bool {
		if x.Rule == "unknown-field" && x.Severity == schema.Error && p.Has("type") {
			name := strings.TrimPrefix(x.Message, "unknown ")
			c.problems = append(c.problems, schema.Problem{Position: x.Position, Severity: schema.Note, Rule: "handed-over", Message: "the " + name + " is handed to the program", Hint: x.Hint})
			return true
		}
		return x.Severity == schema.Note
	})
}

func (c *compiler) spec(p document.Place, kind string, threshold float64) (schema.Spec, schema.Rule) {
	rule := schema.Rule{Threshold: threshold}
	switch kind {
	case "code_judge":
		return c.codeJudge(p), rule
	case "llm_judge":
		if len(p.List("rubrics")) == 0 {
			return c.llmJudge(p), rule
		}
		fallthrough
	case "rubric":
		if p.Has("prompt") {
			c.warn(p.Problem("ignored", "`prompt` is ignored, since the judge is asked about the rubrics", "remove one of them", "prompt"))
		}
		criteria, rule := c.rubrics(p.Sub("rubrics"), threshold)
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

// subject returns every judge's data about the case.
func (c *compiler) subject() evaluator.Subject {
	return evaluator.Subject{ExpectedOutcome: c.ExpectedOutcome, Reference: c.answer.reference, Note: c.Note}
}

// judge returns the model that an evaluator names, else the judge of the case's target,
// or nothing.
func (c *compiler) judge(p document.Place) string {
	if p.Text("target") == "" {
		return c.standardJudge()
	}
	return c.Settings.Judge(c.resolve(p.Sub("target")))
}

// standardJudge returns the default judge: the suite's, else the target's; empty for
// the role.
func (c *compiler) standardJudge() string {
	if p := c.judges[c.ID]; p.Text() != "" {
		return c.Settings.Judge(c.resolve(p))
	}
	return c.Settings.Judge(c.target.Judge)
}

func (c *compiler) trajectory(p document.Place) schema.Spec {
	spec := evaluator.Trajectory{Mode: cmp.Or(p.Text("mode"), evaluator.AnyOrder)}
	if p.Has("minimums") {
		if err := p.Sub("minimums").Decode(&spec.Minimums); err != nil {
			c.fail(p.Problem("decode", err.Error(), "", "minimums"))
		}
	}
	for _, item := range p.List("expected") {
		step := evaluator.Step{Tool: item.Text("tool"), MaxMS: item.Number("max_duration_ms")}
		step.Args, step.AnyValue = trajectoryArguments(item, item.Keys("args"))
		spec.Steps = append(spec.Steps, step)
	}
	spec.NoCall = spec.Mode == evaluator.ExactOrder && len(spec.Steps) == 0 && p.IsList("expected")
	if len(spec.Steps)+len(spec.Minimums) == 0 && !spec.NoCall {
		c.fail(p.Problem("no-check", "the trajectory expects nothing", "add `expected` or `minimums`; for no call at all write mode: exact with expected: []"))
	}
	return spec
}

// quantities maps evaluators to their possible bounds, with the bounded quantities.
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

// measured reads the bounds of a sample's quantities.
func (c *compiler) measured(p document.Place, kind string, threshold float64) (schema.Spec, schema.Rule) {
	spec, rule := evaluator.Measured{Type: kind}, schema.Rule{Threshold: threshold}
	for _, key := range p.Keys() {
		quantity, ok := quantities[kind][key]
		if !ok || !p.Has(key) {
			continue
		}
		if _, twice := rule.Most[quantity]; twice {
			c.fail(p.Problem("both-forms", fmt.Sprintf("`%s` bounds what another field bounds already", key), "remove one of them", key))
		}
		rule.Most = putNumber(rule.Most, quantity, p.Number(key))
		spec.Quantities = append(spec.Quantities, quantity)
	}
	slices.Sort(spec.Quantities)
	if kind == "execution_metrics" {
		rule.Aggregate = schema.AllOrNothing
		spec.Exploration = c.exploration(p)
	}
	if len(spec.Quantities) == 0 && spec.Exploration == nil {
		first := map[string]string{"execution_metrics": "max_tool_calls", "latency": "threshold", "cost": "budget", "token_usage": "max_total"}[kind]
		c.fail(p.Problem("no-check", "the evaluator bounds nothing", fmt.Sprintf("add %q: …", first)))
	}
	return spec, rule
}

// explorationTolerance is how far the share of calls that read may be from the
// one that is wanted, where the evaluator does not say it.
const explorationTolerance = 0.2

// exploration reads the share of calls for reading; nil without one.
func (c *compiler) exploration(p document.Place) *evaluator.Exploration {
	if !p.Has("target_exploration_ratio") {
		if p.Has("exploration_tolerance") {
			c.warn(p.Problem("ignored", "`exploration_tolerance` means nothing without a ratio", "add `target_exploration_ratio`, or remove it", "exploration_tolerance"))
		}
		return nil
	}
	out := &evaluator.Exploration{Ratio: p.Number("target_exploration_ratio"), Tolerance: explorationTolerance}
	if p.Has("exploration_tolerance") {
		out.Tolerance = p.Number("exploration_tolerance")
	}
	if p.IsObject("config") {
		out.Tools = p.Strings("config", "exploration_tools")
		slices.Sort(out.Tools)
	}
	return out
}
