package rehearsal_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller"
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
