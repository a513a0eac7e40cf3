package parts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/casehistory"
	"github.com/gavel-evals/gavel/controller/verdict"
)

func TestCurve(t *testing.T) {
	score := func(x float64) *float64 { return &x }
	points := []casehistory.Judgement{{Verdict: "pass", Score: score(1)}, {Verdict: verdict.Borderline}, {Verdict: "fail", Score: score(0)}}
	got := string(curve(points))
	for _, want := range []string{"passed 1 of the last 2", `points="3.0,3.0 93.0,17.0"`, `<circle cx="93.0" cy="17.0" r="2"/>`} {
		if !strings.Contains(got, want) {
			t.Errorf("the curve of pass, one without a score, fail is %s, and should contain %s", got, want)
		}
	}
	if got := curve(points[:1]); got != "" {
		t.Errorf("the curve of one result is %s, want none", got)
	}
	var many []casehistory.Judgement
	for i := range 100 {
		many = append(many, casehistory.Judgement{Verdict: "pass", Score: score(float64(i) / 100)})
	}
	if want := fmt.Sprintf("passed %d of the last %d", mostPoints, mostPoints); !strings.Contains(string(curve(many)), want) {
		t.Errorf("the curve of 100 results is not that of the last %d", mostPoints)
	}
}
