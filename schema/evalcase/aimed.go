package evalcase

import (
	"fmt"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// An aimed is a test that is compiled for one of several targets.
type aimed struct {
	document.Place
	target document.Place // of no document where the suite has one target
}

// against are the tests, each for every target that the suite lists. A test that names its own
// is there once.
func (s *suite) against(tests []document.Place) []aimed {
	var targets []document.Place
	if s.isTests && !s.keys.Has("execution", "target") {
		targets = s.keys.List("execution", "targets")
	}
	targets = s.distinct(targets)
	if len(targets) == 0 {
		targets = []document.Place{{}}
	}
	s.perTarget = s.perTarget || len(targets) > 1
	var out []aimed
	for _, test := range tests {
		of := targets
		if own := test.List("execution", "targets"); s.isTests && len(own) > 0 && !test.Has("execution", "target") {
			of = s.distinct(own)
			s.perTarget = s.perTarget || len(of) > 1
		}
		for i, target := range of {
			s.Budget.Spend(document.Cases, 1)
			if i == 0 || !test.Has("execution", "target") {
				out = append(out, aimed{test, target})
			}
		}
	}
	return out
}

// distinct leaves out targets that an earlier one is: their cases would be the same, and are
// run once.
func (s *suite) distinct(targets []document.Place) []document.Place {
	var out []document.Place
	names := map[string]bool{}
	for _, p := range targets {
		s.Budget.Go()
		name := p.Text()
		for _, key := range []string{"extends", "name"} {
			if p.Has(key) {
				name = p.Text(key)
			}
		}
		if own, ok, _ := s.Settings.FindTarget(schema.QualifiedTarget(name, s.file)); ok {
			name = own
		} else if found, ok, _ := s.Settings.FindTarget(name); ok {
			name = found
		}
		if name == "" || !names[name] {
			out, names[name] = append(out, p), true
			continue
		}
		problem := p.Problem("same-provider", fmt.Sprintf("the target %q is listed twice; its cases are run once", name), "remove it")
		problem.Severity = schema.Warning
		s.twice = append(s.twice, problem)
	}
	return out
}
