package report

import (
	"strings"

	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A TargetTally is the result of one of several targets over the same cases.
type TargetTally struct {
	Target string `json:"target"`
	Verdicts
	// Score is the weighted mean over its judged cases.
	Score *float64 `json:"score"`
	// Pairs counts the cases judged for both this target and the first, Delta is the
	// gain of its mean over them, and Better and Worse count the differing verdicts
	// among them. The first is not compared.
	Pairs int      `json:"pairs"`
	Delta *float64 `json:"delta"`
	Between
	Better  int      `json:"better"`
	Worse   int      `json:"worse"`
	Calls   int      `json:"calls"`
	Tokens  int64    `json:"tokens"`
	CostUSD *float64 `json:"cost_usd"`
}

// A tallyEntry is one case with one target.
type tallyEntry struct {
	Key, Target string
	// Cluster names the cluster of the case.
	Cluster string
	// Verdict is nil for a case that was not judged: an error if Failed.
	Verdict *verdict.Verdict
	Failed  bool
	Score   *float64
	Weight  float64
	Calls   int
	Tokens  int64
	// CostUSD is nil if a price is unknown.
	CostUSD *float64
}

func (e *tallyEntry) rank() int {
	if e.Verdict == nil {
		return -1
	}
	return e.Verdict.Rank()
}

// compareTargets compares each target with the first, in the given order. Fewer than
// two are not compared.
func compareTargets(order []string, entries []tallyEntry) []TargetTally {
	if len(order) < 2 {
		return nil
	}
	first := map[string]tallyEntry{}
	for _, e := range entries {
		if e.Target == order[0] {
			first[e.Key] = e
		}
	}
	out := make([]TargetTally, 0, len(order))
	for _, name := range order {
		t := newSum(name)
		for _, e := range entries {
			if e.Target != name {
				continue
			}
			t.add(e)
			if other, ok := first[e.Key]; ok && name != order[0] {
				t.compare(other, e)
			}
		}
		out = append(out, t.target())
	}
	return out
}

// A sum is a TargetTally under construction.
type sum struct {
	TargetTally
	score, own, other weightedMean
	pairs             []stats.Pair
	cost              float64
	unpriced          bool
}

func newSum(name string) *sum { return &sum{TargetTally: TargetTally{Target: name}} }

func (s *sum) add(e tallyEntry) {
	s.Count(e.Verdict)
	if e.Verdict == nil && e.Failed {
		s.Error++
	}
	s.score.Add(e.Score, e.Weight)
	s.Calls += e.Calls
	s.Tokens += e.Tokens
	if e.CostUSD == nil {
		s.unpriced = true
		return
	}
	s.cost += *e.CostUSD
}

// compare counts a case judged for both targets.
func (s *sum) compare(first, e tallyEntry) {
	was, is := first.rank(), e.rank()
	if was < 0 || is < 0 {
		return
	}
	s.Pairs++
	s.other.Add(first.Score, e.Weight)
	s.own.Add(e.Score, e.Weight)
	if first.Score != nil && e.Score != nil {
		s.pairs = append(s.pairs, stats.Pair{Difference: *e.Score - *first.Score, Weight: e.Weight, Cluster: e.Cluster})
	}
	switch {
	case is > was:
		s.Better++
	case is < was:
		s.Worse++
	}
}

func (s *sum) target() TargetTally {
	t := s.TargetTally
	t.Score = s.score.Value()
	if own, other := s.own.Value(), s.other.Value(); own != nil && other != nil {
		delta := *own - *other
		t.Delta = &delta
		t.Between = between(s.pairs)
	}
	if !s.unpriced {
		t.CostUSD = &s.cost
	}
	return t
}

// Counts formats the number of passed cases, and the results of the others.
func (t TargetTally) Counts() string {
	text := textfmt.Int(int64(t.Pass)) + " of " + textfmt.Count(t.Cases, "case") + " passed"
	for _, n := range []struct {
		count int
		word  string
	}{{t.Borderline, "borderline"}, {t.Fail, "failed"}, {t.Error, "not judged"}, {t.Skipped, "skipped"}} {
		if n.count > 0 {
			text += ", " + textfmt.Int(int64(n.count)) + " " + n.word
		}
	}
	return text
}

// Difference counts the cases whose result differs from the first target's; empty
// without any.
func (t TargetTally) Difference() string {
	var parts []string
	if t.Better > 0 {
		parts = append(parts, "better at "+textfmt.Int(int64(t.Better)))
	}
	if t.Worse > 0 {
		parts = append(parts, "worse at "+textfmt.Int(int64(t.Worse)))
	}
	return strings.Join(parts, ", ")
}
