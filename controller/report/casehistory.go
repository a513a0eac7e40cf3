package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A PastJudgement records one time that a case was judged. Verdicts that a run took from
// the ledger do not count.
type PastJudgement struct {
	Run string `json:"run"`
	// Head is 40 hex digits, or worktree.
	Head string `json:"head"`
	// PullRequest is 0 if there is none.
	PullRequest int             `json:"pull_request,omitempty"`
	At          time.Time       `json:"at"`
	Action      plan.Action     `json:"action"`
	Verdict     verdict.Verdict `json:"verdict"`
	// Score is in [0,1], or null.
	Score *float64 `json:"score"`
	// Digest is the decision digest. Changed means that it differs from the judgement
	// before: the case or its evaluators changed in between.
	Digest  string `json:"digest"`
	Changed bool   `json:"changed"`
}

// A CaseHistory maps "key" or "key @ target" to judgements, the oldest first. Callers add
// stored runs with [CaseHistory.Add], the oldest first.
type CaseHistory map[string][]PastJudgement

// A PastError is the end of a case in an error, with the reason if it was stored.
type PastError struct {
	At    time.Time
	Error *string
}

// CaseErrors maps the names of the cases whose last run ended in an error to it.
type CaseErrors map[string]PastError

// HistoryRuns is the number of newest runs in a history.
const HistoryRuns = 50

// Names returns the names of the cases in order.
func (h CaseHistory) Names() []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A HistoryRun is a stored run with its report.
type HistoryRun struct {
	ID, Head    string
	PullRequest int
	Finished    time.Time
	// Report is the JSON of a report, of this version or an earlier one.
	Report json.RawMessage
}

// Add adds the judgements of a run that is later than all before. A report that cannot be
// read is an error.
func (h CaseHistory) Add(r HistoryRun) error {
	return h.AddWithErrors(r, nil)
}

// AddWithErrors is Add, and puts the cases that ended in an error into errors, or takes out
// the judged ones. A case that was not run keeps its last end.
func (h CaseHistory) AddWithErrors(r HistoryRun, errors CaseErrors) error {
	rows, err := ReadRows(r.Report)
	if err != nil {
		return fmt.Errorf("report of run %s: %w", r.ID, err)
	}
	for _, x := range rows {
		if errors != nil && x.failed() {
			errors[x.Name()] = PastError{At: r.Finished, Error: x.Error}
		}
		if !x.judged() {
			continue
		}
		delete(errors, x.Name())
		name := x.Name()
		before := h[name]
		h[name] = append(before, PastJudgement{
			Run: r.ID, Head: r.Head, PullRequest: r.PullRequest, At: r.Finished, Action: x.Action,
			Verdict: *x.Verdict, Score: x.Score, Digest: x.Digest,
			Changed: len(before) > 0 && before[len(before)-1].Digest != x.Digest,
		})
	}
	return nil
}

// JudgedNothing reports whether a stored report counts no case as judged, so that its cases
// add nothing to a history. The report needs no list of cases, and is read up to its
// summary. A report that does not count them is not one.
func JudgedNothing(text io.Reader) bool {
	var s struct {
		Run       *int `json:"run"`
		Rejudged  *int `json:"rejudged"`
		Redecided *int `json:"redecided"`
	}
	in := json.NewDecoder(text)
	if begin, err := in.Token(); err != nil || begin != json.Delim('{') {
		return false // reading its cases is the error
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return false
		}
		if name == "summary" {
			return in.Decode(&s) == nil && !slices.ContainsFunc([]*int{s.Run, s.Rejudged, s.Redecided}, func(n *int) bool { return n == nil || *n > 0 })
		}
		var other json.RawMessage
		if in.Decode(&other) != nil {
			return false
		}
	}
	return false
}

// ReadRows returns the rows of a stored report, of this version or an earlier one.
func ReadRows(raw json.RawMessage) ([]StoredRow, error) {
	var report struct {
		Cases []StoredRow `json:"cases"`
	}
	err := json.Unmarshal(raw, &report)
	return report.Cases, err
}

// A StoredRow holds the fields of a row of a report that a history needs. Reading the
// whole report would take many times as long.
type StoredRow struct {
	Key       string           `json:"key"`
	Target    string           `json:"target"`
	PerTarget bool             `json:"per_target"`
	Action    plan.Action      `json:"action"`
	Verdict   *verdict.Verdict `json:"verdict"`
	Score     *float64         `json:"score"`
	Error     *string          `json:"error"`
	Digest    string           `json:"digest"`
}

// Name returns "key" or "key @ target".
func (x StoredRow) Name() string {
	if x.PerTarget {
		return x.Key + " @ " + x.Target
	}
	return x.Key
}

// failed reports whether the case was run and ended in an error.
func (x StoredRow) failed() bool {
	return (x.Action == plan.Run || x.Action == plan.Rejudge || x.Action == plan.Redecide) && x.Verdict != nil && *x.Verdict == verdict.Error
}

func (x StoredRow) judged() bool {
	switch x.Action {
	case plan.Run, plan.Rejudge, plan.Redecide:
		return x.Verdict != nil && *x.Verdict != verdict.Error && *x.Verdict != verdict.Skipped
	}
	return false
}
