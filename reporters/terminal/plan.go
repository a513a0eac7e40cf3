package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters/phrase"
)

// Plan writes each affected case with the reason, and one number for the rest.
func Plan(w io.Writer, pl *plan.Plan, o Options) error {
	p := newPage(o)
	counts := map[string]int{}
	rest := pl.Rest
	for _, row := range pl.Rows {
		if row.Unaffected() {
			rest.Cases++
			if row.Action == plan.Skip {
				rest.Skipped++
			}
			continue
		}
		counts[planWord(row)]++
		action := margin{fmt.Sprintf("%-9s", planWord(row)), actionColor(row.Action)}
		key := row.Key
		if (row.Head != nil && row.Head.Beside) || (row.Base != nil && row.Base.Beside) {
			key += " @ " + row.Target
		}
		p.paragraph(action, key, "")
		p.paragraph(margin{first: strings.Repeat(" ", 9)}, plan.Summarise(row.Reasons), dim)
	}
	if len(counts) > 0 {
		p.WriteString("\n")
	}
	var parts []string
	for _, total := range []struct {
		action plan.Action
		word   string
	}{
		{plan.Run, "to run"}, {plan.Rejudge, "to judge again"}, {plan.Redecide, "to decide again"},
		{plan.Reuse, "to reuse"}, {moved, "moved"}, {plan.Skip, "to skip"}, {plan.Removed, "to drop"},
	} {
		if n := counts[string(total.action)]; n > 0 {
			parts = append(parts, phrase.Int(int64(n))+" "+total.word)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing is affected")
	}
	others := phrase.Count(rest.Cases, "other case") + " unaffected"
	if rest.Skipped > 0 {
		others += ", " + phrase.Int(int64(rest.Skipped)) + " of them not active"
	}
	p.paragraph(margin{}, strings.Join(parts, ", ")+"; "+others, "")
	return p.writeTo(w)
}

// moved stands for reuse where it is the key that changed: of such a case
// nothing need be stored.
const moved = "moved"

func planWord(row plan.Row) string {
	if row.MovedFrom != "" {
		return moved
	}
	return string(row.Action)
}

func actionColor(a plan.Action) string {
	switch a {
	case plan.Run:
		return yellow
	case plan.Rejudge, plan.Redecide:
		return green
	}
	return dim
}
