package report

import (
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// An Estimate is what carrying out a plan will take: all samples with the
// calls of simulated users, judges and comparisons, of every target, and of
// base's cases that have to be judged. Calls of tools are not in it.
type Estimate struct {
	Calls int `json:"calls"`
	// RetryCalls is how many more there may be where cases that fail are run again.
	RetryCalls int `json:"retry_calls"`
	// USD is null where a price is not known.
	USD *float64 `json:"cost_usd"`
	// Again is what telling regressions from noise takes beyond that; null where no
	// case can be measured again.
	Again *Expense `json:"again,omitempty"`
}

// String says it in a line: "about 12 calls, $0.04, up to 8 more to retry".
func (e Estimate) String() string {
	text := "about " + textfmt.Count(e.Calls, "call")
	switch {
	case e.USD == nil:
		text += ", price unknown"
	case *e.USD > 0:
		text += ", " + textfmt.USD(*e.USD)
	}
	if e.RetryCalls > 0 {
		text += ", up to " + textfmt.Int(int64(e.RetryCalls)) + " more to retry"
	}
	if said := e.Again.String(); said != "" {
		text += "; " + said
	}
	return text
}
