package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// A Quarantine takes a case out of the gate.
type Quarantine struct {
	// Case is its key, or KEY @ TARGET.
	Case string `json:"case"`
	// Until is the last day on which it holds, such as 2026-04-01.
	Until  string `json:"until"`
	Reason string `json:"reason"`
	// At is its place in the file.
	At schema.Position `json:"-"`
}

// quarantine refuses mistakes that the schema cannot find: days that no month has, and
// two entries for one case.
func (k *checker) quarantine() {
	known := map[string]bool{}
	for i, q := range k.config.Quarantine {
		if _, err := time.Parse(time.DateOnly, q.Until); err != nil {
			k.Fail("invalid-date", fmt.Sprintf("%q is not a day", q.Until), "write a date such as 2026-04-01", "quarantine", i, "until")
		}
		for field, text := range map[string]string{"case": q.Case, "reason": q.Reason} {
			if strings.TrimSpace(text) == "" {
				k.Fail("missing-field", fmt.Sprintf("`%s` of a quarantine is missing", field), "write the key of the case, and the reason for those who read the reports", "quarantine", i, field)
			}
		}
		if known[q.Case] {
			k.Fail("duplicate-case", fmt.Sprintf("case %s is quarantined twice", q.Case), "leave one of the entries out", "quarantine", i, "case")
		}
		known[q.Case] = true
		k.config.Quarantine[i].At = k.Doc.At("quarantine", i, "case")
	}
}

// StaleQuarantine returns warnings about the entries that have ended, and about entries
// that name none of the cases; nil names are not known.
func (c *Config) StaleQuarantine(names []string, now time.Time) []schema.Problem {
	var out []schema.Problem
	warn := func(q Quarantine, rule, message, hint string) {
		out = append(out, schema.Problem{Position: q.At, Severity: schema.Warning, Rule: rule, Message: message, Hint: hint})
	}
	for _, q := range c.Quarantine {
		switch {
		case q.Until < now.UTC().Format(time.DateOnly):
			warn(q, "quarantine-over", fmt.Sprintf("the quarantine of %s ended on %s, so the case counts again", q.Case, q.Until), "remove the entry, or write a later date")
		case names != nil && !slices.Contains(names, q.Case):
			hint := suggest.DidYouMean(q.Case, names)
			if hint == "" {
				hint = "remove the entry, or write the key of a case"
			}
			warn(q, "unknown-case", fmt.Sprintf("%s is quarantined and is not a case", q.Case), hint)
		}
	}
	return out
}

// Looser names every setting by which head lets more through than base: more counts as
// noise, more cases are quarantined, fewer samples have to pass, or skills are asked less.
func (c *Config) Looser(head *Config) []string {
	out := slices.Concat(c.Noise.Looser(head.Noise), looserShares(c.PassShares, head.PassShares), c.Skills.Looser(head.Skills))
	for _, q := range head.Quarantine {
		i := slices.IndexFunc(c.Quarantine, func(was Quarantine) bool { return was.Case == q.Case })
		switch {
		case i < 0:
			out = append(out, fmt.Sprintf("quarantine of %s until %s: %s", q.Case, q.Until, q.Reason))
		case c.Quarantine[i].Until < q.Until:
			out = append(out, fmt.Sprintf("quarantine of %s until %s → %s", q.Case, c.Quarantine[i].Until, q.Until))
		}
	}
	return out
}
