package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema/golden"
)

// TestEvalcaseExample runs the example of the evalcase dialect against its
// recordings.
func TestEvalcaseExample(t *testing.T) {
	if golden.Update() {
		recordExample(t, "evalcase")
	}
	if isolated, err := condition("isolated"); err != nil || !isolated {
		t.Skip("programs cannot be isolated here")
	}
	dir := example(t, "evalcase")
	report := runExample(t, dir)
	want := map[string]string{
		"basics#regional-date":        "fail 0.00 of 1 The date was read in the US format. (missed: 5 March was a Tuesday)",
		"basics#simple-greeting":      "pass 1.00 of 1 A greeting.",
		"invoices#saddle":             "fail 0.50 of 1 the answer is no JSON: \"```json {\\\"number\\\": \\\"2024-18\\\", \\\"total\\\": 1.099, \\\"due\\\": \\\"07.04.2024\\\"} ```\"",
		"invoices#spokes":             "pass 1.00 of 1 3 of 3 fields are right",
		"review#code-review-security": "pass 0.92 of 1 explains-risk: What could be read or lost is not said.",
		"support#turn-1":              "pass 0.90 of 1 As it should be.",
		"support#turn-2":              "pass 1.00 of 1 Right.",
		"support#where-is-my-order":   "borderline 0.68 of 1 not as expected: step 2 send_message (not called); called: get_order",
	}
	if diff := cmp.Diff(want, verdicts(report)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := runExample(t, dir); again.Summary.Calls != 0 || again.Summary.Reused != len(want) {
		t.Errorf("the second run makes %d calls and reuses %d cases", again.Summary.Calls, again.Summary.Reused)
	}
	stdout, stderr, code := gavel(t, dir, "explain", "review#code-review-security")
	if code != exitPass {
		t.Fatalf("explain: %s", stderr)
	}
	_, conversation, _ := strings.Cut(stdout, "\nSample 1")
	golden.Compare(t, "testdata/explain_evalcase.txt", conversation)
}
