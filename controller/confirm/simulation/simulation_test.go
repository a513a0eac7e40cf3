package simulation_test

import (
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/confirm/simulation"
)

// TestCells runs one cell of each kind, with few pull requests.
func TestCells(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cell  simulation.Cell
		pulls int
		// alarms is the most that may be, found the least share of broken cases,
		// calls the most measurements a pull request.
		alarms, found, calls float64
	}{
		{"without history", simulation.Cell{Truth: simulation.Mixed, Cases: 200}, 200, .05, 0, 531},
		{"with a short history", simulation.Cell{Truth: simulation.Mixed, Cases: 200, History: 5}, 200, .05, 0, 244},
		{"calm", simulation.Cell{Truth: simulation.Calm, Cases: 200, History: 1}, 200, .05, 0, 224},
		{"drift", simulation.Cell{Truth: simulation.Calm, Cases: 200, History: 20, Drift: .1}, 60, .05, 0, 855},
		{"conversations", simulation.Cell{Truth: simulation.Mixed, Cases: 200, Turns: 5}, 100, .05, 0, 550},
		{"large", simulation.Cell{Truth: simulation.Steady, Cases: 2000, History: 5}, 20, .05, 0, 2430},
		{"broken, without history", simulation.Cell{Truth: simulation.Mixed, Cases: 200, Broken: 1}, 100, 1, .95, 550},
		{"broken, with a short history", simulation.Cell{Truth: simulation.Mixed, Cases: 200, History: 5, Broken: 1}, 100, 1, .95, 250},
		{"broken, with a history", simulation.Cell{Truth: simulation.Mixed, Cases: 200, History: 20, Broken: 1}, 100, 1, .95, 250},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tally := simulation.Run(tt.cell, confirm.Options{Budget: -1}, tt.pulls, 7)
			if got := tally.Rate(tally.Alarms); got > tt.alarms {
				t.Errorf("false alarms in a share of %.3f", got)
			}
			if got := float64(tally.Found) / max(1, float64(tally.Changed)); got < tt.found {
				t.Errorf("of the broken cases %.3f are found", got)
			}
			if got := tally.Rate(tally.Calls); got > tt.calls {
				t.Errorf("%.1f measurements a pull request, want at most %.0f", got, tt.calls)
			}
		})
	}
}

// TestWithoutConfirmation shows what all of this is for: with one run a side most
// pull requests that change nothing would fail.
func TestWithoutConfirmation(t *testing.T) {
	alarms := 0
	for seed := range uint64(100) {
		cases := simulation.NewPull(simulation.Cell{Truth: simulation.Mixed, Cases: 200}, seed).Cases()
		if slices.ContainsFunc(cases, func(c confirm.Case) bool { return c.Head.Verdict.Rank() < c.Base[0].Verdict.Rank() }) {
			alarms++
		}
	}
	if alarms < 95 {
		t.Errorf("of 100 pull requests %d have a flip", alarms)
	}
}
