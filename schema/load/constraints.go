package load

import (
	"path"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// constraints compiles a team's demands on the definitions of a folder. If that fails
// it demands nothing, and the files are a problem.
func (l *loader) constraints(root string) *document.Constraints {
	var files []schema.ConstraintFile
	for _, f := range l.opts.Settings.Constraints {
		if f.Root() == root {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil
	}
	c, problems := document.NewConstraints(files, l.evaluations)
	l.out.Problems = append(l.out.Problems, problems...)
	if c != nil {
		l.rules = append(l.rules, c)
	}
	return c
}

// overrun returns which constraints were given up. Their findings until then are
// arbitrary, so that all is to be loaded without them.
func (l *loader) overrun() []schema.Problem {
	var out []schema.Problem
	for _, c := range l.rules {
		out = append(out, c.Overrun()...)
	}
	return out
}

// withoutFaulty leaves out the constraints of the folders that problems are about.
func withoutFaulty(files []schema.ConstraintFile, problems []schema.Problem) []schema.ConstraintFile {
	return slices.DeleteFunc(slices.Clone(files), func(f schema.ConstraintFile) bool {
		return slices.ContainsFunc(problems, func(p schema.Problem) bool { return path.Dir(p.File) == path.Dir(f.File) })
	})
}

// isConstraintProblem reports whether a problem is about a file of constraints.
// Every load finds them again.
func isConstraintProblem(p schema.Problem) bool {
	return p.Rule == document.RuleConstraintFile || p.Rule == document.RuleConstraintLimit
}

// givenUp reports whether constraints came to no end. Which definition that is
// due to is not known, so that nothing less than all definitions tells when it
// is over.
func givenUp(problems []schema.Problem) bool {
	return slices.ContainsFunc(problems, func(p schema.Problem) bool { return p.Rule == document.RuleConstraintLimit })
}
