// Package power says what a comparison of base and head could have seen: how likely a
// change that makes something worse is noticed by the procedure of package confirm, with the
// cases and the stored results that there are.
//
// Most callers want [Estimate], and [Study] where the numbers are the purpose.
package power

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Statement is the chance, from 0 to 1, that something is called if a change makes the
// cases worse in one way.
type Statement struct {
	// Cases is how many may come out differently the next time. The others are certain:
	// whatever is worse in them is seen.
	Cases int `json:"cases"`
	// Broken is the chance where one case that usually passes always fails, and Halved
	// where one passes half as often.
	Broken float64 `json:"broken"`
	Halved float64 `json:"halved"`
	// Fall is the chance where each case passes less often by 0.10.
	Fall float64 `json:"fall"`
	// Curve has the chances where each case passes less often by one of the [Falls].
	Curve [len(Falls)]float64 `json:"curve,omitzero"`
	// Units is how many cases, or clusters of them, can differ: fewer than Needed all of which
	// got worse never prove that the mean did.
	Units  int `json:"units"`
	Needed int `json:"needed"`
}

// Falls are by how much less each case passes in the points of a curve.
var Falls = [...]float64{.05, .1, .2, .3}

// Tests reports whether a fall of the mean can be proved.
func (s Statement) Tests() bool { return s.Units >= s.Needed }

// Studied is a statement with what it rests on.
type Studied struct {
	Statement
	// Slip is the chance where each case passes less often by 0.05.
	Slip float64 `json:"slip"`
	// Measurements is the mean number of further measurements if nothing is worse, and
	// Alarm the chance that something is called then.
	Measurements float64 `json:"measurements"`
	Alarm        float64 `json:"alarm"`
}

// Estimate simulates pull requests over cases that are compared, with their outcomes at base
// and at head; new cases and certain ones are left out. The same input gives the same statement,
// which is exact to about 0.04. It takes about three milliseconds of a processor for each of 900
// pull requests of 200 cases, and fewer where there are more. The process remembers the latest statements by the verdicts
// that they rest on. It returns nil once ctx ends.
func Estimate(ctx context.Context, cases []confirm.Case, options confirm.Options) *Statement {
	key := ratesOf(cases, options)
	if known, ok := latest.find(key); ok {
		return &known
	}
	w, s := newWorld(ctx, cases, options, 200)
	s.Broken, _ = w.simulate(broken)
	s.Halved, _ = w.simulate(halved)
	s.Fall, _ = w.simulate(fall)
	w.pulls = (w.pulls + 1) / 2
	for i, is := range []way{slip, fall, drop, plunge} {
		if s.Curve[i] = s.Fall; is != fall {
			s.Curve[i], _ = w.simulate(is)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	latest.keep(key, s)
	return &s
}

// A Lever is what could raise the power.
type Lever struct {
	// Copies is how often there are such cases; 0 means once.
	Copies int
	// History is how many stored results of base each case has; 0 leaves what there is.
	History int
}

// Study is [Estimate] with twice as many pull requests, and with what nothing worse would
// take. Cases without any result may have an error as the fresh one of base.
func Study(ctx context.Context, cases []confirm.Case, options confirm.Options, lever Lever) *Studied {
	all := cases
	for k := 1; k < lever.Copies; k++ {
		for _, c := range cases {
			if c.Conversation != "" {
				c.Conversation += fmt.Sprint("\x00", k)
			}
			all = append(all[:len(all):len(all)], c)
		}
	}
	w, s := newWorld(ctx, all, options, 400)
	w.history = lever.History
	out := Studied{Statement: s}
	out.Broken, _ = w.simulate(broken)
	out.Halved, _ = w.simulate(halved)
	out.Fall, _ = w.simulate(fall)
	out.Slip, _ = w.simulate(slip)
	out.Alarm, out.Measurements = w.simulate(same)
	if ctx.Err() != nil {
		return nil
	}
	return &out
}

// A suite of many cases is simulated less often, and at least fewest times.
const many, fewest = 200, 60

// newWorld returns the world of some cases, and what is known without a simulation.
func newWorld(ctx context.Context, cases []confirm.Case, options confirm.Options, pulls int) (*world, Statement) {
	cases = slices.DeleteFunc(slices.Clone(cases), func(c confirm.Case) bool {
		return c.Certain || len(c.Base) == 0 || !c.Fresh && c.Base[len(c.Base)-1].Verdict.Rank() < 0
	})
	s := Statement{Cases: len(cases), Needed: needed(options)}
	units := map[string]bool{}
	for _, c := range cases {
		if c.Conversation == "" || !units[c.Conversation] {
			s.Units++
		}
		units[c.Conversation] = true
	}
	options.Budget, options.Limits, options.Improvements = -1, nil, false
	w := &world{ctx: ctx, cases: cases, options: options, beliefs: beliefsOf(cases)}
	if len(cases) > 0 {
		w.pulls = max(min(fewest, pulls), min(pulls, pulls*many/len(cases)))
	}
	return w, s
}

// needed is how many units have to be worse, and none better, for the sign test of the mean: the
// least n with 2⁻ⁿ at most its share of alpha.
func needed(o confirm.Options) int {
	n, p := 1, 0.5
	for level := confirm.MeanLevel(o); p > level; p /= 2 {
		n++
	}
	return n
}

// A way is how the cases got worse.
type way int

const (
	same way = iota
	broken
	halved
	fall
	slip
	drop
	plunge
)

// A world is what the simulated pull requests have in common.
type world struct {
	ctx     context.Context
	cases   []confirm.Case
	options confirm.Options
	beliefs []belief
	pulls   int
	// history is how many stored results are drawn for each case; 0 takes the known ones.
	history int
}

// simulate returns the share of the pull requests with a call, and the mean number of
// measurements; 0 without cases.
func (w *world) simulate(is way) (called, measured float64) {
	calls, measurements := make([]bool, w.pulls), make([]int, w.pulls)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range w.pulls {
		if w.ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			calls[i], measurements[i] = w.pull(is, uint64(i))
			return nil
		})
	}
	group.Wait() // returns no error
	for i, isCalled := range calls {
		if measured += float64(measurements[i]) / float64(w.pulls); isCalled {
			called += 1 / float64(w.pulls)
		}
	}
	return called, measured
}

