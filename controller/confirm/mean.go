package confirm

import (
	"math"
	"slices"
	"strconv"

	"github.com/gavel-evals/gavel/controller/stats"
)

const (
	// meanGate times its share of α is how suspicious the first outcomes have to be
	// for the mean to be measured again. With 2 a fall of all cases is found about
	// as often, and a pull request that changes nothing takes more calls.
	meanGate = 1.6
	// blockSize is how many cases a block of the first fresh round has, if there are
	// enough for two. A true fall passes fewer of smaller blocks.
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

// A Mean is the result of the test of all cases together.
type Mean struct {
	State MeanState
	// Called says that the cases got worse on the whole.
	Called bool
	// P is the p-value on which Called rests; 1 if nothing was tested.
	P float64
	// Worse and Better count the tested cases, or conversations, that differ.
	Worse, Better int
}

// A ScoreMean is the result of the test of all scores together. They may fall without a
// change of any verdict.
type ScoreMean struct {
	State MeanState
	// Called says that they fell, by Fall on the mean of the tested ones.
	Called bool
	P      float64
	Fall   float64
	// Counts says that a fall is a failure.
	Counts bool
}

// testMean tests whether the cases got worse on the whole, once: their verdicts, and
// their scores.
//
// Where all of base was measured for this comparison, the first outcomes are the
// test. Stored outcomes of base cannot be: the model may have changed since. They
// say whether it is worth while to measure every case again, on both sides, in
// one round or two, and only these rounds can call. They come after all cases are
// settled; the test of first outcomes takes no measurement and is made in any case.
// Accepted cases are left out, which only removes cases that got worse or failed before:
// the chance of a false alarm does not grow.
func (d *decision) testMean(settled bool) bool {
	d.begin(MeanOpen)
	var cases []int
	fresh, spared := true, false
	for i, c := range d.cases {
		if c.Accepted {
			continue
		}
		spared = spared || d.findings[i].Class == Regression
		if c.Certain || c.Gone || d.first[Base][i].Verdict.Rank() < 0 || d.first[Head][i].Verdict.Rank() < 0 {
			continue
		}
		cases = append(cases, i)
		fresh = fresh && c.Fresh
	}
	if len(cases) == 0 {
		d.begin(MeanQuiet)
		return settled
	}
	first := looks{base: d.history, head: func(i int) []Outcome { return d.first[Head][i : i+1] }}
	if fresh {
		d.judgeMean(cases, first)
		return settled
	}
	if settled && spared {
		d.begin(MeanSpared)
		return true
	}
	level, scores := d.levels()
	if stats.Stratified(d.ranks(cases, first)) > meanGate*level && d.scoresP(cases, first) > meanGate*scores {
		d.begin(MeanQuiet)
		return settled
	}
	return settled && d.measureMean(cases)
}

// begin gives both tests of the mean a state.
func (d *decision) begin(state MeanState) {
	d.mean, d.scores = Mean{State: state, P: 1}, ScoreMean{State: state, P: 1, Counts: d.options.Scores}
}

// levels returns the shares of α of both tests of the mean: of the verdicts, and of the
// scores. They only share one if a fall of the scores fails.
func (d *decision) levels() (verdicts, scores float64) {
	share := (1 - caseShare) * d.options.Alpha
	if d.options.Scores {
		return share / 2, share / 2
	}
	return share, share / 2
}

// judgeMean makes both tests of the looks.
func (d *decision) judgeMean(cases []int, l looks) {
	level, scoreLevel := d.levels()
	strata := d.ranks(cases, l)
	d.mean = meanOf(strata, stats.Stratified(strata))
	d.mean.Called = d.mean.P <= level
	d.scores.State, d.scores.P = MeanTested, d.scoresP(cases, l)
	d.scores.Called = d.scores.P <= scoreLevel
	d.scores.Fall = d.fall(cases, l)
}

// measureMean takes two rounds of fresh pairs of the cases. The first goes block by
// block, and ends if it does not look like a difference. Only both rounds together can
// call, in one test, so an early end only prevents calls.
func (d *decision) measureMean(cases []int) bool {
	if !d.affords(4 * len(cases)) {
		return false
	}
	var seen []int
	fresh := [2]map[int][]Outcome{{}, {}}
	l := looks{base: func(i int) []Outcome { return fresh[Base][i] }, head: func(i int) []Outcome { return fresh[Head][i] }}
	blocks := d.blocks(cases)
	for k, block := range blocks {
		if !d.measurePairs(block, fresh) {
			return false
		}
		seen = append(seen, block...)
		least := prospect(k, len(blocks))
		if stats.Stratified(d.ranks(seen, l)) > least && d.scoresP(seen, l) > least {
			d.begin(MeanQuiet)
			d.stale = d.drifted(seen, l.base)
			return true
		}
	}
	if !d.measurePairs(cases, fresh) {
		return false
	}
	d.judgeMean(cases, l)
	d.stale = d.drifted(cases, l.base)
	return true
}

// blocks distributes the cases and keeps the cases of a conversation together. A block
// is large enough to be informative.
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

// measurePairs takes a pair of each case and adds its outcomes.
func (d *decision) measurePairs(cases []int, fresh [2]map[int][]Outcome) bool {
	var requests []Request
	for _, i := range cases {
		requests = append(requests, d.ask(i, Head), d.ask(i, Base))
	}
	if !d.measure(requests) {
		return false
	}
	d.addRound(requests)
	for _, r := range requests {
		if o := d.outcomes[r]; o.Verdict.Rank() >= 0 {
			fresh[r.Side][r.Case] = append(fresh[r.Side][r.Case], o)
		}
	}
	return true
}

// drifted reports whether base today differs from its stored outcomes: the fresh
// outcomes differ from the stored ones, by the two-sided test at 0.05.
func (d *decision) drifted(cases []int, fresh func(int) []Outcome) bool {
	lower := stats.Stratified(d.ranks(cases, looks{d.history, fresh}))
	higher := stats.Stratified(d.ranks(cases, looks{fresh, d.history}))
	return 2*min(lower, higher) <= 0.05
}

// looks returns the outcomes of each case that a test of the mean sees. Outcomes of the
// history begin with the newest.
type looks struct{ base, head func(int) []Outcome }

// ranks returns the outcomes of both sides for each case, or for each cluster, by the
// verdicts.
func (d *decision) ranks(cases []int, l looks) []stats.Stratum {
	rank := func(o Outcome) float64 { return float64(o.Verdict.Rank()) }
	return d.strata(cases, l, rank, fineness)
}

// scoresP is the p-value of the exact test that the scores fell: without a difference,
// which of the measurements of a cluster are head's is chance. With one measurement a
// side the signs of the differences flip (R. A. Fisher, The Design of Experiments,
// 1935; E. J. G. Pitman 1937, see [stats.Stratified]). Scores are rounded to whole
// steps first, which keeps the test exact: rounded ones are as alike as they were. It
// is 1 if no case has a score other than its verdict.
func (d *decision) scoresP(cases []int, l looks) float64 {
	if !slices.ContainsFunc(cases, func(i int) bool { return d.first[Head][i].Score != nil }) {
		return 1
	}
	const work, finest, coarsest = 120_000, 600, 30
	steps := float64(min(finest, max(coarsest, work/len(cases))))
	return stats.Stratified(d.strata(cases, l, scoreOf, steps))
}

// scoreOf returns the score of an outcome that is a judgement.
func scoreOf(o Outcome) float64 {
	s, _ := score(o)
	return s
}

// fall returns how far the scores fell, by the weights of the cases.
func (d *decision) fall(cases []int, l looks) float64 {
	var sum, weights float64
	for _, i := range cases {
		base, head := meanScore(l.base(i)), meanScore(l.head(i))
		if w := d.cases[i].Weight; w > 0 && !math.IsNaN(base-head) {
			sum, weights = sum+w*(base-head), weights+w
		}
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

func meanScore(outcomes []Outcome) float64 {
	scores := make([]float64, len(outcomes))
	for k, o := range outcomes {
		scores[k] = scoreOf(o)
	}
	return stats.Mean(scores)
}

// strata returns the values of both sides for each case, or for each cluster of
// several: cases that fail together, such as the turns of one conversation, are one
// unit, the mean over them. value returns the value of an outcome, and steps is how
// many whole steps 1 has.
func (d *decision) strata(cases []int, l looks, value func(Outcome) float64, steps float64) []stats.Stratum {
	var order []string
	together := map[string][]int{}
	for _, i := range cases {
		name := d.cases[i].Conversation
		if name == "" {
			name = "\x00" + strconv.Itoa(i)
		}
		if _, known := together[name]; !known {
			order = append(order, name)
		}
		together[name] = append(together[name], i)
	}
	strata := make([]stats.Stratum, len(order))
	for k, name := range order {
		some := together[name]
		strata[k] = stats.Stratum{Base: means(some, l.base, value, steps), Head: means(some, l.head, value, steps)}
	}
	return strata
}

// means returns, for each measurement that all of the cases have, the mean of their
// values in whole steps.
func means(cases []int, look func(int) []Outcome, value func(Outcome) float64, steps float64) []int {
	var sums []float64
	for k, i := range cases {
		outcomes := look(i)
		if k == 0 {
			sums = make([]float64, len(outcomes))
		}
		sums = sums[:min(len(sums), len(outcomes))]
		for j := range sums {
			sums[j] += value(outcomes[j])
		}
	}
	out := make([]int, len(sums))
	for j, sum := range sums {
		out[j] = int(math.Round(steps * sum / float64(len(cases))))
	}
	return out
}

// meanOf counts the cases that got worse and better.
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

// MeanLevel returns the p-value up to which the test of the mean of the verdicts calls a
// fall.
func MeanLevel(options Options) float64 {
	d := decision{Procedure: &Procedure{options: options.withDefaults()}}
	verdicts, _ := d.levels()
	return verdicts
}
