// Package selection selects cases of the working tree by keys and labels, by their
// targets, and by their last results, and decides whether stored results are used.
//
// Most callers fill in a [Selection] and put it into a request with
// [Selection.Request].
package selection

import (
	"context"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
)

// A Selection selects cases of the working tree for a command, and decides whether
// stored results are used.
type Selection struct {
	controller.CaseFilter
	// Targets are the [controller.Request]'s, by any name.
	Targets []string
	// Only keeps the cases with these results in the last run, see [Last].
	Only []string
	// All includes unaffected cases.
	All bool
	// Fresh judges the selected cases again.
	Fresh bool
	// Repeat judges every case with so many fresh samples; 0 with its iterations.
	Repeat int
}

// mostRepeats bounds the requested samples of a case.
const mostRepeats = 1000

// A Mistake is an invalid selection, with a suggestion.
type Mistake struct{ text string }

// Error returns the text.
func (m *Mistake) Error() string { return m.text }

func mistake(format string, args ...any) error { return &Mistake{fmt.Sprintf(format, args...)} }

// Request puts the selection into a request for the working tree that has its head and
// its ledger. The error is a [*Mistake], or the ledger's.
func (s *Selection) Request(ctx context.Context, req *controller.Request) (chosen *controller.Choice, err error) {
	if err := checkStatuses(s.Statuses); err != nil {
		return nil, err
	}
	if req.Targets, err = targets(req.Head.Config.Settings(), s.Targets); err != nil {
		return nil, err
	}
	if s.Repeat < 0 || s.Repeat > mostRepeats {
		return nil, mistake("--repeat %d: write a number from 1 to %d", s.Repeat, mostRepeats)
	}
	chosen = s.Choose()
	req.Select, req.Statuses, req.All, req.Repeat = chosen.Func(), s.Statuses, s.All || s.Repeat > 0, s.Repeat
	if len(s.Only) > 0 {
		last, err := Last(ctx, req.Ledger, req.Head.Commit, s.Only)
		if err != nil {
			return nil, err
		}
		named := req.Select
		req.Chosen = true
		req.Select = func(c *schema.CaseInfo) bool { return (named == nil || named(c)) && last(c) }
	}
	kind := controller.Tree
	switch {
	case s.Repeat > 0:
		req.Fresh, kind = &plan.Reason{Part: "repeat", Message: fmt.Sprintf("--repeat asks for %d fresh samples", s.Repeat)}, controller.Fresh
	case s.Fresh:
		req.Fresh, kind = &plan.Reason{Part: "fresh", Message: "--fresh judges again"}, controller.Fresh
		req.Chosen = req.Chosen || len(s.Keys) > 0 // the user names suspicious cases
	}
	req.Invocation, err = controller.ContinueInvocation(ctx, req.Ledger, kind, time.Now())
	return chosen, err
}
