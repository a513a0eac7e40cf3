package report

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
)

func TestCompare(t *testing.T) {
	entry := func(key, target string, v verdict.Verdict, score, weight, cost float64) tallyEntry {
		e := tallyEntry{Key: key, Target: target, Weight: weight, Calls: 1, Tokens: 10, CostUSD: &cost}
		switch v {
		case "":
			e.Failed, e.CostUSD = true, nil
		case verdict.Error, verdict.Skipped:
			e.Verdict = &v
		default:
			e.Verdict, e.Score = &v, &score
		}
		return e
	}
	entries := []tallyEntry{
		entry("a", "large", verdict.Pass, 1, 3, 0.5), entry("a", "small", verdict.Fail, 0, 3, 0.25),
		entry("b", "large", verdict.Fail, 0, 1, 0.5), entry("b", "small", verdict.Borderline, 0.5, 1, 0.25),
		entry("c", "large", verdict.Pass, 0.8, 1, 0.5), entry("c", "small", verdict.Error, 0, 1, 0.25),
		entry("d", "large", "", 0, 1, 0), entry("d", "small", verdict.Pass, 1, 1, 0.25),
		entry("e", "large", verdict.Skipped, 0, 1, 0), entry("e", "small", verdict.Skipped, 0, 1, 0.25),
		entry("f", "other", verdict.Pass, 1, 1, 0),
	}
	value := func(x float64) *float64 { return &x }
	want := []TargetTally{
		{Target: "small", Verdicts: Verdicts{Cases: 5, Pass: 1, Borderline: 1, Fail: 1, Error: 1, Skipped: 1}, Score: value(0.3), Calls: 5, Tokens: 50, CostUSD: value(1.25)},
		// Over a and b: (3·1 + 0)/4 against (0 + 0.5)/4.
		{Target: "large", Verdicts: Verdicts{Cases: 5, Pass: 2, Fail: 1, Error: 1, Skipped: 1}, Score: value(0.76), Pairs: 2, Delta: value(0.625), Better: 1, Worse: 1, Calls: 5, Tokens: 50},
	}
	got := compareTargets([]string{"small", "large"}, entries)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{"g", "h", "i"} { // and now a difference has an interval
		entries = append(entries, entry(key, "large", verdict.Pass, 1, 1, 0), entry(key, "small", verdict.Pass, 1, 1, 0))
	}
	for i := range entries {
		entries[i].Cluster, entries[i].Weight = entries[i].Key, 1
	}
	// The differences are 1, −0.5, 0, 0, 0: d̄ = 0.1, s² = 1.2/4, t(0.975, 4) = 2.776445.
	half := 2.776445 * math.Sqrt(0.3/5)
	if b := compareTargets([]string{"small", "large"}, entries)[1].Between; !b.Known() || math.Abs(*b.CILow-0.1+half) > 1e-5 || math.Abs(*b.CIHigh-0.1-half) > 1e-5 {
		t.Errorf("the interval is %+v, want 0.1 ± %v", b, half)
	}
	if text := got[0].Counts() + "; " + got[1].Difference(); text != "1 of 5 cases passed, 1 borderline, 1 failed, 1 not judged, 1 skipped; better at 1, worse at 1" {
		t.Errorf("words %q", text)
	}
	if got[0].Difference() != "" {
		t.Error("the first target is compared with itself")
	}
	if got := compareTargets([]string{"small"}, entries); got != nil {
		t.Errorf("one target is compared: %+v", got)
	}
	if none := compareTargets([]string{"x", "y"}, nil); none[1].Score != nil || none[1].Delta != nil || none[1].Cases != 0 {
		t.Errorf("targets without a case: %+v", none)
	}
}
