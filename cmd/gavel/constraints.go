package main

import (
	"slices"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/constraint"
)

// constraintChange lists the files of constraints that a pull request changes.
// Those at base decide. That one of them cannot be used is no fault of the pull
// request, which may mend it; that one of head's cannot is.
func constraintChange(base, head *config.Config, p *controller.Prepared) []string {
	for i := range p.Problems {
		if rule := p.Problems[i].Rule; rule == constraint.RuleFile || rule == constraint.RuleLimit {
			p.Problems[i].Severity = schema.Warning
			p.Problems[i].Message = "at base: " + p.Problems[i].Message
		}
	}
	var changed []string
	roots := map[string]bool{}
	for _, pair := range [][2][]schema.ConstraintFile{{base.Constraints, head.Constraints}, {head.Constraints, base.Constraints}} {
		for _, f := range pair[0] {
			if !slices.Contains(pair[1], f) {
				changed = append(changed, f.File)
				roots[f.Root()] = true
			}
		}
	}
	for root := range roots {
		files := slices.DeleteFunc(slices.Clone(head.Constraints), func(f schema.ConstraintFile) bool { return f.Root() != root })
		if len(files) > 0 {
			_, problems := constraint.New(files)
			p.Problems = append(p.Problems, problems...)
		}
	}
	p.Problems = schema.SortProblems(p.Problems)
	slices.Sort(changed)
	return slices.Compact(changed)
}
