package evalcase

import (
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/place"
)

// An aimed is a test that is compiled for one of several targets.
type aimed struct {
	place.Place
	target place.Place // of no document where the suite has one target
}

// against are the tests, each for every target that the suite lists. A test that names its own
// is there once.
func (s *suite) against(tests []place.Place) []aimed {
	var targets []place.Place
	if s.isTests && !s.keys.Has("execution", "target") {
		targets = s.keys.List("execution", "targets")
	}
	if len(targets) == 0 {
		targets = []place.Place{{}}
	}
	s.perTarget = s.perTarget || len(targets) > 1
	var out []aimed
	for _, test := range tests {
		of := targets
		if own := test.List("execution", "targets"); s.isTests && len(own) > 0 && !test.Has("execution", "target") {
			of = own
			s.perTarget = s.perTarget || len(own) > 1
		}
		for i, target := range of {
			s.Budget.Spend(schema.Cases, 1)
			if i == 0 || !test.Has("execution", "target") {
				out = append(out, aimed{test, target})
			}
		}
	}
	return out
}
