package confirm

import (
	"cmp"
	"math"
	"slices"

	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
)

const (
	// Enough is how many stored outcomes make a history that chooses.
	Enough = 5
	// longest is how much of a history is looked at: the newest of it.
	longest = 20
	// leastRate is how often a case with a history has to have held at base to be
	// measured again. One that fails at base more often than not is never named,
	// unless it is required.
	leastRate = 0.5
	// steadyRate is how often it has to have held to count in full, and
	// unsteadyWeight what it counts otherwise.
	steadyRate     = 0.9
	unsteadyWeight = 0.3
	// ample is how many measurements a candidate usually takes at most.
	ample = 12
	// caseShare of α is spent on the cases, the rest on their mean.
	caseShare = 0.8
	// leastPower is the conditional power below which a case is left alone, and gatePower
	// the one below which history leaves it alone.
	leastPower = 0.2
	gatePower  = 0.25
	// unlikely is the p-value of Fisher's test up to which a case that was left alone is
	// unclear: both sides being alike would seldom look like it.
	unlikely = 0.1
	// goneRuns is how many reruns head gets at most if base is gone. All of them have
	// to fail for a call; a majority on either side settles the others.
	goneRuns = 5
)

// expected is the assumption of the conditional power: base holds almost always, head
// half of the time. While a case that history knows as flaky fails every rerun, nothing less
// than that is expected of it: with half of its reruns it would never come to a call.
var (
	expected = stats.Assumption{Base: 0.97, Head: 0.5}
	failing  = stats.Assumption{Base: 0.97, Head: 0}
)

// A state is how far a candidate is.
type state int8

const (
	live    state = iota
	stopped       // it is not worth further measurements
	broken        // it could not be measured
)

// A candidate is a case whose first outcomes differ.
type candidate struct {
	place    int
	required bool
	// better says that head is the better side; then the sides are exchanged.
	better bool
	// gone says that only head can be measured.
	gone   bool
	weight float64
	// gate is the test that history opens or closes; nil without a history, and
	// once it is open.
	gate *stats.Sequential
	// fresh is the test that calls; it sees fresh pairs only.
	fresh *stats.Sequential
	// base and head count the outcomes of the present test.
	base, head stats.Count
	// reruns are all at head since the first outcome.
	reruns stats.Count
	p      float64
	state  state
	called bool
}

// candidate makes a candidate of a case whose first outcomes differ.
//
// With a history the stored outcomes, without the newest, and reruns at head decide
// whether the case is worth fresh pairs: that gate uses the exact test with its own
// p-values, and opening it calls nothing. The reruns of the gate are thrown away, since
// they were looked at in order to choose.
func (d *decision) candidate(i int) *candidate {
	c := d.cases[i]
	looks := d.options.Looks
	k := &candidate{place: i, required: c.Required, gone: c.Gone, weight: 1, p: 1, fresh: stats.NewSequential(0, looks)}
	k.better = d.first[Head][i].Verdict.Rank() > d.first[Base][i].Verdict.Rank()
	if stored := d.stored(i); !c.Fresh && !c.Gone && !k.better && stored.Of >= Enough {
		if stored.Rate() < steadyRate {
			k.weight = unsteadyWeight
		}
		k.base = stored.Add(-1, -1)
		k.gate = stats.NewSequential(k.base.Of, looks)
		k.fresh = stats.NewSequential(0, looks+looks/3)
	}
	return k
}

// A family are the candidates among which false calls are counted.
type family struct{ candidates []*candidate }

func (f *family) add(c *candidate) { f.candidates = append(f.candidates, c) }

// settle measures candidates until each is called or not worth more.
func (d *decision) settle(f *family) bool {
	done := d.rerun(f)
	for _, c := range f.candidates {
		d.conclude(c, f.limit(c, caseShare*d.options.Alpha))
	}
	return done
}

