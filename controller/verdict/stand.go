package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A result is an evaluator's rule applied to one measurement.
type result struct {
	// score is in [0,1], or NaN if the weights give no mean.
	score float64
	// pass means that the score reaches the threshold and every demand holds.
	pass bool
	// broken are the unmet demands: required criteria, and vetoes. A composite's member
	// prefixes its own with its name.
	broken []string
	// criteria are the measurements with the rule's scores: bounded quantities have
	// scores, and so have members of a composite.
	criteria []Criterion
}

// applyRule applies a rule to the criteria of one measurement.
//
// The requirements of a composite's member also hold for the case, whatever the
// aggregate, unless its rule contains them or a function decides: the evalcase format demands "if true, fail
// verdict if missed" for a criterion, at any position.
func applyRule(spec schema.Spec, rule schema.Rule, criteria []Criterion) result {
	c, ok := spec.(evaluator.Composite)
	if !ok {
		bounded := bound(rule, criteria)
		return result{criteria: bounded}.conclude(rule, bounded)
	}
	var s result
	var members []Criterion
	shut, last := shutBy(c, criteria), lastTurn(c, criteria)
	for _, m := range c.Members {
		if turn := m.TurnOf(); last > 0 && turn > last {
			s.criteria = append(s.criteria, Criterion{ID: m.ID, Note: fmt.Sprintf("not judged, since turn %d failed", last)})
			members = append(members, s.criteria[len(s.criteria)-1])
			continue
		}
		if shut != "" && !slices.Contains(c.Gates, m.ID) {
			s.criteria = append(s.criteria, Criterion{ID: m.ID, NotApplicable: true, Note: "not measured, since the gate " + shut + " is below its least score"})
			continue
		}
		in := applyRule(m.Spec, m.Rule, memberCriteria(m.ID, criteria))
		members = append(members, Criterion{ID: m.ID, Score: in.score})
		s.criteria = append(s.criteria, members[len(members)-1])
		for _, inner := range in.criteria {
			inner.ID = m.ID + "/" + inner.ID
			s.criteria = append(s.criteria, inner)
		}
		for _, id := range in.broken {
			if c.Function == nil { // which alone decides
				s.broken = append(s.broken, m.ID+"/"+id)
			}
		}
	}
	if !c.Aggregated() {
		return s.conclude(rule, members)
	}
	own := slices.DeleteFunc(slices.Clone(criteria), func(of Criterion) bool { return !c.Aggregates(of.ID) })
	s.criteria = slices.Concat(own, s.criteria)
	return s.conclude(rule, own)
}

// shutBy returns the first gate of a composite that scores too low, so that the other
// members were not measured; empty if all gates are open.
func shutBy(c evaluator.Composite, criteria []Criterion) string {
	for _, m := range c.Members {
		if !slices.Contains(c.Gates, m.ID) {
			continue
		}
		if s := applyRule(m.Spec, m.Rule, memberCriteria(m.ID, criteria)); !Reaches(s.score, c.Gate) {
			return m.ID
		}
	}
	return ""
}

// lastTurn returns the number of the turn that ends a conversation because it scores
// too low; 0 without one.
func lastTurn(c evaluator.Composite, criteria []Criterion) int {
	for _, m := range c.Members {
		turn := m.TurnOf()
		if turn == 0 || c.Stop == 0 {
			continue
		}
		if s := applyRule(m.Spec, m.Rule, memberCriteria(m.ID, criteria)); !Reaches(s.score, c.Stop) {
			return turn
		}
	}
	return 0
}

// Reaches reports whether a score is at least a bound, compared after rounding
// to 1e-9.
func Reaches(score, least float64) bool { return round9(score) >= round9(least) }

// wholeScore is the demand of a required evaluator: its score is not 0.
const wholeScore = "score"

// Score returns the score of an evaluator's rule for one measurement, and whether it
// passes; nil if there is no score.
func Score(ev schema.Evaluator, criteria []Criterion) (score *float64, pass bool) {
	if unmeasured(ev.Spec, ev.Rule, criteria) != "" {
		return nil, false
	}
	s := applyRule(ev.Spec, ev.Rule, criteria)
	if math.IsNaN(s.score) {
		return nil, false
	}
	return &s.score, s.pass
}

// memberCriteria returns the criteria that a member of a composite measured, without
// its name as a prefix.
func memberCriteria(member string, criteria []Criterion) []Criterion {
	var own []Criterion
	for _, c := range criteria {
		if id, ok := strings.CutPrefix(c.ID, member+"/"); ok {
			c.ID = id
			own = append(own, c)
		}
	}
	return own
}

