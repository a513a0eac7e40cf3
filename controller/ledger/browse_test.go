package ledger_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// save stores run i, an hour after the one before.
func save(t *testing.T, store *ledger.Ledger, repository string, i int) {
	t.Helper()
	err := store.SaveReport(t.Context(), ledger.Run{
		ID: fmt.Sprintf("run-%d", i), Repository: repository, Head: fmt.Sprintf("%040d", i),
		Started: noon.Add(time.Duration(i) * time.Hour), Finished: noon.Add(time.Duration(i)*time.Hour + time.Minute),
		Report: json.RawMessage(fmt.Sprintf(`{"run":"run-%d","cases":[{"key":"a"},{"key":"b"}],"summary":{"cases":2}}`, i)),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRuns(t *testing.T) {
	store := ledgertest.Open(t, ledger.Config{})
	for i := range 5 {
		save(t, store, []string{"octo/demo", "octo/other"}[i%2], i)
	}
	for _, tt := range []struct {
		repository string
		page       ledger.RunPage
		want       string
		total      int
	}{
		{"", ledger.RunPage{Limit: 2}, "run-4 run-3", 5},
		{"", ledger.RunPage{Skip: 3, Limit: 9}, "run-1 run-0", 5},
		{"octo/other", ledger.RunPage{Limit: 9}, "run-3 run-1", 2},
		{"octo/none", ledger.RunPage{Limit: 9}, "", 0},
	} {
		runs, total, err := ledger.PageRuns(t.Context(), store, tt.repository, tt.page)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range runs {
			got = append(got, r.ID)
			if want := fmt.Sprintf(`{"run":%q,"cases":[],"summary":{"cases":2}}`, r.ID); string(r.Report) != want {
				t.Errorf("the report of %s is %s, want %s", r.ID, r.Report, want)
			}
			text, err := ledger.ReportWithoutCases(t.Context(), store, r.ID)
			if err != nil {
				t.Fatal(err)
			}
			if read, err := io.ReadAll(text); err != nil || string(read) != string(r.Report) {
				t.Errorf("the text of the report of %s is %s, %v", r.ID, read, err)
			}
		}
		if strings.Join(got, " ") != tt.want || total != tt.total {
			t.Errorf("page %+v of %q: %v of %d, want %s of %d", tt.page, tt.repository, got, total, tt.want, tt.total)
		}
	}
	if text, err := ledger.ReportWithoutCases(t.Context(), store, "run-9"); text != nil || err != nil {
		t.Errorf("a run that is not stored has a report %v, %v", text, err)
	}
	for _, tt := range []struct{ prefix, want string }{{fmt.Sprintf("%040d", 2), "run-2"}, {"0000000", "run-4"}, {"abc", ""}} {
		if got, err := ledger.RunOfCommit(t.Context(), store, "", tt.prefix); err != nil || got != tt.want {
			t.Errorf("the run of head %s is %q, %v, want %q", tt.prefix, got, err, tt.want)
		}
	}
}

// judging returns a ledger and what stores a decision in it, each an hour after the last.
func judging(t *testing.T) (store *ledger.Ledger, put func(trust ledger.Trust, id, commit, digest string, score float64)) {
	now := noon
	store = ledgertest.Open(t, ledger.Config{Now: func() time.Time { return now }})
	return store, func(trust ledger.Trust, id, commit, digest string, score float64) {
		t.Helper()
		now = now.Add(time.Hour)
		measured := verdict.Sample{Measurements: []verdict.Measurement{{Evaluator: "x", Criteria: []verdict.Criterion{{ID: "x", Score: score}}}}}
		err := store.Save(t.Context(), ledger.Outcome{
			Trust: trust, Digests: plan.Digests{E: "e" + digest, J: "j" + digest, D: digest}, Case: id, Commit: commit,
			Executions: []ledger.Execution{{Transcript: verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "x"}}}}},
			Samples:    []ledger.Judgement{{Sample: measured}},
			Decision:   &ledger.Decision{Result: verdict.Result{Verdict: verdict.Pass, Score: &score, Samples: 1}, Samples: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSides holds that base's verdicts do not count as head's, whichever of them was
// judged last.
func TestSides(t *testing.T) {
	store, put := judging(t)
	trust := ledger.Trust{Level: ledger.LevelBase, Repository: "octo/demo"}
	err := store.SaveReport(t.Context(), ledger.Run{
		ID: "run", Repository: "octo/demo", Head: "head", Base: "base", Started: noon, Finished: noon.Add(5 * time.Hour), Report: json.RawMessage("{}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	put(trust, "a", "older", "d0", 1)
	put(trust, "a", "head", "d2", 0.5)
	put(trust, "a", "base", "d1", 1)
	put(trust, "b", "base", "d3", 1)
	put(trust, "b", "head", "d4", 0)
	for _, tt := range []struct {
		digest string
		want   []string
	}{
		{"d2", []string{"older d0", "head d2 current changed", "base d1 of base"}},
		{"d4", []string{"base d3 of base", "head d4 current changed"}},
	} {
		found, err := ledger.PastJudgements(t.Context(), store, ledger.Scope{Trust: trust}, tt.digest, 9)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, j := range found {
			line := j.Commit + " " + j.Digest
			for _, is := range []struct {
				word string
				set  bool
			}{{" current", j.Current}, {" of base", j.Base}, {" changed", j.Changed}} {
				if is.set {
					line += is.word
				}
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("judgements of %s (-want +got):\n%s", tt.digest, diff)
		}
	}
}

// TestJudged holds that a case is followed through its changes by its ID, and that
// nobody reads what a pull request wrote but itself.
func TestJudged(t *testing.T) {
	store, put := judging(t)
	base := ledger.Trust{Level: ledger.LevelBase, Repository: "octo/demo"}
	pull := ledger.Trust{Level: ledger.LevelPull, Repository: "octo/demo", PullRequest: 7}
	save(t, store, "octo/private", 1) // at the same time as the first judgement, and none of its business
	put(base, "a", "", "d1", 1)
	save(t, store, "octo/demo", 2)
	put(base, "a", "", "d2", 0.5)
	put(base, "b", "", "d3", 0.1)
	put(pull, "a", "", "d4", 0.2)
	read := func(trust ledger.Trust, digest string, limit int) []string {
		t.Helper()
		found, err := ledger.PastJudgements(t.Context(), store, ledger.Scope{Trust: trust}, digest, limit)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, j := range found {
			out = append(out, fmt.Sprintf("%s %v %v %s", j.Digest, *j.Score, j.Changed, j.Run))
		}
		return out
	}
	for _, tt := range []struct {
		trust  ledger.Trust
		digest string
		limit  int
		want   []string
	}{
		{base, "d1", 9, []string{"d1 1 false ", "d2 0.5 true run-2"}},
		{base, "d2", 1, []string{"d2 0.5 false run-2"}},
		{base, "d3", 9, []string{"d3 0.1 false "}},
		{pull, "d4", 9, []string{"d1 1 false ", "d2 0.5 true run-2", "d4 0.2 true "}},
		{base, "unknown", 9, nil},
	} {
		if diff := cmp.Diff(tt.want, read(tt.trust, tt.digest, tt.limit)); diff != "" {
			t.Errorf("judgements of %s for %+v (-want +got):\n%s", tt.digest, tt.trust, diff)
		}
	}
}

// TestRunOfAJudgement holds that a judgement belongs to the latest run of its repository that
// was going on, although a shorter one began later and had ended.
func TestRunOfAJudgement(t *testing.T) {
	store, put := judging(t)
	trust := ledger.Trust{Level: ledger.LevelBase, Repository: "octo/demo"}
	for _, run := range []struct {
		id, repository string
		from, to       int // hours
	}{{"long", "octo/demo", 0, 5}, {"short", "octo/demo", 1, 1}, {"other", "octo/other", 2, 5}, {"late", "octo/demo", 3, 3}} {
		err := store.SaveReport(t.Context(), ledger.Run{
			ID: run.id, Repository: run.repository, Head: run.id, Started: noon.Add(time.Duration(run.from) * time.Hour), Finished: noon.Add(time.Duration(run.to) * time.Hour), Report: json.RawMessage("{}"),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 { // at 1 to 6 hours
		put(trust, "a", "", fmt.Sprint("d", i), 1)
	}
	found, err := ledger.PastJudgements(t.Context(), store, ledger.Scope{Trust: trust}, "d0", 9)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range found {
		got = append(got, j.Run+" "+j.Commit)
	}
	if got, want := strings.Join(got, ","), "short short,long long,late late,long long,long long, "; got != want {
		t.Errorf("the judgements are of the runs %s, want %s", got, want)
	}
}
