package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// value returns the value of a pair under a limit: head's score or, if the limit is
// paired, its difference to base's. It is nil without one.
func (p *pair) value(paired bool) *float64 {
	if !judged(p.head) {
		return nil
	}
	is := score(p.head)
	if !paired || is == nil {
		return is
	}
	was := score(p.base)
	if was == nil {
		return nil
	}
	difference := *is - *was
	return &difference
}

// varies reports whether the change affects the case, and measuring it again may give
// another result.
func (p *pair) varies() bool {
	return p.finding != nil && !p.finding.Certain && (p.plan.Changed() || p.isDue())
}

// limitOf returns the limit without its cases, and these with what was measured.
func limitOf(pairs []pair, least float64, paired bool) (confirm.Limit, []confirm.Measured) {
	l := confirm.Limit{Least: least, Paired: paired}
	var cases []confirm.Measured
	for i := range pairs {
		p := &pairs[i]
		value := p.value(paired)
		switch {
		case value == nil || p.plan.Action == plan.Removed:
		case !p.varies():
			l.Sum, l.Weight = l.Sum+p.weight()**value, l.Weight+p.weight()
		default:
			cases = append(cases, confirm.Measured{
				Weight: p.weight(), Cluster: p.cluster, Values: append([]float64{*value}, p.finding.Values(paired)...),
				Stale: paired && !p.finding.Fresh && !p.finding.Gone,
			})
		}
	}
	return l, cases
}

// Limits returns the limits on scores for package confirm, which measures cases again
// where it cannot tell whether they hold. before has the compared cases. A limit is left
// out if it decides nothing: another case has no verdict.
func (in *Input) Limits(before *NoiseFindings) []confirm.Limit {
	known := *in
	known.Noise = before
	var pairs []pair
	var cases []int
	for i := range in.Plan.Rows {
		p := known.pair(&in.Plan.Rows[i])
		if known.isOutOfGate(p) {
			continue
		}
		pairs = append(pairs, p)
		switch {
		case p.varies():
			cases = append(cases, before.Index[p.plan.Head.ID()])
		case p.isUnjudged():
			return nil
		}
	}
	var out []confirm.Limit
	for _, l := range in.Gate.limits() {
		full, _ := limitOf(pairs, l.Least, l.Paired)
		for _, i := range cases {
			if !l.Paired || before.Findings[i].Class != confirm.Added {
				full.Cases = append(full.Cases, i)
			}
		}
		out = append(out, full)
	}
	return out
}

// isOutOfGate reports whether a case is quarantined or accepted.
func (in *Input) isOutOfGate(p pair) bool { return in.InQuarantine(p.plan) != nil || in.isAccepted(p) }

// Accepted reports whether a person accepted the outcome of a row at head.
func (in *Input) Accepted(row *plan.Row) bool { return in.isAccepted(in.pair(row)) }

func (in *Input) isAccepted(p pair) bool {
	if len(in.Commands) == 0 || p.plan.Head == nil && p.plan.Base == nil {
		return false
	}
	rows := []Row{in.row(p)}
	accept(rows, in.Commands)
	return rows[0].Accepted != nil
}

// limits returns the limits on scores without their cases.
func (s *GateSettings) limits() []confirm.Limit {
	var out []confirm.Limit
	if s.MinScore != nil {
		out = append(out, confirm.Limit{Least: *s.MinScore})
	}
	if s.MaxDrop != nil {
		out = append(out, confirm.Limit{Least: -*s.MaxDrop, Paired: true})
	}
	return out
}

// LimitsOf returns the limits on scores of a gavel.yaml without their cases.
func LimitsOf(g config.Gate) []confirm.Limit {
	s := NewGateSettings(g)
	return s.limits()
}

// minScore applies min_score to a score that is known.
func (f *findings) minScore(r *Report, pairs []pair, s GateSettings) {
	limit := *s.MinScore
	l, cases := limitOf(pairs, limit, false)
	switch got := l.Judge(cases); got.State {
	case confirm.LimitBroken:
		f.failed("score %s%s is below min_score %v%s", short(got.Mean, limit), measurements(got), limit, loweredWeights(r))
	case confirm.LimitHeld:
		f.hold(got, fmt.Sprintf("min_score %v holds: %s", limit, short(got.Mean, limit)))
	case confirm.LimitOpen:
		f.unproved(r, s, got, fmt.Sprintf("score %s may be below min_score %v", short(got.Mean, limit), limit))
	}
}

// maxDrop applies max_drop to a difference that is known.
func (f *findings) maxDrop(r *Report, pairs []pair, s GateSettings) {
	limit := *s.MaxDrop
	l, cases := limitOf(pairs, -limit, true)
	switch got := l.Judge(cases); got.State {
	case confirm.LimitBroken:
		f.failed("score fell by %s%s, max_drop is %v%s", short(-got.Mean, limit), measurements(got), limit, loweredWeights(r))
	case confirm.LimitHeld:
		said := fmt.Sprintf("max_drop %v holds: the score fell by %s", limit, short(0-got.Mean, limit))
		if got.Mean > 0 {
			said = fmt.Sprintf("max_drop %v holds: the score rose by %s", limit, short(got.Mean, limit))
		}
		f.hold(got, said)
	case confirm.LimitOpen:
		said := fmt.Sprintf("score may have fallen by more than max_drop %v: by %s", limit, short(0-got.Mean, limit))
		if got.Mean > 0 {
			said = fmt.Sprintf("score rose by %s, which does not prove that max_drop %v holds", short(got.Mean, limit), limit)
		}
		switch {
		case got.Rounds == 1 && slices.ContainsFunc(pairs, func(p pair) bool { return p.varies() && p.finding.Gone }):
			said += "; base cannot be measured again"
		case limit == 0:
			said += "; where answers vary, only a limit above 0 can be proved to hold"
		}
		f.unproved(r, s, got, said)
	}
}

// hold notes a limit that further measurements proved to hold: the score that is shown is
// the first one, and may be beyond it.
func (f *findings) hold(got confirm.LimitResult, said string) {
	if got.Rounds > 1 {
		f.held = append(f.held, said+measurements(got))
	}
}

// measurements tells that a mean is over several measurements of each case.
func measurements(got confirm.LimitResult) string {
	if got.Rounds == 1 {
		return ""
	}
	return fmt.Sprintf(" in %d measurements of each case", got.Rounds)
}

// unproved reports a score that may be on either side of its limit. A group has too few
// cases to prove much, so there only what is proved counts.
func (f *findings) unproved(r *Report, s GateSettings, got confirm.LimitResult, said string) {
	var left string
	if r.Remeasured != nil && got.Rounds == 1 && r.Remeasured.Why != "" && !s.Once {
		left = strings.TrimPrefix(r.Remeasured.Why, NotRunPrefix)
	}
	if !math.IsInf(got.Margin, 1) {
		said += fmt.Sprintf(" (± %s%s)", textfmt.Score(&got.Margin, 3), measurements(got))
	}
	if s.Once {
		said += ", which stored results alone do not decide"
	}
	switch {
	case s.Partial:
	case left != "":
		f.unknown("%s, and the cases were not measured again: %s", said, left)
	case s.PassUnsure:
		f.unsure = append(f.unsure, said)
	default:
		f.unknown("%s", said)
	}
}
