package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A shelf is a ledger whose clock stops between samples.
type shelf struct {
	*testing.T
	l    *ledger.Ledger
	now  time.Time
	next int
}

var (
	digests     = plan.Digests{E: strings.Repeat("e", 64), J: strings.Repeat("1", 64), D: strings.Repeat("d", 64)}
	historyBase = ledger.Trust{Level: ledger.LevelBase, Repository: "octo/demo"}
	historyCase = &schema.Case{CaseInfo: schema.CaseInfo{Key: "a"}, Evaluators: []schema.Evaluator{
		{Name: "equal", Spec: evaluator.Keyword{}, Weight: 1, Rule: schema.Rule{Threshold: 0.8}},
	}, Policy: schema.Policy{Iterations: 1}}
)

func newShelf(t *testing.T) *shelf {
	s := &shelf{T: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s.l = ledgertest.Open(t, ledger.Config{Now: func() time.Time { return s.now }})
	return s
}

// put stores a sample an hour after the one before.
func (s *shelf) put(trust ledger.Trust, score float64, model string, chosen bool) {
	s.Helper()
	s.now = s.now.Add(time.Hour)
	transcript := verdict.Transcript{Model: model, Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "x"}}}
	err := s.l.Save(s.Context(), ledger.Outcome{
		Trust: trust, Digests: digests, Case: "a", Purpose: map[bool]plan.Purpose{true: plan.Doubting}[chosen],
		Executions: []ledger.Execution{{Ordinal: s.next, Transcript: transcript}},
		Samples: []ledger.Judgement{{Sample: verdict.Sample{Ordinal: s.next, Measurements: []verdict.Measurement{
			{Evaluator: "equal", Criteria: []verdict.Criterion{{ID: "equal", Score: score}}},
		}}}},
	})
	if err != nil {
		s.Fatal(err)
	}
	s.next++
}

// read shows the verdicts of the found measurements, the oldest first.
func (s *shelf) read(scope ledger.Scope, ask ledger.HistoryAsk) string {
	s.Helper()
	ask.Digests = digests
	if ask.Until.IsZero() {
		ask.Until = s.now
	}
	found, err := ledger.ReadHistories(s.Context(), s.l, scope, []ledger.HistoryAsk{ask, {Case: historyCase, Digests: plan.Digests{J: "none"}, Until: s.now}})
	if err != nil {
		s.Fatal(err)
	}
	if len(found) != 2 || len(found[1]) != 0 {
		s.Errorf("found %v of a case that nobody measured", found)
	}
	var out string
	for _, m := range found[0] {
		out += string(m.Result.Verdict)[:1]
	}
	return out
}

