package controller

import (
	"fmt"

	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A Progress is one step in the judging of a plan.
type Progress struct {
	Done, Total int
	// Again counts the measurements so far that distinguish regressions from noise.
	Again int
	// Outcome is the outcome of the case, or of the measurement, that ended; nil at the
	// start.
	Outcome *run.Outcome
	// Base is true while base is measured.
	Base bool
	// Held returns the reason and the time for which no calls are sent; empty if they
	// are. It may be called at any time; nil if other processes send them.
	Held func() string
}

// Side returns the current side: head or base.
func (s Progress) Side() string {
	if s.Base {
		return "base"
	}
	return "head"
}

// Verdict returns the verdict of the finished case; empty at the start, and while cases
// are measured again.
func (s Progress) Verdict() verdict.Verdict {
	if s.Outcome == nil || s.Again > 0 {
		return ""
	}
	return s.Outcome.Result.Verdict
}

// WaitingCases describes cases that wait because no worker judges any case of their run.
type WaitingCases struct {
	// Cases is 0 while a worker judges one.
	Cases int
	// Workers counts the running workers that could judge them but are busy.
	Workers int
	// Programs means that the cases start programs, and no running worker has a
	// sandbox.
	Programs bool
}

// String returns what the cases wait for.
func (w WaitingCases) String() string {
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

// QueuedReason describes a head that waits for its review.
const QueuedReason = "waits for its turn behind other heads"
