// Package simulation measures how often package confirm is wrong. It runs the procedure
// over pull requests whose cases have probabilities that only the simulation knows, and
// counts its decisions.
//
// Most callers want [Run].
package simulation

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Truth draws how likely each case passes.
type Truth struct {
	Name string
	Draw func(r *rand.Rand) float64
}

// The truths. Mixed: of 100 cases 55 always pass, 7 never, the others with any
// probability. Calm: 85 always pass, 3 never, the others mostly. Real: 70 always pass, 3 never, 24 pass
// from 50 to 95 times of 100, 3 seldomer. Steady: all pass
// 97 times of 100, Nine and Eight: 90 and 80 times.
var (
	Mixed = Truth{"mixed", func(r *rand.Rand) float64 {
		switch u := r.Float64(); {
		case u < .55:
			return 1
		case u < .62:
			return 0
		default:
			return r.Float64()
		}
	}}
	Calm = Truth{"calm", func(r *rand.Rand) float64 {
		switch u := r.Float64(); {
		case u < .85:
			return 1
		case u < .88:
			return 0
		default:
			return math.Pow(r.Float64(), 1./8) // Beta(8, 1)
		}
	}}
	Real = Truth{"real", func(r *rand.Rand) float64 {
		switch u := r.Float64(); {
		case u < .70:
			return 1
		case u < .94:
			return .5 + .45*r.Float64()
		case u < .97:
			return 0
		default:
			return .5 * r.Float64()
		}
	}}
	Steady = Truth{"p=.97", func(*rand.Rand) float64 { return .97 }}
	Nine   = Truth{"p=.90", func(*rand.Rand) float64 { return .9 }}
	Eight  = Truth{"p=.80", func(*rand.Rand) float64 { return .8 }}
)

// A Cell is one kind of pull request.
type Cell struct {
	Truth Truth
	// Cases is how many there are, History how many measurements of base are
	// stored of each; 0 means that base is measured next to head.
	Cases, History int
	// Turns is how many cases are turns of one conversation; 0 or 1 means that
	// each is its own. Turns fail together in half of the measurements.
	Turns int

	// Drift is how much lower every probability is today than when history was
	// taken, at base and at head. Third means that it is so in a third of the
	// cases only.
	Drift float64
	Third bool
	// Hour is how much lower head's probabilities are during the first outcomes
	// only: a bad hour of the provider.
	Hour float64
	// Outage is the share of the first outcomes that a provider spoiled, one after the
	// other: with one error, or with replies that fail. The same measurement afterwards is
	// sound.
	Outage float64

	// Burst is the number of calls of a burst, in which half of the calls fail, and Every the
	// number of calls from one to the next. Dip is how much lower all probabilities are for
	// a third of the time of the first outcomes. Both come in the order of the calls, at
	// both sides: calls of the sides take turns, case by case.
	Burst, Every int
	Dip          float64

	// Errors is the share of all calls that end in an error, at random.
	Errors float64

	// Broken is how many cases that are steady at base always fail at head.
	Broken int
	// Weak is how many such cases pass half as often at head.
	Weak int
	// Loose is how many cases that pass from 60 to 90 times of 100 at base always fail at head.
	Loose int
	// Fall is how much lower every probability is at head.
	Fall float64
	// Scored gives passes a score of 1 and fails one of 0.
	Scored bool
}

// Changed reports whether head differs from base.
func (c Cell) Changed() bool { return c.Broken > 0 || c.Weak > 0 || c.Loose > 0 || c.Fall > 0 }

// A Tally counts the decisions about the pull requests of a cell.
type Tally struct {
	Pulls int
	// Alarms counts the pull requests with any call, Means those with a call of the
	// mean.
	Alarms, Means int
	// Caught counts the pull requests in which a changed case, or the mean, was called.
	Caught int
	// Changed and Found count changed cases, and the called ones of them; Wrong counts
	// calls of other cases.
	Changed, Found, Wrong int
	// Calls counts all measurements, first those at head.
	Calls int
	// Undetermined counts the pull requests whose gate has no answer.
	Undetermined int
	// Limits counts the results of a limit on scores.
	Limits Limits
	// Covered counts the intervals that contain the true difference, of Intervals.
	Covered, Intervals int
}

// Rate returns n per pull request.
func (t Tally) Rate(n int) float64 { return float64(n) / float64(t.Pulls) }

// Error returns the standard error of such a rate.
func (t Tally) Error(n int) float64 {
	p := t.Rate(n)
	return math.Sqrt(p * (1 - p) / float64(t.Pulls))
}

