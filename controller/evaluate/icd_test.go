package evaluate

import (
	"math"
	"testing"

	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestICDCodes holds the four parts of the score and their sum, each worked out by hand.
func TestICDCodes(t *testing.T) {
	for _, tt := range []struct {
		expected, answer string
		parts            [4]float64
		reason           string
	}{
		{`{"codes": [{"code": "k29.8", "type": "PRIMARY"}]}`, `{"codes": [{"code": " K29.8 "}]}`, [4]float64{1, 1, 1, 1}, "the answer has the expected codes (1)"},
		{`{"codes": [{"code": "K29.80"}]}`, `["K29.8"]`, [4]float64{1, 1, 1, 1}, "the answer has the expected codes (1)"},
		{`["K29.8", "E11.9"]`, "Here:\n```json\n{\"codes\": [{\"code\": \"K29.8\"}]}\n```\nDone.", [4]float64{0.5, 0.5, 0.5, 1}, "missing: E11.9"},
		{`["K29.8"]`, `[{"code": "K29.1"}]`, [4]float64{0, 1, 1, 0}, "missing: K29.8; not expected: K29.1"},
		{`["K29.81"]`, `[{"code": "K29.1"}]`, [4]float64{0, 1, 0.5, 0}, "missing: K29.81; not expected: K29.1"},
		{`["K29.8"]`, `["K29.8", "A00", "B01", "C02"]`, [4]float64{1, 1, 1, 0.3125}, "not expected: A00, B01, C02"},
		{`["A00", "B01", "C02", "D03"]`, `["A00", "B01", "C02", "D03", "E04"]`, [4]float64{1, 1, 1, 1}, "not expected: E04"},
		{`["K29.8"]`, `["K29.8", "K29.8"]`, [4]float64{1, 1, 1, 0.625}, "the answer has the expected codes (1)"},
		{`["K29.8"]`, `The code is {"code":al "x", "code": "K29.8", "type": "PRIMARY"}`, [4]float64{1, 1, 1, 1}, "the answer has the expected codes (1)"},
		{`["K29.8"]`, "I do not know.", [4]float64{0, 0, 0, 0}, "the answer lists no codes as JSON"},
		{`["K29.8"]`, `{"codes": []}`, [4]float64{0, 0, 0, 0}, "the answer lists no codes as JSON"},
		{`["K29.8"]`, `{"codes": [{"code": ""}, 7, null]}`, [4]float64{0, 0, 0, 0}, "the answer lists no codes as JSON"},
	} {
		got, reason := icdCodes(evaluator.ICDCodes{Expected: evaluator.ICDCodesIn(tt.expected)}, tt.answer)
		for i, c := range got {
			if math.Abs(c.Score-tt.parts[i]) > 1e-9 {
				t.Errorf("%s, %s: %s is %v, want %v", tt.expected, tt.answer, c.ID, c.Score, tt.parts[i])
			}
		}
		if reason != tt.reason {
			t.Errorf("%s, %s: the reason is %q, want %q", tt.expected, tt.answer, reason, tt.reason)
		}
	}
}
