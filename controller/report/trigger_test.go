package report

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// TestTriggers counts the queries of each skill, at head by what is wanted, and the
// ones without a verdict. Other cases count for nothing, and no query asks for a pass share.
func TestTriggers(t *testing.T) {
	in := Input{Plan: &plan.Plan{Base: "b", Head: "worktree"}, Head: map[string]*Outcome{}, Base: map[string]*Outcome{}, Gate: GateSettings{FailOn: FailOnAny}}
	score := 1.0
	add := func(skill string, trigger schema.Trigger, base, head verdict.Verdict) {
		c := &schema.CaseInfo{Key: fmt.Sprintf("%s/triggers#%d", skill, len(in.Plan.Rows)), Dialect: schema.DialectSkill, Weight: 1, Trigger: trigger, Labels: schema.Labels{Groups: []string{skill}}}
		row := plan.Row{Key: c.Key, Action: plan.Run, Head: c, Base: c}
		if head == "" {
			row.Head, row.Action = nil, plan.Removed
		} else {
			in.Head[c.ID()] = &Outcome{Result: verdict.Result{Verdict: head, Score: &score, PassShare: &verdict.PassShare{PassK: []float64{1}}}}
		}
		in.Base[c.ID()] = &Outcome{Result: verdict.Result{Verdict: base, Score: &score}}
		in.Plan.Rows = append(in.Plan.Rows, row)
	}
	for i := range 10 {
		verdicts := map[bool]verdict.Verdict{true: verdict.Pass, false: verdict.Fail}
		add("skills/b", schema.Wanted, verdict.Pass, verdicts[i > 0])
		add("skills/b", schema.Unwanted, verdicts[i > 2], verdicts[i < 9])
	}
	add("skills/a", schema.Wanted, verdict.Error, verdict.Pass)
	add("skills/a", schema.Unwanted, verdict.Error, verdict.Error)
	add("skills/c", schema.Wanted, verdict.Pass, "")
	add("skills/d", "", verdict.Pass, verdict.Pass)
	r := Compare(in)
	var got []string
	for _, s := range r.Triggers {
		got = append(got, s.Skill+": "+s.String())
	}
	want := []string{
		"skills/a: 1 of 1 right: 1 of 1 wanted, 0 of 0 unwanted (1 not judged)",
		"skills/b: 18 of 20 right: 9 of 10 wanted, 9 of 10 unwanted (17 of 20 at base)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Cases[0].Trigger == "" || r.PassK == nil || r.PassK.Cases != 1 {
		t.Errorf("the rows have %q, pass^k %+v", r.Cases[0].Trigger, r.PassK)
	}
}
