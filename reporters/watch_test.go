package reporters

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

func row(key string, v verdict.Verdict, score float64) WatchRow {
	return WatchRow{Row: report.Row{Key: key, Verdict: &v, Score: &score, Action: plan.Run}}
}

// TestChange holds what each step from one verdict to another is called.
func TestChange(t *testing.T) {
	mark := func(v verdict.Verdict, score float64) *WatchMark { return &WatchMark{v, &score} }
	for _, tt := range []struct {
		before *WatchMark
		now    WatchRow
		want   string
	}{
		{nil, row("a", verdict.Pass, 1), "first"},
		{mark(verdict.Pass, 1), row("a", verdict.Pass, 1), ""},
		{mark(verdict.Pass, 1), row("a", verdict.Borderline, 0.7), "broke"},
		{mark(verdict.Pass, 1), row("a", verdict.Error, 0), "error"},
		{mark(verdict.Fail, 0), row("a", verdict.Error, 0), "error"},
		{mark(verdict.Fail, 0), row("a", verdict.Borderline, 0.7), "fixed"},
		{mark(verdict.Fail, 0.2), row("a", verdict.Fail, 0.4), "higher"},
		{mark(verdict.Pass, 1), row("a", verdict.Pass, 0.9), "lower"},
		{mark(verdict.Pass, 0.9), row("a", verdict.Pass, 0.901), ""},
		{mark(verdict.Pass, 1), row("a", verdict.Skipped, 0), ""},
	} {
		tt.now.Before = tt.before
		if got := tt.now.Change(); got != tt.want {
			t.Errorf("%+v → %s is %q, want %q", tt.before, *tt.now.Verdict, got, tt.want)
		}
		tt.now.Due = true
		if got := tt.now.Change(); got != "" {
			t.Errorf("a case that is to be judged is %q", got)
		}
	}
}

// TestSortAndCount holds what comes first, and that a case which is to be
// judged again counts once.
func TestSortAndCount(t *testing.T) {
	regression := report.Regression
	worse := row("z", verdict.Fail, 0)
	worse.Class = &regression
	again := row("y", verdict.Fail, 0)
	again.Due = true
	short := "not run: the budget of 7 calls is not enough"
	b := WatchSnapshot{Rows: []WatchRow{
		{Row: report.Row{Key: "short", Action: plan.Run, Error: &short}},
		row("c", verdict.Pass, 1), {Row: report.Row{Key: "gone", Action: plan.Removed}}, row("a", verdict.Pass, 1),
		row("e", verdict.Error, 0), again, {Row: report.Row{Key: "new", Action: plan.Run}, Due: true}, worse, row("b", verdict.Borderline, 0.7),
	}}
	SortWatchRows(b.Rows)
	var keys []string
	for r := range slices.Values(b.Rows) {
		keys = append(keys, r.Key)
	}
	if diff := cmp.Diff([]string{"z", "y", "e", "new", "short", "b", "a", "c", "gone"}, keys); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(WatchCounts{Verdicts: report.Verdicts{Cases: 6, Pass: 2, Borderline: 1, Fail: 1, Error: 1}, Unrun: 1, Due: 2}, b.Count()); diff != "" {
		t.Error(diff)
	}
}

// TestInvalidRowsCountAsThat and as nothing else, whatever their last verdict was.
func TestInvalidRowsCountAsThat(t *testing.T) {
	said, fail := "unknown field", verdict.Fail
	kept := row("kept", verdict.Fail, 0)
	kept.Kept, kept.BaseVerdict, kept.Before = true, &fail, &WatchMark{Verdict: verdict.Pass}
	b := WatchSnapshot{Rows: []WatchRow{kept, {Row: report.Row{Key: "never judged", Action: plan.Skip, Error: &said}}}}
	if diff := cmp.Diff(WatchCounts{Invalid: 2}, b.Count()); diff != "" || b.FailedBefore() != 0 {
		t.Errorf("%d failed at base%s", b.FailedBefore(), diff)
	}
}

// TestMeasurementsAgainAreProgress: programs see them separately from the cases.
func TestMeasurementsAgainAreProgress(t *testing.T) {
	event := WatchUpdate{Kind: WatchJudged, Snapshot: WatchSnapshot{Done: 3, Due: 3, Again: 14}}.Event()
	if diff := cmp.Diff(&WatchProgress{Done: 3, Total: 3, Again: 14}, event.Progress); diff != "" {
		t.Error(diff)
	}
}
