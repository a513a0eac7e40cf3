package reporters

import (
	"fmt"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/phrase"
)

// An Order is what somebody asked for in a comment on the pull request and got
// for this head.
type Order struct {
	// Comment is the id of the comment; By is who wrote it.
	Comment int64     `json:"comment"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Verb    string    `json:"verb"`
	// Argument is the commit that is approved, the reason why a case is
	// accepted, or what is run.
	Argument string `json:"argument,omitempty"`
	// Cases are the keys that it is about, or globs of keys.
	Cases []string `json:"cases,omitempty"`
}

// What orders ask for.
const (
	OrderRun     = "run"
	OrderRerun   = "rerun"
	OrderApprove = "approve"
	OrderAccept  = "accept"
)

// String says who asked for what.
func (o Order) String() string {
	switch o.Verb {
	case OrderApprove:
		return fmt.Sprintf("%s approved %.7s", o.By, o.Argument)
	case OrderAccept:
		return fmt.Sprintf("by %s, %s: %s", o.By, o.At.UTC().Format("2006-01-02 15:04 UTC"), o.Argument)
	case OrderRerun:
		return fmt.Sprintf("%s asked to judge anew what ended in %s: %s", o.By, o.Argument, phrase.Count(len(o.Cases), "case"))
	}
	if o.Argument == "" {
		return o.By + " asked for a run"
	}
	return fmt.Sprintf("%s asked to judge %s anew", o.By, o.Argument)
}

// SameOrders reports whether both are the same comments.
func SameOrders(a, b []Order) bool {
	return slices.EqualFunc(a, b, func(a, b Order) bool { return a.Comment == b.Comment })
}

// Acceptable reports whether a result is one that may be meant: it has a
// verdict, and that is no pass.
func (row *Row) Acceptable() bool {
	return row.Verdict != nil && (*row.Verdict == verdict.Fail || *row.Verdict == verdict.Borderline)
}

// accept marks the rows whose result somebody accepted; the last word counts.
func accept(rows []Row, orders []Order) {
	for i := range rows {
		for o := range orders {
			if row := &rows[i]; orders[o].Verb == OrderAccept && row.Acceptable() && slices.ContainsFunc(orders[o].Cases, row.Named) {
				row.Accepted = &orders[o]
			}
		}
	}
}

// unaccepted is the report without what was accepted, for the rules of the
// gate that an accepted case must not break.
func unaccepted(r *Report, pairs []pair) (*Report, []pair) {
	return only(r, pairs, func(row *Row) bool { return row.Accepted == nil })
}

// only is the report on the cases that are kept, with their pairs.
func only(r *Report, pairs []pair, keep func(*Row) bool) (*Report, []pair) {
	left := *r
	left.Cases = nil
	var kept []pair
	for i := range r.Cases {
		if keep(&r.Cases[i]) {
			left.Cases, kept = append(left.Cases, r.Cases[i]), append(kept, pairs[i])
		}
	}
	left.Summary, _ = summarise(left.Cases, kept)
	left.Diff = diff(left.Cases, kept)
	return &left, kept
}

// Accepted are the rows whose result somebody accepted.
func Accepted(r *Report) []*Row {
	var rows []*Row
	for i := range r.Cases {
		if r.Cases[i].Accepted != nil {
			rows = append(rows, &r.Cases[i])
		}
	}
	return rows
}
