package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// TestTheLineOfTargetChanges names the changes, and their effect.
func TestTheLineOfTargetChanges(t *testing.T) {
	model := report.TargetChange{Target: "bot", Says: "model old → new"}
	share := func(x float64) *float64 { return &x }
	for _, tt := range []struct {
		changes *report.TargetChanges
		want    string
	}{
		{nil, ""},
		{&report.TargetChanges{Refused: []report.TargetChange{model}}, ""},
		{&report.TargetChanges{Judged: []report.TargetChange{model}}, "model old → new: no verdict changed"},
		{&report.TargetChanges{Judged: []report.TargetChange{model}, Broke: 3, Better: 5, Tokens: share(0.594)}, "model old → new: 3 broke, 5 got better, tokens −41 %"},
		{&report.TargetChanges{Judged: []report.TargetChange{model}, Broke: 1, Tokens: share(1.2)}, "model old → new: 1 broke, tokens +20 %"},
		{&report.TargetChanges{Judged: []report.TargetChange{model}, Broke: 1, Errors: 2}, "model old → new: 1 broke, 2 not judged"},
		{&report.TargetChanges{Judged: []report.TargetChange{model}, Tokens: share(1.001)}, "model old → new: no verdict changed, as many tokens"},
		{&report.TargetChanges{Judged: []report.TargetChange{model, {Target: "bot", Says: "parameter seed 1 added"}, {Target: "other", Says: "tools pay added"}}},
			"bot model old → new, parameter seed 1 added, other tools pay added: no verdict changed"},
		{&report.TargetChanges{Judged: []report.TargetChange{model, model, model, model, model}}, "model old → new, model old → new, model old → new, 2 more: no verdict changed"},
	} {
		if got := tt.changes.Line(); got != tt.want {
			t.Errorf("the line of %+v is %q, want %q", tt.changes, got, tt.want)
		}
	}
}

// TestTokensOfTargetChanges counts the tokens of answers: what reruns and judges took in this run
// counts on neither side.
func TestTokensOfTargetChanges(t *testing.T) {
	s := asked([]float64{1, 1}, []float64{1, 1})
	for key, o := range s.In.Head {
		taking(s.In.Head, key, 1, 40) // of 100 at base
		o.Usage = verdict.Usage{Calls: 9, InputTokens: 5000}
	}
	s.In.Config.Targets = &report.TargetChanges{Judged: []report.TargetChange{{Says: "model old → new"}}}
	if got, want := report.Compare(s.In).TargetChanges.Line(), "model old → new: no verdict changed, tokens −60 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRolesThatFollowTheJudge are not named, at whichever door, and are accepted with it.
func TestRolesThatFollowTheJudge(t *testing.T) {
	swap := func(role, is string) config.TargetChange {
		return config.TargetChange{Setting: "roles." + role, Was: "old", Is: is}
	}
	all := []config.TargetChange{swap("claude editor", "new"), swap("extractor", "new"), swap("judge", "new"), swap("simulator", "other")}
	want := []report.TargetChange{{Says: "roles.judge old → new"}, {Says: "roles.simulator old → other"}}
	got := report.NewTargetChanges("gavel.yaml", config.TargetChanges{Judged: all, Refused: all})
	var refused []report.TargetChange
	for i, change := range want {
		change.Digest = all[2+i].Digest()
		refused = append(refused, change)
	}
	if !slices.Equal(got.Judged, want) || !slices.Equal(got.Refused, refused) {
		t.Errorf("judged %v, refused %v, want %v and %v", got.Judged, got.Refused, want, refused)
	}
	accept := report.Command{Verb: report.CommandAccept, Cases: []string{"gavel.yaml"}}
	accept.Limit(&report.Report{TargetChanges: got})
	other := swap("judge", "other still")
	for _, change := range append(all, other) {
		if accepted := accept.AcceptsChange(change.Digest()); accepted != (change != other) {
			t.Errorf("%v is accepted: %v", change, accepted)
		}
	}
}

// TestErrorsOfTargetChanges: nothing is said about verdicts where cases have none.
func TestErrorsOfTargetChanges(t *testing.T) {
	model := report.TargetChange{Target: "support-agent", Says: "model old → new"}
	for _, tt := range []struct {
		target string
		failed bool
		want   string
	}{
		{"support-agent", false, "model old → new: no verdict changed"},
		{"support-agent", true, "model old → new: 1 not judged"},
		{"other", true, "model old → new: no verdict changed"},
	} {
		s := reporttest.New()
		head := reporttest.Pass(.9)
		if tt.failed {
			head = &reporttest.Side{} // not run
		}
		s.Add("math/1/a", reporttest.Pass(.9), reporttest.Pass(.9), plan.Reason{Part: "target"})
		s.Add("math/1/b", reporttest.Pass(.9), head, plan.Reason{Part: "target"})
		model.Target = tt.target
		s.In.Config.Targets = &report.TargetChanges{Judged: []report.TargetChange{model}}
		s.In.Noise = &report.NoiseFindings{Index: map[string]int{}, Result: confirm.Result{Complete: true, Findings: make([]confirm.Finding, 2), Scores: confirm.ScoreMean{State: confirm.MeanTested, Called: true, Fall: .06}}}
		r := report.Compare(s.In)
		if got, _, _ := strings.Cut(r.TargetChanges.Line(), ", as many"); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt, got, tt.want)
		}
		if fell := r.ScoresFell(); strings.Contains(fell, "no verdict changed") == tt.failed || fell == "" {
			t.Errorf("%+v: %q", tt, fell)
		}
	}
}
