package comment_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/schema"
)

func problem(file string, severity schema.Severity) schema.Problem {
	return schema.Problem{Position: schema.Position{File: file, Line: 1}, Severity: severity}
}

func TestStatusFor(t *testing.T) {
	base, before, after := sha, 0.914, 0.887
	regressed := report.Report{
		Base:    &base,
		Summary: report.Summary{Verdicts: report.Verdicts{Cases: 1204}, Run: 40, Rejudged: 1, Score: &after},
		Diff:    report.Diff{Regressions: 2, Improvements: 1, ScoreBase: &before, ScoreHead: &after},
		Gate:    report.Gate{Result: report.GateFail, Reason: "2 cases regressed"},
	}
	with := func(change func(*report.Report)) report.Report { r := regressed; change(&r); return r }
	const valid = "all definitions are valid"
	tests := []struct {
		name              string
		report            report.Report
		validate, verdict comment.State
		valid, words      string
	}{
		{
			"nothing affected", report.Report{Base: &base, Summary: report.Summary{Verdicts: report.Verdicts{Cases: 9}}, Gate: report.Gate{Result: "pass"}},
			comment.StateSuccess, comment.StateSuccess, valid, "no affected cases",
		},
		{
			"regressions", regressed, comment.StateSuccess, comment.StateFailure, valid,
			"2 regressions, 1 improvement · 2 cases regressed · 41 of 1,204 cases rerun · score 0.914 → 0.887",
		},
		{
			"pass", with(func(r *report.Report) {
				r.Diff.Regressions, r.Diff.Improvements, r.Gate = 0, 0, report.Gate{Result: "pass", Reason: "no regression"}
			}),
			comment.StateSuccess, comment.StateSuccess, valid, "no regressions · 41 of 1,204 cases rerun · score 0.914 → 0.887",
		},
		{
			"without base", with(func(r *report.Report) {
				r.Base, r.Diff, r.Summary.Pass, r.Summary.Error = nil, report.Diff{}, 1200, 4
				r.Gate = report.Gate{Result: "undetermined", Reason: "4 cases ended in an error"}
			}),
			comment.StateSuccess, comment.StateError, valid,
			"4 cases ended in an error · 1,200 of 1,204 cases pass, 4 errors · 41 of 1,204 cases run · score 0.887",
		},
		{
			"a budget that ended", with(func(r *report.Report) {
				r.Diff.Regressions, r.Diff.Improvements, r.Summary.Error, r.Summary.NotRun = 0, 0, 30, 30
				r.Gate = report.Gate{Result: "undetermined", Reason: "30 cases were not run, since the budget of 70 calls is not enough"}
			}),
			comment.StateSuccess, comment.StateError, valid,
			"30 cases were not run, since the budget of 70 calls is not enough · 11 of 1,204 cases rerun, 30 not run · score 0.914 → 0.887",
		},
		{
			"invalid outweighs pass", with(func(r *report.Report) {
				r.Gate = report.Gate{Result: "pass"}
				r.Problems = []schema.Problem{problem("a.json", schema.Error), problem("a.json", schema.Error), problem("b.json", schema.Warning)}
			}),
			comment.StateFailure, comment.StateFailure, "1 invalid definition, 1 warning",
			"1 invalid definition · 2 regressions, 1 improvement · 41 of 1,204 cases rerun · score 0.914 → 0.887",
		},
		{
			"warnings are not failures", with(func(r *report.Report) {
				r.Problems = []schema.Problem{problem("b.json", schema.Warning), problem("c.json", schema.Note)}
			}),
			comment.StateSuccess, comment.StateFailure, valid + ", 1 warning",
			"2 regressions, 1 improvement · 2 cases regressed · 41 of 1,204 cases rerun · score 0.914 → 0.887",
		},
		{
			"planned only", with(func(r *report.Report) {
				r.Diff, r.Summary.Score = report.Diff{}, nil
				r.NotRunReason = "waits for approval:\nthe head comes from\x1b[31m the fork stranger/demo"
				r.Gate = report.Gate{Result: "undetermined", Reason: "41 cases were not run"}
			}),
			comment.StateSuccess, comment.StateError, valid,
			"waits for approval: the head comes from␛[31m the fork stranger/demo · 41 cases would run",
		},
		{
			"planned only, with stored scores of both sides", with(func(r *report.Report) {
				r.Diff = report.Diff{ScoreBase: &before, ScoreHead: &before}
				r.NotRunReason = "waits for approval"
				r.Gate = report.Gate{Result: "undetermined", Reason: "41 cases were not run"}
			}),
			comment.StateSuccess, comment.StateError, valid, "waits for approval · 41 cases would run",
		},
		{
			"no case could be run", with(func(r *report.Report) {
				r.Diff = report.Diff{ScoreBase: &before, ScoreHead: &before}
				r.Summary.Error, r.Summary.NotRun = 41, 41
				r.Gate = report.Gate{Result: "undetermined", Reason: "41 cases were not run"}
			}),
			comment.StateSuccess, comment.StateError, valid, "41 cases were not run · 0 of 1,204 cases rerun, 41 not run",
		},
		{
			"the score is as it was", with(func(r *report.Report) {
				r.Diff = report.Diff{ScoreBase: &before, ScoreHead: &before}
				r.Gate = report.Gate{Result: "pass"}
			}),
			comment.StateSuccess, comment.StateSuccess, valid, "no regressions · 41 of 1,204 cases rerun · score 0.914, unchanged",
		},
		{
			"planned only, nothing affected", report.Report{
				Base: &base, NotRunReason: "waits for approval", Summary: report.Summary{Verdicts: report.Verdicts{Cases: 9}}, Gate: report.Gate{Result: "pass"},
			},
			comment.StateSuccess, comment.StateSuccess, valid, "no affected cases",
		},
		{
			"a full score over a failing case", with(func(r *report.Report) {
				full := 1.0
				r.Diff, r.Summary.Fail = report.Diff{ScoreBase: &before, ScoreHead: &full}, 1
				r.Gate = report.Gate{Result: "pass"}
			}),
			comment.StateSuccess, comment.StateSuccess, valid, "no regressions · 41 of 1,204 cases rerun · score 0.914 → 1.000, although 1 case fails",
		},
		{
			"cases that are left out, and nothing else", report.Report{
				Base: &base, Summary: report.Summary{Verdicts: report.Verdicts{Cases: 9, Skipped: 1}}, Gate: report.Gate{Result: "pass"},
				Cases: []report.Row{{Withdrawn: "disabled"}},
			},
			comment.StateSuccess, comment.StateSuccess, valid, "no regressions · 1 case disabled",
		},
		{
			"cases that are left out next to others", with(func(r *report.Report) {
				r.Cases, r.Summary.Removed = []report.Row{{Withdrawn: "removed"}, {Withdrawn: "removed"}, {Withdrawn: "drafted"}}, 2
			}),
			comment.StateSuccess, comment.StateFailure, valid,
			"2 regressions, 1 improvement · 2 cases removed, 1 drafted · 2 cases regressed · 41 of 1,204 cases rerun · score 0.914 → 0.887",
		},
		{
			"too much to say", with(func(r *report.Report) { r.Gate.Reason = strings.Repeat("reason ", 15) }),
			comment.StateSuccess, comment.StateFailure, valid,
			"2 regressions, 1 improvement · " + strings.TrimSpace(strings.Repeat("reason ", 15)),
		},
		{
			"a reason that is too long by itself is left out", with(func(r *report.Report) { r.Gate.Reason = strings.Repeat("reason ", 30) }),
			comment.StateSuccess, comment.StateFailure, valid,
			"2 regressions, 1 improvement · 41 of 1,204 cases rerun · score 0.914 → 0.887",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			validate, verdict := comment.NewStatuses(&tt.report)
			want := []comment.Status{
				{Context: "gavel/validate", State: tt.validate, Description: tt.valid},
				{Context: "gavel/verdict", State: tt.verdict, Description: tt.words},
			}
			if tt.report.NotRunReason != "" && tt.verdict == comment.StateError {
				want[1].Hold = comment.Approvable
			}
			if diff := cmp.Diff(want, []comment.Status{validate, verdict}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if n := utf8.RuneCountInString(verdict.Description); n > 140 {
				t.Errorf("%d characters", n)
			}
		})
	}
}
