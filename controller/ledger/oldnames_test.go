package ledger

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// TestOldDecision reads a decision with the names that fields had before the
// first release, and with those of today.
func TestOldDecision(t *testing.T) {
	score, low, high := 0.5, -0.1, 0.3
	want := Decision{Samples: 2, Result: verdict.Result{
		Verdict: verdict.Pass, Score: &score, Samples: 2, NoThreshold: true, Reason: `says "contest": yes`,
		Attempts: []verdict.Attempt{{Verdict: verdict.Pass, Score: &score, System: "Plan."}},
		Comparison: &verdict.Comparison{
			SystemB: "Be short.", Pairs: 2, Score: &verdict.Difference{Low: &low, High: &high}, Preferences: &verdict.Preferences{P: 0.25},
		},
	}}
	const old = `{"result":{"verdict":"pass","score":0.5,"samples":2,"ungated":true,"reason":"says \"contest\": yes",
		"attempts":[{"verdict":"pass","score":0.5,"system":"Plan."}],
		"contest":{"system_b":"Be short.","pairs":2,"score":{"low":-0.1,"high":0.3},"preferences":{"p":0.25}}},"samples":2}`
	today, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{old, string(today)} {
		var got Decision
		if err := decodeDecision([]byte(body), &got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}
