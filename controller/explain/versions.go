package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/matrix"
)

// differing lists rules of a case that differ between versions of promptfoo. The later
// version applies; each sentence describes it and the rule of 0.118.
func differing(c *schema.Case) []string {
	if c.Row == nil {
		return nil
	}
	var found []string
	if b := c.Policy.Bands; b != nil && b.Pass == 0 {
		found = append(found, "threshold: 0 passes every score, as since promptfoo 0.121; 0.118 ignored it")
	}
	for _, ev := range c.Evaluators {
		found = append(found, differingIn(ev.Spec, ev.Rule)...)
		if name, second := strings.CutSuffix(ev.Name, " 2"); second && !matrix.ReadsAssertion(strings.TrimPrefix(name, "not-")) {
			found = append(found, fmt.Sprintf("the metric %s is the weighted mean of its assertions, as in promptfoo 0.123; in 0.118 it was their sum", name))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// differingIn lists the rules of one assertion, or of each in a set.
func differingIn(spec schema.Spec, rule schema.Rule) []string {
	inverted := func(kind string) []string {
		return []string{fmt.Sprintf("not- inverts %s, as in promptfoo 0.123; 0.118 ignored it", kind)}
	}
	switch s := spec.(type) {
	case evaluator.Transformed:
		return differingIn(s.Spec, rule)
	case evaluator.Composite:
		var found []string
		for _, m := range s.Members {
			found = append(found, differingIn(m.Spec, m.Rule)...)
		}
		return found
	case evaluator.Graded:
		switch {
		case s.Not && s.Type == "llm-rubric":
			return inverted(s.Type)
		case s.Type == "answer-relevance" && rule.Threshold == 0.5:
			return []string{"answer-relevance without a threshold wants 0.5, as in promptfoo 0.123; in 0.118 it was 0"}
		}
	case evaluator.Function:
		if s.Not && s.Argv[0] == "python3" {
			return inverted("python")
		}
	case evaluator.Assertion:
		switch {
		case s.Not && s.Type == "levenshtein":
			return inverted(s.Type)
		case s.Not && s.Type == "equals" && len(s.Value) > 0 && s.Value[0] != '"':
			return []string{"not-equals of an object passes an answer that is not JSON, as in promptfoo 0.121; 0.118 failed it"}
		}
	case evaluator.Similar:
		if len(s.Texts) > 1 {
			return []string{"similar to none of a list scores the greatest likeness, as in promptfoo 0.123; in 0.118 it was the least"}
		}
	}
	return nil
}
