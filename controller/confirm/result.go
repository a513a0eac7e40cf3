package confirm

import (
	"fmt"
	"strconv"

	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Class says how a case at head compares with the same case at base.
type Class string

// The classes of a case.
const (
	// Regression means that it got worse, confirmed.
	Regression Class = "regression"
	// Improvement means that it got better; confirmed only if requested.
	Improvement Class = "improvement"
	// Unchanged means that the first outcomes have the same verdict.
	Unchanged Class = "unchanged"
	// Unclear means that it was worse once, and measuring again did not settle it: the
	// sides look different, but there are too few measurements.
	Unclear Class = "unclear"
	// Flaky means that it was worse once, and that the sides look alike since.
	Flaky Class = "flaky"
	// Added means that it has no base.
	Added Class = "new"
	// Error means that it could not be measured.
	Error Class = "error"
)

// A Finding is the result for a case.
type Finding struct {
	Class Class
	// Confirmed says that a regression or an improvement is confirmed.
	Confirmed bool
	// Open says that the measurements ended before the case was settled.
	Open bool
	// Held says that the rule of a new case holds.
	Held bool
	// Ruled says that the rule of new cases decided: the case is new, or required and
	// base fails it as well.
	Ruled bool
	// Certain, Gone, Required and Fresh are the fields of the case.
	Certain, Gone, Required, Fresh bool
	// Rounds are its outcomes, by side, in the rounds that all cases are measured again
	// in; none is a judgement of a side that was not measured.
	Rounds [][2]Outcome
	// BaseVerdict and HeadVerdict are the first outcomes; after an outage, the repeated
	// ones.
	BaseVerdict, HeadVerdict verdict.Verdict
	// Retaken says by side that the first outcome was an error or measured in an
	// outage, and was replaced by the request with ordinal 0. Spoiled says that it
	// should have been replaced and was not.
	Retaken [2]bool
	Spoiled bool
	// P is the p-value after all looks; 1 if the test that calls did not begin.
	P float64
	// Base and Head count, of the last tested outcomes, those that were as good as the
	// better first outcome; for a new case, those that passed. For a regression they
	// count its fresh pairs.
	Base, Head stats.Count
	// Reruns count all reruns at head.
	Reruns stats.Count
	// TooFew says that the sides of an unclear case look different, and More about how
	// many further reruns a side would call it; 0 for more than anybody would make.
	TooFew bool
	More   int
	// Fell says that the cases got worse on the whole, so that the case is not noise alone.
	Fell bool
}

// Undetermined reports whether the case leaves the gate without an answer: it was not
// settled, it could not be measured, or it is unclear and required, or without a
// base that more measurements could be compared with.
func (f Finding) Undetermined() bool {
	if f.Class == Improvement {
		return f.Spoiled
	}
	return f.Open || f.Spoiled || f.Class == Error || f.Class == Unclear && (f.Required || f.Gone)
}

// A Result is the decision of a procedure.
type Result struct {
	// Findings has one entry a case, in the order of the cases.
	Findings []Finding
	Mean     Mean
	Scores   ScoreMean
	// Limits are the results of the limits, in their order.
	Limits []LimitResult
	// Interval is the interval of the mean difference of the scores, head − base, from
	// the first pair of each case; nil if the noise cannot be estimated.
	Interval *stats.Interval
	// Measurements counts the requested ones.
	Measurements int
	// Retaken counts the requested ones that replaced first outcomes.
	Retaken int
	// Outages are the outages that were over.
	Outages []Outage
	// Stale says that base today differs from its stored outcomes, so that its history
	// should begin again with the fresh ones.
	Stale bool
	// Alpha is the chance of a false alarm that this comparison may have, and Push the
	// push whose share of the team's alpha that is; 0 if it is all of it.
	Alpha float64
	Push  int
	// Exhausted says that the budget left something out; Complete that nothing
	// is left to measure.
	Exhausted, Complete bool
}

// Undetermined reports whether the gate has no answer yet.
func (r Result) Undetermined() bool {
	for _, f := range r.Findings {
		if f.Undetermined() {
			return true
		}
	}
	return r.Mean.State == MeanOpen
}

// Called reports whether something got worse, confirmed.
func (r Result) Called() bool {
	for _, f := range r.Findings {
		if f.Class == Regression {
			return true
		}
	}
	return r.Mean.Called || r.Scores.Called && r.Scores.Counts
}

func (d *decision) result() Result {
	if d.mean.State == "" {
		d.begin(MeanOpen)
	}
	for i := range d.findings {
		d.findings[i].Fell, d.findings[i].Rounds = d.mean.Called, d.rounds[i]
	}
	return Result{
		Findings: d.findings, Mean: d.mean, Scores: d.scores, Limits: d.limitResults(), Interval: d.interval(), Measurements: d.spent, Retaken: d.retaken, Outages: d.over,
		Alpha: d.options.Alpha, Push: d.options.Push, Stale: d.stale, Exhausted: d.exhausted, Complete: d.complete && !d.exhausted,
	}
}

// interval returns the interval of the difference of the scores. It takes the first
// pair of each case alone: a case was measured again because its first pair differed,
// so means with further measurements are biased towards no difference, while given that
// choice the first pair is what it was (M. A. Girshick, F. Mosteller and L. J. Savage,
// Unbiased Estimates for Certain Binomial Sampling Problems with Applications, Annals
// of Mathematical Statistics 17, 1946).
func (d *decision) interval() *stats.Interval {
	var pairs []stats.Pair
	for i, c := range d.cases {
		base, ok := score(d.first[Base][i])
		head, also := score(d.first[Head][i])
		if !ok || !also {
			continue
		}
		pairs = append(pairs, stats.Pair{Difference: head - base, Weight: c.Weight, Cluster: d.cluster(i)})
	}
	if interval, ok := stats.Clustered(pairs); ok {
		return &interval
	}
	return nil
}

// cluster names the cases that a case fails together with.
func (d *decision) cluster(i int) string {
	if c := d.cases[i].Conversation; c != "" {
		return "conversation " + c
	}
	return "case " + strconv.Itoa(i)
}

// score returns the score of an outcome, or 0, ½ and 1 for its verdict.
func score(o Outcome) (float64, bool) {
	switch {
	case o.Verdict.Rank() < 0:
		return 0, false
	case o.Score != nil:
		return *o.Score, true
	default:
		return float64(o.Verdict.Rank()) / 2, true
	}
}

// Sentence returns in a few words why a case has its class; empty if the verdicts alone
// explain it.
func (f Finding) Sentence() string {
	fell := f.fell()
	switch {
	case f.Class == Regression && f.Certain:
		return fell + "; nothing in this case is left to chance"
	case f.Class == Regression && f.Gone:
		return fmt.Sprintf("%s in %s here against a stored %s; %s", fell, reruns(f.Head.Of-f.Head.Passed, f.Head.Of), f.BaseVerdict, notAgain)
	case f.Class == Regression:
		return fmt.Sprintf("%s in %s here, passed %s at base (p = %s after all looks)",
			fell, reruns(f.Head.Of-f.Head.Passed, f.Head.Of), fraction(f.Base), shortP(f.P))
	case f.Ruled && f.Head.Of > 1 && f.Held && f.Head.Passed < f.Head.Of:
		return fmt.Sprintf("passed %s: flaky", fraction(f.Head))
	case f.Ruled && f.Head.Of > 1:
		return fmt.Sprintf("passed %s", fraction(f.Head))
	case f.Class == Improvement && f.Confirmed:
		return fmt.Sprintf("passed %s here, failed %d of %d at base (p = %s after all looks)",
			reruns(f.Head.Passed, f.Head.Of), f.Base.Of-f.Base.Passed, f.Base.Of, shortP(f.P))
	case f.Class == Improvement:
		return "better in one run a side"
	case f.Class == Flaky && f.Reruns.Of > 0:
		return f.flaky()
	case f.Class == Flaky:
		return fell + " once; base is not steady enough to tell"
	case f.Class == Unclear:
		return f.unclear()
	}
	return ""
}

// notAgain marks a decision by head alone.
const notAgain = "base not measured again"

// fell describes how the first outcome at head compares with base's.
func (f Finding) fell() string {
	if f.HeadVerdict != verdict.Fail || f.BaseVerdict != verdict.Pass {
		return "was worse than base"
	}
	return "failed"
}

// fellOnce adds "once" only to a case that did not fall again.
func (f Finding) fellOnce() string {
	if f.Reruns.Passed < f.Reruns.Of {
		return f.fell()
	}
	return f.fell() + " once"
}

// unlessGone ends a sentence about a case whose base was not measured again.
func (f Finding) unlessGone() string {
	if f.Gone {
		return "; " + notAgain
	}
	return ""
}

// flaky describes the measurements of a case whose sides look alike.
func (f Finding) flaky() string {
	said := fmt.Sprintf("%s, then passed %s", f.fellOnce(), reruns(f.Reruns.Passed, f.Reruns.Of))
	if f.Reruns.Passed == 0 {
		said = fmt.Sprintf("%s, and again in %s here", f.fell(), reruns(f.Reruns.Of, f.Reruns.Of))
	}
	if failed := f.Base.Of - f.Base.Passed; failed > 0 {
		said += fmt.Sprintf(", and %s %d of %d at base", f.fell(), failed, f.Base.Of)
	}
	if f.Base.Of > 0 && f.Reruns.Passed+f.Base.Passed == 0 {
		return said + ": base is no better" + f.unlessGone()
	}
	if f.Fell {
		return said + ": alone as likely noise, but the cases got worse on the whole" + f.unlessGone()
	}
	return said + ": as likely noise" + f.unlessGone()
}

// tooFew describes the measurements of a case whose sides look different.
func (f Finding) tooFew() string {
	said := fmt.Sprintf("passed %s at base, %s here: too few to call", fraction(f.Base), fraction(f.Head))
	if f.Base.Of == 0 { // stored outcomes are not shown
		said = fmt.Sprintf("%s, then passed %s here, fewer than stored results of base suggest: too few to call", f.fellOnce(), reruns(f.Reruns.Passed, f.Reruns.Of))
	}
	if f.More > 0 {
		said += fmt.Sprintf("; about %d more reruns a side would settle it", f.More)
	}
	return said
}

// unclear describes the measurements of a case that is not settled.
func (f Finding) unclear() string {
	if f.TooFew {
		return f.tooFew()
	}
	if f.Reruns.Of == 0 {
		return f.fell() + " once; it was not rerun" + f.unlessGone()
	}
	said := fmt.Sprintf("%s, then passed %s here", f.fellOnce(), reruns(f.Reruns.Passed, f.Reruns.Of))
	if f.Reruns.Passed == 0 {
		said = fmt.Sprintf("%s, and again in %s here", f.fell(), reruns(f.Reruns.Of, f.Reruns.Of))
	}
	if f.Base.Of > 0 {
		said += fmt.Sprintf(", passed %s at base", fraction(f.Base))
	}
	switch {
	case f.Gone:
		return said + f.unlessGone()
	case f.Open:
		return said + "; the rest was not measured"
	}
	return said
}

func reruns(n, of int) string { return fmt.Sprintf("%d of %d reruns", n, of) }

func fraction(c stats.Count) string { return fmt.Sprintf("%d of %d", c.Passed, c.Of) }

// shortP returns a p-value with one significant digit, or a bound.
func shortP(p float64) string {
	if p < 0.0001 {
		return "< 0.0001"
	}
	return strconv.FormatFloat(p, 'g', 1, 64)
}