// Extra returns the mean number of measurements beyond one a case at head.
func (t Tally) Extra(cases int) float64 { return t.Rate(t.Calls) - float64(cases) }

// Run lets the procedure decide about this many pull requests of a cell. The same seed
// gives the same tally.
func Run(cell Cell, options confirm.Options, pulls int, seed uint64) Tally {
	tally := Tally{Pulls: pulls}
	for i := range pulls {
		newPull(cell, seed, uint64(i)).decide(options, &tally)
	}
	return tally
}

// A Pull is a pull request with its hidden truth.
type Pull struct {
	cell Cell
	key  uint64
	// past, base and head are the probabilities that each case passes: when
	// history was taken, and at both sides today.
	past, base, head []float64
	changed          []bool
	// calls counts the calls so far, from the first outcome on.
	calls int
}

// NewPull draws one pull request of a cell: the one with this number under a seed.
func NewPull(cell Cell, seed, number uint64) *Pull { return newPull(cell, seed, number) }

func newPull(cell Cell, seed, number uint64) *Pull {
	r := rand.New(rand.NewPCG(seed, number))
	p := &Pull{cell: cell, key: r.Uint64(), changed: make([]bool, cell.Cases)}
	for range cell.Cases {
		p.past = append(p.past, cell.Truth.Draw(r))
	}
	for _, q := range p.past {
		if !cell.Third || r.Float64() < 1./3 {
			q = max(0, q-cell.Drift)
		}
		p.base = append(p.base, q)
	}
	p.head = slices.Clone(p.base)
	for i := range p.head {
		p.head[i] = max(0, p.head[i]-cell.Fall)
	}
	left := cell.Broken + cell.Weak
	for _, i := range r.Perm(cell.Cases) {
		if left == 0 {
			break
		}
		if p.past[i] < .97 {
			continue // only a steady case breaks
		}
		if left--; left < cell.Broken {
			p.head[i] = 0
		} else {
			p.head[i] /= 2
		}
		p.changed[i] = true
	}
	p.loosen(r)
	return p
}

// loosen breaks cases that are flaky at base.
func (p *Pull) loosen(r *rand.Rand) {
	if p.cell.Loose == 0 {
		return
	}
	left := p.cell.Loose
	for _, i := range r.Perm(p.cell.Cases) {
		if left > 0 && p.past[i] >= .6 && p.past[i] <= .9 {
			p.head[i], p.changed[i] = 0, true
			left--
		}
	}
}

// Cases returns the first input of the procedure.
func (p *Pull) Cases() []confirm.Case {
	cases := make([]confirm.Case, p.cell.Cases)
	for i := range cases {
		c := &cases[i]
		c.Weight = 1
		if p.cell.Turns > 1 {
			c.Conversation = strconv.Itoa(i / p.cell.Turns)
		}
		c.Fresh = p.cell.History == 0
		for k := range p.cell.History {
			c.Base = append(c.Base, p.outcome(i, stored, k, p.past[i]))
		}
		if c.Fresh {
			c.Base = []confirm.Outcome{p.first(i, confirm.Base, p.base[i])}
		}
		c.Head = p.first(i, confirm.Head, p.head[i]-p.cell.Hour)
	}
	return cases
}

// Measure returns the answer to a request. It depends on the request alone.
func (p *Pull) Measure(r confirm.Request) confirm.Outcome {
	q := [][]float64{p.base, p.head}[r.Side][r.Case]
	return p.outcome(r.Case, again+int(r.Side), r.Ordinal, q)
}

// The series of outcomes of a case.
const (
	stored = iota
	first
	again   // and at head the one after it
	spoiled = again + 2
)

// began returns when the first outcomes are measured: both sides of a case at the same
// time, and the next case a quarter of a second later.
var began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// first draws the first outcome at a side, which an outage may spoil: half of its
// measurements end in an error, and half fail.
func (p *Pull) first(i int, side confirm.Side, q float64) confirm.Outcome {
	n := p.cell.Cases
	if at := float64(i) / float64(n); at >= 1./3 && at < 2./3 {
		q -= p.cell.Dip
	}
	out := p.outcome(i, first, int(side), q)
	if p.bursts() {
		out = p.judged(verdict.Fail)
	}
	out = p.failing(out)
	struck := int(p.cell.Outage * float64(n))
	begin := int(p.luck(0, spoiled, 0) * float64(n-struck+1))
	if i >= begin && i < begin+struck {
		out = confirm.Outcome{Verdict: verdict.Fail}
		if p.luck(uint64(i), spoiled, 1+int(side)) < .5 {
			out = confirm.Outcome{Verdict: verdict.Error, Symptom: "status 503", Retry: true}
		}
	}
	out.Source, out.At = "provider", began.Add(time.Duration(i)*time.Second/4)
	return out
}

