package watchmode

import (
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/plan"
)

// A touch is the last time that a save affected a case.
type touch struct {
	decision string // the digest that it has since
	at       time.Time
}

// looked returns since when it counts what is stored of a case whose agent's
// version nobody knows: since a save affected it. Results that were stored when
// the watch began serve until then. The function only reads what is known now,
// so that a plan may be made again at any time.
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

// touch notes when the affected cases of a plan were affected. A case that no
// longer is, is affected by the next save that changes it.
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
