package evalcase

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/template"
)

// evaluatorTypes maps AgentV 4's names to evaluator types.
var evaluatorTypes = map[string]string{
	"llm-grader": "llm_judge", "llm-judge": "llm_judge", "llm-rubric": "llm_judge", "code-grader": "code_judge", "code-judge": "code_judge", "script": "code_judge",
	"rubrics": "rubric", "rubric": "rubric", "tool-trajectory": "tool_trajectory", "field-accuracy": "field_accuracy",
	"execution-metrics": "execution_metrics", "latency": "latency", "cost": "cost", "token-usage": "token_usage", "composite": "composite",
}

// assertions returns the evaluators of a test: its own, then the suite's. All bare
// texts are one list of criteria at the place of the first.
func (c *compiler) assertions(threshold float64) []schema.Evaluator {
	lists := []document.Place{c.tc.Sub("assertions"), c.tc.Sub("execution", "assertions")}
	if !c.tc.Truth("execution", "skip_defaults") {
		lists = append(lists, c.keys.Sub("assertions"), c.keys.Sub("execution", "assertions"))
	}
	var all []document.Place
	for _, list := range lists {
		all = append(all, list.List()...)
	}
	out := c.listOf(all, threshold)
	if len(out) > 0 && !slices.ContainsFunc(out, func(ev schema.Evaluator) bool { return ev.Weight > 0 }) {
		c.warn(c.tc.Problem("no-weight", "the weights of the assertions sum to 0, so that the score is 0", "give one of them a weight above 0", "assertions"))
		for i := range out {
			out[i].Weight, out[i].Rule.Weightless = 1, true
		}
	}
	if len(all) > 0 {
		return out
	}
	return []schema.Evaluator{{
		Name: "llm-grader", File: c.file, Weight: 1, Rule: schema.Rule{Threshold: threshold}, Fallback: true,
		Spec: c.transformed(evaluator.LLMJudge{Target: c.standardJudge(), Subject: c.subject()}, document.Place{}),
	}}
}

// takes takes the room of an assertion or of an evaluator.
func (c *compiler) takes(p document.Place) {
	c.Budget.Spend(document.Evaluators, 1)
	c.Budget.Spend(document.Values, len(p.JSON()))
}

// listOf compiles a list of assertions, each with a name of its own.
func (c *compiler) listOf(items []document.Place, threshold float64) []schema.Evaluator {
	var out []schema.Evaluator
	names := map[string]int{}
	var texts *evaluator.Rubrics
	at := 0
	for _, p := range items {
		c.takes(p)
		if p.IsText() {
			if texts == nil {
				texts, at = &evaluator.Rubrics{Target: c.standardJudge(), Subject: c.subject()}, len(out)
				out = append(out, schema.Evaluator{Name: "rubrics", File: c.file, Rule: schema.Rule{Threshold: threshold}})
			}
			texts.Criteria = append(texts.Criteria, evaluator.RubricCriterion{ID: fmt.Sprintf("rubric-%d", len(texts.Criteria)+1), Outcome: p.Text()})
			out[at].Spec, out[at].Weight = c.transformed(*texts, document.Place{}), float64(len(texts.Criteria))
			continue
		}
		ev, ok := c.assertion(p, threshold)
		if !ok {
			continue
		}
		out = append(out, ev)
	}
	for i := range out {
		names[out[i].Name]++
		if n := names[out[i].Name]; n > 1 {
			out[i].Name = fmt.Sprintf("%s %d", out[i].Name, n)
		}
	}
	return out
}

