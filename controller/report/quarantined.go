package report

import (
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// Quarantine puts the entries of the configuration and those that people asked for in
// comments into the input, as far as they hold.
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

// NoticesOf are problems as notices.
func NoticesOf(problems []schema.Problem) []Notice {
	var out []Notice
	for _, p := range problems {
		out = append(out, Notice{File: p.File, Line: p.Line, Message: strings.TrimSuffix(p.Message+"; "+p.Hint, "; ")})
	}
	return out
}

// InQuarantine returns the entry by which a row of the plan is out of the gate; nil
// where it is not.
func (in *Input) InQuarantine(row *plan.Row) *Quarantine {
	return in.Quarantined.Entry(row.Key, row.Key+" @ "+row.Target)
}

// quarantineNotices name what is out of the gate.
func (in *Input) quarantineNotices() []Notice {
	var out []Notice
	for i := range in.Quarantined {
		e := &in.Quarantined[i]
		out = append(out, Notice{Case: e.Case, Message: "is quarantined and out of the gate " + e.String()})
	}
	return out
}

// OutOfGate reports whether the gate does not ask about the row: somebody accepted
// its result, or it is quarantined.
func (row *Row) OutOfGate() bool { return row.Accepted != nil || row.Quarantine != nil }

// exempt returns how many cases the gate does not ask about; empty for none.
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

// QuarantinedRows are the rows that are out of the gate until a date.
func QuarantinedRows(r *Report) []*Row {
	var rows []*Row
	for i := range r.Cases {
		if r.Cases[i].Quarantine != nil {
			rows = append(rows, &r.Cases[i])
		}
	}
	return rows
}
