package report

import "github.com/gavel-evals/gavel/controller/verdict"

// Verdicts count cases by their outcome.
type Verdicts struct {
	// Cases counts head's cases, judged or not.
	Cases      int `json:"cases"`
	Pass       int `json:"pass"`
	Borderline int `json:"borderline"`
	Fail       int `json:"fail"`
	// Error counts wanted cases without a judgement, including cases with an invalid
	// definition.
	Error   int `json:"error"`
	Skipped int `json:"skipped"`
}

// Count adds a case, whose verdict may be nil. The caller counts a wanted one without a
// verdict as an error.
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
