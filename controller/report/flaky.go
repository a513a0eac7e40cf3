package report

import (
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// flakyCases returns the flaky cases that the change affects and the gate checks.
func flakyCases(r *Report) []*FlakyCase {
	var found []*FlakyCase
	for i := range r.Cases {
		if c := r.Cases[i].Flaky; c != nil && !r.Cases[i].OutOfGate() {
			found = append(found, c)
		}
	}
	return found
}

// listFlaky names some of the cases with their rates.
func listFlaky(cases []*FlakyCase) string {
	shown := cases[:min(len(cases), most)]
	names := make([]string, 0, len(shown)+1)
	for _, c := range shown {
		names = append(names, c.Name+" ("+c.Series()+")")
	}
	text := strings.Join(names, ", ")
	if n := len(cases) - len(shown); n > 0 {
		text += " and " + textfmt.Int(int64(n)) + " more"
	}
	return text
}

// flakyNotices names, in one line, the cases whose verdict is less reliable.
func flakyNotices(r *Report) []Notice {
	found := flakyCases(r)
	if len(found) == 0 {
		return nil
	}
	n := len(found)
	return []Notice{{Message: textfmt.Count(n, "affected case") + " " + textfmt.Verb(n, "is", "are") + " known to be flaky: " + listFlaky(found)}}
}

// flaky fails the gate if the team forbids flaky cases.
func (f *findings) flaky(r *Report, s GateSettings) {
	if found := flakyCases(r); s.FailFlaky && len(found) > 0 {
		n := len(found)
		f.failed("%s %s flaky (noise.flaky: fail): %s", textfmt.Count(n, "case"), textfmt.Verb(n, "is", "are"), listFlaky(found))
	}
}