func TestRead(t *testing.T) {
	s := newShelf(t)
	for _, score := range []float64{1, 0, 1, 1} {
		s.put(historyBase, score, "m-1", false)
	}
	scope := ledger.Scope{Trust: historyBase}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, want string
		scope      ledger.Scope
		ask        ledger.HistoryAsk
	}{
		{"all", "pfpp", scope, ledger.HistoryAsk{Case: historyCase}},
		{"since", "fpp", scope, ledger.HistoryAsk{Case: historyCase, Since: noon.Add(time.Hour)}},
		{"until", "pfp", scope, ledger.HistoryAsk{Case: historyCase, Until: noon.Add(3 * time.Hour)}},
		{"four samples are enough", "pfpp", scope, ledger.HistoryAsk{Case: historyCase, Least: 4}},
		{"four samples are too few", "", scope, ledger.HistoryAsk{Case: historyCase, Least: 5}},
		{"reuse is off", "", ledger.Scope{Trust: historyBase, Nothing: true}, ledger.HistoryAsk{Case: historyCase}},
		{"two iterations", "fp", scope, ledger.HistoryAsk{Case: withPolicy(schema.Policy{Iterations: 2})}},
		{"three iterations", "f", scope, ledger.HistoryAsk{Case: withPolicy(schema.Policy{Iterations: 3})}},
		{"one pass of two, cut where it is known", "ppp", scope, ledger.HistoryAsk{Case: withPolicy(schema.Policy{Iterations: 2, PassShare: .5})}},
		{"both of two", "fp", scope, ledger.HistoryAsk{Case: withPolicy(schema.Policy{Iterations: 2, PassShare: 1})}},
		{"three of four", "p", scope, ledger.HistoryAsk{Case: withPolicy(schema.Policy{Iterations: 4, PassShare: .75})}},
		{"four of five, which is open", "", scope, ledger.HistoryAsk{Case: withPolicy(schema.Policy{Iterations: 5, PassShare: .8})}},
		{"rerun when it fails", "", scope, ledger.HistoryAsk{Case: withPolicy(schema.Policy{Iterations: 1, Retry: &schema.Retry{Most: 1}})}},
	} {
		if got := s.read(tt.scope, tt.ask); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func withPolicy(p schema.Policy) *schema.Case {
	c := *historyCase
	c.Policy = p
	return &c
}

// TestWhatIsNotHistory: samples that were taken because of an outcome, or
// of a model that answers no more.
func TestWhatIsNotHistory(t *testing.T) {
	s := newShelf(t)
	s.put(historyBase, 0, "m-1", false)
	s.put(historyBase, 1, "m-2", false)
	s.put(historyBase, 0, "m-2", true)
	s.put(historyBase, 1, "m-2", false)
	if got := s.read(ledger.Scope{Trust: historyBase}, ledger.HistoryAsk{Case: historyCase}); got != "pp" {
		t.Errorf("found %q, want the two of m-2 that were not chosen", got)
	}
	pull := ledger.Trust{Level: ledger.LevelPull, Repository: "octo/demo", PullRequest: 7}
	s.put(pull, 0, "m-2", false)
	if got := s.read(ledger.Scope{Trust: historyBase}, ledger.HistoryAsk{Case: historyCase}); got != "pp" {
		t.Errorf("base reads %q, want nothing of a pull request", got)
	}
	if got := s.read(ledger.Scope{Trust: pull}, ledger.HistoryAsk{Case: historyCase}); got != "ppf" {
		t.Errorf("the pull request reads %q, want its own too", got)
	}
}

// TestMost: of a long history the newest counts.
func TestMost(t *testing.T) {
	s := newShelf(t)
	want := ""
	for i := range ledger.UsualMeasurements + 5 {
		s.put(historyBase, float64(i%2), "m", false)
		if i >= 5 {
			want += fmt.Sprint([]string{"f", "p"}[i%2])
		}
	}
	if diff := cmp.Diff(want, s.read(ledger.Scope{Trust: historyBase}, ledger.HistoryAsk{Case: historyCase})); diff != "" {
		t.Error(diff)
	}
}

// TestBegin has the time from which a history counts, as it was at any time.
func TestBegin(t *testing.T) {
	s := newShelf(t)
	at := func(hours int) time.Time { return s.now.Add(time.Duration(hours) * time.Hour) }
	for _, hours := range []int{5, 2, 2} {
		if err := ledger.BeginHistories(t.Context(), s.l, []string{digests.J}, at(hours)); err != nil {
			t.Fatal(err)
		}
	}
	begun, err := ledger.HistoriesBegun(t.Context(), s.l, []string{digests.J, digests.J, "other"})
	if err != nil || len(begun) != 1 || len(begun[digests.J]) != 2 {
		t.Fatalf("begun %v, %v", begun, err)
	}
	for _, tt := range []struct {
		until int
		want  time.Time
	}{{1, time.Time{}}, {2, at(2)}, {4, at(2)}, {9, at(5)}} {
		if got := ledger.LastBegun(begun[digests.J], at(tt.until)); !got.Equal(tt.want) {
			t.Errorf("after %d hours it is %v, want %v", tt.until, got, tt.want)
		}
	}
}
