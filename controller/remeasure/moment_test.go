package remeasure

import (
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// TestMoments: outcomes of the sides are next to each other if they were sampled and judged
// within a minute, or within a sample's duration if that is longer.
func TestMoments(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	at := func(sampled, judged, sample time.Duration) moment {
		return moment{noon.Add(sampled), noon.Add(judged), sample}
	}
	const second, minute = time.Second, time.Minute
	for _, tt := range []struct {
		name       string
		head, base moment
		want       bool
	}{
		{"a minute apart", at(0, 0, second), at(minute, minute, second), true},
		{"a base from a run before", at(0, 0, second), at(-2*minute, -2*minute, second), false},
		{"a base that is newer", at(0, 0, second), at(2*minute, 2*minute, second), false},
		{"samples of ten minutes", at(0, 0, 10*minute), at(-9*minute, -9*minute, 8*minute), true},
		{"one sample of theirs", at(0, 0, 10*minute), at(-11*minute, -11*minute, 8*minute), false},
		{"one transcript, judged long after", at(-50*minute, 0, second), at(-50*minute, -50*minute, second), false},
		{"transcripts of two hours, judged together", at(0, 0, second), at(-60*minute, 0, second), false},
	} {
		if got := tt.head.isNextTo(tt.base, minute); got != tt.want {
			t.Errorf("%s: next to each other: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestOutcomesAreApart: a base is next to head within the time that the comparison allows, a
// minute by default.
func TestOutcomesAreApart(t *testing.T) {
	cfg, problems := config.Parse("gavel.yaml", []byte("version: 1\ntargets: {bot: {provider: openai, model: m}}\n"))
	if schema.HasErrors(problems) {
		t.Fatal(problems)
	}
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		apart, before time.Duration
		want          bool
	}{
		{0, 60 * time.Second, true},
		{0, 61 * time.Second, false},
		{30 * time.Second, 31 * time.Second, false},
		{90 * time.Second, 90 * time.Second, true},
	} {
		one := &schema.Case{CaseInfo: schema.CaseInfo{Key: "a", Weight: 1}}
		was, is := plan.Digests{E: "e", J: "j", D: "d"}, plan.Digests{E: "e2", J: "j2", D: "d2"}
		c := Comparison{
			Rows: []Row{{
				Row: &plan.Row{
					Key: "a", Target: "bot", Action: plan.Run, Head: &one.CaseInfo, Base: &one.CaseInfo, HeadCase: one, BaseCase: one,
					HeadDigests: is, BaseDigests: was, Samples: 1,
				},
				Head: run.Job{Case: one, Digests: is, Target: "bot"}, Base: &run.Job{Case: one, Digests: was, Target: "bot"},
			}},
			Head:       map[string]*report.Outcome{one.ID(): {Result: verdict.Result{Verdict: verdict.Pass, Samples: 1}}},
			Base:       map[string]*report.Outcome{one.ID(): {Result: verdict.Result{Verdict: verdict.Error, Reason: "502 Bad Gateway"}, Failed: noon.Add(-tt.before)}},
			HeadConfig: cfg, BaseConfig: cfg, Required: func(string) bool { return false }, Ledger: ledgertest.Open(t, ledger.Config{}),
			Started: noon, Apart: tt.apart,
		}
		entries, err := c.entries(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := entries[0].known.Fresh; got != tt.want {
			t.Errorf("apart %v, %v before: next to each other: %v, want %v", tt.apart, tt.before, got, tt.want)
		}
	}
}
