package report

import "github.com/gavel-evals/gavel/controller/verdict"

// Verdicts count cases by what became of them.
type Verdicts struct {
	// Cases are those of head, judged or not.
	Cases      int `json:"cases"`
	Pass       int `json:"pass"`
	Borderline int `json:"borderline"`
	Fail       int `json:"fail"`
	// Error counts those that were wanted and have no judgement, those with an
	// invalid definition among them.
	Error   int `json:"error"`
	Skipped int `json:"skipped"`
}

// Count adds a case, whose verdict may be nil. One that was wanted all the same
// is for the caller to count as an error.
func (c *Verdicts) Count(v *verdict.Verdict) {
	c.Cases++
	if v == nil {
		return
	}
	switch *v {
	case verdict.Pass:
		c.Pass++
	case verdict.Borderline:
		c.Borderline++
	case verdict.Fail:
		c.Fail++
	case verdict.Error:
		c.Error++
	case verdict.Skipped:
		c.Skipped++
	}
}
