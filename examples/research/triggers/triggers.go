// Package triggers measures how often a trigger list says that a skill got worse, and
// whether that is true, which only the simulation knows.
//
// Most callers want [Table].
package triggers

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/skill"
)

const (
	// Pulls is the number of pull requests of each row of the kept table.
	Pulls = 2000
	// queries is how many a list has, half of them wanted.
	queries = 20
	seed    = 20260103
)

// A Row is one kind of pull request.
type Row struct {
	// Name says what happened to the skill.
	Name string
	// Right is how often a run is right at base.
	Right float64
	// Broken is how many wanted queries are right in only Left of the runs at head.
	Broken int
	Left   float64
	// History is how many results of base are stored; 0 measures base next to head.
	History int
	// Runs is how often a query is sent.
	Runs int
}

// Rows returns the rows of the table.
func Rows() []Row {
	var rows []Row
	for _, history := range []int{0, 1, 5} {
		for _, right := range []float64{.8, .9} {
			rows = append(
				rows,
				Row{"nothing", right, 0, 0, history, 3},
				Row{"one query is never right", right, 1, 0, history, 3},
				Row{"three queries are never right", right, 3, 0, history, 3},
				Row{"no wanted query loads it", right, queries / 2, 0, history, 3},
				Row{"wanted queries load it half as often", right, queries / 2, right / 2, history, 3},
			)
		}
	}
	for _, runs := range []int{1, 5, 7} {
		rows = append(rows, Row{"nothing", .8, 0, 0, 1, runs}, Row{"one query is never right", .8, 1, 0, 1, runs})
	}
	return rows
}

// A Result counts what happened to the pull requests of a row.
type Result struct {
	Pulls int
	// Called counts the ones in which anything was called a regression.
	Called int
	// Runs counts the starts of the agent, at both sides.
	Runs int
}

// Run decides pull requests of a row.
func (r Row) Run(pulls int) (Result, error) {
	query, err := compile(r.Runs)
	if err != nil {
		return Result{}, err
	}
	s := simulation{row: r, query: query, luck: rand.New(rand.NewPCG(seed, uint64(r.History)))}
	out := Result{Pulls: pulls}
	for range pulls {
		if s.pull() {
			out.Called++
		}
	}
	out.Runs = s.runs
	return out, nil
}

// compile returns a query as Gavel reads it from a trigger list.
func compile(runs int) (*schema.Case, error) {
	files := fstest.MapFS{
		"a/SKILL.md":            {Data: []byte("---\nname: a\ndescription: It sums tables.\n---\n")},
		"a/evals/triggers.json": {Data: []byte(`[{"query": "Sum it", "should_trigger": true}]`)},
	}
	settings := schema.Settings{Iterations: runs, DefaultTarget: "coder", Targets: map[string]schema.TargetSettings{"coder": {CodingAgent: true, HasWorkspace: true}}}
	doc, problems := document.Open(files, "a/evals/triggers.json")
	if doc == nil {
		return nil, errors.New(problems[0].String())
	}
	cases, problems := skill.Load(skill.Source{Source: document.Source{FS: files, Settings: settings}}, doc)
	if len(cases) != 1 || len(problems) > 0 {
		return nil, fmt.Errorf("%d cases: %v", len(cases), problems)
	}
	return cases[0], nil
}

type simulation struct {
	row   Row
	query *schema.Case
	luck  *rand.Rand
	runs  int
}

// pull decides one pull request, and reports whether anything is called.
func (s *simulation) pull() bool {
	cases := make([]confirm.Case, queries)
	for i := range cases {
		c := confirm.Case{Weight: 1, Fresh: s.row.History == 0, Head: s.measure(i, confirm.Head)}
		was := s.runs
		for range max(s.row.History, 1) {
			c.Base = append(c.Base, s.measure(i, confirm.Base))
		}
		if s.row.History > 0 {
			s.runs = was // of earlier runs
		}
		cases[i] = c
	}
	p := confirm.New(cases, confirm.Options{Budget: -1})
	for batch := range p.Batches() {
		for _, r := range batch {
			p.Record(r, s.measure(r.Case, r.Side))
		}
	}
	return p.Result().Called()
}

// right returns how often a run of a query is right.
func (s *simulation) right(i int, side confirm.Side) float64 {
	if side == confirm.Head && i < s.row.Broken {
		return s.row.Left
	}
	return s.row.Right
}

// measure takes runs of a query until its verdict is known.
func (s *simulation) measure(i int, side confirm.Side) confirm.Outcome {
	var samples []verdict.Sample
	for verdict.NewTally(s.query, samples).Missing() > 0 {
		score := 0.
		if s.luck.Float64() < s.right(i, side) {
			score = 1
		}
		s.runs++
		samples = append(samples, verdict.Sample{Measurements: []verdict.Measurement{{Evaluator: s.query.Evaluators[0].Name, Criteria: []verdict.Criterion{{Score: score}}}}})
	}
	return confirm.Outcome{Verdict: verdict.DecideCase(s.query, samples).Verdict}
}

// Line describes the row in the table.
func (r Row) Line(got Result) string {
	n := float64(got.Pulls)
	return fmt.Sprintf("%4.2f %2d %4d  %-38s %6.2f %7.1f", r.Right, r.History, r.Runs, r.Name, 100*float64(got.Called)/n, float64(got.Runs)/n)
}

// Table prints the rows.
func Table(w io.Writer) error {
	fmt.Fprintf(w, "%d pull requests a row, with %d queries each, half of them wanted.\n\n", Pulls, queries)
	fmt.Fprintln(w, "right   how often a run is right at base\nH       results of base that are stored; with 0, base is measured next to head\nof      runs of a query, more than half of which have to be right\ncalled  % of the pull requests in which anything is called a regression\nruns    starts of the agent at both sides, a mean\n\nright H   of  what happened to the skill             called    runs (rows)")
	for _, r := range Rows() {
		got, err := r.Run(Pulls)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, r.Line(got))
	}
	return nil
}
