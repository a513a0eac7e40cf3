// Package progress says how far the judging of a plan is.
package progress

import (
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A Step says how many cases are done.
type Step struct {
	Done, Total int
	// Again counts the measurements so far that tell regressions from noise.
	Again int
	// Outcome is that of the case, or of the measurement, that ended; nil at the
	// start.
	Outcome *run.Outcome
	// Base is true while base is measured.
	Base bool
	// Held returns why no calls are sent now, and for how long; empty where they are.
	// It may be called at any time; nil where other processes send them.
	Held func() string
}

// Side is the one in progress: head or base.
func (s Step) Side() string {
	if s.Base {
		return "base"
	}
	return "head"
}

// Verdict is that of the case that ended; empty at the start, and while cases are
// measured again.
func (s Step) Verdict() verdict.Verdict {
	if s.Outcome == nil || s.Again > 0 {
		return ""
	}
	return s.Outcome.Result.Verdict
}

// Unattended says of cases that workers judge why nobody does.
func Unattended(cases int) string {
	verb := " wait"
	if cases == 1 {
		verb += "s"
	}
	return textfmt.Count(cases, "case") + verb + " for a worker; none is running"
}
