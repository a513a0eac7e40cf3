package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A Lift says what skills add: it compares cases at head with the same cases without
// their skill. It decides nothing.
type Lift struct {
	LiftTally
	// Skills are the skills of the cases, sorted by name.
	Skills []SkillLift `json:"skills"`
	// Costs compare what the answers took. Base is without the skill.
	Costs *Costs `json:"costs,omitempty"`
	// DoesNotTell names the cases that pass without the skill in every run, so that they
	// do not tell what the skill adds.
	DoesNotTell []string `json:"does_not_tell"`
	// NotMeasured are the cases that have no result to compare.
	NotMeasured []LiftGap `json:"not_measured"`
}

// A LiftTally compares some cases with and without their skill.
type LiftTally struct {
	Cases   int    `json:"cases"`
	With    Passes `json:"with"`
	Without Passes `json:"without"`
	// Delta is the mean over the cases of the share of passes with the skill minus the
	// share without it; null without a case.
	Delta *float64 `json:"delta"`
	Between
	differences []float64
}

// Passes count the runs that passed.
type Passes struct {
	Passed int `json:"passed"`
	Runs   int `json:"runs"`
}

// A SkillLift is the lift of one skill.
type SkillLift struct {
	Skill string `json:"skill"`
	LiftTally
}

// A LiftGap is a case without a lift.
type LiftGap struct {
	Case   string `json:"case"`
	Reason string `json:"reason"`
}

// passes counts the runs of an outcome. A case whose runs are not known one by one is one
// run.
func (o *Outcome) passes() (p Passes) {
	verdicts := []verdict.Verdict{o.Result.Verdict}
	if len(o.Samples) > 0 {
		verdicts = nil
		for _, s := range o.Samples {
			if s.Verdict.Rank() >= 0 {
				verdicts = append(verdicts, s.Verdict)
			}
		}
	}
	for _, v := range verdicts {
		p.Runs++
		p.Passed += count(v == verdict.Pass)
	}
	return p
}

func (p Passes) share() float64 { return float64(p.Passed) / float64(p.Runs) }

// String says "9 of 10".
func (p Passes) String() string { return fmt.Sprintf("%d of %d", p.Passed, p.Runs) }

// add adds a case.
func (t *LiftTally) add(with, without Passes) {
	t.Cases++
	t.With.Passed, t.With.Runs = t.With.Passed+with.Passed, t.With.Runs+with.Runs
	t.Without.Passed, t.Without.Runs = t.Without.Passed+without.Passed, t.Without.Runs+without.Runs
	t.differences = append(t.differences, with.share()-without.share())
}

// close computes the mean difference and its interval.
func (t *LiftTally) close() {
	if interval, ok := stats.PairedShares(t.differences); ok {
		t.Delta, t.CILow, t.CIHigh = &interval.Mean, &interval.Low, &interval.High
	}
}

// String says "with the skill 9 of 10, without 3 of 10 (+60 points, 95 % CI +13 … +87)".
// It is empty without a case.
func (t *LiftTally) String() string {
	if t == nil || t.Cases == 0 {
		return ""
	}
	said := fmt.Sprintf("with the skill %s, without %s", t.With, t.Without)
	if t.Delta == nil || !t.Known() {
		return said // a file of somebody else
	}
	said += fmt.Sprintf(" (%s points, 95 %% CI %s … %s", points(*t.Delta), points(*t.CILow), points(*t.CIHigh))
	if *t.CILow <= 0 && *t.CIHigh >= 0 {
		said += ": may be noise"
	}
	return said + ")"
}

// points formats a difference of shares in percentage points: "+60", "−3", "0".
func points(x float64) string {
	n := int(math.Round(x * 100))
	switch {
	case n > 0:
		return "+" + strconv.Itoa(n)
	case n < 0:
		return "−" + strconv.Itoa(-n)
	}
	return "0"
}

// attach adds the rows of controls to the rows of their cases.
func (in *Input) attach(rows []Row, pairs, controls []pair) {
	at := map[string]int{}
	for i := range pairs {
		if head := pairs[i].plan.Head; head != nil && len(controls) > 0 {
			at[head.ID()] = i
		}
	}
	for _, c := range controls {
		if i, known := at[c.plan.CaseID()]; known && c.head != nil {
			row := in.row(c)
			rows[i].Control = &row
		}
	}
}

// lift compares cases with their controls; nil without any result or reason.
func lift(pairs, controls []pair) *Lift {
	byID := map[string]*pair{}
	for i := range pairs {
		if p := &pairs[i]; len(controls) > 0 && p.plan.Head != nil {
			byID[p.plan.Head.ID()] = p
		}
	}
	l := &Lift{Skills: []SkillLift{}, DoesNotTell: []string{}, NotMeasured: []LiftGap{}}
	skills := map[string]*LiftTally{}
	var compared []pair
	for i := range controls {
		with, without := byID[controls[i].plan.CaseID()], controls[i].head
		if with == nil {
			continue
		}
		if why := unmeasured(with.head, without); why != "" {
			l.NotMeasured = append(l.NotMeasured, LiftGap{with.name(), why})
			continue
		}
		if !judged(with.head) || !judged(without) {
			continue // nothing was run
		}
		name := strings.Join(with.plan.Head.Labels.Groups, "/")
		if skills[name] == nil {
			skills[name] = &LiftTally{}
		}
		a, b := with.head.passes(), without.passes()
		l.add(a, b)
		skills[name].add(a, b)
		if b.Passed == b.Runs {
			l.DoesNotTell = append(l.DoesNotTell, with.name())
		}
		compared = append(compared, pair{plan: with.plan, head: with.head, base: without, cluster: with.cluster})
	}
	if l.Cases == 0 && len(l.NotMeasured) == 0 {
		return nil
	}
	l.close()
	for name, tally := range skills {
		tally.close()
		l.Skills = append(l.Skills, SkillLift{name, *tally})
	}
	slices.SortFunc(l.Skills, func(a, b SkillLift) int { return CompareNatural(a.Skill, b.Skill) })
	if len(compared) > 0 {
		l.Costs = compareCosts(compared)
	}
	return l
}

// unmeasured returns the reason why a case or its control has no result; empty if both
// have one, or were not to run.
func unmeasured(with, without *Outcome) string {
	for _, side := range []struct {
		name string
		*Outcome
	}{{"without the skill", without}, {"with the skill", with}} {
		switch o := side.Outcome; {
		case o == nil:
		case o.Unrun != "":
			return side.name + ": " + strings.TrimPrefix(o.Unrun, NotRunPrefix)
		case o.Result.Verdict.Rank() < 0:
			return side.name + ": " + textfmt.Line(o.Result.Reason)
		}
	}
	return ""
}

// name returns the name of a case of head for people.
func (p *pair) name() string {
	row := Row{Key: p.plan.Key, Target: p.plan.Target, PerTarget: p.plan.Head.PerTarget}
	return row.Name()
}
