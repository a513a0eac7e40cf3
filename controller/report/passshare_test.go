package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// TestPassK: the means end where one of the cases needs no further pass.
func TestPassK(t *testing.T) {
	of := func(values ...float64) pair {
		return pair{head: &Outcome{Result: verdict.Result{PassShare: &verdict.PassShare{PassK: values}}}}
	}
	got := passK([]pair{{}, of(1, 1, 1), {head: &Outcome{}}, of(.5, 0)})
	if diff := cmp.Diff(&PassK{Cases: 2, Mean: []float64{.75, .5}}, got); diff != "" {
		t.Error(diff)
	}
	if want := "pass^1 0.750, pass^2 0.500 over 2 cases with a pass share"; got.String() != want {
		t.Errorf("%q, want %q", got, want)
	}
	if want := "pass^1 0.500 over 1 case with a pass share"; passK([]pair{of(.5)}).String() != want {
		t.Errorf("%q, want %q", passK([]pair{of(.5)}), want)
	}
	if got := passK([]pair{{}}); got != nil || got.String() != "" {
		t.Errorf("no case with a share: %q", got)
	}
}
