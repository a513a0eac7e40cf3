package simulation

import (
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// RunFixed lets the usual procedures decide about the pull requests that [Run]
// decides about: n runs a side of every case. With one run every case that passed
// at base and fails at head is called, with more those of Fisher's test and the
// procedure of Benjamini and Hochberg at 0.05.
func RunFixed(cell Cell, n, pulls int, seed uint64) Tally {
	tally := Tally{Pulls: pulls}
	for i := range pulls {
		p := newPull(cell, seed, uint64(i))
		tally.Calls += 2 * n * cell.Cases
		p.count(p.fixed(n), false, &tally)
	}
	return tally
}

// fixed says which cases n runs a side call.
func (p *Pull) fixed(n int) []bool {
	called, ps := make([]bool, p.cell.Cases), make([]float64, p.cell.Cases)
	for i, c := range p.Cases() {
		base, head := p.passes(i, confirm.Base, n-1), p.passes(i, confirm.Head, n-1)
		base = base.Add(one(c.Base[len(c.Base)-1]), 1)
		head = head.Add(one(c.Head), 1)
		ps[i] = stats.Fisher(base, head)
		called[i] = head.Passed < base.Passed
	}
	if n == 1 {
		return called
	}
	return stats.BenjaminiHochberg(ps, nil, 0.05)
}

// passes counts n further measurements.
func (p *Pull) passes(i int, side confirm.Side, n int) (c stats.Count) {
	for k := range n {
		c = c.Add(one(p.Measure(confirm.Request{Case: i, Side: side, Ordinal: k})), 1)
	}
	return c
}

// one is 1 for a pass.
func one(o confirm.Outcome) int {
	if o.Verdict == verdict.Pass {
		return 1
	}
	return 0
}
