package confirm

import (
	"math"

	"github.com/gavel-evals/gavel/controller/stats"
)

const (
	// meanGate times its share of α is how suspicious the first outcomes have to be
	// for the mean to be measured again. With 2 a fall of all cases is found about
	// as often, and a pull request that changes nothing takes more calls.
	meanGate = 1.6
	// blockSize is how many cases a block of the first fresh round has, where there
	// are enough for two. A true fall passes fewer of smaller blocks.
	blockSize = 250
	// fineness is how many steps a mean over the turns of a conversation has.
	fineness = 60
)

// prospect is the largest p-value with which the first fresh round goes on after
// a block of several; after the last one a second round follows.
func prospect(block, of int) float64 {
	const first, last = 0.5, 0.25
	return first + (last-first)*float64(block)/float64(of-1)
}

// A MeanState says how far the test of the mean came.
type MeanState string

// The states of the test of the mean.
const (
	// MeanTested means that the test was made to its end.
	MeanTested MeanState = "tested"
	// MeanQuiet means that nothing suggested a difference.
	MeanQuiet MeanState = "quiet"
	// MeanSpared means that a regression was called, which decides without it.
	MeanSpared MeanState = "spared"
	// MeanOpen means that the budget or an interruption ended it.
	MeanOpen MeanState = "open"
)

// A Mean is what the test of all cases together showed.
type Mean struct {
	State MeanState
	// Called says that the cases got worse on the whole.
	Called bool
	// P is the p-value of what Called rests on; 1 where nothing was tested.
	P float64
	// Worse and Better count the cases, or conversations, that differ in what
	// was tested.
	Worse, Better int
}

// testMean tests whether the cases got worse on the whole, once.
//
// Where all of base was measured for this comparison, the first outcomes are the
// test. Stored outcomes of base cannot be: the model may have changed since. They
// say whether it is worth while to measure every case again, on both sides, in
// one round or two, and only these rounds can call. They come after all cases are
// settled; the test of first outcomes takes no measurement and is made in any case.
func (d *decision) testMean(settled bool) bool {
	d.mean = Mean{State: MeanOpen, P: 1}
	level := (1 - caseShare) * d.options.Alpha
	var cases []int
	fresh, spared := true, false
	for i, c := range d.cases {
		spared = spared || d.findings[i].Class == Regression
		if c.Certain || c.Gone || d.first[Base][i].Verdict.Rank() < 0 || d.first[Head][i].Verdict.Rank() < 0 {
			continue
		}
		cases = append(cases, i)
		fresh = fresh && c.Fresh
	}
	if len(cases) == 0 {
		d.mean.State = MeanQuiet
		return settled
	}
	first := d.strata(cases, d.atBase, d.atHead)
	p := stats.Stratified(first)
	if fresh {
		d.mean = meanOf(first, p)
		d.mean.Called = p <= level
		return settled
	}
	if !settled {
		return false
	}
	if spared {
		d.mean.State = MeanSpared
		return true
	}
	if p > meanGate*level {
		d.mean.State = MeanQuiet
		return true
	}
	return d.measureMean(cases, level)
}

// measureMean takes two rounds of fresh pairs of the cases. The first goes block
// by block, and ends where it does not look like a difference. Only both rounds
// together can call, in one test, so to end early takes no more than calls away.
func (d *decision) measureMean(cases []int, level float64) bool {
	if !d.affords(4 * len(cases)) {
		return false
	}
	var seen []int
	fresh := [2]map[int][]int{{}, {}}
	look := func(side Side) func(int) []int { return func(i int) []int { return fresh[side][i] } }
	blocks := d.blocks(cases)
	for k, block := range blocks {
		if !d.measurePairs(block, fresh) {
			return false
		}
		seen = append(seen, block...)
		if stats.Stratified(d.strata(seen, look(Base), look(Head))) > prospect(k, len(blocks)) {
			d.mean.State, d.stale = MeanQuiet, d.drifted(seen, look(Base))
			return true
		}
	}
	if !d.measurePairs(cases, fresh) {
		return false
	}
	strata := d.strata(cases, look(Base), look(Head))
	d.mean, d.stale = meanOf(strata, stats.Stratified(strata)), d.drifted(cases, look(Base))
	d.mean.Called = d.mean.P <= level
	return true
}