// bound scores the quantities: 1 up to the rule's bound, else 0. An unbounded one has
// no score.
func bound(rule schema.Rule, criteria []Criterion) []Criterion {
	criteria = slices.Clone(criteria)
	for i, c := range criteria {
		if c.Value == nil {
			continue
		}
		most, ok := rule.Most[c.ID]
		switch {
		case !ok:
			criteria[i].Score = math.NaN()
		case round9(*c.Value) <= round9(most):
			criteria[i].Score = 1
		default:
			criteria[i].Score = 0
		}
	}
	return criteria
}

// holds reports whether a criterion holds by itself: it reaches its own minimum, else
// the rule's gate, else any score above 0. Under all-or-nothing without a gate only the
// full score holds.
func holds(rule schema.Rule, c Criterion) bool {
	least, listed := rule.Least[c.ID]
	switch {
	case listed:
		return Reaches(c.Score, least)
	case rule.Gate > 0:
		return Reaches(c.Score, rule.Gate)
	case rule.Aggregate == schema.AllOrNothing:
		return Reaches(c.Score, 1)
	}
	return round9(c.Score) > 0
}

// conclude sets score, pass and broken. A required criterion that was not measured does
// not hold.
func (s result) conclude(rule schema.Rule, criteria []Criterion) result {
	before := len(s.broken)
	for _, id := range rule.Required {
		i := slices.IndexFunc(criteria, func(c Criterion) bool { return c.ID == id })
		if i < 0 || !holds(rule, criteria[i]) {
			s.broken = append(s.broken, id)
		}
	}
	gated := len(s.broken) > before
	for _, c := range criteria {
		if c.Veto && c.Score == 0 {
			s.broken = append(s.broken, c.ID)
		}
	}
	s.score = aggregate(rule, criteria)
	if rule.Aggregate == schema.SafetyGate && gated {
		s.score = 0
	}
	if rule.Negate {
		s.score = 1 - s.score
	}
	if rule.NonZero && round9(s.score) == 0 || round9(s.score) < round9(rule.Floor) {
		s.broken = append(s.broken, wholeScore)
	}
	if rule.Contained && len(s.broken) > 0 {
		s.score, s.broken = 0, nil
	}
	s.pass = len(s.broken) == 0 && round9(s.score) >= round9(rule.Threshold)
	return s
}

// aggregate returns the score of criteria under a rule, in [0,1], or NaN if the rule
// gives none. With s the scores and w their weights it is
//
//	Σ w·s / Σ w            for no aggregate; for safety_gate too, unless a
//	                       required criterion does not hold: then 0
//	min(1, Σ w·s / n)      where the rule needs n
//	min s                  for minimum
//	max s                  for maximum
//	Σ w·s / Σ w            for all_or_nothing where all hold; else 0
//	n hold / n             for passing
//
// as defined by the composite of the evalcase format and, for the first two, by the
// domain format. Criteria that do not apply leave their weight to the others. A
// violated veto makes the score 0; vetoes that hold do not count, and without other
// criteria the score is full.
func aggregate(rule schema.Rule, criteria []Criterion) float64 {
	if slices.ContainsFunc(criteria, func(c Criterion) bool { return c.Veto && c.Score == 0 }) {
		return 0
	}
	counted := slices.DeleteFunc(slices.Clone(criteria), func(c Criterion) bool { return c.Veto })
	applying := slices.DeleteFunc(slices.Clone(counted), func(c Criterion) bool { return c.NotApplicable })
	switch {
	case len(counted) == 0 && len(criteria) > 0:
		return 1
	case len(applying) == 0:
		return math.NaN()
	}
	switch rule.Aggregate {
	case schema.Minimum:
		return extreme(applying, math.Min)
	case schema.Maximum:
		return extreme(applying, math.Max)
	case schema.AllOrNothing:
		if slices.ContainsFunc(applying, func(c Criterion) bool { return !holds(rule, c) }) {
			return 0
		}
	case schema.Passing:
		held := 0
		for _, c := range applying {
			if holds(rule, c) {
				held++
			}
		}
		return float64(held) / float64(len(applying))
	}
	return weigh(rule, applying)
}

func extreme(criteria []Criterion, better func(a, b float64) float64) float64 {
	score := criteria[0].Score
	for _, c := range criteria[1:] {
		score = better(score, c.Score)
	}
	return score
}

func weigh(rule schema.Rule, criteria []Criterion) float64 {
	var sum, weights float64
	for _, c := range criteria {
		w, ok := rule.Weights[c.ID]
		if !ok {
			w = 1
		}
		sum += w * c.Score
		weights += share(w)
	}
	if rule.Need > 0 {
		return math.Min(1, sum/float64(rule.Need))
	}
	return sum / weights
}

// share returns a weight, or NaN if it is negative: a negative weight could still give
// a meaningless mean between 0 and 1.
func share(weight float64) float64 {
	if weight < 0 {
		return math.NaN()
	}
	return weight
}

// round9 rounds to 1e-9, so that 0.7 reached by division is 0.7.
func round9(x float64) float64 { return math.Round(x*1e9) / 1e9 }