// assertion reads an assertion of AgentV 4. It is not ok if the case is not run because of it.
func (c *compiler) assertion(p document.Place, threshold float64) (schema.Evaluator, bool) {
	kind := strings.ReplaceAll(p.Text("type"), "_", "-")
	// Further fields are for a program, or of a type that is not read.
	isOpen := evaluatorTypes[kind] == "code_judge" || evaluatorTypes[kind] == "" && !assertion.IsComparison(kind)
	if !c.checkFields(p, "#EvalcaseAssertion", isOpen) {
		return schema.Evaluator{}, false
	}
	before := len(c.problems)
	ev := schema.Evaluator{Name: cmp.Or(p.Text("name"), p.Text("metric"), kind), File: p.Doc.File, Weight: 1}
	if p.Has("weight") {
		ev.Weight = p.Number("weight")
	}
	ev.Spec, ev.Rule = c.assertionSpec(p, kind, threshold)
	switch {
	case p.Truth("required"):
		ev.Rule.Floor = cmp.Or(p.Number("min_score"), threshold)
	case p.Number("required") > 0:
		ev.Rule.Floor = p.Number("required")
	}
	ev.Rule.Zeroes = ev.Rule.Floor > 0 // as AgentV has it
	ev.Spec = c.transformed(ev.Spec, p)
	if p.Truth("negate") {
		ev = negated(ev)
	}
	return ev, ev.Spec != nil && !schema.HasErrors(c.problems[before:])
}

// negated inverts a comparison with the answer, and the score of every other
// evaluator.
func negated(ev schema.Evaluator) schema.Evaluator {
	if a, ok := ev.Spec.(evaluator.Assertion); ok {
		a.Not = true
		ev.Spec = a
		return ev
	}
	ev.Rule.Negate = true
	return ev
}

func (c *compiler) assertionSpec(p document.Place, kind string, threshold float64) (schema.Spec, schema.Rule) {
	rule := schema.Rule{Threshold: threshold}
	switch evaluatorTypes[kind] {
	case "llm_judge", "rubric":
		list := p.Sub("rubrics")
		if evaluatorTypes[kind] == "rubric" && !list.Has() {
			list = p.Sub("criteria")
		}
		if kind == "llm-rubric" && p.IsList("value") {
			list = p.Sub("value")
		}
		switch {
		case evaluatorTypes[kind] == "rubric" && list.Text() != "":
			return evaluator.Rubrics{Criteria: []evaluator.RubricCriterion{{ID: "rubric-1", Outcome: list.Text()}}, Target: c.judge(p), Subject: c.subject()}, rule
		case len(list.List()) == 0:
			return c.rubricOf(p, kind), rule
		}
		criteria, weights := c.rubrics(list, threshold)
		rule.Weights = weights.Weights // required parts only affect the assertion, not the row
		return evaluator.Rubrics{Criteria: criteria, Target: c.judge(p), Subject: c.subject()}, rule
	case "code_judge":
		return c.grader(p, kind), rule
	case "tool_trajectory":
		return c.trajectoryOfTest(p), rule
	case "field_accuracy":
		return c.fields(p, threshold)
	case "composite":
		return c.compositeOfTest(p, threshold)
	case "":
		switch {
		case assertion.IsComparison(kind):
			return c.comparison(p, kind, threshold)
		case kind == "skill-trigger":
			return c.skill(p), schema.Rule{Threshold: 1}
		case kind == "javascript" || kind == "python":
			return c.coded(assertion.Code(c.Source, kind, p, c.tc.JSON("vars"))).Spec, graded(threshold)
		case kind == "similar":
			spec, problem := assertion.Similar(p)
			if problem != nil {
				c.fail(*problem)
			}
			return spec, rule
		case slices.Contains(aboutCalls, strings.TrimPrefix(kind, "not-")):
			return c.trajectoryCalls(p, kind)
		}
		return c.ownAssertion(p, kind), rule
	}
	spec, rule := c.measured(p, evaluatorTypes[kind], threshold)
	if m, ok := spec.(evaluator.Measured); ok && m.Exploration != nil && len(m.Exploration.Tools) == 0 {
		m.Exploration.Tools = explorers
	}
	if rule.Aggregate = ""; evaluatorTypes[kind] == "token_usage" {
		rule.Aggregate = schema.AllOrNothing
	} // the score of execution-metrics is the share of the bounds that hold
	return spec, rule
}

// explorers are the tools that explore, by AgentV.
var explorers = []string{"Glob", "Grep", "Read", "WebFetch", "WebSearch", "glob", "grep", "list", "read", "search"}

// rubricOf is a judge who is asked about the case, or about the rubric of an llm-rubric.
func (c *compiler) rubricOf(p document.Place, kind string) schema.Spec {
	spec, ok := c.llmJudge(p).(evaluator.LLMJudge)
	if ok && kind == "llm-rubric" && p.Text("value") != "" {
		spec.Subject.ExpectedOutcome = p.Text("value")
	}
	return spec
}

