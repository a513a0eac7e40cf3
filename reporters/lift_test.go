package reporters_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

func tally(cases, with, without int, delta, low, high float64) report.LiftTally {
	return report.LiftTally{
		Cases: cases, With: report.Passes{Passed: with, Runs: cases}, Without: report.Passes{Passed: without, Runs: cases},
		Delta: &delta, Between: report.Between{CILow: &low, CIHigh: &high},
	}
}

// TestLift: the lines of a lift are in the words of the page of the format.
func TestLift(t *testing.T) {
	r := &report.Report{Lift: &report.Lift{
		LiftTally:   tally(10, 9, 3, 0.6, 0.134782, 0.865218),
		Skills:      []report.SkillLift{{Skill: "skills/a", LiftTally: tally(5, 4, 3, 0.2, -0.3, 0.6)}, {Skill: "skills/b", LiftTally: tally(5, 5, 0, 1, 0.24, 1)}},
		DoesNotTell: []string{"skills/a#1"}, NotMeasured: []report.LiftGap{{Case: "skills/b#9", Reason: "without the skill: the budget is spent"}},
	}}
	want := []string{
		"with the skill 9 of 10, without 3 of 10 (+60 points, 95 % CI +13 … +87), over 10 cases",
		"skills/a: with the skill 4 of 5, without 3 of 5 (+20 points, 95 % CI −30 … +60: may be noise)",
		"skills/b: with the skill 5 of 5, without 0 of 5 (+100 points, 95 % CI +24 … +100)",
		"1 case passes without the skill in every run, and so does not tell what it adds: skills/a#1",
		"1 case without a comparison: skills/b#9 (without the skill: the budget is spent)",
	}
	if diff := cmp.Diff(want, reporters.Lift(r)); diff != "" {
		t.Error(diff)
	}
	if got := reporters.Lift(&report.Report{}); got != nil {
		t.Errorf("a report without a lift says %q", got)
	}
	r.Lift.Skills, r.Lift.DoesNotTell = nil, nil
	for i := range 13 {
		r.Lift.Skills = append(r.Lift.Skills, report.SkillLift{Skill: fmt.Sprintf("skills/%02d", i), LiftTally: tally(1, 1, 0, 1, -0.7, 1)})
		r.Lift.DoesNotTell = append(r.Lift.DoesNotTell, fmt.Sprintf("skills/%02d#1", i))
	}
	lines := strings.Join(reporters.Lift(r), "\n")
	for _, want := range []string{"; and 3 more skills\n", "skills/09#1 and 3 more", "13 cases pass without the skill in every run, and so do not tell"} {
		if !strings.Contains(lines, want) {
			t.Errorf("many skills: no %q in\n%s", want, lines)
		}
	}
}

// TestLiftOfHostileTexts: names that a repository chooses stay text in a comment, however
// long they are.
func TestLiftOfHostileTexts(t *testing.T) {
	for _, text := range append(reporttest.HostileTexts(), "<img src=x>", strings.Repeat("@octo/team ", 5000)) {
		l := &report.Lift{LiftTally: tally(1, 1, 0, 1, -0.7, 1), NotMeasured: []report.LiftGap{{Case: text, Reason: text}}}
		for range 40 {
			l.Skills = append(l.Skills, report.SkillLift{Skill: text, LiftTally: tally(1, 1, 0, 1, -0.7, 1)})
			l.DoesNotTell = append(l.DoesNotTell, text)
		}
		got := comment.Markdown(&report.Report{Lift: l}, comment.Options{})
		if strings.Contains(got, "<img") || strings.Contains(got, "@octo") || len(got) > 65536 {
			t.Errorf("%.40q is in the comment of %d bytes as it is", text, len(got))
		}
		if n := strings.Count(got, "\n"); n > 60 {
			t.Errorf("%.40q makes %d lines", text, n)
		}
	}
}
