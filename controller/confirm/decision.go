package confirm

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A decision is one pass through a procedure, from the first outcome to the last
// recorded one.
type decision struct {
	*Procedure
	take func([]Request) bool
	// first are the outcomes that are compared first: the newest at base and the one at
	// head. After an outage they are the repeated measurements.
	first [2][]Outcome
	// next counts the requests for a case and side.
	next     [2][]int
	findings []Finding
	mean     Mean
	scores   ScoreMean
	// rounds are the outcomes of each case in the rounds of all of them, by side.
	rounds [][][2]Outcome
	// spent counts the requested measurements.
	spent   int
	retaken int
	// over are the outages that were over when their errors were measured again.
	over      []Outage
	stale     bool
	exhausted bool
	complete  bool
}

func newDecision(p *Procedure, take func([]Request) bool) *decision {
	d := &decision{Procedure: p, take: take, findings: make([]Finding, len(p.cases)), rounds: make([][][2]Outcome, len(p.cases))}
	for side := range d.first {
		d.first[side] = make([]Outcome, len(p.cases))
		d.next[side] = make([]int, len(p.cases))
	}
	for i, c := range p.cases {
		d.first[Head][i] = c.Head
		if n := len(c.Base); n > 0 {
			d.first[Base][i] = c.Base[n-1]
		}
	}
	return d
}

// run goes through the stages in order, until one of them lacks an outcome. Stages that
// can change a verdict come first, the most expensive last.
func (d *decision) run() bool {
	outage := d.retake()
	regressions, improvements := d.classify()
	if !outage {
		return false
	}
	settled := d.judgeNew(true) && d.settle(regressions) && d.judgeNew(false) && d.settle(improvements)
	return d.testMean(settled) && d.measureLimits()
}

// ask returns a request for the next measurement of a case at a side. Every request
// needs a measurement.
func (d *decision) ask(i int, side Side) Request {
	r := Request{Case: i, Side: side, Ordinal: d.next[side][i]}
	d.next[side][i]++
	return r
}

// affords reports whether so many measurements are within the budget.
func (d *decision) affords(n int) bool {
	if d.options.Budget >= 0 && d.spent+n > d.options.Budget {
		d.exhausted = true
		return false
	}
	return true
}

// measure returns when all requests are recorded, or false when they will not be.
func (d *decision) measure(requests []Request) bool {
	d.spent += len(requests)
	for {
		missing := slices.DeleteFunc(slices.Clone(requests), func(r Request) bool { _, known := d.outcomes[r]; return known })
		if len(missing) == 0 {
			return true
		}
		if !d.take(missing) {
			return false
		}
	}
}

// classify gives every case the class that follows from its first outcomes, and returns
// the cases that have to be measured again before they have one.
func (d *decision) classify() (regressions, improvements *family) {
	regressions, improvements = &family{}, &family{}
	for i, c := range d.cases {
		f := &d.findings[i]
		base, head := d.first[Base][i].Verdict, d.first[Head][i].Verdict
		f.BaseVerdict, f.HeadVerdict = base, head
		f.Certain, f.Gone, f.Required, f.Fresh = c.Certain, c.Gone, c.Required, c.Fresh
		switch {
		case head.Rank() < 0 || len(c.Base) > 0 && base.Rank() < 0:
			f.Class = Error
		case len(c.Base) == 0:
			f.Class, f.Open = Added, true
		case head.Rank() == base.Rank():
			f.Class = Unchanged
		case head.Rank() > base.Rank():
			f.Class = Improvement
			if d.options.Improvements && !c.Certain && !c.Gone {
				f.Open = true
				improvements.add(d.candidate(i))
			}
		case c.Certain:
			f.Class, f.Confirmed = Regression, true
		case !c.Gone && !c.Required && d.unsteady(i):
			f.Class = Flaky
		default:
			f.Class, f.Open = Unclear, true
			regressions.add(d.candidate(i))
		}
	}
	return regressions, improvements
}

// history returns the outcomes at base that are judgements, the newest first, as many
// as can matter.
func (d *decision) history(i int) []Outcome {
	base := d.cases[i].Base
	list := make([]Outcome, 0, min(len(base), longest))
	list = append(list, d.first[Base][i])
	for k := len(base) - 2; k >= 0 && len(list) < longest; k-- {
		if base[k].Verdict.Rank() >= 0 {
			list = append(list, base[k])
		}
	}
	return list
}

// stored counts how much of the history is no worse than its newest outcome, which
// is counted too.
func (d *decision) stored(i int) stats.Count {
	var c stats.Count
	for _, o := range d.history(i) {
		c = c.Add(holds(o.Verdict, d.first[Base][i].Verdict), 1)
	}
	return c
}

// unsteady reports whether a case with a history fails at base more often than not.
func (d *decision) unsteady(i int) bool {
	stored := d.stored(i)
	return stored.Of >= Enough && stored.Rate() < leastRate
}

// holds returns 1 for a verdict that is as good as another, else 0.
func holds(v, bar verdict.Verdict) int {
	if v.Rank() >= bar.Rank() {
		return 1
	}
	return 0
}

// byRule reports whether the rule of new cases decides about a case: it has no base, or
// it is required and no worse than base, which did not pass either. The second result is
// the verdict that counts as a pass.
func (d *decision) byRule(i int) (bool, verdict.Verdict) {
	f := d.findings[i]
	bar := verdict.Borderline
	if f.Required {
		bar = verdict.Pass
	}
	old := f.Required && !f.Certain && (f.Class == Unchanged || f.Class == Improvement && !f.Open) && f.HeadVerdict.Rank() < bar.Rank()
	return f.Class == Added || old, bar
}

// judgeNew decides about the cases without a base, and about required ones that base
// fails as well, by their own rule. Each round asks for as many runs as any outcome of
// the rule still needs.
func (d *decision) judgeNew(required bool) bool {
	rule := d.options.New
	runs := make([]stats.Count, len(d.cases))
	var open []int
	bars := make([]verdict.Verdict, len(d.cases))
	for i, f := range d.findings {
		ruled, bar := d.byRule(i)
		switch {
		case !ruled || f.Required != required:
		case f.Certain:
			d.findings[i].Open, d.findings[i].Held = false, holds(d.first[Head][i].Verdict, bar) == 1
		default:
			runs[i], bars[i] = stats.Count{Passed: holds(d.first[Head][i].Verdict, bar), Of: 1}, bar
			d.findings[i].Ruled, d.findings[i].Open = true, true
			open = append(open, i)
		}
	}
	for len(open) > 0 {
		var requests []Request
		var asked []int
		for _, i := range open {
			r := runs[i]
			d.findings[i].Head = r
			needed := min(rule.Pass-r.Passed, rule.Runs-rule.Pass-(r.Of-r.Passed)+1)
			if needed <= 0 {
				d.findings[i].Open = false
				d.findings[i].Held = r.Passed >= rule.Pass
				continue
			}
			if !d.affords(len(requests) + needed) {
				continue
			}
			for range needed {
				requests = append(requests, d.ask(i, Head))
			}
			asked = append(asked, i)
		}
		if !d.measure(requests) {
			return false
		}
		for _, r := range requests {
			o := d.outcomes[r]
			if o.Verdict.Rank() < 0 {
				d.findings[r.Case].Class, d.findings[r.Case].Open = Error, false
				asked = slices.DeleteFunc(asked, func(i int) bool { return i == r.Case })
				continue
			}
			runs[r.Case] = runs[r.Case].Add(holds(o.Verdict, bars[r.Case]), 1)
		}
		open = asked
	}
	return true
}