// aboutCalls are the assertions of AgentV 5 about the target's calls.
var aboutCalls = []string{
	evaluator.CallsUsed, evaluator.CallsInSequence, evaluator.CallsWithArgs, evaluator.CallsCounted, evaluator.CallsOfSkills, "trajectory:goal-success",
}

// trajectoryCalls is an assertion of AgentV 5 about the calls of the target, or about the goal that
// they reach.
func (c *compiler) trajectoryCalls(p document.Place, kind string) (schema.Spec, schema.Rule) {
	kind, not := strings.CutPrefix(kind, "not-")
	rule := schema.Rule{Threshold: 1}
	if kind == "trajectory:goal-success" {
		return evaluator.Graded{Rubric: "The system under test reached this goal: " + p.Text("value"), Not: not, Target: c.judge(p)}, rule
	}
	value := p.JSON("value")
	if !p.Has("value") { // the fields are next to the type
		value = fieldsOfCalls(p)
	}
	spec, err := assertion.Calls(kind, value)
	if wrong, ok := errors.AsType[*template.MistakeError](err); ok {
		at := []any{"value"}
		if !p.Has("value") {
			at = nil
		}
		c.fail(p.Problem("wrong-value", wrong.Message, wrong.Hint, at...))
		return nil, rule
	}
	spec.Not = not
	return spec, rule
}

// ofAssertions are the fields of any assertion, next to which an assertion about calls may
// have its own.
var ofAssertions = []string{"type", "metric", "weight", "required", "min_score", "negate", "provider", "target", "config", "threshold", "transform"}

// fieldsOfCalls returns the fields of an assertion about calls next to its type, as a
// value.
func fieldsOfCalls(p document.Place) json.RawMessage {
	fields := map[string]json.RawMessage{}
	for _, key := range p.Keys() {
		if !slices.Contains(ofAssertions, key) && p.Has(key) {
			fields[key] = p.JSON(key)
		}
	}
	value, _ := json.Marshal(fields) // JSON values
	return value
}

// grader is a program that grades.
func (c *compiler) grader(p document.Place, kind string) schema.Spec {
	command := p.Sub("command")
	if !command.Has() {
		command = p.Sub("script")
	}
	if !command.Has() {
		c.fail(p.Problem("missing-field", "the grader names no program", `add "command": ["python", "grade.py"]`))
		return nil
	}
	program := c.program(p, command)
	if program == nil {
		return nil
	}
	program.Config = c.config(p, "#EvalcaseAssertion")
	spec := evaluator.CodeJudge{Program: *program, Subject: c.subject(), Form: evaluator.FormAgentV4}
	if kind == "script" {
		spec.Form = evaluator.FormAgentV5
	}
	spec.ExpectedMessages = c.answer.messages
	c.mayAsk(p, &spec)
	return spec
}

// trajectoryOfTest compares arguments as a whole unless args_match says otherwise,
// and gives partial scores.
func (c *compiler) trajectoryOfTest(p document.Place) schema.Spec {
	spec, ok := c.trajectory(p).(evaluator.Trajectory)
	if !ok {
		return nil
	}
	spec.Partial = true
	c.checkSteps(p)
	for i := range spec.Steps {
		step := &spec.Steps[i]
		by := p.Sub("expected", i, "args_match")
		if !by.Has() {
			by = p.Sub("args_match")
		}
		if by.IsList() {
			step.Args, step.AnyValue = trajectoryArguments(p.Sub("expected", i), by.Strings())
			continue
		}
		if item := p.Sub("expected", i); item.IsObject("args") && len(item.Keys("args")) == 0 {
			step.Args = json.RawMessage("{}") // no argument is expected, which is something else than any
		}
		switch cmp.Or(by.Text(), "exact") {
		case "exact":
			step.Exact = len(step.Args) > 0 && len(step.AnyValue) == 0
		case "ignore":
			step.Args, step.AnyValue = nil, nil
		case "superset", "subset":
			step.Compare = by.Text()
		}
	}
	return spec
}

// stepFields are the fields of a step of a trajectory.
var stepFields = []string{"tool", "args", "args_match", "max_duration_ms"}

