package evaluate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// Counts counts the calls of each listed tool in a sample (expected_tools of the
// promptval dialect): a criterion is 1 if
//
//	least ≤ calls ≤ most
//
// and else 0. A tool that was never called counts 0. If the target's calls are unknown,
// nothing is measured. A call counts when it is requested, even if it fails. The reason
// is for people.
func Counts(spec evaluator.ToolCounts, tr *verdict.Transcript) (found []verdict.Criterion, reason string, err error) {
	if len(spec.Counts) == 0 {
		return []verdict.Criterion{{ID: "answer", Score: 1}}, "nothing is asked of the answer", nil
	}
	if !tr.Traced {
		return nil, "", errors.New("the target does not report its tool calls, so they cannot be counted")
	}
	calls := map[string]int{}
	for _, m := range tr.Messages {
		for _, c := range m.ToolCalls {
			calls[c.Function.Name]++
		}
	}
	var wrong []string
	for _, c := range spec.Counts {
		n := calls[c.Tool]
		note := fmt.Sprintf("called %s, expected %s", times(n), bounds(c))
		criterion := verdict.Criterion{ID: c.Tool, Score: 1, Note: note}
		if !c.Holds(n) {
			criterion.Score = 0
			wrong = append(wrong, c.Tool+" was "+note)
		}
		found = append(found, criterion)
	}
	if len(wrong) > 0 {
		return found, strings.Join(wrong, "; "), nil
	}
	return found, "every tool was called as often as expected", nil
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

func bounds(c evaluator.ToolCount) string {
	switch {
	case c.Most == nil:
		return "at least " + times(c.Least)
	case *c.Most == c.Least:
		return times(c.Least)
	case c.Least == 0:
		return "at most " + times(*c.Most)
	}
	return fmt.Sprintf("from %d to %d times", c.Least, *c.Most)
}
