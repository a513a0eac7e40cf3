// Package progress says how far the judging of a plan is.
package progress

import (
	"fmt"

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

// Waiting says how many cases wait because no worker judges any case of their run.
type Waiting struct {
	// Cases is 0 where a worker judges one.
	Cases int
	// Workers is how many are running that could, all of them busy with other cases.
	Workers int
	// Programs says that the cases start programs, and no worker that is running has a
	// sandbox.
	Programs bool
}

// String says what the cases wait for.
func (w Waiting) String() string {
	words := textfmt.Count(w.Cases, "case") + " wait"
	if w.Cases == 1 {
		words += "s"
	}
	words += " for a worker"
	switch {
	case w.Programs:
		return words + " with a sandbox; none is running"
	case w.Workers == 0:
		return words + "; none is running"
	case w.Workers == 1:
		return words + "; the one that is running is busy"
	}
	return words + fmt.Sprintf("; the %d that are running are busy", w.Workers)
}

// Queued says of a head that it is not looked at yet.
const Queued = "waits for its turn behind other heads"
