package evalcase

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// composite reads an evaluator that combines others.
func (c *compiler) composite(p document.Place, threshold float64) (schema.Spec, schema.Rule) {
	var spec evaluator.Composite
	rule := schema.Rule{Threshold: threshold}
	var names []string
	isBroken := false
	for _, item := range p.List("evaluators") {
		ev, ok := c.evaluator(item, threshold)
		if !ok {
			isBroken = true
			continue
		}
		if item.Text("name") == "" {
			c.fail(item.Problem("missing-field", "the field `name` is missing", `add "name": …, which distinguishes the results of the composite`))
			isBroken = true
			continue
		}
		if slices.Contains(names, ev.Name) {
			c.fail(item.Problem("duplicate-name", fmt.Sprintf("two evaluators have the name %q", ev.Name), "give each a name of its own", "name"))
			continue
		}
		// A measurement of a member has its name and a slash as its prefix.
		if i := slices.IndexFunc(names, func(other string) bool { return under(other, ev.Name) || under(ev.Name, other) }); i >= 0 {
			c.fail(item.Problem("duplicate-name", fmt.Sprintf("the names %q and %q are ambiguous in the names of results", names[i], ev.Name), "write another character than the slash", "name"))
		}
		names = append(names, ev.Name)
		spec.Members = append(spec.Members, evaluator.Member{ID: ev.Name, Spec: ev.Spec, Rule: ev.Rule})
		if ev.Weight != 1 {
			rule.Weights = putNumber(rule.Weights, ev.Name, ev.Weight)
		}
	}
	if isBroken {
		return spec, rule // that a name is unknown would only follow
	}
	if p.Has("aggregator") {
		c.aggregator(p.Sub("aggregator"), names, &spec, &rule)
	}
	isMean := rule.Aggregate != schema.Minimum && rule.Aggregate != schema.Maximum && spec.Judge == nil && spec.Program == nil
	if len(names) > 0 && weightOf(names, rule) == 0 && isMean {
		c.weightless(p.Sub("evaluators"), "evaluators", &rule)
	}
	return spec, rule
}

// weightOf returns the sum of the weights of members.
func weightOf(names []string, rule schema.Rule) float64 {
	sum := 0.0
	for _, name := range names {
		weight, listed := rule.Weights[name]
		if !listed {
			weight = 1
		}
		sum += weight
	}
	return sum
}

// weightless is about parts of a mean whose weights sum to 0: in AgentV's own form the
// score is 0, and otherwise there is none.
func (c *compiler) weightless(p document.Place, parts string, rule *schema.Rule) {
	problem := p.Problem("no-weight", "the weights of the "+parts+" sum to 0", "give one of them a weight above 0")
	if !c.isTests {
		c.fail(problem)
		return
	}
	problem.Message += ", so that the score is 0"
	c.warn(problem)
	rule.Need = 1 // of which a weight of 0 reaches nothing
}

// under reports whether a name looks like a criterion of a member.
func under(member, name string) bool { return strings.HasPrefix(name, member+"/") }

// fieldsOf lists which fields of an aggregator mean something to its type.
var fieldsOf = map[string][]string{
	"weighted_average": {"weights"},
	"minimum":          {},
	"maximum":          {},
	"all_or_nothing":   {"weights", "threshold"},
	"safety_gate":      {"weights", "required", "gates"},
	"code_judge":       {"script", "path", "cwd", "config"},
	"llm_judge":        {"prompt", "target"},
}

func (c *compiler) aggregator(p document.Place, names []string, spec *evaluator.Composite, rule *schema.Rule) {
	kind := p.Text("type")
	for _, key := range p.Keys() {
		if key != "type" && !slices.Contains(fieldsOf[kind], key) {
			c.warn(p.Problem("ignored", fmt.Sprintf("`%s` means nothing to an aggregator of type %s", key, kind), "remove it", key))
		}
	}
	switch kind {
	case "weighted_average":
		c.memberWeights(p, names, rule)
	case "minimum", "maximum":
		rule.Aggregate = schema.Aggregate(kind)
	case "all_or_nothing":
		c.memberWeights(p, names, rule)
		rule.Gate = gateThreshold
		if p.Has("threshold") {
			rule.Gate = p.Number("threshold")
		}
		if rule.Gate > 0 { // nothing is below 0
			rule.Aggregate = schema.AllOrNothing
		}
	case "safety_gate":
		c.memberWeights(p, names, rule)
		rule.Aggregate = schema.SafetyGate
		rule.Required = c.gates(p, names)
		rule.Gate = gateThreshold
		spec.Gates, spec.Gate = rule.Required, rule.Gate
	case "code_judge":
		spec.Program = c.aggregatorProgram(p)
	case "llm_judge":
		spec.Judge = c.aggregatorJudge(p)
	}
}

