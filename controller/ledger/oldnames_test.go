package ledger

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger/former"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// TestOldDecision reads a decision with the names that fields had before the
// first release, and with those of today.
func TestOldDecision(t *testing.T) {
	score, low, high := 0.5, -0.1, 0.3
	want := Decision{Samples: 2, Duration: 5, Usage: verdict.Usage{Calls: 3}, Result: verdict.Result{
		Verdict: verdict.Pass, Score: &score, Samples: 2, NoThreshold: true, Reason: `says "contest": yes`,
		Attempts: []verdict.Attempt{{Verdict: verdict.Pass, Score: &score, System: "Plan."}},
		Comparison: &verdict.Comparison{
			SystemB: "Be short.", Pairs: 2, Score: &verdict.Difference{Low: &low, High: &high}, Preferences: &verdict.Preferences{P: 0.25},
		},
	}}
	const old = `{"result":{"verdict":"pass","score":0.5,"samples":2,"ungated":true,"reason":"says \"contest\": yes",
		"attempts":[{"verdict":"pass","score":0.5,"system":"Plan."}],
		"contest":{"system_b":"Be short.","pairs":2,"score":{"low":-0.1,"high":0.3},"preferences":{"p":0.25}}},"usage":{"calls":3},"duration":5,"samples":2}`
	today, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{old, string(today)} {
		var got Decision
		if err := former.Decision.Decode([]byte(body), &got); err != nil {
			t.Fatalf("%s cannot be read: %v", body, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

// TestOldSample does the same for a transcript and its judgement.
func TestOldSample(t *testing.T) {
	transcript := verdict.Transcript{
		System: "Be kind.", Messages: []schema.Message{{Role: schema.RoleUser, Content: `"latency":`}}, Traced: true, Latency: 7,
		Simulated: verdict.Usage{Calls: 1}, Ended: verdict.EndedByUser,
	}
	judgement := Judgement{Sample: verdict.Sample{Ordinal: 1, Measurements: []verdict.Measurement{{Evaluator: "e", Asked: "good?", Answered: "yes"}}}}
	for _, body := range []string{
		`{"system":"Be kind.","messages":[{"role":"user","content":"\"latency\":"}],"traced":true,"latency":7,"usage":{},"simulated":{"calls":1},"ended":"user"}`,
		mustJSON(t, transcript),
	} {
		var got verdict.Transcript
		if err := former.Transcript.Decode([]byte(body), &got); err != nil {
			t.Fatalf("%s cannot be read: %v", body, err)
		}
		if diff := cmp.Diff(transcript, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	for _, body := range []string{
		`{"sample":{"ordinal":1,"measurements":[{"evaluator":"e","asked":"good?","answered":"yes"}]},"usage":{}}`,
		mustJSON(t, judgement),
	} {
		var got Judgement
		if err := former.Judgement.Decode([]byte(body), &got); err != nil {
			t.Fatalf("%s cannot be read: %v", body, err)
		}
		if diff := cmp.Diff(judgement, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
