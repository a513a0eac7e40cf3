package report

import (
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// An Estimate is the estimated effort of a plan: all samples with the calls of
// simulated users, judges and comparisons, for every target and for base's cases that
// must be judged. It excludes tool calls.
type Estimate struct {
	Calls int `json:"calls"`
	// RetryCalls is the possible number of extra calls for repeating failed cases.
	RetryCalls int `json:"retry_calls"`
	// USD is null if a price is unknown.
	USD *float64 `json:"cost_usd"`
	// Again is the extra effort of distinguishing regressions from noise; null if no
	// case can be measured again.
	Again *Expense `json:"again,omitempty"`
}

// String formats it in a line: "about 12 calls, $0.04, up to 8 more to retry".
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
