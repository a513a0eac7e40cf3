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

// TestStopAndGoOn stops after every single measurement and continues with the recorded
// ones: in the end the measurements and their meaning are the same. A request that
// fails for want of a provider is among them.
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

// TestBudget: with any budget no more is measured, nothing is called in these pull
// requests that is not called without one, and unfinished cases make the gate
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

// TestUnclearIsSeldom: nobody reads a notice that is always there. At most a fifth of
// the pull requests that change nothing show an unclear case, and no changed case is
// called likely noise that passed all of four or more runs at base and failed three of
// them here.
func TestUnclearIsSeldom(t *testing.T) {
	shown, pulls := 0, 1000
	for i := range pulls {
		res, _ := play(simulation.NewPull(simulation.Cell{Truth: simulation.Real, Cases: 200}, simulation.Seed, uint64(i)), unbounded)
		if slices.ContainsFunc(res.Findings, func(f confirm.Finding) bool { return f.Class == confirm.Unclear }) {
			shown++
		}
	}
	if shown > pulls/5 {
		t.Errorf("%d of %d pull requests that change nothing show an unclear case", shown, pulls)
	}
	unclear := 0
	for i := range 300 {
		res, _ := play(simulation.NewPull(simulation.Cell{Truth: simulation.Real, Cases: 200, Weak: 5}, simulation.Seed, uint64(i)), unbounded)
		for _, f := range res.Findings {
			if f.Class == confirm.Unclear {
				unclear++
			}
			if failed := f.Head.Of - f.Head.Passed; f.Class == confirm.Flaky && f.Base.Of >= 4 && f.Base.Of <= 7 && f.Base.Passed == f.Base.Of && failed >= 3 {
				t.Errorf("%v at base and %v at head is said to be noise", f.Base, f.Head)
			}
		}
	}
	if unclear < 100 {
		t.Errorf("only %d cases are unclear in 300 pull requests that halve five", unclear)
	}
}

// TestScores: 50 rubric cases whose judge has a standard deviation of 0.04. A fall of 0.05
// is found in at least 95 of 100 pull requests, whether base is fresh or stored, and where a
// fall fails, no more than 5 of 100 that change nothing do.
func TestScores(t *testing.T) {
	for _, history := range []int{1, 6} {
		for _, fall := range []float64{0, .05} {
			found, alarms, pulls := 0, 0, 400
			for n := range pulls {
				r := rand.New(rand.NewPCG(uint64(n), uint64(history)))
				measure := func(side confirm.Side) confirm.Outcome {
					score := .88 + .04*r.NormFloat64()
					if side == confirm.Head {
						score -= fall
					}
					if score < .75 {
						return confirm.Outcome{Verdict: verdict.Fail, Score: &score}
					}
					return confirm.Outcome{Verdict: verdict.Pass, Score: &score}
				}
				cases := make([]confirm.Case, 50)
				for i := range cases {
					cases[i] = confirm.Case{Head: measure(confirm.Head), Weight: 1, Fresh: history == 1}
					for range history {
						cases[i].Base = append(cases[i].Base, measure(confirm.Base))
					}
				}
				p := confirm.New(cases, confirm.Options{Budget: -1, Scores: true})
				for batch := range p.Batches() {
					for _, request := range batch {
						p.Record(request, measure(request.Side))
					}
				}
				res := p.Result()
				if res.Scores.Called {
					found++
				}
				if res.Called() {
					alarms++
				}
			}
			if fall == 0 && alarms > pulls/20 {
				t.Errorf("with %d at base, %d of %d that change nothing are called", history, alarms, pulls)
			}
			if fall > 0 && found < pulls*95/100 {
				t.Errorf("with %d at base, a fall is found in %d of %d", history, found, pulls)
			}
		}
	}
}
