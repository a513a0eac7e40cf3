package promptval

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// evaluators returns the judge, unless the analysis is off, and the counts of tool
// calls. The latter have no share in the score, and fail the case whatever the score
// is.
func (c *compiler) evaluators() []schema.Evaluator {
	var out []schema.Evaluator
	if orElse(field[bool](c, "analysis"), true) {
		out = append(out, c.judge())
	} else if c.Doc.Has("threshold") {
		c.Warn("ignored-field", "`threshold` is ignored, since analysis is false", "remove it, or remove analysis", "threshold")
	}
	counts := c.counts()
	if len(counts) > 0 {
		spec := evaluator.ToolCounts{Counts: counts}
		share := 0.0
		if len(out) == 0 {
			share = 1
		}
		out = append(out, schema.Evaluator{Name: spec.Kind(), Weight: share, Spec: spec, Rule: spec.Rule()})
	}
	return out
}

func (c *compiler) judge() schema.Evaluator {
	criteria, weights := c.criteria()
	threshold := field[float64](c, "threshold")
	instruction := c.Doc.Text("testing_prompt")
	ev := schema.Evaluator{Weight: 1}
	if c.evaluationType() == numeric {
		spec := evaluator.Criteria{Instruction: instruction, Criteria: criteria}
		ev.Spec, ev.Rule = spec, spec.Rule(weights, threshold)
	} else {
		spec := evaluator.Semantic{Instruction: instruction, Criteria: criteria}
		ev.Spec, ev.Rule = spec, spec.Rule()
		if threshold != nil {
			c.Warn("ignored-field", "`threshold` is ignored, since evaluation_type is default", `write "evaluation_type": "numeric", or remove it`, "threshold")
		}
	}
	ev.Name = ev.Spec.Kind()
	return ev
}

func (c *compiler) evaluationType() string {
	return cmp.Or(c.Doc.Text("evaluation_type"), semantic)
}

// criteria reads the rubric. The weights are separate if they count for the score, and
// are shown to the judge if the judge weighs.
func (c *compiler) criteria() ([]evaluator.Criterion, []float64) {
	isNumeric := c.evaluationType() == numeric
	if !c.Doc.Has("rubric") {
		if isNumeric {
			c.Fail("missing-field", "the field `rubric` is missing, and evaluation_type is numeric", `add "rubric": {"criteria": [{"name": …, "weight": 1}]}`)
		}
		return nil, nil
	}
	var out []evaluator.Criterion
	var weights []float64
	lines := map[string]int{}
	for i := range c.Doc.Items("rubric", "criteria") {
		at := func(name string) []any { return []any{"rubric", "criteria", i, name} }
		name := c.Doc.Text(at("name")...)
		if first, dup := lines[name]; dup {
			c.Fail("duplicate-id", fmt.Sprintf("the rubric has the criterion %q twice", name), fmt.Sprintf("the first is in line %d; rename one", first), at("name")...)
		}
		lines[name] = c.Doc.At(at("name")...).Line
		criterion := evaluator.Criterion{Name: name, Description: c.Doc.Text(at("description")...)}
		weight := field[float64](c, at("weight")...)
		switch {
		case !isNumeric:
			criterion.Weight = weight
		case weight == nil && !c.Doc.Has(at("weight")...):
			c.Fail("missing-field", fmt.Sprintf("the criterion %q has no weight, and evaluation_type is numeric", name), `add "weight": …`, at("weight")...)
		}
		weights = append(weights, orElse(weight, 0))
		out = append(out, criterion)
	}
	if isNumeric && !schema.HasErrors(c.Problems) {
		c.checkSum(weights)
	}
	return out, weights
}

// checkSum checks the sum of a rubric's weights.
func (c *compiler) checkSum(weights []float64) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	switch {
	case sum == 0:
		c.Fail("out-of-range", "the weights of the rubric sum to 0", "give one of the criteria a weight", "rubric", "criteria")
	case math.Abs(sum-1) > 1e-9:
		c.Warn("weights-sum", fmt.Sprintf("the weights of the rubric sum to %s and not to 1", strconv.FormatFloat(sum, 'g', 9, 64)),
			"the score is divided by the sum", "rubric", "criteria")
	}
}

// counts reads expected_tools, sorted by tool.
func (c *compiler) counts() []evaluator.ToolCount {
	const name = "expected_tools"
	if c.Doc.Items(name) > 0 && c.Doc.Text(c.kind) != "agent" {
		c.Warn("ignored-field", "`expected_tools` is ignored, since "+c.kind+" is not agent", "remove it", name)
		return nil
	}
	var out []evaluator.ToolCount
	lines := map[string]int{}
	for i := range c.Doc.Items(name) {
		tool := c.Doc.Text(name, i, "name")
		if first, dup := lines[tool]; dup {
			c.Fail("duplicate-id", fmt.Sprintf("the tool %q has two entries", tool), fmt.Sprintf("write its rules into the entry in line %d", first), name, i, "name")
		}
		lines[tool] = c.Doc.At(name, i, "name").Line
		out = append(out, c.count(tool, name, i))
	}
	slices.SortFunc(out, func(a, b evaluator.ToolCount) int { return strings.Compare(a.Tool, b.Tool) })
	return out
}

// count converts an entry's rules to bounds.
func (c *compiler) count(tool string, at ...any) evaluator.ToolCount {
	least, most, rules := 0, math.MaxInt, 0
	for _, op := range []string{"eq", "lt", "le", "gt", "ge"} {
		path := append(slices.Clone(at), op)
		if c.Doc.Has(path...) {
			rules++
		}
		n := field[int](c, path...)
		if n == nil {
			continue
		}
		switch op {
		case "eq":
			least, most = max(least, *n), min(most, *n)
		case "lt":
			most = min(most, *n-1)
		case "le":
			most = min(most, *n)
		case "gt":
			// No number is above the largest one: the sum must not overflow.
			least = max(least, min(*n, math.MaxInt-1)+1)
		case "ge":
			least = max(least, *n)
		}
	}
	switch {
	case rules == 0:
		c.Fail("no-check", fmt.Sprintf("the tool %q has no rule", tool), "add eq, lt, le, gt or ge", at...)
	case least > most:
		c.Fail("out-of-range", fmt.Sprintf("no number of calls of %q satisfies its rules", tool), "all rules of an entry must hold; remove one", at...)
	}
	count := evaluator.ToolCount{Tool: tool, Least: least}
	if most < math.MaxInt {
		count.Most = &most
	}
	return count
}
