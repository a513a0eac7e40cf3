package remeasure

import (
	"math"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
)

// Estimate returns the maximum and the usual effort of distinguishing regressions from
// noise, before any outcome is known. stored reports which decision digests of base are
// in the ledger, and left is the effort of new cases without a row. The result is nil
// if no case can be measured again.
func (c *Comparison) Estimate(stored func(digest string) bool, left Total) *report.Expense {
	options := c.options()
	if c.Limited {
		options.Limits = report.LimitsOf(c.HeadConfig.Gate)
	}
	// the effort of one measurement of all cases, without a history and with one.
	var once [2]amount
	limited := limitedRounds{limits: options.Limits}
	most := amount{unpriced: left.Unpriced}
	most.add(amount{calls: float64(left.ChanceCalls), usd: left.USD}, float64(confirm.Bound(confirm.Case{}, options)))
	for i := range c.Rows {
		row := &c.Rows[i]
		known, ok := c.beforehand(row, stored)
		if !ok {
			limited.addSteady(row)
			continue
		}
		each := c.each(row, known)
		bound := confirm.Bound(known, options)
		if bound == 0 || each.calls == 0 {
			limited.addSteady(row)
			continue
		}
		limited.add(row, known, each.calls)
		most.add(each, float64(bound))
		if len(known.Base) == 0 {
			continue // a new case is not compared
		}
		history := 0
		if !known.Fresh {
			history = 1
		}
		once[history].add(each, 1)
	}
	if most.calls == 0 {
		return nil
	}
	usual := confirm.Usual(int(once[0].calls), int(once[1].calls)) + limited.calls()
	out := &report.Expense{UsualCalls: usual, MostCalls: int(most.calls)}
	if !most.unpriced {
		each := (once[0].usd + once[1].usd) / math.Max(1, once[0].calls+once[1].calls)
		price := float64(usual) * each
		out.UsualUSD, out.MostUSD = &price, &most.usd
	}
	return out
}

// A limitedRounds estimates the rounds of measurements that limits on scores take. They are
// usual if a limit is open even where all cases have the best score and none fell.
type limitedRounds struct {
	limits []confirm.Limit
	// steady is the weight of the cases that are not measured again.
	steady float64
	cases  []confirm.Measured
	// once are the calls of one measurement of all cases, and pairs the calls of the cases
	// that have a base.
	once, pairs float64
}

func (l *limitedRounds) addSteady(row *Row) {
	if active(row.Row.Head) {
		l.steady += row.Row.Head.Weight
	}
}

func (l *limitedRounds) add(row *Row, known confirm.Case, calls float64) {
	l.cases = append(l.cases, confirm.Measured{Weight: row.Row.Head.Weight, Cluster: row.Row.Head.ID(), Values: []float64{0}})
	l.once += calls
	if len(known.Base) > 0 && !known.Gone {
		l.pairs += calls
	}
}

func (l *limitedRounds) calls() int {
	var single, paired float64
	for _, limit := range l.limits {
		best := 1.
		if limit.Paired {
			best = 0
		}
		limit.Sum, limit.Weight = best*l.steady, l.steady
		for i := range l.cases {
			l.cases[i].Values[0] = best
		}
		if len(l.cases) == 0 || limit.Judge(l.cases).State != confirm.LimitOpen {
			continue
		}
		if limit.Paired {
			paired = confirm.Rounds * l.pairs
		}
		single = confirm.Rounds * l.once
	}
	return int(single + paired)
}

// An amount is the effort of measurements.
type amount struct {
	calls, usd float64
	unpriced   bool
}

// add adds n times the effort of a measurement.
func (a *amount) add(each amount, n float64) {
	a.calls += n * each.calls
	a.usd += n * each.usd
	a.unpriced = a.unpriced || each.unpriced
}

// beforehand returns the facts about a row for package confirm before a measurement;
// false if it is not compared.
func (c *Comparison) beforehand(row *Row, stored func(string) bool) (confirm.Case, bool) {
	if !c.compared(row) {
		return confirm.Case{}, false
	}
	known := confirm.Case{Required: c.Required(row.Key)}
	if !active(row.Row.Base) {
		return known, true
	}
	same := row.HeadDigests.D == row.BaseDigests.D
	if row.Base.Case == nil && row.BaseCase == nil || same && !row.Unversioned {
		return known, false
	}
	known.Gone, known.Certain = row.Base.Case == nil || same, c.certain(row)
	// A stored base may have a history, which is read later.
	known.Base, known.Fresh = make([]confirm.Outcome, 1), true
	if stored(row.BaseDigests.D) {
		known.Base, known.Fresh = make([]confirm.Outcome, assumed), false
	}
	return known, true
}

// assumed is the assumed length of a history: the one with the highest effort.
const assumed = 5

// each returns the effort of measuring a row, on the more expensive side.
func (c *Comparison) each(row *Row, known confirm.Case) amount {
	var out amount
	kept := plan.KeptNothing
	if len(known.Base) > 0 && row.HeadDigests.E == row.BaseDigests.E && !known.Gone && !row.Repeated {
		kept = plan.KeptTranscript
	}
	cases := [2]*schema.Case{confirm.Head: row.Head.Case}
	if len(known.Base) > 0 {
		cases[confirm.Base] = row.Base.Case
	}
	for side, one := range cases {
		if one == nil {
			continue
		}
		need := c.need(row, confirm.Side(side), kept)
		if !need.Chance {
			continue
		}
		out.calls = max(out.calls, float64(need.Calls))
		out.usd = max(out.usd, need.USD)
		out.unpriced = out.unpriced || need.Unpriced
	}
	return out
}