// checkSteps refuses a step whose arguments would not be compared by a typing error.
func (c *compiler) checkSteps(p document.Place) {
	for _, step := range p.List("expected") {
		for _, key := range step.Keys() {
			near := suggest.Nearest(key, stepFields)
			switch {
			case key == "args" && step.Has("args") && !step.IsObject("args") && step.Text("args") != "any":
				c.fail(step.Problem("wrong-type", "`args` of a step must be an object, or any", "write {name: value}, or any", key))
			case !slices.Contains(stepFields, key) && near != "" && !step.Has(near):
				c.fail(step.Problem("unknown-field", fmt.Sprintf("unknown field `%s` of a step", key), suggest.Question(near), key))
			}
		}
	}
}

// compositeOfTest combines the scores of other assertions.
func (c *compiler) compositeOfTest(p document.Place, threshold float64) (schema.Spec, schema.Rule) {
	rule := schema.Rule{Threshold: threshold}
	var spec evaluator.Composite
	items := slices.Concat(p.List("assertions"), p.List("assert"), p.List("evaluators"))
	var names []string
	for _, ev := range c.listOf(items, threshold) {
		spec.Members = append(spec.Members, evaluator.Member{ID: ev.Name, Spec: ev.Spec, Rule: ev.Rule})
		names = append(names, ev.Name)
		if ev.Weight != 1 {
			rule.Weights = putNumber(rule.Weights, ev.Name, ev.Weight)
		}
	}
	if len(items) == 0 {
		c.fail(p.Problem("missing-field", "the composite has no assertions", `add "assertions": […]`))
	}
	by := p.Sub("aggregator")
	switch kind := strings.ReplaceAll(by.Text("type"), "_", "-"); kind {
	case "", "weighted-average":
		if by.Has() {
			c.memberWeights(by, names, &rule)
		}
	case "threshold": // the share of the members that pass
		rule.Aggregate, rule.Gate = schema.Passing, threshold
		if by.Has("threshold") {
			rule.Threshold = by.Number("threshold")
		}
	case "code-grader", "code-judge":
		spec.Program = c.aggregatorProgram(by)
	case "llm-grader", "llm-judge":
		spec.Judge = c.aggregatorJudge(by)
	default:
		c.fail(by.Problem("wrong-value", fmt.Sprintf("there is no aggregator %q", template.Clip(by.Text("type"))), "write weighted_average, threshold, code-grader or llm-grader", "type"))
	}
	if len(names) > 0 && rule.Aggregate == "" && spec.Judge == nil && spec.Program == nil && weightOf(names, rule) == 0 {
		c.weightless(p, "members", &rule)
	}
	return spec, rule
}

// coded adds the parsed code to the case.
func (c *compiler) coded(read assertion.Coded) assertion.Coded {
	c.inputs, c.problems = append(c.inputs, read.Inputs...), append(c.problems, read.Problems...)
	if read.Need != "" {
		c.need(read.Need)
	}
	return read
}

// transformed applies the transforms of the test and of the assertion to the answer
// before an evaluator. Calls and quantities of a sample are not transformed.
func (c *compiler) transformed(spec schema.Spec, p document.Place) schema.Spec {
	var steps []string
	for _, from := range []document.Place{c.tc.Sub("transform"), p.Sub("transform")} {
		if from.Text() != "" {
			steps = append(steps, c.coded(assertion.Transform(c.Source, from)).Step)
		}
	}
	switch spec.(type) {
	case nil, evaluator.Calls, evaluator.Trajectory, evaluator.SkillTrigger, evaluator.Measured, evaluator.Composite:
		return spec
	}
	if len(steps) == 0 {
		return spec
	}
	return evaluator.Transformed{Steps: steps, Context: assertion.Context(c.tc.JSON("vars"), nil), Spec: spec}
}

// comparison holds the answer against a text, a list, a pattern or JSON.
func (c *compiler) comparison(p document.Place, kind string, threshold float64) (schema.Spec, schema.Rule) {
	read := assertion.Comparison(kind, p)
	if read.Problem != nil {
		c.fail(*read.Problem)
	}
	if read.Need != "" {
		c.need(read.Need)
	}
	if _, byJavaScript := read.Spec.(evaluator.JavaScript); byJavaScript { // as a pattern is that RE2 does not have
		return read.Spec, graded(threshold)
	}
	return read.Spec, schema.Rule{Threshold: 1}
}

