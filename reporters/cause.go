package reporters

import (
	"fmt"

	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// A cause describes a problem that many places share, with a remark about the others.
type cause struct{ noun, one, many string }

// causes maps the rules of their problems.
var causes = map[string]cause{
	"domain-invalid":    {"test", "builds on it", "build on it"},
	"level-invalid":     {"test", "builds on it", "build on it"},
	"evaluator-invalid": {"test", "is judged by it", "are judged by it"},
	"domain-missing":    {"test", "lacks it", "lack it"},
	"unknown-target":    {"place", "names it", "name it"},
	"judged-by-checks":  {"case", "is", "are"},
	"handed-over":       {"place", "is", "are"},
}

// Causes merges problems with a common cause into one, at the first of their places: a
// broken domain.json, for example, is a problem of each of its tests. The problems are
// sorted by place.
func Causes(problems []schema.Problem) []schema.Problem {
	counts := map[schema.Problem]int{}
	unplaced := func(p schema.Problem) schema.Problem {
		p.Position = schema.Position{}
		return p
	}
	for _, p := range problems {
		counts[unplaced(p)]++
	}
	said := map[schema.Problem]bool{}
	var out []schema.Problem
	for _, p := range problems {
		why, follows := causes[p.Rule]
		same := unplaced(p)
		if !follows || counts[same] == 1 {
			out = append(out, p)
		} else if !said[same] {
			said[same] = true
			others := counts[same] - 1
			p.Message += fmt.Sprintf(" (%s %s, too)", textfmt.Count(others, "other "+why.noun), textfmt.Verb(others, why.one, why.many))
			out = append(out, p)
		}
	}
	return out
}
