package rehearsal_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/confirm/simulation"
	"github.com/gavel-evals/gavel/controller/rehearsal"
	"github.com/gavel-evals/gavel/controller/report"
)

// alone is what package confirm says of a pull request by itself: the classes, and
// how many calls there are.
func alone(pull *simulation.Pull, cell simulation.Cell) (classes []string, calls int) {
	p := confirm.New(pull.Cases(), confirm.Options{Budget: -1})
	for batch := range p.Batches() {
		for _, r := range batch {
			p.Record(r, pull.Measure(r))
		}
	}
	res := p.Result()
	for _, f := range res.Findings {
		classes = append(classes, string(f.Class))
	}
	calls = res.Measurements + cell.Cases
	if cell.History == 0 {
		calls += cell.Cases
	}
	return append(classes, fmt.Sprintf("mean %v %s", res.Mean.Called, res.Mean.State)), calls
}

func classes(r *report.Report) []string {
	var out []string
	for _, row := range r.Cases {
		out = append(out, string(*row.Class))
	}
	return append(out, fmt.Sprintf("mean %v %s", r.Remeasured.Mean.Called, r.Remeasured.Mean.State))
}

func stage(t *testing.T, pull *simulation.Pull, cell simulation.Cell) *rehearsal.Stage {
	t.Helper()
	s, err := rehearsal.New(t.Context(), pull, cell, t.TempDir())
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
				want, calls := alone(pull, cell)
				s := stage(t, pull, cell)
				s.AtOnce = 4
				r, err := s.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, classes(r)); diff != "" || s.Calls() != calls {
					t.Errorf("%d calls, want %d; classes (-want +got):\n%s", s.Calls(), calls, diff)
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
		want, calls := alone(pull, cell)
		for k := range calls {
			s := stage(t, pull, cell)
			ctx, stop := context.WithCancel(t.Context())
			s.OnCall = func(n int) bool {
				if n != k || ctx.Err() != nil {
					return false
				}
				stop()
				return true
			}
			if _, err := s.Run(ctx); err != nil {
				t.Fatalf("interrupted at call %d: %v", k, err)
			}
			r, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, classes(r)); diff != "" || s.Calls() != calls {
				t.Errorf("H=%d, interrupted at call %d: %d calls, want %d; classes (-want +got):\n%s", history, k, s.Calls(), calls, diff)
			}
			stop()
		}
	}
}
