// Package statements compares what package power states about suites with what is true of
// them, which only the simulation knows.
//
// Most callers want [Table].
package statements

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/power"
	"github.com/gavel-evals/gavel/controller/verdict"
)

const (
	// Suites is the number of suites of the kept table.
	Suites = 1000
	// Listed is how many of them have lines of their own.
	Listed = 9
	// history is how many stored results each case has, and pulls how many pull requests
	// show the truth about each way of getting worse.
	history, pulls = 5, 400
	// seed is the seed of the kept table.
	seed = 20260102
)

// ways are the ways in which the cases of a suite get worse.
var ways = []string{"broken", "halved", "fall"}

// A Suite is one suite with its stated and its true chances, by way.
type Suite struct {
	Cases int
	// Steady is the share of the cases that always pass. The others pass from 50 to 100
	// times of 100.
	Steady       float64
	Stated, True [3]float64
}

// New simulates the suite with a number.
func New(ctx context.Context, number int) Suite {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	s := Suite{Cases: []int{15, 40, 80}[number%3], Steady: []float64{.6, .8, .95}[number/3%3]}
	base := make([]float64, s.Cases)
	for i := range base {
		if base[i] = 1; r.Float64() >= s.Steady {
			base[i] = .5 + .5*r.Float64()
		}
	}
	cases := make([]confirm.Case, s.Cases)
	for i, p := range base {
		cases[i] = confirm.Case{Weight: 1, Head: outcome(r, p)}
		for range history {
			cases[i].Base = append(cases[i].Base, outcome(r, p))
		}
	}
	stated := power.Estimate(ctx, cases, confirm.Options{})
	if stated == nil {
		return s
	}
	s.Stated = [3]float64{stated.Broken, stated.Halved, stated.Fall}
	for way := range ways {
		called := 0
		for range pulls {
			if isCalled(r, cases, base, worse(r, base, way)) {
				called++
			}
		}
		s.True[way] = float64(called) / pulls
	}
	return s
}

// worse returns the rates of head. A case that breaks is any that usually passes.
func worse(r *rand.Rand, base []float64, way int) []float64 {
	head := slices.Clone(base)
	if ways[way] == "fall" {
		for i := range head {
			head[i] = max(0, head[i]-.1)
		}
		return head
	}
	for _, i := range r.Perm(len(head)) {
		if base[i] >= .9 {
			head[i] *= float64(way) / 2
			break
		}
	}
	return head
}

// isCalled decides one pull request by package confirm.
func isCalled(r *rand.Rand, cases []confirm.Case, base, head []float64) bool {
	cases = slices.Clone(cases)
	for i := range cases {
		cases[i].Head = outcome(r, head[i])
	}
	p := confirm.New(cases, confirm.Options{Budget: -1})
	rates := [2][]float64{confirm.Base: base, confirm.Head: head}
	for batch := range p.Batches() {
		for _, request := range batch {
			p.Record(request, outcome(r, rates[request.Side][request.Case]))
		}
	}
	return p.Result().Called()
}

func outcome(r *rand.Rand, p float64) confirm.Outcome {
	if r.Float64() < p {
		return confirm.Outcome{Verdict: verdict.Pass}
	}
	return confirm.Outcome{Verdict: verdict.Fail}
}

// Line describes the suite in the table.
func (s Suite) Line(number int) string {
	line := fmt.Sprintf("%4d %5d %6.2f ", number, s.Cases, s.Steady)
	for way := range ways {
		line += fmt.Sprintf("  %5.3f %5.3f", s.Stated[way], s.True[way])
	}
	return line
}

// Table simulates the suites and prints the first of them, and how far apart the stated and
// the true chances of all are.
func Table(ctx context.Context, w io.Writer, suites int) error {
	all := make([]Suite, suites)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range all {
		group.Go(func() error {
			all[i] = New(ctx, i)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d suites with %d stored results of each case, and %d pull requests for each true chance\n\n", suites, history, pulls)
	fmt.Fprintln(w, "stated and true chances of the first suites (suites)\nsuite cases steady  broken       halved       fall")
	for i := range min(Listed, suites) {
		fmt.Fprintln(w, all[i].Line(i))
	}
	fmt.Fprintln(w, "\nstated less true: the mean, the mean distance, and the share of the suites within 0.10 (apart)")
	for way, name := range ways {
		fmt.Fprintln(w, apart(name, all, way))
	}
	return nil
}

// apart describes the distances of one way.
func apart(name string, all []Suite, way int) string {
	mean, distance, within := 0., 0., 0
	var sorted []float64
	for _, s := range all {
		d := s.Stated[way] - s.True[way]
		mean, distance = mean+d, distance+math.Abs(d)
		if math.Abs(d) < .1 {
			within++
		}
		sorted = append(sorted, d)
	}
	slices.SortFunc(sorted, cmp.Compare[float64])
	n := float64(len(all))
	return fmt.Sprintf("%-6s %+.3f %.3f %5.1f %%   from %+.2f to %+.2f", name, mean/n, distance/n, 100*float64(within)/n, sorted[0], sorted[len(sorted)-1])
}