func (c *compiler) memberWeights(p document.Place, names []string, rule *schema.Rule) {
	if !p.IsObject("weights") {
		return
	}
	for _, name := range p.Keys("weights") {
		if !slices.Contains(names, name) {
			c.unknownMember(p.Sub("weights", name), name, names)
			continue
		}
		var weight *float64
		if json.Unmarshal(p.JSON("weights", name), &weight) != nil || weight == nil || *weight < 0 {
			c.fail(p.Problem("wrong-type", fmt.Sprintf("the weight of %q is not a number from 0", name), "write a number, such as 1", "weights", name))
			continue
		}
		rule.Weights = putNumber(rule.Weights, name, *weight)
	}
}

// gateThreshold is the least score of a gate, and of every member under
// all_or_nothing if that has no threshold.
const gateThreshold = 0.6

// gates are the members that must reach the threshold, or the case fails.
func (c *compiler) gates(p document.Place, names []string) []string {
	key := "required"
	if !p.Has(key) && p.Has("gates") {
		key = "gates"
	}
	if p.Has("required") && p.Has("gates") {
		c.fail(p.Problem("both-forms", "`gates` says the same as `required`", "remove one of them", "gates"))
	}
	gates := p.Strings(key)
	if len(gates) == 0 {
		c.fail(p.Problem("missing-field", "the safety_gate names no evaluator that must hold", `add "required": [names]`))
	}
	for i, name := range gates {
		if !slices.Contains(names, name) {
			c.unknownMember(p.Sub(key, i), name, names)
		}
	}
	slices.Sort(gates)
	return slices.Compact(gates)
}

func (c *compiler) unknownMember(p document.Place, name string, names []string) {
	hint := suggest.DidYouMean(name, names)
	if hint == "" {
		hint = "name one of the composite's evaluators"
	}
	c.fail(p.Problem("unknown-evaluator", fmt.Sprintf("the composite has no evaluator %q", name), hint))
}

// interpreters run a program that is named by its path.
var interpreters = map[string]string{
	".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "bun", ".mts": "bun", ".sh": "sh", ".rb": "ruby", ".pl": "perl", ".php": "php",
}

func (c *compiler) aggregatorProgram(p document.Place) *evaluator.CodeJudge {
	script := p.Sub("script")
	switch {
	case script.Has() && p.Has("path"):
		c.fail(p.Problem("both-forms", "`path` says the same as `script`", "remove one of them", "path"))
		return nil
	case !script.Has() && !p.Has("path"):
		c.fail(p.Problem("missing-field", "the aggregator names no program", `add "script": ["python", "…"]`))
		return nil
	case !script.Has():
		script = p.Sub("path")
	}
	program := c.program(p, script)
	if program == nil {
		return nil
	}
	if word := script.Text(); p.Has("path") && !strings.ContainsAny(word, " \t") {
		program.Argv = c.interpreted(script)
	}
	program.Config = p.JSON("config")
	return &evaluator.CodeJudge{Program: *program, Subject: c.subject()}
}

// interpreted is the command for a program that is named by its path.
func (c *compiler) interpreted(script document.Place) []string {
	word := script.Text()
	if by, ok := interpreters[path.Ext(word)]; ok {
		return []string{by, word}
	}
	if path.Ext(word) != "" {
		c.fail(script.Problem("unknown-program", "how "+word+" is run is not known", `write "script": [program, "`+word+`"] instead`))
	}
	return []string{word}
}

func (c *compiler) aggregatorJudge(p document.Place) *evaluator.LLMJudge {
	spec := &evaluator.LLMJudge{Target: c.judge(p), Subject: c.subject()}
	if p.Has("prompt") {
		spec.Template = c.template(p.Sub("prompt"), append(evaluator.JudgeVariables(), evaluator.ResultsVariables()...))
		spec.Subject = c.used(spec.Template)
	}
	return spec
}
