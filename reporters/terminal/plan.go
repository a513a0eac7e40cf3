package terminal

import (
	"io"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// Plan writes each affected case with the reason, the number of the others, and the
// plan's notices.
func Plan(w io.Writer, pl *plan.Plan, e report.Estimate, notices []report.Notice, o Options) error {
	p := newPage(o)
	const actionColumns = 10
	counts := map[plan.Action]int{}
	var rest unaffectedRows
	for _, row := range pl.Rows {
		if row.Unaffected() {
			rest.add(row)
			continue
		}
		what := row.Action
		if row.MovedFrom != "" {
			what = moved
		}
		counts[what]++
		action := margin{textfmt.Pad(what.Text(), actionColumns), actionColor(row.Action)}
		key := row.Key
		if (row.Head != nil && row.Head.PerTarget) || (row.Base != nil && row.Base.PerTarget) {
			key += " @ " + row.Target
		}
		p.paragraph(action, key, "")
		p.paragraph(margin{first: strings.Repeat(" ", actionColumns)}, plan.Summarise(row.Reasons), dim)
	}
	if len(counts) > 0 {
		p.WriteString("\n")
	}
	var parts []string
	for _, total := range []struct {
		action plan.Action
		word   string
	}{
		{plan.Run, "to run"}, {plan.Rejudge, "to re-judge"}, {plan.Redecide, "to re-decide"},
		{plan.Reuse, "to reuse"}, {moved, "moved"}, {plan.Skip, "to skip"}, {plan.Removed, "to drop"},
	} {
		if n := counts[total.action]; n > 0 {
			parts = append(parts, textfmt.Int(int64(n))+" "+total.word)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing is affected")
	}
	p.paragraph(margin{}, strings.Join(parts, ", ")+"; "+rest.text(pl.Rest), "")
	if e.Calls > 0 {
		p.paragraph(margin{}, e.String(), "")
	}
	p.notices(notices)
	return p.writeTo(w)
}

// unaffectedRows counts the rows of unaffected cases.
type unaffectedRows struct {
	cases, skipped, edited int
	// fields are the differing fields of the edited ones.
	fields []string
}

func (u *unaffectedRows) add(row plan.Row) {
	u.cases++
	if row.Action == plan.Skip {
		u.skipped++
	}
	if len(row.Edited) > 0 {
		u.edited++
		u.fields = append(u.fields, row.Edited...)
	}
}

// text counts them and the cases without a row.
func (u *unaffectedRows) text(rest plan.Rest) string {
	out := textfmt.Count(u.cases+rest.Cases, "other case") + " unaffected"
	if n := u.skipped + rest.Skipped; n > 0 {
		out += ", " + textfmt.Int(int64(n)) + " of them not active"
	}
	if u.edited > 0 {
		slices.Sort(u.fields)
		out += ", " + textfmt.Int(int64(u.edited)) + " of them edited only in " + strings.Join(slices.Compact(u.fields), ", ")
	}
	return out
}

// moved is a reuse whose key changed; it needs no stored result.
const moved plan.Action = "moved"

func actionColor(a plan.Action) string {
	switch a {
	case plan.Run:
		return yellow
	case plan.Rejudge, plan.Redecide:
		return green
	}
	return dim
}
