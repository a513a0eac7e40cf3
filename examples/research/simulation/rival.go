package simulation

import (
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// RunFixed lets the usual procedures decide about the same pull requests as [Run]: n
// runs a side of every case. With one run every case that passed at base and fails at
// head is called, with more those that Fisher's test and the procedure of Benjamini and
// Hochberg call at 0.05.
func RunFixed(cell Cell, n, pulls int, seed uint64) Tally {
	tally := Tally{Pulls: pulls}
	for i := range pulls {
		p := newPull(cell, seed, uint64(i))
		tally.Calls += 2 * n * cell.Cases
		p.count(p.fixed(n), false, &tally)
	}
	return tally
}

// fixed returns which cases n runs a side call.
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

// one returns 1 for a pass.
func one(o confirm.Outcome) int {
	if o.Verdict == verdict.Pass {
		return 1
	}
	return 0
}

// RunStored applies the procedure that puts stored measurements of base into its tests:
// it takes fewer calls, and is valid only as long as base stays unchanged. The cells
// have a history.
func RunStored(cell Cell, pulls int, seed uint64) Tally {
	tally := Tally{Pulls: pulls}
	for i := range pulls {
		newPull(cell, seed, uint64(i)).stored(&tally)
	}
	return tally
}

// A suspect is a case that passed at base last and fails at head.
type suspect struct {
	place      int
	base, head stats.Count
	p          float64
	live       bool
}

// stored looks at each suspect after each rerun at head, against all its stored
// outcomes, and at the first outcomes of all cases against their stored ones.
func (p *Pull) stored(t *Tally) {
	const alpha, looks = 0.05, 12
	cases := p.Cases()
	test := stats.NewSequential(p.cell.History-1, looks) // the newest chose the suspects
	t.Calls += p.cell.Cases
	var suspects []*suspect
	strata := make([]stats.Stratum, len(cases))
	for i, c := range cases {
		s := &suspect{place: i, p: 1, live: true}
		newest := one(c.Base[len(c.Base)-1])
		for _, o := range c.Base {
			s.base = s.base.Add(one(o), 1)
			strata[i].Base = append(strata[i].Base, one(o))
		}
		s.base = s.base.Add(-newest, -1)
		strata[i].Head = []int{one(c.Head)}
		if newest > one(c.Head) {
			suspects = append(suspects, s)
		}
	}
	called := make([]bool, len(cases))
	for {
		limit := .8 * alpha * float64(p.settle(suspects, called)) / float64(max(1, len(suspects)))
		live := false
		for _, s := range suspects {
			// The sequence gets its own base once head has been measured as often.
			s.live = s.live && !called[s.place] && s.head.Of < looks &&
				test.Power(s.base, s.head, stats.Assumption{Base: .97, Head: .5}, limit) >= .2
			if !s.live {
				continue
			}
			live = true
			s.head = s.head.Add(one(p.Measure(confirm.Request{Case: s.place, Side: confirm.Head, Ordinal: s.head.Of})), 1)
			t.Calls++
			if s.head.Of > s.base.Of {
				s.base = s.base.Add(one(p.Measure(confirm.Request{Case: s.place, Side: confirm.Base, Ordinal: s.head.Of})), 1)
				t.Calls++
			}
			s.p = min(s.p, test.P(s.base, s.head))
		}
		if !live {
			break
		}
	}
	mean := stats.Stratified(strata) <= .2*alpha
	if mean {
		t.Means++
	}
	p.count(called, mean, t)
}

// settle records which suspects are called, and returns how many may still be called or
// are.
func (p *Pull) settle(suspects []*suspect, called []bool) (open int) {
	ps := make([]float64, len(suspects))
	for i, s := range suspects {
		ps[i] = s.p
	}
	for i, rejected := range stats.BenjaminiHochberg(ps, nil, .8*.05) {
		s := suspects[i]
		called[s.place] = called[s.place] || rejected
		if s.live || called[s.place] {
			open++
		}
	}
	return open
}
