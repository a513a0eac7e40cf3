package rehearsal_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/examples/research/rehearsal"
	"github.com/gavel-evals/gavel/examples/research/simulation"
)

// TestAnOutageIsTriedAgain: where many cases fail with one reply or one error, the
// outage is over when they are measured again, and the pull request is judged as if
// there had been none. That holds for a run that is interrupted as well.
func TestAnOutageIsTriedAgain(t *testing.T) {
	const struck = 6
	for _, tt := range []struct {
		name    string
		history int
		text    string
		status  int
	}{
		{"one reply, fresh base", 0, "no, please try again later", 0},
		{"one reply, with a history", 5, "no, please try again later", 0},
		{"one error, with a history", 5, "the model is overloaded", http.StatusBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cell := simulation.Cell{Truth: simulation.Calm, Cases: 8, History: tt.history, Broken: 1}
			pull := simulation.NewPull(cell, 3, 1)
			want := rehearsal.Alone(pull, cell)
			for k := -1; k < want.Calls; k += 2 {
				s := stage(t, pull, cell)
				down := map[int]bool{}
				s.Spoil = func(of confirm.Request) (string, int) {
					if of.Side == confirm.Base || of.Ordinal > 0 || of.Case >= struck || down[of.Case] {
						return "", 0
					}
					down[of.Case] = true
					return tt.text, tt.status
				}
				ctx, stop := context.WithCancel(t.Context())
				s.OnCall(func(n int) bool {
					// Cases have no order among those that wait for a call, and of an
					// outage that is over in part some errors stay.
					if k < 0 || n < k || len(down) < struck {
						return false
					}
					stop()
					return true // as is a call that began before the end of ctx was everywhere
				})
				r, err := s.Run(ctx)
				s.OnCall(nil)
				if err == nil && k >= 0 {
					r, err = s.Run(t.Context())
				}
				stop()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, s.Decided(r)); diff != "" {
					t.Errorf("interrupted at call %d (-want +got):\n%s", k, diff)
				}
				if got := fmt.Sprint(s.Spoiled(), r.Remeasured.Retaken); k < 0 && got != fmt.Sprint(struck, struck) {
					t.Errorf("%s measurements were spoiled and taken again, want %d of each", got, struck)
				}
			}
		})
	}
}