// pull decides one pull request. The truth about each case is drawn from what is known of it.
func (w *world) pull(is way, number uint64) (called bool, measured int) {
	r := rand.New(rand.NewPCG(uint64(is), number))
	base := make([]float64, len(w.cases))
	for i, b := range w.beliefs {
		base[i] = b.draw(r)
	}
	head := slices.Clone(base)
	switch is {
	case fall, slip, drop, plunge:
		less := map[way]float64{slip: Falls[0], fall: Falls[1], drop: Falls[2], plunge: Falls[3]}[is]
		for i := range head {
			head[i] = max(0, head[i]-less)
		}
	case broken, halved:
		rest := map[way]float64{broken: 0, halved: .5}[is]
		for _, i := range r.Perm(len(head)) {
			if usually <= base[i] {
				head[i] *= rest
				break
			}
		}
	}
	outcome := func(p float64) confirm.Outcome {
		if r.Float64() < p {
			return confirm.Outcome{Verdict: verdict.Pass}
		}
		return confirm.Outcome{Verdict: verdict.Fail}
	}
	cases := slices.Clone(w.cases)
	for i := range cases {
		c := &cases[i]
		c.Failures = [2][]confirm.Outcome{}
		switch {
		case w.history > 0:
			c.Base, c.Fresh = nil, false
			for range w.history {
				c.Base = append(c.Base, outcome(base[i]))
			}
		case c.Fresh:
			c.Base = []confirm.Outcome{outcome(base[i])}
		}
		c.Head = outcome(head[i])
	}
	p := confirm.New(cases, w.options)
	rates := [2][]float64{confirm.Base: base, confirm.Head: head}
	for batch := range p.Batches() {
		for _, request := range batch {
			p.Record(request, outcome(rates[request.Side][request.Case]))
			measured++
		}
	}
	return p.Result().Called(), measured
}

// usually is how often a case passes that one can break.
const usually = 0.9