// rerun takes the measurements of a family. It returns false if one is missing.
func (d *decision) rerun(f *family) bool {
	alpha := caseShare * d.options.Alpha
	for _, c := range f.candidates {
		// A history that fails at times may leave no prospects from the start. A
		// required case is still measured, since it has to be settled.
		if c.gate != nil && !c.required && c.hopeless(c.gate, f.limit(c, alpha)) {
			c.state = stopped
		}
	}
	width := d.width(len(f.candidates))
	for {
		batch := f.next(width)
		if len(batch) == 0 {
			return true
		}
		var requests []Request
		for i, c := range batch {
			more := d.nextRequests(c)
			if !d.affords(len(requests) + len(more)) {
				batch = batch[:i]
				break
			}
			for _, r := range more {
				requests = append(requests, d.ask(r.Case, r.Side))
			}
		}
		if len(batch) == 0 || !d.measure(requests) {
			return false
		}
		for _, r := range requests {
			d.see(batch, r)
		}
		f.call(batch, alpha)
		for _, c := range batch {
			c.proceed(f.limit(c, alpha))
		}
	}
}

// width is how many of n candidates are measured at a time: many if there is
// enough for all of them, and few if the budget has to go to the most suspicious
// first.
func (d *decision) width(n int) int {
	switch left := d.options.Budget - d.spent; {
	case d.options.Width > 0:
		return d.options.Width
	case d.options.Budget >= 0 && left < ample*n:
		return max(1, n/16)
	default:
		return max(8, (n+3)/4)
	}
}

// next returns the candidates to measure now: required ones before others, those that
// history knows as flaky after all others, and of these first those that failed most
// often, since they are the nearest to a call.
func (f *family) next(width int) []*candidate {
	var batch []*candidate
	for _, c := range f.candidates {
		if c.state == live && !c.called {
			batch = append(batch, c)
		}
	}
	slices.SortStableFunc(batch, func(a, b *candidate) int {
		if a.required != b.required {
			return map[bool]int{true: -1, false: 1}[a.required]
		}
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.suspicion(), a.suspicion()))
	})
	return batch[:min(width, len(batch))]
}

// suspicion is the number of head's reruns that differ from base's first outcome, minus
// the number of those that agree.
func (c *candidate) suspicion() int {
	if c.better {
		return 2*c.reruns.Passed - c.reruns.Of
	}
	return c.reruns.Of - 2*c.reruns.Passed
}

// nextRequests returns the measurements of the next step: one at head, and one at base
// if head would otherwise have more. The ordinals are not set.
func (d *decision) nextRequests(c *candidate) []Request {
	requests := []Request{{Case: c.place, Side: Head}}
	if !c.gone && c.base.Of <= c.head.Of {
		requests = append(requests, Request{Case: c.place, Side: Base})
	}
	return requests
}

// see counts an outcome for the candidate of the batch that it belongs to.
func (d *decision) see(batch []*candidate, r Request) {
	c := batch[slices.IndexFunc(batch, func(c *candidate) bool { return c.place == r.Case })]
	o := d.outcomes[r]
	if o.Verdict.Rank() < 0 {
		c.state = broken
		return
	}
	held := holds(o.Verdict, d.bar(c))
	if r.Side == Base {
		c.base = c.base.Add(held, 1)
		return
	}
	c.head = c.head.Add(held, 1)
	c.reruns = c.reruns.Add(held, 1)
}

// bar is the verdict to reach: the better side's.
func (d *decision) bar(c *candidate) verdict.Verdict {
	if c.better {
		return d.first[Head][c.place].Verdict
	}
	return d.first[Base][c.place].Verdict
}

// call brings the p-values up to date and calls the significant ones. A called
// regression stays called, since the p-values only fall.
func (f *family) call(batch []*candidate, alpha float64) {
	for _, c := range batch {
		if c.gate == nil && !c.gone && c.state == live {
			c.p = min(c.p, c.fresh.P(c.sides()))
		}
		if c.gone && c.head.Of >= goneRuns && c.head.Passed == 0 {
			c.called = true
		}
	}
	var counted []*candidate
	var p, weights []float64
	for _, c := range f.candidates {
		if !c.gone {
			counted, p, weights = append(counted, c), append(p, c.p), append(weights, c.weight)
		}
	}
	for i, rejected := range stats.BenjaminiHochberg(p, weights, alpha) {
		counted[i].called = counted[i].called || rejected
	}
}

