package confirm

import (
	"math"
	"slices"

	"github.com/gavel-evals/gavel/controller/stats"
)

// Rounds is how often the cases of an open limit are measured again.
const Rounds = 2

// A Limit is the least that a weighted mean may be: of the scores at head or, if it is
// paired, of the differences of the scores, head − base.
type Limit struct {
	// Least is within 0 and 1 for scores, and within −1 and 0 for differences.
	Least  float64
	Paired bool
	// Sum and Weight sum up the cases that nothing moves here: certain ones, and those
	// that the change does not affect. Sum is of their weighted values.
	Sum, Weight float64
	// Cases are the others, by their place among the cases of the procedure.
	Cases []int
}

// A Measured is a case under a limit with its values: scores, or differences.
type Measured struct {
	Weight float64
	// Cluster is the same for cases that fail together.
	Cluster string
	// Values begin with the first outcomes; NaN for a measurement that failed. The first
	// never does.
	Values []float64
	// Stale says that the first value compares with an outcome of base that was not
	// measured next to head's. It may show that nothing is wrong, and it proves no fall.
	Stale bool
}

// A LimitState says whether a mean is within its limit.
type LimitState string

// The states of a limit.
const (
	// LimitHeld means that the mean is proved to be at the limit or above.
	LimitHeld LimitState = "held"
	// LimitBroken means that it is proved to be below.
	LimitBroken LimitState = "broken"
	// LimitOpen means that it may be on either side.
	LimitOpen LimitState = "open"
)

// A LimitResult is the result of comparing a mean with its limit.
type LimitResult struct {
	State LimitState
	// Mean is over all cases, and Margin how far from it the limit has to be; 0 if nothing
	// is left to chance, and infinite if the noise cannot be estimated.
	Mean, Margin float64
	// Rounds counts the measurements of each case that the mean is of.
	Rounds int
}

// Judge compares the mean with the limit, over repeated measurement of these very cases.
// First outcomes decide if they can; otherwise two further rounds of measurements do,
// if all cases have them.
func (l Limit) Judge(cases []Measured) LimitResult {
	once := l.judge(cases, 0, 1)
	stale := slices.ContainsFunc(cases, func(m Measured) bool { return m.Stale })
	if once.State == LimitBroken && stale && once.Margin > 0 {
		once.State = LimitOpen
	}
	if once.State != LimitOpen || slices.ContainsFunc(cases, func(m Measured) bool { return len(m.Values) < 1+Rounds }) {
		return once
	}
	if stale && slices.ContainsFunc(cases, func(m Measured) bool { return !slices.ContainsFunc(m.Values[1:1+Rounds], isKnown) }) {
		return once // both rounds of a case failed, so that nothing replaces its first value
	}
	if stale {
		return l.judge(cases, 1, 1+Rounds)
	}
	return l.judge(cases, 0, 1+Rounds)
}

// isKnown reports whether a measurement did not fail.
func isKnown(value float64) bool { return !math.IsNaN(value) }

// judge compares the mean of some of the measurements with the limit.
func (l Limit) judge(cases []Measured, from, to int) LimitResult {
	// A score counts from the best one, see [stats.Against].
	best := 1.
	if l.Paired {
		best = 0
	}
	var weight float64
	for _, m := range cases {
		weight += m.Weight
	}
	out := LimitResult{State: LimitOpen, Rounds: to - from}
	sum, all := l.Sum-best*l.Weight, l.Weight+weight
	least := l.Least - best
	if weight == 0 {
		out.State, out.Mean = LimitHeld, l.Sum/all
		if below(sum/all, least) {
			out.State = LimitBroken
		}
		return out
	}
	things := together(cases, from, to, best)
	// needed is the mean of these cases at which the mean of all is at the limit.
	needed := (least*all - sum) / weight
	s := stats.Against(things, needed)
	out.Mean, out.Margin = (sum+weight*s.Mean)/all+best, s.Margin*weight/all
	highest := 1 - best
	switch {
	case !below(-1, needed): // whatever they have
		out.State, out.Margin = LimitHeld, 0
	case below(highest, needed):
		out.State, out.Margin = LimitBroken, 0
	case s.Reached:
		out.State = LimitHeld
	case s.Missed:
		out.State = LimitBroken
	}
	return out
}

// below reports whether a value is below a limit, by more than rounding leaves.
func below(x, limit float64) bool { return math.Round(x*1e9) < math.Round(limit*1e9) }

