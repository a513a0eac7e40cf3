package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// lifted returns an input with a case of a skill and its control for each pair of
// outcomes.
func lifted(outcomes [][2]*Outcome) Input {
	in := Input{Plan: &plan.Plan{Head: "worktree"}, Head: map[string]*Outcome{}, Gate: GateSettings{FailOn: FailOnAny}}
	for i, sides := range outcomes {
		key := "skills/a#" + string(rune('1'+i))
		c := &schema.CaseInfo{Key: key, Dialect: schema.DialectSkill, Weight: 1, Labels: schema.Labels{Groups: []string{"skills/a"}}}
		without := *c
		without.Key = plan.ControlKey(key)
		in.Plan.Rows = append(in.Plan.Rows, plan.Row{Key: key, Action: plan.Run, Head: c, Samples: 1})
		in.Controls = append(in.Controls, plan.Row{Key: without.Key, ControlOf: key, Action: plan.Run, Head: &without, Samples: 1})
		for side, id := range []string{c.ID(), without.ID()} {
			if sides[side] != nil {
				in.Head[id] = sides[side]
			}
		}
	}
	return in
}

// ended is an outcome with the verdicts of its samples.
func ended(verdicts ...verdict.Verdict) *Outcome {
	score := 0.0
	o := &Outcome{Result: verdict.Result{Verdict: verdicts[0], Score: &score, Samples: len(verdicts)}, Usage: verdict.Usage{Calls: len(verdicts)}}
	if len(verdicts) > 1 {
		for _, v := range verdicts {
			o.Samples = append(o.Samples, Sample{Verdict: v})
		}
	}
	return o
}

// TestLift counts runs, names the cases that pass without the skill in each of them, and
// those without a result.
func TestLift(t *testing.T) {
	const pass, fail = verdict.Pass, verdict.Fail
	in := lifted([][2]*Outcome{
		{ended(pass, pass, pass), ended(fail, pass, fail)},
		{ended(pass), ended(pass)},
		{ended(pass), ended(fail)},
		{ended(fail, pass), ended(pass, pass)},
		{ended(pass), {Unrun: NotRunPrefix + "the budget is spent"}},
		{ended(pass), {Result: verdict.Result{Verdict: verdict.Error, Reason: "no answer"}}},
	})
	r := Compare(in)
	l := r.Lift
	if l == nil || l.Cases != 4 || l.With != (Passes{6, 7}) || l.Without != (Passes{4, 7}) {
		t.Fatalf("lift %+v", l)
	}
	// The cases differ by 2/3, 0, 1 and −1/2: (n+2) = 6, Σd = 7/6, Σd² = 61/36.
	// d̃ = 7/36, variance (61/36+2)/6 − (7/36)² = 0.577161, half = 1.959964·√(0.577161/6).
	if got, want := l.String(), "with the skill 6 of 7, without 4 of 7 (+29 points, 95 % CI −41 … +80: may be noise)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"skills/a#2", "skills/a#4"}, l.DoesNotTell); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]LiftGap{{"skills/a#5", "without the skill: the budget is spent"}, {"skills/a#6", "without the skill: no answer"}}, l.NotMeasured); diff != "" {
		t.Error(diff)
	}
	if len(r.Cases) != 6 || r.Summary.Cases != 6 || r.Summary.Error != 0 || r.Summary.NotRun != 0 {
		t.Errorf("controls are cases: %+v", r.Summary)
	}
	if want := 3 + 3 + 1 + 1 + 1 + 1 + 2 + 2 + 1 + 1; r.Summary.Calls != want {
		t.Errorf("%d calls, want %d with the calls of the controls", r.Summary.Calls, want)
	}
	if len(l.Skills) != 1 || l.Skills[0].Skill != "skills/a" || l.Skills[0].String() != l.String() {
		t.Errorf("skills %+v", l.Skills)
	}
}

// TestLiftOfAFile: a file may have less than a run writes.
func TestLiftOfAFile(t *testing.T) {
	r, err := ReadResults([]byte(`{"cases": [{"key": "a", "verdict": "pass"}], "lift": {"cases": 2, "with": {"passed": 2, "runs": 2}, "without": {"passed": 0, "runs": 2}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := CompareResults(r, r, "they are files").Lift.String(), "with the skill 2 of 2, without 0 of 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLiftDecidesNothing: whatever the controls are, the gate, the exit code and the
// notices are about the cases alone.
func TestLiftDecidesNothing(t *testing.T) {
	for _, with := range []*Outcome{ended(verdict.Pass), ended(verdict.Fail)} {
		alone := lifted([][2]*Outcome{{with, nil}})
		alone.Controls = nil
		want := Compare(alone)
		for _, without := range []*Outcome{nil, ended(verdict.Pass), ended(verdict.Fail), {Unrun: "no"}, {Result: verdict.Result{Verdict: verdict.Error, Reason: "no"}}} {
			got := Compare(lifted([][2]*Outcome{{with, without}}))
			if diff := cmp.Diff(want.Gate, got.Gate); diff != "" || got.ExitCode() != want.ExitCode() || len(got.Notices) != len(want.Notices) || got.Summary.Score == nil {
				t.Errorf("%+v changes the gate: %s", without, diff)
			}
		}
	}
}

// TestControlsAreNotListed among the cases of a plan.
func TestControlsAreNotListed(t *testing.T) {
	c := &schema.CaseInfo{Key: "a"}
	list := NewCaseList(&plan.Plan{Rows: []plan.Row{{Key: "a", Head: c}, {Key: plan.ControlKey("a"), Head: c, ControlOf: "a"}}}, nil, nil)
	if len(list.Cases) != 1 || list.Cases[0].Key != "a" {
		t.Errorf("listed: %+v", list.Cases)
	}
}
