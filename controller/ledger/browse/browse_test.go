package browse_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/browse"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// store stores run i, an hour after the one before.
func store(t *testing.T, book *ledger.Ledger, repository string, i int) {
	t.Helper()
	err := book.SaveReport(t.Context(), ledger.Run{
		ID: fmt.Sprintf("run-%d", i), Repository: repository, Head: fmt.Sprintf("%040d", i),
		Started: noon.Add(time.Duration(i) * time.Hour), Finished: noon.Add(time.Duration(i)*time.Hour + time.Minute),
		Report: json.RawMessage(fmt.Sprintf(`{"run":"run-%d","cases":[{"key":"a"},{"key":"b"}],"summary":{"cases":2}}`, i)),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRuns(t *testing.T) {
	book := ledgertest.Open(t, ledger.Config{})
	for i := range 5 {
		store(t, book, []string{"octo/demo", "octo/other"}[i%2], i)
	}
	for _, tt := range []struct {
		repository string
		page       browse.Page
		want       string
		total      int
	}{
		{"", browse.Page{Limit: 2}, "run-4 run-3", 5},
		{"", browse.Page{Skip: 3, Limit: 9}, "run-1 run-0", 5},
		{"octo/other", browse.Page{Limit: 9}, "run-3 run-1", 2},
		{"octo/none", browse.Page{Limit: 9}, "", 0},
	} {
		runs, total, err := browse.Runs(t.Context(), book, tt.repository, tt.page)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range runs {
			got = append(got, r.ID)
			if want := fmt.Sprintf(`{"run":%q,"cases":[],"summary":{"cases":2}}`, r.ID); string(r.Report) != want {
				t.Errorf("the report of %s is %s, want %s", r.ID, r.Report, want)
			}
		}
		if strings.Join(got, " ") != tt.want || total != tt.total {
			t.Errorf("page %+v of %q: %v of %d, want %s of %d", tt.page, tt.repository, got, total, tt.want, tt.total)
		}
	}
	for prefix, want := range map[string]string{fmt.Sprintf("%040d", 2): "run-2", "0000000": "run-4", "abc": ""} {
		if got, err := browse.At(t.Context(), book, "", prefix); err != nil || got != want {
			t.Errorf("the run of head %s is %q, %v, want %q", prefix, got, err, want)
		}
	}
}

// TestJudged holds that a case is followed through its changes by its ID, and that
// nobody reads what a pull request wrote but itself.
func TestJudged(t *testing.T) {
	now := noon
	book := ledgertest.Open(t, ledger.Config{Now: func() time.Time { return now }})
	base := ledger.Trust{Level: ledger.LevelBase, Repository: "octo/demo"}
	pull := ledger.Trust{Level: ledger.LevelPull, Repository: "octo/demo", PullRequest: 7}
	put := func(trust ledger.Trust, id, digest string, score float64) {
		t.Helper()
		now = now.Add(time.Hour)
		d := plan.Digests{E: "e" + digest, J: "j" + digest, D: digest}
		measured := verdict.Sample{Measurements: []verdict.Measurement{{Evaluator: "x", Criteria: []verdict.Criterion{{ID: "x", Score: score}}}}}
		err := book.Save(t.Context(), ledger.Outcome{
			Trust: trust, Digests: d, Case: id,
			Executions: []ledger.Execution{{Transcript: verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "x"}}}}},
			Samples:    []ledger.Judgement{{Sample: measured}},
			Decision:   &ledger.Decision{Result: verdict.Result{Verdict: verdict.Pass, Score: &score, Samples: 1}, Samples: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put(base, "a", "d1", 1)
	store(t, book, "octo/demo", 2)
	put(base, "a", "d2", 0.5)
	put(base, "b", "d3", 0.1)
	put(pull, "a", "d4", 0.2)
	read := func(trust ledger.Trust, digest string, limit int) []string {
		t.Helper()
		found, err := browse.Judged(t.Context(), book, ledger.Scope{Trust: trust}, digest, limit)
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