// blocks deals the cases out, those of a conversation together. A block is large
// enough to tell something.
func (d *decision) blocks(cases []int) [][]int {
	blocks := make([][]int, max(2, len(cases)/blockSize))
	dealt := map[string]int{}
	next := 0
	for _, i := range cases {
		name := d.cases[i].Conversation
		k, known := dealt[name]
		if name == "" || !known {
			k, next = next%len(blocks), next+1
			dealt[name] = k
		}
		blocks[k] = append(blocks[k], i)
	}
	return blocks
}

// measurePairs takes a pair of each case and adds its ranks.
func (d *decision) measurePairs(cases []int, fresh [2]map[int][]int) bool {
	var requests []Request
	for _, i := range cases {
		requests = append(requests, d.ask(i, Head), d.ask(i, Base))
	}
	if !d.measure(requests) {
		return false
	}
	for _, r := range requests {
		if rank := d.outcomes[r].Verdict.Rank(); rank >= 0 {
			fresh[r.Side][r.Case] = append(fresh[r.Side][r.Case], rank)
		}
	}
	return true
}

// drifted reports whether base today is not what was stored of it: the fresh outcomes
// differ from the stored ones, by the two-sided test at 0.05.
func (d *decision) drifted(cases []int, fresh func(int) []int) bool {
	lower := stats.Stratified(d.strata(cases, d.atBase, fresh))
	higher := stats.Stratified(d.strata(cases, fresh, d.atBase))
	return 2*min(lower, higher) <= 0.05
}

// atBase are the ranks of the history, the newest first.
func (d *decision) atBase(i int) []int {
	history := d.history(i)
	ranks := make([]int, len(history))
	for k, o := range history {
		ranks[k] = o.Verdict.Rank()
	}
	return ranks
}

// atHead is the rank of the first outcome at head.
func (d *decision) atHead(i int) []int { return []int{d.first[Head][i].Verdict.Rank()} }

// strata are what the sides show of each case, or of each conversation: turns of
// one conversation fail together, so its unit is the mean over its turns.
func (d *decision) strata(cases []int, base, head func(int) []int) []stats.Stratum {
	var order []string
	turns := map[string][]int{}
	var strata []stats.Stratum
	for _, i := range cases {
		name := d.cases[i].Conversation
		if name == "" {
			strata = append(strata, stats.Stratum{Base: inSteps(base(i), 1), Head: inSteps(head(i), 1)})
			continue
		}
		if _, known := turns[name]; !known {
			order = append(order, name)
		}
		turns[name] = append(turns[name], i)
	}
	for _, name := range order {
		strata = append(strata, stats.Stratum{Base: means(turns[name], base), Head: means(turns[name], head)})
	}
	return strata
}

// means gives, for each measurement that all of the cases have, the mean of their
// ranks in whole steps.
func means(cases []int, ranks func(int) []int) []int {
	var sums []int
	for k, i := range cases {
		of := ranks(i)
		if k == 0 {
			sums = make([]int, len(of))
		}
		sums = sums[:min(len(sums), len(of))]
		for j := range sums {
			sums[j] += of[j]
		}
	}
	return inSteps(sums, len(cases))
}

// inSteps turns sums over n cases into means in whole steps.
func inSteps(sums []int, n int) []int {
	steps := make([]int, len(sums))
	for j, sum := range sums {
		steps[j] = int(math.Round(fineness * float64(sum) / float64(n)))
	}
	return steps
}

// meanOf counts what got worse and better.
func meanOf(strata []stats.Stratum, p float64) Mean {
	m := Mean{State: MeanTested, P: p}
	for _, s := range strata {
		if len(s.Base) == 0 || len(s.Head) == 0 {
			continue
		}
		difference := 0
		for _, v := range s.Base {
			difference -= v * len(s.Head)
		}
		for _, v := range s.Head {
			difference += v * len(s.Base)
		}
		switch {
		case difference < 0:
			m.Worse++
		case difference > 0:
			m.Better++
		}
	}
	return m
}
