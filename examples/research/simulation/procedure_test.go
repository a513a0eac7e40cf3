package simulation_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/examples/research/simulation"
)

var unbounded = confirm.Options{Budget: -1}

// play goes through the procedure with a pull request, and returns its result and what
// it asked for.
func play(pull *simulation.Pull, options confirm.Options) (confirm.Result, []confirm.Request) {
	p := confirm.New(pull.Cases(), options)
	var asked []confirm.Request
	for batch := range p.Batches() {
		for _, r := range batch {
			asked = append(asked, r)
			p.Record(r, pull.Measure(r))
		}
	}
	return p.Result(), asked
}

// pulls are pull requests in which much is going on.
func pulls() []*simulation.Pull {
	var list []*simulation.Pull
	for i, c := range []simulation.Cell{
		{Truth: simulation.Mixed, Cases: 30, Broken: 1},
		{Truth: simulation.Mixed, Cases: 30, History: 1, Weak: 3},
		{Truth: simulation.Mixed, Cases: 30, History: 8, Drift: .2, Broken: 1},
		{Truth: simulation.Mixed, Cases: 30, History: 8, Fall: .4, Turns: 3},
	} {
		list = append(list, simulation.NewPull(c, uint64(i), 0))
	}
	return list
}

// TestStopAndGoOn stops after every single measurement and goes on with what was
// recorded: in the end the same was measured, and it means the same. A request
// that fails for want of a provider is among them.
func TestStopAndGoOn(t *testing.T) {
	for i, pull := range pulls() {
		cases := pull.Cases()
		want, all := play(pull, unbounded)
		for cut := range len(all) + 1 {
			p := confirm.New(cases, unbounded)
			for _, r := range all[:cut] {
				p.Record(r, pull.Measure(r))
			}
			if cut < len(all) && p.Result().Complete {
				t.Fatalf("pull request %d is complete after %d of %d", i, cut, len(all))
			}
			asked := slices.Clone(all[:cut])
			for batch := range p.Batches() {
				for _, r := range batch {
					asked = append(asked, r)
					p.Record(r, pull.Measure(r))
				}
			}
			if diff := cmp.Diff(all, asked); diff != "" {
				t.Fatalf("pull request %d, after %d (-want +got):\n%s", i, cut, diff)
			}
			if diff := cmp.Diff(want, p.Result()); diff != "" {
				t.Fatalf("pull request %d, after %d (-want +got):\n%s", i, cut, diff)
			}
		}
	}
}

// TestOrderWithinABatch: the outcomes of a batch come in any order, some of them
// after an error, and now and then the loop is left and entered again.
func TestOrderWithinABatch(t *testing.T) {
	for i, pull := range pulls() {
		want, all := play(pull, unbounded)
		r := rand.New(rand.NewPCG(1, uint64(i)))
		for range 20 {
			p := confirm.New(pull.Cases(), unbounded)
			asked := map[confirm.Request]bool{}
			for entered := 0; entered == 0 || !p.Result().Complete; entered++ {
				for batch := range p.Batches() {
					r.Shuffle(len(batch), func(i, k int) { batch[i], batch[k] = batch[k], batch[i] })
					for _, request := range batch[:1+r.IntN(len(batch))] {
						if !asked[request] && r.IntN(10) == 0 {
							p.Record(request, confirm.Outcome{Verdict: verdict.Error})
						} else {
							p.Record(request, pull.Measure(request))
						}
						asked[request] = true
					}
					if r.IntN(5) == 0 {
						break
					}
				}
			}
			if diff := cmp.Diff(want, p.Result()); diff != "" || len(asked) != len(all) {
				t.Fatalf("pull request %d: %d measurements, want %d (-want +got):\n%s", i, len(asked), len(all), diff)
			}
		}
	}
}

// TestBudget: with any budget no more is measured, nothing is called of these pull
// requests that is not called without one, and what is left open makes the gate
// undetermined.
func TestBudget(t *testing.T) {
	for i, pull := range pulls() {
		full, all := play(pull, unbounded)
		for budget := range len(all) + 1 {
			res, asked := play(pull, confirm.Options{Budget: budget})
			if len(asked) > budget || res.Exhausted == res.Complete || res.Exhausted && !res.Called() && !res.Undetermined() {
				t.Fatalf("pull request %d with %d of %d: asks for %d, exhausted %v, complete %v", i, budget, len(all), len(asked), res.Exhausted, res.Complete)
			}
			for k, f := range res.Findings {
				if f.Class == confirm.Regression && full.Findings[k].Class != confirm.Regression {
					t.Fatalf("pull request %d with %d of %d: calls %+v", i, budget, len(all), f)
				}
			}
		}
	}
}
