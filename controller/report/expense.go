package report

import "github.com/gavel-evals/gavel/reporters/textfmt"

// An Expense is the effort of measuring cases again.
type Expense struct {
	// UsualCalls is the mean if nothing got worse. MostCalls is the maximum, which the
	// budget may reduce.
	UsualCalls int `json:"usual_calls"`
	MostCalls  int `json:"most_calls"`
	// UsualUSD and MostUSD are null if a price is unknown.
	UsualUSD *float64 `json:"usual_cost_usd"`
	MostUSD  *float64 `json:"most_cost_usd"`
}

// String formats it in a few words: "usually 10 more calls to tell regressions from
// noise, at most 520 ($1.30)". It is empty for nil.
func (a *Expense) String() string {
	if a == nil {
		return ""
	}
	text := "usually " + textfmt.Int(int64(a.UsualCalls)) + " more " + textfmt.Verb(a.UsualCalls, "call", "calls") +
		" to tell regressions from noise, at most " + textfmt.Int(int64(a.MostCalls))
	if a.MostUSD != nil && *a.MostUSD > 0 {
		text += " (" + textfmt.USD(*a.MostUSD) + ")"
	}
	return text
}