// together joins the cases of each cluster. A measurement of a cluster fails with one of
// its cases.
func together(cases []Measured, from, to int, best float64) []stats.Repeated {
	var things []stats.Repeated
	place := map[string]int{}
	for _, m := range cases {
		if m.Weight == 0 {
			continue
		}
		k, known := place[m.Cluster]
		if !known {
			k = len(things)
			place[m.Cluster], things = k, append(things, stats.Repeated{Values: make([]float64, to-from)})
		}
		things[k].Weight += m.Weight
		for j, v := range m.Values[from:to] {
			things[k].Values[j] += m.Weight * (v - best)
		}
	}
	for _, t := range things {
		for j := range t.Values {
			t.Values[j] /= t.Weight
		}
	}
	return things
}

// measureLimits measures the cases of open limits again, both sides at the same time. It
// comes last, since what failed for another reason needs no limit. The rounds that
// the test of the mean took count.
func (d *decision) measureLimits() bool {
	for round := range Rounds {
		requests := d.nextRound(round)
		if !d.affords(len(requests)) || !d.measure(requests) {
			return false
		}
		d.addRound(requests)
	}
	return true
}

// nextRound returns the measurements of a round of open limits, without those that the
// test of the mean took.
func (d *decision) nextRound(round int) []Request {
	var sides [2][]bool
	sides[Base], sides[Head] = make([]bool, len(d.cases)), make([]bool, len(d.cases))
	for _, l := range d.options.Limits {
		if !d.isWorthRounds(l) {
			continue
		}
		for _, i := range l.Cases {
			sides[Head][i], sides[Base][i] = true, sides[Base][i] || l.Paired
		}
	}
	var requests []Request
	for i := range d.cases {
		for _, side := range []Side{Head, Base} {
			if sides[side][i] && len(d.rounds[i]) <= round {
				requests = append(requests, d.ask(i, side))
			}
		}
	}
	return requests
}

// addRound adds the outcomes of a round to its cases.
func (d *decision) addRound(requests []Request) {
	taken := map[int][2]Outcome{}
	for _, r := range requests {
		pair := taken[r.Case]
		pair[r.Side] = d.outcomes[r]
		taken[r.Case] = pair
	}
	for i, pair := range taken {
		d.rounds[i] = append(d.rounds[i], pair)
	}
}

// isWorthRounds reports whether first outcomes leave a limit open, and further ones may
// decide it.
func (d *decision) isWorthRounds(l Limit) bool {
	spared := d.options.Spare && (d.mean.Called || d.scores.Called && d.scores.Counts)
	for _, i := range l.Cases {
		spared = spared || d.options.Spare && d.findings[i].Class == Regression
		if l.Paired && d.cases[i].Gone {
			return false
		}
	}
	cases, complete := d.measured(l)
	first := make([]Measured, len(cases))
	for k, m := range cases {
		first[k] = m
		first[k].Values = m.Values[:1]
	}
	return !spared && complete && l.Judge(first).State == LimitOpen
}

// measured returns the cases of a limit with their values; false if one of them has no
// verdict.
func (d *decision) measured(l Limit) (cases []Measured, complete bool) {
	for _, i := range l.Cases {
		base, head := d.first[Base][i], d.first[Head][i]
		if head.Verdict.Rank() < 0 || l.Paired && base.Verdict.Rank() < 0 {
			return nil, false
		}
		first := value(l.Paired, base, head)
		if math.IsNaN(first) {
			continue // without a score it counts nowhere
		}
		m := Measured{Weight: d.cases[i].Weight, Cluster: d.cluster(i), Values: []float64{first}, Stale: l.Paired && !d.cases[i].Fresh && !d.cases[i].Gone}
		for _, round := range d.rounds[i] {
			m.Values = append(m.Values, value(l.Paired, round[Base], round[Head]))
		}
		cases = append(cases, m)
	}
	return cases, true
}

// value returns head's score or, for a pair, its difference to base's; NaN without one.
func value(paired bool, base, head Outcome) float64 {
	if head.Verdict.Rank() < 0 || head.Score == nil {
		return math.NaN()
	}
	switch {
	case !paired:
		return *head.Score
	case base.Verdict.Rank() < 0 || base.Score == nil:
		return math.NaN()
	}
	return *head.Score - *base.Score
}

// Values returns the values of a limit in the rounds of a finding.
func (f Finding) Values(paired bool) []float64 {
	var values []float64
	for _, round := range f.Rounds {
		values = append(values, value(paired, round[Base], round[Head]))
	}
	return values
}

// limitResults judges the limits. One that a case without a verdict belongs to is open.
func (d *decision) limitResults() []LimitResult {
	out := make([]LimitResult, len(d.options.Limits))
	for k, l := range d.options.Limits {
		out[k] = LimitResult{State: LimitOpen, Margin: math.Inf(1)}
		if cases, complete := d.measured(l); complete {
			out[k] = l.Judge(cases)
		}
	}
	return out
}
