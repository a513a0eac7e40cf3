package watchmode

import (
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/plan"
)

// A touch is the last save that affected a case.
type touch struct {
	decision string // the resulting digest
	at       time.Time
}

// looked returns a function that gives the time from which stored results of a case
// count, if its agent's version is unknown: the last save that affected it. Results
// from before the watch began are valid until then. The function only reads current
// data, so that a plan may be repeated at any time.
func (s *planner) looked() func(plan.Row) time.Time {
	before, now := s.touched, time.Now()
	if s.cfg.Now != nil {
		now = s.cfg.Now()
	}
	return func(row plan.Row) time.Time {
		last, known := before[row.Head.ID()]
		switch {
		case before == nil:
			return time.Time{}
		case known && last.decision == row.HeadDigests.D:
			return last.at
		}
		return now
	}
}

// touch records when the affected cases of a plan were affected. A case that is no
// longer affected starts again at the next save that changes it.
func (s *planner) touch(p *controller.Prepared) {
	touched := map[string]touch{}
	for i := range p.Plan.Rows {
		row := &p.Plan.Rows[i]
		if row.Head != nil && !row.Unaffected() {
			touched[row.Head.ID()] = touch{row.HeadDigests.D, p.Request().ReuseSince(*row)}
		}
	}
	s.touched = touched
}