// sides returns the counts of the present test, the better side first.
func (c *candidate) sides() (better, worse stats.Count) {
	if c.better {
		return c.head, c.base
	}
	return c.base, c.head
}

// limit returns the largest p-value that calls a candidate if it and all that are live
// are called in the end.
func (f *family) limit(c *candidate, alpha float64) float64 {
	var open, all, weights float64
	for _, k := range f.candidates {
		if k.gone {
			continue
		}
		all++
		weights += k.weight
		if k == c || k.called || k.state == live {
			open++
		}
	}
	return alpha * open / all * c.weight * all / weights
}

// proceed opens the gate of a candidate, or stops one that has no prospects.
func (c *candidate) proceed(limit float64) {
	switch {
	case c.called || c.state != live:
	case c.gone:
		failed := c.head.Of - c.head.Passed
		if 2*c.head.Passed > goneRuns || c.head.Passed > 0 && 2*failed > goneRuns {
			c.state = stopped
		}
	case c.gate != nil:
		if c.gate.P(c.base, c.head) <= limit {
			c.gate, c.base, c.head = nil, stats.Count{}, stats.Count{}
		} else if c.hopeless(c.gate, limit) {
			c.state = stopped
		}
	case c.hopeless(c.fresh, limit):
		c.state = stopped
	}
}

// hopeless reports whether a test is unlikely to come to the limit.
func (c *candidate) hopeless(test *stats.Sequential, limit float64) bool {
	if c.head.Of >= test.Looks() {
		return true
	}
	assumed, least := expected, leastPower
	if c.weight < 1 && c.reruns.Passed == 0 {
		assumed = failing
	}
	if c.gate != nil {
		least = gatePower
	}
	better, worse := c.sides()
	return test.Power(better, worse, assumed, limit) < least
}

// conclude interprets the measurements of a candidate. One that was not called is
// unclear if the sides still look different, and flaky if they look alike: Fisher's
// test of the pairs decides, or, if no pair was measured, of the stored outcomes and
// the reruns. A required case is flaky only if it held mostly.
func (d *decision) conclude(c *candidate, limit float64) {
	f := &d.findings[c.place]
	f.P, f.Base, f.Head, f.Reruns = c.p, c.base, c.head, c.reruns
	if c.gate != nil {
		f.Base = stats.Count{} // stored outcomes are not shown
	}
	f.Open = !c.called && c.state == live
	seldom := !c.better && stats.Fisher(c.base, c.head) <= unlikely+1e-9
	held := 2*c.reruns.Passed >= c.reruns.Of
	switch {
	case c.called && c.better:
		f.Confirmed = true
	case c.called:
		f.Class, f.Confirmed = Regression, true
	case c.better:
	case c.state == broken:
		f.Class = Error
	case c.state == stopped && !seldom && (held || !c.gone && !c.required):
		f.Class = Flaky
	default:
		f.Class = Unclear
		if !f.Open && !c.gone && seldom {
			f.TooFew, f.More = true, c.more(limit)
		}
	}
}

// more estimates how many further reruns a side would call the case, if both sides went
// on as they did: as many as Fisher's test needs for these rates. It is 0 for more than
// anybody would make.
func (c *candidate) more(limit float64) int {
	const most = 200
	seen := c.head.Of
	if c.gate != nil {
		seen = 0 // the outcomes that the gate saw do not count
	}
	at := func(rate float64, n int) stats.Count {
		return stats.Count{Passed: int(math.Round(rate * float64(n))), Of: n}
	}
	for n := seen + 1; n <= most; n++ {
		if stats.Fisher(at(c.base.Rate(), n), at(c.head.Rate(), n)) <= limit {
			return n - seen
		}
	}
	return 0
}
