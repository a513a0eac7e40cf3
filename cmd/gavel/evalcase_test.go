package main

import (
	"testing"
)

// TestEvalcaseExample runs the example of the evalcase dialect against its
// recordings.
func TestEvalcaseExample(t *testing.T) {
	needsIsolation(t)
	dir, _ := judgeExample(t, "evalcase", map[string]string{
		"basics#regional-date":        "fail 0.00 of 1 The date was read in the US format. (missed: 5 March was a Tuesday)",
		"basics#simple-greeting":      "pass 1.00 of 1 A greeting.",
		"invoices#saddle":             "fail 0.50 of 1 the answer is not JSON: \"```json {\\\"number\\\": \\\"2024-18\\\", \\\"total\\\": 1.099, \\\"due\\\": \\\"07.04.2024\\\"} ```\"",
		"invoices#spokes":             "pass 1.00 of 1 3 of 3 fields are right",
		"review#code-review-security": "pass 0.92 of 1 explains-risk: What could be read or lost is not said.",
		"support#turn-1":              "pass 0.90 of 1 As it should be.",
		"support#turn-2":              "pass 1.00 of 1 Right.",
		"support#where-is-my-order":   "borderline 0.68 of 1 not as expected: step 2 send_message (not called); called: get_order",
	})
	goldenSamples(t, dir, "review#code-review-security", "testdata/explain_evalcase.txt")
}
