package evalcase

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// evaluatorTypes are those of the evaluators by the names that AgentV 4 gives them.
var evaluatorTypes = map[string]string{
	"llm-grader": "llm_judge", "llm-judge": "llm_judge", "llm-rubric": "llm_judge", "code-grader": "code_judge", "code-judge": "code_judge", "script": "code_judge",
	"rubrics": "rubric", "rubric": "rubric", "tool-trajectory": "tool_trajectory", "field-accuracy": "field_accuracy",
	"execution-metrics": "execution_metrics", "latency": "latency", "cost": "cost", "token-usage": "token_usage", "composite": "composite",
}

// comparisons hold the answer against a value.
var comparisons = []string{
	"contains", "icontains", "contains-any", "contains-all", "icontains-any", "icontains-all", "equals", "starts-with", "ends-with", "regex", "is-json",
}

// assertions are the evaluators of a test: its own, then those of the suite. All
// bare texts are one list of criteria at the place of the first.
func (c *compiler) assertions(threshold float64) []schema.Evaluator {
	lists := []part{c.tc.sub("assertions"), c.tc.sub("execution", "assertions")}
	if !c.tc.truth("execution", "skip_defaults") {
		lists = append(lists, c.keys.sub("assertions"), c.keys.sub("execution", "assertions"))
	}
	var all []part
	for _, list := range lists {
		all = append(all, list.list()...)
	}
	out := c.listOf(all, threshold)
	if len(all) > 0 {
		return out
	}
	return []schema.Evaluator{{
		Name: "llm-grader", File: c.file, Weight: 1, Rule: schema.Rule{Threshold: threshold}, Fallback: true,
		Spec: evaluator.LLMJudge{Subject: c.subject()},
	}}
}

