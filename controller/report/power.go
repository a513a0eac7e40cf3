package report

import (
	"fmt"
	"math"

	"github.com/gavel-evals/gavel/controller/power"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A chance is one of the chances that can have a least value.
type chance struct {
	name, of string
	least    *float64
	is       func(*power.Statement) float64
}

// chances are all chances with the least values of the settings.
func (s *GateSettings) chances() []chance {
	m := s.MinPower
	return []chance{
		{"broken", "one case that always fails", m.Broken, func(s *power.Statement) float64 { return s.Broken }},
		{"halved", "one case that passes half as often", m.Halved, func(s *power.Statement) float64 { return s.Halved }},
		{"fall", "a fall of all cases by 0.10", m.Fall, func(s *power.Statement) float64 { return s.Fall }},
	}
}

// power applies min_power to a comparison that found nothing. A chance that nobody computed
// decides nothing: something got worse, or was not measured, which counts by itself.
func (f *findings) power(r *Report, s GateSettings) {
	if r.Power == nil {
		return
	}
	for _, c := range s.chances() {
		if c.least != nil && c.is(r.Power) < *c.least-1e-9 {
			f.unknown("%s would have been seen in %s, min_power %s is %v", c.of, Chance(c.is(r.Power)), c.name, *c.least)
		}
	}
}

// Chance formats a simulated chance: "83 %", "over 99 %".
func Chance(chance float64) string {
	switch n := int(math.Round(100 * chance)); {
	case n < 1:
		return "under 1 %"
	case n > 99:
		return "over 99 %"
	default:
		return fmt.Sprintf("%d %%", n)
	}
}

// Seen says in words what a comparison that found nothing would have found: "it would have
// shown one case of 12 that always fails in over 99 %, one that passes half as often in
// 17 %, and a fall of all by 0.10 in 83 %". It is empty if nothing is left to chance.
func Seen(s *power.Statement) string {
	if s == nil {
		return ""
	}
	said := fmt.Sprintf("would have shown one case of %s that always fails in %s, one that passes half as often in %s", textfmt.Int(int64(s.Cases)), Chance(s.Broken), Chance(s.Halved))
	if s.Cases == 1 {
		said = fmt.Sprintf("would have shown if the case always failed in %s, and if it passed half as often in %s", Chance(s.Broken), Chance(s.Halved))
	}
	if !s.Tests() {
		return said + "; the mean of so few cases is not tested"
	}
	return said + fmt.Sprintf(", and a fall of all by 0.10 in %s", Chance(s.Fall))
}
