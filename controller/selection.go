package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// A Selection selects cases of the working tree for a command, and decides whether
// stored results are used.
type Selection struct {
	CaseFilter
	// Targets are the [controller.Request]'s, by any name.
	Targets []string
	// Only keeps the cases with these results in the last run, see [lastResults].
	Only []string
	// All includes unaffected cases.
	All bool
	// Fresh judges the selected cases again.
	Fresh bool
	// Lift also runs cases of skills without their skill.
	Lift bool
	// Repeat judges every case with so many fresh samples; 0 with its iterations.
	Repeat int
}

// mostRepeats bounds the requested samples of a case.
const mostRepeats = 1000

// A SelectionMistake is an invalid selection, with a suggestion.
type SelectionMistake struct{ text string }

// Error returns the text.
func (m *SelectionMistake) Error() string { return m.text }

func mistake(format string, args ...any) error {
	return &SelectionMistake{fmt.Sprintf(format, args...)}
}

// Request puts the selection into a request for the working tree that has its head and
// its ledger. The error is a [*SelectionMistake], or the ledger's.
func (s *Selection) Request(ctx context.Context, req *Request) (chosen *Choice, err error) {
	if err := checkStatuses(s.Statuses); err != nil {
		return nil, err
	}
	if req.Targets, err = namedTargets(req.Head.Config.Settings(), s.Targets); err != nil {
		return nil, err
	}
	if s.Repeat < 0 || s.Repeat > mostRepeats {
		return nil, mistake("--repeat %d: write a number from 1 to %d", s.Repeat, mostRepeats)
	}
	chosen, req.Lift = s.Choose(), s.Lift
	req.Select, req.Statuses, req.All, req.Repeat = chosen.Func(), s.Statuses, s.All || s.Repeat > 0, s.Repeat
	if len(s.Only) > 0 {
		last, err := lastResults(ctx, req.Ledger, req.Head, s.Only)
		if err != nil {
			return nil, err
		}
		named := req.Select
		req.Chosen = true
		req.Select = func(c *schema.CaseInfo) bool { return (named == nil || named(c)) && last(c) }
	}
	kind := Tree
	switch {
	case s.Repeat > 0:
		req.Fresh, kind = &plan.Reason{Part: "repeat", Message: fmt.Sprintf("--repeat asks for %d fresh samples", s.Repeat)}, Fresh
	case s.Fresh:
		req.Fresh, kind = &plan.Reason{Part: "fresh", Message: "--fresh judges again"}, Fresh
		req.Chosen = req.Chosen || len(s.Keys) > 0 // the user names suspicious cases
	}
	req.Invocation, err = ContinueInvocation(ctx, req.Ledger, kind, time.Now())
	return chosen, err
}

// namedTargets returns the targets that names refer to, each once. The error suggests a
// target for an unknown name.
func namedTargets(settings schema.Settings, names []string) ([]string, error) {
	var found []string
	for _, written := range names {
		name, checked, problem := settings.FindTarget(written)
		switch {
		case problem != nil:
			return nil, mistake("--target: %s; %s", problem.Message, problem.Hint)
		case !checked:
			return nil, mistake("--target %s: gavel.yaml has no targets; add it under targets", written)
		case !slices.Contains(found, name):
			found = append(found, name)
		}
	}
	return found, nil
}

// checkStatuses refuses an unknown status: unlike tags, there are only three.
func checkStatuses(statuses []string) error {
	if len(statuses) == 0 {
		return nil // reading the schemas takes longer than a small plan
	}
	known := document.Shapes()["#Testcase"].Fields["status"].Enum
	for _, status := range statuses {
		if !slices.Contains(known, status) {
			hint := cmp.Or(suggest.DidYouMean(status, known), "write one of "+strings.Join(known, ", "))
			return mistake("--status %q is not known; %s", status, hint)
		}
	}
	return nil
}
