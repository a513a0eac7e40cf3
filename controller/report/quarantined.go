package report

import (
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// Quarantine adds the valid entries of the configuration and of comments to the input.
func (in *Input) Quarantine(configured Quarantines, now time.Time) {
	list := slices.Clone(configured)
	for _, c := range in.Commands {
		e, problem := ParseQuarantine(c.Argument)
		if c.Verb != CommandQuarantine || problem != "" {
			continue
		}
		e.By = c.Author
		for _, e.Case = range c.Cases {
			list = append(list, e)
		}
	}
	in.Quarantined = list.Holding(now)
}

// NoticesOf converts problems into notices.
func NoticesOf(problems []schema.Problem) []Notice {
	var out []Notice
	for _, p := range problems {
		out = append(out, Notice{File: p.File, Line: p.Line, Message: strings.TrimSuffix(p.Message+"; "+p.Hint, "; ")})
	}
	return out
}

// InQuarantine returns the entry that takes a row of the plan out of the gate, or nil.
func (in *Input) InQuarantine(row *plan.Row) *Quarantine {
	return in.Quarantined.Entry(row.Key, row.Key+" @ "+row.Target)
}

// quarantineNotices names the cases outside of the gate.
func (in *Input) quarantineNotices() []Notice {
	var out []Notice
	for i := range in.Quarantined {
		e := &in.Quarantined[i]
		out = append(out, Notice{Case: e.Case, Message: "is quarantined and out of the gate " + e.String()})
	}
	return out
}

// OutOfGate reports whether the gate ignores the row: its result was accepted, or it is
// quarantined.
func (row *Row) OutOfGate() bool { return row.Accepted != nil || row.Quarantine != nil }

// exempt counts the cases that the gate ignores; empty for none.
func exempt(r *Report) string {
	said := ""
	if n := len(Accepted(r)); n > 0 {
		said += "; " + textfmt.Count(n, "case") + " accepted"
	}
	if n := len(QuarantinedRows(r)); n > 0 {
		said += "; " + textfmt.Count(n, "case") + " quarantined"
	}
	return said
}

// QuarantinedRows returns the rows that are out of the gate until a date.
func QuarantinedRows(r *Report) []*Row {
	var rows []*Row
	for i := range r.Cases {
		if r.Cases[i].Quarantine != nil {
			rows = append(rows, &r.Cases[i])
		}
	}
	return rows
}
