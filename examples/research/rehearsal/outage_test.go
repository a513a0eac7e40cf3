package rehearsal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/examples/research/rehearsal"
	"github.com/gavel-evals/gavel/examples/research/simulation"
)

// TestAnOutageIsTriedAgain: where many cases end in one error, the outage is over when they
// are measured again, and the pull request is judged as if there had been none. Cases
// that fail with one reply are not taken for an outage: each is measured again by itself. Both
// hold for a run that is interrupted as well. The answers that were replaced stay stored.
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
		{"one error, fresh base", 0, "the content filter is overloaded", http.StatusBadRequest},
		{"one error, with a history", 5, "the content filter is overloaded", http.StatusBadRequest},
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
				classes := map[report.Class]int{}
				for _, row := range r.Cases {
					classes[*row.Class]++
				}
				if classes[report.Regression] != 1 || classes[report.Unclear]+classes[report.Failed] > 0 || r.Gate.Result != report.GateFail {
					t.Errorf("interrupted at call %d: %v, %+v", k, classes, r.Gate)
				}
				if got, want := fmt.Sprint(s.Spoiled(), len(r.Remeasured.Outages)), fmt.Sprint(struck, count(tt.status != 0)); k < 0 && got != want {
					t.Errorf("%s measurements were spoiled and outages are told, want %s", got, want)
				}
				if got := len(r.Remeasured.Outages); tt.status != 0 && got != 1 {
					t.Errorf("interrupted at call %d: %d outages are told, want 1", k, got)
				}
				if k < 0 && tt.status != 0 {
					if r.Remeasured.Retaken <= struck {
						t.Errorf("%d measurements are taken again, want answers among them", r.Remeasured.Retaken)
					}
					if lost, err := s.Lose(t.Context()); err != nil || lost > 0 {
						t.Errorf("%d answers are not stored, %v", lost, err)
					}
				}
				if k < 0 && tt.status == 0 && r.Remeasured.Retaken > 0 {
					t.Errorf("%d replies are taken again because of what they said", r.Remeasured.Retaken)
				}
			}
		})
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// TestErrorsGetTheirTries: one call a side that a content filter stops leaves nothing
// undetermined, and one whose request is refused each time does.
func TestErrorsGetTheirTries(t *testing.T) {
	for _, tt := range []struct {
		text   string
		always bool
		result string
	}{
		{"stopped by the content filter", false, report.GatePass},
		{"stopped by the content filter", true, report.GateUndetermined},
		{"a field of the request is unknown", false, report.GateUndetermined},
	} {
		cell := simulation.Cell{Truth: simulation.Truth{Name: "all pass", Draw: func(*rand.Rand) float64 { return 1 }}, Cases: 6}
		s := stage(t, simulation.NewPull(cell, 3, 1), cell)
		seen := map[confirm.Request]bool{}
		s.Spoil = func(of confirm.Request) (string, int) {
			if (of.Case != 1 || of.Side != confirm.Head) && (of.Case != 4 || of.Side != confirm.Base) || seen[of] && !tt.always {
				return "", 0
			}
			seen[of] = true
			return tt.text, http.StatusBadRequest
		}
		r, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Gate.Result != tt.result {
			t.Errorf("%s, always %v: %+v, want %s", tt.text, tt.always, r.Gate, tt.result)
		}
		if retried := tt.result == report.GatePass; retried && r.Remeasured.Retaken != 2 {
			t.Errorf("%d first measurements are taken again, want 2", r.Remeasured.Retaken)
		}
	}
}

// TestScatteredErrors: calls that a provider turns away now and then, at either side, leave
// no pull request that changes nothing undetermined or red.
func TestScatteredErrors(t *testing.T) {
	for _, tt := range []struct {
		text    string
		status  int
		percent float64
	}{
		{"slow down", http.StatusTooManyRequests, 10},
		{"stopped by the content filter", http.StatusBadRequest, 5},
		{"overloaded", http.StatusServiceUnavailable, 5},
	} {
		for n := range uint64(2) {
			t.Run(fmt.Sprint(tt.status, " ", n), func(t *testing.T) {
				t.Parallel() // they wait before they try again
				cell := simulation.Cell{Truth: simulation.Truth{Name: "all pass", Draw: func(*rand.Rand) float64 { return 1 }}, Cases: 20}
				s := stage(t, simulation.NewPull(cell, 3, n), cell)
				s.AtOnce = 8
				luck := rand.New(rand.NewPCG(1, n))
				s.Spoil = func(confirm.Request) (string, int) {
					if 100*luck.Float64() >= tt.percent {
						return "", 0
					}
					return tt.text, tt.status
				}
				r, err := s.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if r.Gate.Result != report.GatePass || s.Spoiled() == 0 {
					t.Errorf("%d calls are turned away: %+v", s.Spoiled(), r.Gate)
				}
			})
		}
	}
}
