package rehearsal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/examples/research/rehearsal"
	"github.com/gavel-evals/gavel/examples/research/simulation"
)

func stage(t *testing.T, pull *simulation.Pull, cell simulation.Cell) *rehearsal.Stage {
	t.Helper()
	return stageIn(t, pull, cell, t.TempDir())
}

// stageIn is a stage whose ledger is in a folder.
func stageIn(t *testing.T, pull *simulation.Pull, cell simulation.Cell, dir string) *rehearsal.Stage {
	t.Helper()
	s, err := rehearsal.New(t.Context(), pull, cell, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.MakeHistory(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestThePipelineDoesAsTheProcedure: the same calls and classes.
func TestThePipelineDoesAsTheProcedure(t *testing.T) {
	for _, cell := range []simulation.Cell{
		{Truth: simulation.Mixed, Cases: 20},
		{Truth: simulation.Mixed, Cases: 20, History: 5, Broken: 1},
		{Truth: simulation.Calm, Cases: 20, Broken: 1},
		{Truth: simulation.Calm, Cases: 20, History: 5},
	} {
		for number := range uint64(3) {
			t.Run(fmt.Sprintf("%s H=%d %d", cell.Truth.Name, cell.History, number), func(t *testing.T) {
				pull := simulation.NewPull(cell, 7, number)
				want := rehearsal.Alone(pull, cell)
				s := stage(t, pull, cell)
				s.AtOnce = 4
				var last controller.Progress
				s.Observe = func(p controller.Progress) { last = p }
				r, err := s.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, s.Decided(r)); diff != "" {
					t.Errorf("not the same as in memory (-want +got):\n%s", diff)
				}
				if again := r.Remeasured.Measurements; last.Again != again || last.Done != last.Total || last.Done+again != want.Calls {
					t.Errorf("the last step is %+v after %d cases and %d further measurements", last, want.Calls-again, again)
				}
			})
		}
	}
}

// TestLimits: where limits on scores ask for further rounds, the pipeline makes the same
// calls as package confirm alone, and so does a run that is interrupted at any call and
// made again.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		settings string
		limits   []confirm.Limit
		history  int
		rounds   int // beyond the first measurements
		result   string
	}{
		{"gate: {min_score: 0.1}", []confirm.Limit{{Least: .1}}, 0, 0, report.GatePass},
		// 24 of 24: t(0.98, 16)·√(.3·.7/24) = .209.
		{"gate: {min_score: 0.7}", []confirm.Limit{{Least: .7}}, 0, 2 * 8, report.GatePass},
		{"gate: {max_drop: 0.1, unsure: notice}", []confirm.Limit{{Least: -.1, Paired: true}}, 0, 2 * 16, report.GatePass},
		{"gate: {max_drop: 0.1, min_score: 0.7}", []confirm.Limit{{Least: -.1, Paired: true}, {Least: .7}}, 5, 2 * 16, report.GateUndetermined},
	} {
		cell := simulation.Cell{Truth: simulation.Truth{Name: "all pass", Draw: func(*rand.Rand) float64 { return 1 }}, Cases: 8, History: tt.history, Scored: true}
		pull := simulation.NewPull(cell, 3, 1)
		for i := range tt.limits {
			tt.limits[i].Cases = []int{0, 1, 2, 3, 4, 5, 6, 7}
		}
		want := rehearsal.Alone(pull, cell, tt.limits...)
		first := 2 * cell.Cases
		if tt.history > 0 {
			first = cell.Cases
		}
		if want.Calls != first+tt.rounds {
			t.Errorf("%s: %d calls alone, want %d", tt.settings, want.Calls, first+tt.rounds)
		}
		for k := 0; k <= want.Calls; k += 5 {
			s := stage(t, pull, cell)
			s.Settings = tt.settings + "\n"
			ctx, stop := context.WithCancel(t.Context())
			s.OnCall(func(n int) bool {
				if n < k {
					return false
				}
				stop()
				return true // as is a call that began before the end of ctx was everywhere
			})
			if r, err := s.Run(ctx); err != nil || tt.rounds > 0 && k < want.Calls && r.Gate.Result != report.GateUndetermined {
				t.Fatalf("%s: interrupted at call %d: %+v %v", tt.settings, k, r, err)
			}
			s.OnCall(nil)
			r, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, s.Decided(r)); diff != "" || r.Gate.Result != tt.result {
				t.Errorf("%s, interrupted at call %d: %+v (-want +got):\n%s", tt.settings, k, r.Gate, diff)
			}
			stop()
		}
	}
}

// TestInterruptedAtAnyCall: a run that is interrupted at any call and made again
// asks and says the same as one that is not.
func TestInterruptedAtAnyCall(t *testing.T) {
	for _, history := range []int{0, 5} {
		cell := simulation.Cell{Truth: simulation.Mixed, Cases: 6, History: history, Broken: 1}
		pull := simulation.NewPull(cell, 3, 1)
		want := rehearsal.Alone(pull, cell)
		for k := 0; k < want.Calls; k++ {
			s := stage(t, pull, cell)
			ctx, stop := context.WithCancel(t.Context())
			s.OnCall(func(n int) bool {
				if n < k {
					return false
				}
				stop()
				return true // as is a call that began before the end of ctx was everywhere
			})
			if _, err := s.Run(ctx); err != nil {
				t.Fatalf("interrupted at call %d: %v", k, err)
			}
			s.OnCall(nil)
			r, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, s.Decided(r)); diff != "" {
				t.Errorf("H=%d, interrupted at call %d (-want +got):\n%s", history, k, diff)
			}
			stop()
		}
	}
}
