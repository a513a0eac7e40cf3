// Package casehistory has earlier judgements of cases. Its history is built from stored
// reports: most callers create one and [History.Add] their runs, the oldest first.
package casehistory

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Judgement is one judgement of a case. A verdict that a run reused from the ledger
// is not one.
type Judgement struct {
	Run string `json:"run"`
	// Head is 40 hex digits, or worktree.
	Head string `json:"head"`
	// PullRequest is 0 without one.
	PullRequest int             `json:"pull_request,omitempty"`
	At          time.Time       `json:"at"`
	Action      plan.Action     `json:"action"`
	Verdict     verdict.Verdict `json:"verdict"`
	// Score is in [0,1], null without one.
	Score *float64 `json:"score"`
	// Digest is the decision digest. Changed means that it differs from the previous
	// one: the case, its target or its judge changed in between.
	Digest  string `json:"digest"`
	Changed bool   `json:"changed"`
}

// A History maps "key" or "key @ target" to judgements over time, the oldest first.
type History map[string][]Judgement

// UsualRuns is the number of newest runs in a history.
const UsualRuns = 50

// Names returns the cases' names in order.
func (h History) Names() []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A Run is one stored run with its report.
type Run struct {
	ID, Head    string
	PullRequest int
	Finished    time.Time
	// Report is the JSON of a report, of this version or an earlier one.
	Report json.RawMessage
}

// Add adds the judgements of a run that is later than the previous ones. The error is
// about an unreadable report.
func (h History) Add(r Run) error {
	var report struct {
		Cases []row `json:"cases"`
	}
	if err := json.Unmarshal(r.Report, &report); err != nil {
		return fmt.Errorf("report of run %s: %w", r.ID, err)
	}
	for _, x := range report.Cases {
		if !x.judged() {
			continue
		}
		name := x.name()
		before := h[name]
		h[name] = append(before, Judgement{
			Run: r.ID, Head: r.Head, PullRequest: r.PullRequest, At: r.Finished, Action: x.Action,
			Verdict: *x.Verdict, Score: x.Score, Digest: x.Digest,
			Changed: len(before) > 0 && before[len(before)-1].Digest != x.Digest,
		})
	}
	return nil
}

// A row is the part of a report's row that a history needs. Reading the whole report
// would take many times as long.
type row struct {
	Key       string           `json:"key"`
	Target    string           `json:"target"`
	PerTarget bool             `json:"per_target"`
	Action    plan.Action      `json:"action"`
	Verdict   *verdict.Verdict `json:"verdict"`
	Score     *float64         `json:"score"`
	Digest    string           `json:"digest"`
}

func (x row) name() string {
	if x.PerTarget {
		return x.Key + " @ " + x.Target
	}
	return x.Key
}

func (x row) judged() bool {
	switch x.Action {
	case plan.Run, plan.Rejudge, plan.Redecide:
		return x.Verdict != nil && *x.Verdict != verdict.Error && *x.Verdict != verdict.Skipped
	}
	return false
}