// graded returns the rule of a measurement with a score and a pass, which only affects
// the reason.
func graded(threshold float64) schema.Rule {
	return schema.Rule{Threshold: threshold, Weights: map[string]float64{evaluator.GradedPass: 0}}
}

// skill is whether the target turns to a skill.
func (c *compiler) skill(p document.Place) schema.Spec {
	if p.Text("skill") == "" {
		c.fail(p.Problem("missing-field", "the assertion skill-trigger has no skill", `add "skill": …`))
		return nil
	}
	return evaluator.SkillTrigger{Skill: p.Text("skill"), Never: p.Has("should_trigger") && !p.Truth("should_trigger")}
}

// unreadTypes are assertions that AgentV once had and that are unsupported, with their
// needs.
var unreadTypes = map[string]string{
	"agent-judge": "a judge with tools (agent-judge)", "agent-grader": "a judge with tools (agent-grader)", "agent-rubric": "a judge with tools (agent-rubric)",
	"webhook": "a program (webhook)", "trigger-judge": "the assertion trigger-judge", "inline-assert": "a program (inline-assert)",
}

// unknownAssertion reports an unknown type. A test that was skipped for it would turn
// green by a typing error.
func (c *compiler) unknownAssertion(p document.Place, kind string) {
	known := slices.Concat(assertion.Comparisons(), slices.Collect(maps.Keys(evaluatorTypes)), aboutCalls, []string{"skill-trigger", "javascript", "python", "similar", "assert-set"})
	hint := suggest.DidYouMean(kind, known)
	switch plain, isNot := strings.CutPrefix(kind, "not-"); {
	case isNot && slices.Contains(known, plain):
		hint = "write type: " + plain + ", and negate: true"
	case hint == "":
		hint = "add " + ownFolder + "/" + template.Clip(cmp.Or(strings.TrimSpace(kind), "NAME")) + ".py, or write a type that AgentV has, such as contains"
	}
	c.fail(p.Problem("unknown-assertion", fmt.Sprintf("there is no assertion %q, and no program of that name in %s", template.Clip(kind), ownFolder), hint, "type"))
}

// ownFolder has the programs of a team that are assertions by the names of their files.
const ownFolder = ".agentv/assertions"

// ownAssertion is a program of the team: the file of the type's name, in the folder of
// the suite or in the nearest one above.
func (c *compiler) ownAssertion(p document.Place, kind string) schema.Spec {
	for dir := path.Dir(p.Doc.File); !strings.ContainsAny(p.Text("type"), `/\`); dir = path.Dir(dir) {
		for _, ext := range slices.Sorted(maps.Keys(interpreters)) {
			file := path.Join(dir, ownFolder, p.Text("type")+ext)
			if info, err := fs.Stat(c.FS, file); err != nil || !info.Mode().IsRegular() {
				c.inputs = append(c.inputs, schema.Input{File: file, Role: "program", Absent: true})
				continue
			}
			home := evaluator.Program{Dir: path.Dir(p.Doc.File)}
			reader := command.Reader{Source: c.Source, Lookup: c.Read}
			found := reader.Program(command.Line{
				Argv: []string{interpreters[ext], home.Sees(file)}, Dir: home.Dir, At: func(int) schema.Position { return p.At("type") },
			})
			c.problems, c.inputs = append(c.problems, found.Problems...), append(c.inputs, found.Inputs...)
			home.Argv, home.Files, home.Built, home.Timeout, home.Config = found.Argv, found.Files, found.Built, c.timeout(), c.config(p, "#EvalcaseAssertion")
			spec := evaluator.CodeJudge{Program: home, Subject: c.subject(), Form: evaluator.FormAgentV5}
			spec.ExpectedMessages = c.answer.messages
			return spec
		}
		if dir == "." {
			break
		}
	}
	if what := unreadTypes[strings.TrimPrefix(kind, "not-")]; what != "" {
		c.need(what)
		return nil
	}
	c.unknownAssertion(p, kind)
	return nil
}
