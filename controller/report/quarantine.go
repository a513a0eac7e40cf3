package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
)

// A Quarantine takes a case out of the gate.
type Quarantine struct {
	// Case is its key, or KEY @ TARGET.
	Case string `json:"case"`
	// Until is the last valid day, in UTC, such as 2026-04-01.
	Until  string `json:"until"`
	Reason string `json:"reason"`
	// By is the author of the comment that requested it; empty for an entry of the
	// configuration.
	By string `json:"by,omitempty"`
}

// String formats the date, the reason and the author.
func (e *Quarantine) String() string {
	by := ""
	if e.By != "" {
		by = " by " + e.By
	}
	return fmt.Sprintf("until %s%s: %s", e.Until, by, e.Reason)
}

// checkDate returns the mistake in a date; empty for one such as 2026-04-01.
func checkDate(text string) string {
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return fmt.Sprintf("%q is not a date; write it as 2026-04-01", text)
	}
	return ""
}

// ParseQuarantine parses a date and a reason, such as "2026-04-01 the upstream model is
// slow". The problem describes the repair; it is empty for a valid text.
func ParseQuarantine(text string) (e Quarantine, problem string) {
	e.Until, e.Reason, _ = strings.Cut(strings.TrimSpace(text), " ")
	switch {
	case e.Until == "":
		return e, "quarantine takes the key of a case, the date until which it is out of the gate, and the reason"
	case checkDate(e.Until) != "":
		return e, checkDate(e.Until)
	case e.Reason == "":
		return e, "say why the case is out of the gate"
	}
	return e, ""
}

// Ended reports whether the last day of an entry is over.
func (e *Quarantine) Ended(now time.Time) bool { return e.Until < now.UTC().Format(time.DateOnly) }

// Quarantines are entries of which a later one replaces an earlier one of the same
// case.
type Quarantines []Quarantine

// Holding returns the entries that are valid at a time.
func (l Quarantines) Holding(now time.Time) Quarantines {
	var holding Quarantines
	for i, e := range l {
		replaced := slices.ContainsFunc(l[i+1:], func(later Quarantine) bool { return later.Case == e.Case })
		if !replaced && !e.Ended(now) {
			holding = append(holding, e)
		}
	}
	return holding
}

// Entry returns the entry of a case with one of the names, or nil.
func (l Quarantines) Entry(names ...string) *Quarantine {
	for i := range slices.Backward(l) {
		if slices.Contains(names, l[i].Case) {
			return &l[i]
		}
	}
	return nil
}

// QuarantinedNames returns the names of a plan's cases, on either side; nil if the plan
// lacks some of them.
func QuarantinedNames(p *plan.Plan) []string {
	if p.Rest.Cases > 0 {
		return nil
	}
	names := []string{}
	for _, row := range p.Rows {
		names = append(names, row.Key)
		for _, c := range []*schema.CaseInfo{row.Head, row.Base} {
			if c != nil && c.PerTarget {
				names = append(names, row.Key+" @ "+row.Target)
			}
		}
	}
	return names
}