// listOf compiles a list of assertions, each with a name of its own.
func (c *compiler) listOf(items []part, threshold float64) []schema.Evaluator {
	var out []schema.Evaluator
	names := map[string]int{}
	var texts *evaluator.Rubrics
	at := 0
	for _, p := range items {
		if p.isText() {
			if texts == nil {
				texts, at = &evaluator.Rubrics{Subject: c.subject()}, len(out)
				out = append(out, schema.Evaluator{Name: "rubrics", File: c.file, Rule: schema.Rule{Threshold: threshold}})
			}
			texts.Criteria = append(texts.Criteria, evaluator.RubricCriterion{ID: fmt.Sprintf("rubric-%d", len(texts.Criteria)+1), Outcome: p.text()})
			out[at].Spec, out[at].Weight = *texts, float64(len(texts.Criteria))
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

// assertion reads one of AgentV 4's. It is not ok where the case is not run for it.
func (c *compiler) assertion(p part, threshold float64) (schema.Evaluator, bool) {
	kind := strings.ReplaceAll(p.text("type"), "_", "-")
	// Further fields are for a program, or of a type that is not read.
	isOpen := evaluatorTypes[kind] == "code_judge" || evaluatorTypes[kind] == "" && !slices.Contains(comparisons, kind)
	if !c.checkFields(p, "#EvalcaseAssertion", isOpen) {
		return schema.Evaluator{}, false
	}
	before := len(c.problems)
	ev := schema.Evaluator{Name: cmp.Or(p.text("name"), p.text("metric"), kind), File: p.doc.File, Weight: 1}
	if p.has("weight") {
		ev.Weight = p.number("weight")
	}
	ev.Spec, ev.Rule = c.assertionSpec(p, kind, threshold)
	switch {
	case p.truth("required"):
		ev.Rule.Floor = cmp.Or(p.number("min_score"), threshold)
	case p.number("required") > 0:
		ev.Rule.Floor = p.number("required")
	}
	if p.truth("negate") {
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

func (c *compiler) assertionSpec(p part, kind string, threshold float64) (schema.Spec, schema.Rule) {
	rule := schema.Rule{Threshold: threshold}
	switch evaluatorTypes[kind] {
	case "llm_judge", "rubric":
		list := p.sub("rubrics")
		if evaluatorTypes[kind] == "rubric" && !list.has() {
			list = p.sub("criteria")
		}
		if kind == "llm-rubric" && p.isList("value") {
			list = p.sub("value")
		}
		if len(list.list()) == 0 {
			return c.rubricOf(p, kind), rule
		}
		criteria, weights := c.rubrics(list, threshold)
		rule.Weights = weights.Weights // what is required only bears on the assertion, not on the row
		return evaluator.Rubrics{Criteria: criteria, Target: c.judge(p), Subject: c.subject()}, rule
	case "code_judge":
		return c.grader(p), rule
	case "tool_trajectory":
		return c.trajectoryOfTest(p), rule
	case "field_accuracy":
		return c.fields(p, threshold)
	case "composite":
		return c.compositeOfTest(p, threshold)
	case "":
		switch {
		case slices.Contains(comparisons, kind):
			return c.comparison(p, kind), schema.Rule{Threshold: 1}
		case kind == "skill-trigger":
			return c.skill(p), schema.Rule{Threshold: 1}
		case strings.HasPrefix(strings.TrimPrefix(kind, "not-"), "trajectory:"), strings.TrimPrefix(kind, "not-") == evaluator.CallsOfSkills:
			return c.trajectoryCalls(p, kind)
		}
		return c.ownAssertion(p, kind), rule
	}
	spec, rule := c.measured(p, evaluatorTypes[kind], threshold)
	rule.Aggregate = "" // the score is the share of the bounds that hold
	return spec, rule
}

// rubricOf is a judge who is asked about the case, or about the rubric of an llm-rubric.
func (c *compiler) rubricOf(p part, kind string) schema.Spec {
	spec, ok := c.llmJudge(p).(evaluator.LLMJudge)
	if ok && kind == "llm-rubric" && p.text("value") != "" {
		spec.Subject.ExpectedOutcome = p.text("value")
	}
	return spec
}

// trajectoryCalls is an assertion of AgentV 5 about the calls of the target, or about the goal that
// they reach.
func (c *compiler) trajectoryCalls(p part, kind string) (schema.Spec, schema.Rule) {
	kind, not := strings.CutPrefix(kind, "not-")
	rule := schema.Rule{Threshold: 1}
	if kind == "trajectory:goal-success" {
		return evaluator.Graded{Rubric: "The system under test reached this goal: " + p.text("value"), Not: not, Target: c.judge(p)}, rule
	}
	value := p.json("value")
	if !p.has("value") { // the fields stand next to the type
		value = p.json()
	}
	spec, err := assertion.Calls(kind, value)
	if err != nil {
		c.fail(p.problem("wrong-value", fmt.Sprintf("the assertion %s names no call", kind), `add "value": the name of a tool, a list of names, or {name: …}`))
		return nil, rule
	}
	spec.Not = not
	return spec, rule
}

// grader is a program that grades.
func (c *compiler) grader(p part) schema.Spec {
	command := p.sub("command")
	if !command.has() {
		command = p.sub("script")
	}
	if !command.has() {
		c.fail(p.problem("missing-field", "the grader names no program", `add "command": ["python", "grade.py"]`))
		return nil
	}
	program := c.program(p, command)
	if program == nil {
		return nil
	}
	program.Config = c.config(p, "#EvalcaseAssertion")
	spec := evaluator.CodeJudge{Program: *program, Subject: c.subject(), Form: evaluator.FormAgentV4}
	spec.ExpectedMessages = c.answer.messages
	c.mayAsk(p, &spec)
	return spec
}

// trajectoryOfTest compares arguments as a whole unless args_match says otherwise,
// and gives partial scores.
func (c *compiler) trajectoryOfTest(p part) schema.Spec {
	spec, ok := c.trajectory(p).(evaluator.Trajectory)
	if !ok {
		return nil
	}
	spec.Partial = true
	for i := range spec.Steps {
		step := &spec.Steps[i]
		switch how := cmp.Or(p.text("expected", i, "args_match"), p.text("args_match"), "exact"); how {
		case "exact":
			step.Exact = len(step.Args) > 0 && len(step.AnyValue) == 0
		case "ignore":
			step.Args, step.AnyValue = nil, nil
		case "superset":
			c.need("args_match superset")
		}
	}
	return spec
}

// compositeOfTest makes one score of those of other assertions.
func (c *compiler) compositeOfTest(p part, threshold float64) (schema.Spec, schema.Rule) {
	rule := schema.Rule{Threshold: threshold}
	var spec evaluator.Composite
	items := append(p.list("assertions"), p.list("evaluators")...)
	var names []string
	for _, ev := range c.listOf(items, threshold) {
		spec.Members = append(spec.Members, evaluator.Member{ID: ev.Name, Spec: ev.Spec, Rule: ev.Rule})
		names = append(names, ev.Name)
		if ev.Weight != 1 {
			rule.Weights = put(rule.Weights, ev.Name, ev.Weight)
		}
	}
	if len(items) == 0 {
		c.fail(p.problem("missing-field", "the composite has no assertions", `add "assertions": […]`))
	}
	by := p.sub("aggregator")
	switch kind := strings.ReplaceAll(by.text("type"), "_", "-"); kind {
	case "", "weighted-average":
		if by.has() {
			c.memberWeights(by, names, &rule)
		}
	case "threshold": // the share of the members that pass
		rule.Aggregate, rule.Gate = schema.Passing, threshold
		if by.has("threshold") {
			rule.Threshold = by.number("threshold")
		}
	case "code-grader", "code-judge":
		spec.Program = c.aggregatorProgram(by)
	case "llm-grader", "llm-judge":
		spec.Judge = c.aggregatorJudge(by)
	default:
		c.need("the aggregator " + kind)
	}
	return spec, rule
}

// comparison holds the answer against a text, a list, a pattern or JSON.
func (c *compiler) comparison(p part, kind string) schema.Spec {
	spec := evaluator.Assertion{Type: kind, Value: p.json("value")}
	switch kind {
	case "equals", "starts-with", "ends-with", "contains", "icontains":
		spec.Trim = !strings.HasSuffix(kind, "contains")
		if p.text("value") == "" {
			c.fail(p.problem("missing-field", fmt.Sprintf("the assertion %s has no text", kind), `add "value": …`))
			return nil
		}
	case "contains-any", "contains-all", "icontains-any", "icontains-all":
		texts := p.strings("value")
		if len(texts) == 0 {
			c.fail(p.problem("missing-field", fmt.Sprintf("the assertion %s has no list", kind), `add "value": […]`))
			return nil
		}
		spec.Value, _ = json.Marshal(texts) // texts
	case "regex":
		return c.pattern(p, spec)
	case "is-json":
		spec.Value = nil
	}
	return spec
}

// skill is whether the target turns to a skill.
func (c *compiler) skill(p part) schema.Spec {
	if p.text("skill") == "" {
		c.fail(p.problem("missing-field", "the assertion skill-trigger has no skill", `add "skill": …`))
		return nil
	}
	return evaluator.SkillTrigger{Skill: p.text("skill"), Never: p.has("should_trigger") && !p.truth("should_trigger")}
}

// ownFolder has the programs of a team that are assertions by the names of their files.
const ownFolder = ".agentv/assertions"

// ownAssertion is a program of the team: the file of the type's name, in the folder of
// the suite or in the nearest one above.
func (c *compiler) ownAssertion(p part, kind string) schema.Spec {
	for dir := path.Dir(p.doc.File); !strings.ContainsAny(p.text("type"), `/\`); dir = path.Dir(dir) {
		for _, ext := range slices.Sorted(maps.Keys(interpreters)) {
			file := path.Join(dir, ownFolder, p.text("type")+ext)
			if info, err := fs.Stat(c.FS, file); err != nil || !info.Mode().IsRegular() {
				c.inputs = append(c.inputs, schema.Input{File: file, Role: "program", Absent: true})
				continue
			}
			home := evaluator.Program{Dir: path.Dir(p.doc.File)}
			reader := command.Reader{Files: c.FS, Read: c.Read}
			found := reader.Program(command.Line{
				Argv: []string{interpreters[ext], home.Sees(file)}, Dir: home.Dir, At: func(int) schema.Position { return p.at("type") },
			})
			c.problems, c.inputs = append(c.problems, found.Problems...), append(c.inputs, found.Inputs...)
			home.Argv, home.Files, home.Timeout, home.Config = found.Argv, found.Files, c.timeout(), c.config(p, "#EvalcaseAssertion")
			spec := evaluator.CodeJudge{Program: home, Subject: c.subject(), Form: evaluator.FormAgentV4}
			spec.ExpectedMessages = c.answer.messages
			return spec
		}
		if dir == "." {
			break
		}
	}
	c.need(fmt.Sprintf("the assertion %q, which is neither known nor a program in %s", kind, ownFolder))
	return nil
}

// pattern reads a regular expression with its flags.
func (c *compiler) pattern(p part, spec evaluator.Assertion) schema.Spec {
	text := p.text("value")
	if flags := strings.Trim(p.text("flags"), "gu"); flags != "" {
		text = "(?" + flags + ")" + text
	}
	switch _, err := regexp.Compile(text); {
	case p.text("value") == "":
		c.fail(p.problem("missing-field", "the assertion regex has no pattern", `add "value": …`))
		return nil
	case len(text) > maxPattern:
		c.fail(p.problem("regex", fmt.Sprintf("the pattern has %d bytes", len(text)), fmt.Sprintf("it may have %d", maxPattern), "value"))
		return nil
	case err != nil:
		c.fail(p.problem("regex", fmt.Sprintf("the pattern does not compile: %v", err), "write an RE2 pattern", "value"))
		return nil
	}
	spec.Value, _ = json.Marshal(text) // a text
	return spec
}
