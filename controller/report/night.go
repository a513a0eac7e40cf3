package report

import "github.com/gavel-evals/gavel/reporters/textfmt"

// A Night is a scheduled run's extra measurements for the history.
type Night struct {
	Measurements int `json:"measurements"`
	Calls        int `json:"calls"`
	// CostUSD is null if a price is unknown.
	CostUSD *float64 `json:"cost_usd"`
	// Short means that the budget or an interruption left some out.
	Short   bool    `json:"short,omitempty"`
	Balance Balance `json:"balance"`
}

// A Balance compares the cost of the last days' nights with their savings.
type Balance struct {
	Days  int `json:"days"`
	Calls int `json:"calls"`
	// CostUSD is null if a price is unknown.
	CostUSD *float64 `json:"cost_usd"`
	// SavedCalls is an estimate.
	SavedCalls int `json:"saved_calls"`
}

// String formats it in a sentence or two: "8 further measurements for the history. In
// 14 days these took 40 calls ($0.10) and saved pull requests about 90." It is empty
// for nil.
func (n *Night) String() string {
	if n == nil {
		return ""
	}
	text := textfmt.Count(n.Measurements, "further measurement") + " for the history"
	if n.Short {
		text += "; the rest was not measured"
	}
	b := n.Balance
	text += ". In " + textfmt.Count(b.Days, "day") + " these took " + textfmt.Count(b.Calls, "call")
	if b.CostUSD != nil && *b.CostUSD > 0 {
		text += " (" + textfmt.USD(*b.CostUSD) + ")"
	}
	return text + " and saved pull requests about " + textfmt.Count(b.SavedCalls, "call") + "."
}
