package archive_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/report/archive"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// oldReport has every field that was renamed before the first release, under its
// old name.
const oldReport = `{"run":"r","not_run":"waits for approval","orders":[{"comment":7,"by":"mona","at":"2026-03-02T09:00:00Z","verb":"run"}],
"summary":{"not_run":2,"ungated":1},"groups":[{"dialect":"domain","base":0.5}],"conversations":[{"dialect":"evalcase","base":0.25}],
"group_gates":[{"group":"g","summary":{"ungated":3}}],
"cases":[{"key":"a","beside":true,"ungated":true,"reason":"too short","reasons":[{"part":"again"},{"part":"asked"},{"part":"ledger"}],
"accepted":{"comment":8,"by":"eve","at":"2026-03-02T09:00:00Z","verb":"accept"},
"trial":{"attempts":[{"verdict":"fail","score":0,"system":"Plan."}],"contest":{"system_a":"A","system_b":"B","pairs":2,
"score":{"a":0.1,"b":0.2,"delta":0.1,"low":0.05,"high":0.15},"criteria":[{"id":"c","low":0,"high":1}],"preferences":{"a":1,"p":0.5}}}}]}`

func TestDecode(t *testing.T) {
	at, zero, one, low, high, quarter, half := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), 0.0, 1.0, 0.05, 0.15, 0.25, 0.5
	want := &report.Report{
		Run: "r", NotRunReason: "waits for approval",
		Commands:      []report.Command{{CommentID: 7, Author: "mona", TakenAt: at, Verb: "run"}},
		Summary:       report.Summary{NotRun: 2, NoThreshold: 1},
		Groups:        []report.Group{{Dialect: "domain", BaseScore: &half}},
		Conversations: []report.Group{{Dialect: "evalcase", BaseScore: &quarter}},
		GroupGates:    []report.GroupGate{{Group: "g", Summary: report.Summary{NoThreshold: 3}}},
		Cases: []report.Row{{
			Key: "a", PerTarget: true, NoThreshold: true, VerdictReason: "too short",
			Reasons:  []plan.Reason{{Part: "rerun"}, {Part: "command"}, {Part: "ledger"}},
			Accepted: &report.Command{CommentID: 8, Author: "eve", TakenAt: at, Verb: "accept"},
			Attempts: []verdict.Attempt{{Verdict: verdict.Fail, Score: &zero, System: "Plan."}},
			Comparison: &verdict.Comparison{
				SystemA: "A", SystemB: "B", Pairs: 2, Score: &verdict.Difference{A: 0.1, B: 0.2, Delta: 0.1, Low: &low, High: &high},
				Criteria: []verdict.Difference{{ID: "c", Low: &zero, High: &one}}, Preferences: &verdict.Preferences{A: 1, P: 0.5},
			},
		}},
	}
	got, err := archive.Decode([]byte(oldReport))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a report with old names (-want +got):\n%s", diff)
	}
	today, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = archive.Decode(today); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a report of today (-want +got):\n%s", diff)
	}
	if _, err := archive.Decode([]byte(`{"cases":7}`)); err == nil {
		t.Error("Decode accepts what is not a report")
	}
}
