package report

import (
	"fmt"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// PassK has pass^k over the cases that ask for a share of their samples: the mean chance
// that k samples of a case in a row pass.
type PassK struct {
	// Cases counts the cases.
	Cases int `json:"cases"`
	// Mean is by k from 1 to the least number of passes that one of the cases needs.
	Mean []float64 `json:"mean"`
}

// passK returns pass^k of head's verdicts, or nil without a case that asks for a share.
func passK(pairs []pair) *PassK {
	var out *PassK
	for _, p := range pairs {
		if p.head == nil || p.head.Result.PassShare == nil || p.isQuery() {
			continue
		}
		own := p.head.Result.PassShare.PassK
		if out == nil {
			out = &PassK{Mean: make([]float64, len(own))}
		}
		out.Cases++
		out.Mean = out.Mean[:min(len(out.Mean), len(own))]
		for k := range out.Mean {
			out.Mean[k] += own[k]
		}
	}
	if out == nil {
		return nil
	}
	for k := range out.Mean {
		out.Mean[k] /= float64(out.Cases)
	}
	return out
}

// isQuery reports whether the case is a query of a trigger list, which asks for a majority of
// its samples though nobody wrote that.
func (p *pair) isQuery() bool {
	return p.plan != nil && p.plan.Head != nil && p.plan.Head.Trigger != ""
}

// String says the first and the last of the means: "pass^1 0.958, pass^8 0.667 over 3 cases
// with a pass share". It is empty for nil.
func (p *PassK) String() string {
	if p == nil || len(p.Mean) == 0 {
		return ""
	}
	n := len(p.Mean)
	said := "pass^1 " + textfmt.Score(&p.Mean[0], 3)
	if n > 1 {
		said += fmt.Sprintf(", pass^%d %s", n, textfmt.Score(&p.Mean[n-1], 3))
	}
	return said + " over " + textfmt.Count(p.Cases, "case") + " with a pass share"
}