// bursts counts a call, and reports whether a burst spoils it.
func (p *Pull) bursts() bool {
	n := p.calls
	p.calls++
	if p.cell.Burst == 0 {
		return false
	}
	begin := int(p.luck(0, spoiled, 3) * float64(p.cell.Every))
	return (n+begin)%p.cell.Every < p.cell.Burst && p.luck(uint64(n), spoiled, 4) < .5
}

// failing returns the outcome of the last call, or an error.
func (p *Pull) failing(o confirm.Outcome) confirm.Outcome {
	if p.luck(uint64(p.calls), spoiled, 5) >= p.cell.Errors {
		return o
	}
	return confirm.Outcome{Verdict: verdict.Error, Symptom: "status 503", Retry: true}
}

// outcome draws one of a series. Turns of one conversation have the same luck in
// half of the measurements.
func (p *Pull) outcome(i, series, ordinal int, q float64) confirm.Outcome {
	place := uint64(i)
	if p.cell.Turns > 1 {
		shared := uint64(p.cell.Cases + i/p.cell.Turns)
		if p.luck(shared, series, ordinal|1<<20) < .5 {
			place = shared
		}
	}
	if p.luck(place, series, ordinal) < q {
		return p.judged(verdict.Pass)
	}
	return p.judged(verdict.Fail)
}

// judged returns an outcome, with its score if there are scores.
func (p *Pull) judged(v verdict.Verdict) confirm.Outcome {
	out := confirm.Outcome{Verdict: v}
	if p.cell.Scored {
		score := float64(v.Rank()) / 2
		out.Score = &score
	}
	return out
}

// luck is uniform in [0,1), and independent for each place, series and ordinal: the
// generator of G. L. Steele, D. Lea and C. H. Flood (Fast Splittable Pseudorandom
// Number Generators, OOPSLA 2014) over their combination.
func (p *Pull) luck(place uint64, series, ordinal int) float64 {
	z := p.key + place<<28 + uint64(series)<<24 + uint64(ordinal)
	for range 2 {
		z += 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
	}
	return float64(z>>11) / (1 << 53)
}

// decide runs the procedure and counts its decisions.
func (p *Pull) decide(options confirm.Options, t *Tally) {
	procedure := confirm.New(p.Cases(), options)
	for batch := range procedure.Batches() {
		for _, r := range batch {
			o := p.Measure(r)
			if p.bursts() {
				o = p.judged(verdict.Fail)
			}
			procedure.Record(r, p.failing(o))
		}
	}
	result := procedure.Result()
	if result.Undetermined() {
		t.Undetermined++
	}
	for _, l := range result.Limits {
		t.Limits.count(l, p.once(options.Limits[0]))
	}
	t.Calls += p.cell.Cases + result.Measurements
	if p.cell.History == 0 {
		t.Calls += p.cell.Cases
	}
	called := make([]bool, len(result.Findings))
	for i, f := range result.Findings {
		called[i] = f.Class == confirm.Regression
	}
	if result.Mean.Called {
		t.Means++
	}
	p.count(called, result.Mean.Called, t)
	if interval := result.Interval; interval != nil {
		t.Intervals++
		if truth := p.difference(); interval.Low <= truth && truth <= interval.High {
			t.Covered++
		}
	}
}

// count adds the calls: which cases, and whether their mean.
func (p *Pull) count(called []bool, mean bool, t *Tally) {
	alarm, caught := mean, mean && p.cell.Changed()
	for i, c := range called {
		changed := p.changed[i] || p.cell.Fall > 0
		alarm, caught = alarm || c, caught || c && changed
		switch {
		case p.changed[i]:
			t.Changed++
			if c {
				t.Found++
			}
		case c && !changed:
			t.Wrong++
		}
	}
	if alarm {
		t.Alarms++
	}
	if caught {
		t.Caught++
	}
}

// difference returns the true mean difference of the first pairs.
func (p *Pull) difference() float64 {
	base := p.base
	if p.cell.History > 0 {
		base = p.past
	}
	var sum float64
	for i := range base {
		sum += max(0, p.head[i]-p.cell.Hour) - base[i]
	}
	return sum / float64(len(base))
}
