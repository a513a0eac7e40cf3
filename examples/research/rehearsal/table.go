package rehearsal

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/examples/research/simulation"
)

// A Decision is the result for a pull request.
type Decision struct {
	// Classes are the classes of the cases in their order, and then the mean's state.
	Classes []string
	// Calls is how many measurements it took, including the first outcomes.
	Calls int
	// Alarm says that something was called.
	Alarm bool
}

// Same reports whether two decisions are the same, with the same calls.
func (d Decision) Same(other Decision) bool {
	return d.Calls == other.Calls && d.Alarm == other.Alarm && slices.Equal(d.Classes, other.Classes)
}

// Alone returns package confirm's decision about a pull request in memory, with limits on
// scores if there are some.
func Alone(pull *simulation.Pull, cell simulation.Cell, limits ...confirm.Limit) Decision {
	p := confirm.New(pull.Cases(), confirm.Options{Budget: -1, Spare: true, Limits: limits})
	for batch := range p.Batches() {
		for _, r := range batch {
			p.Record(r, pull.Measure(r))
		}
	}
	res := p.Result()
	d := Decision{Calls: res.Measurements + cell.Cases, Alarm: res.Called()}
	for _, f := range res.Findings {
		d.Classes = append(d.Classes, string(f.Class))
	}
	if cell.History == 0 {
		d.Calls += cell.Cases
	}
	d.Classes = append(d.Classes, mean(res.Mean.Called, string(res.Mean.State)))
	return d
}

// Decided returns the decision in a report of the stage, with the answered calls.
func (s *Stage) Decided(r *report.Report) Decision {
	d := Decision{Calls: s.Calls(), Alarm: r.Remeasured.Mean.Called}
	for _, row := range r.Cases {
		d.Classes = append(d.Classes, string(*row.Class))
		d.Alarm = d.Alarm || *row.Class == report.Regression
	}
	d.Classes = append(d.Classes, mean(r.Remeasured.Mean.Called, r.Remeasured.Mean.State))
	return d
}

func mean(called bool, state string) string { return fmt.Sprintf("mean %v %s", called, state) }

// A Row is a cell of the table with its number of pull requests.
type Row struct {
	Cell  simulation.Cell
	Pulls int
}

// Rows returns the rows of the kept table: both truths, both sizes, with a history and
// without. Only small ones have a broken case: a large one would test nothing else, and
// each takes long.
func Rows() (rows []Row) {
	for _, c := range []simulation.Cell{
		{Truth: simulation.Mixed, Cases: 20}, {Truth: simulation.Mixed, Cases: 20, Broken: 1},
		{Truth: simulation.Mixed, Cases: 20, History: 5}, {Truth: simulation.Mixed, Cases: 20, History: 5, Broken: 1},
		{Truth: simulation.Mixed, Cases: 200}, {Truth: simulation.Mixed, Cases: 200, History: 5},
		{Truth: simulation.Calm, Cases: 20}, {Truth: simulation.Calm, Cases: 20, Broken: 1},
		{Truth: simulation.Calm, Cases: 20, History: 5}, {Truth: simulation.Calm, Cases: 20, History: 5, Broken: 1},
		{Truth: simulation.Calm, Cases: 200}, {Truth: simulation.Calm, Cases: 200, History: 5},
	} {
		rows = append(rows, Row{c, 200})
	}
	return rows
}

// Header explains the columns of [Row.Line].
func Header(w io.Writer) {
	fmt.Fprint(w, `What the whole pipeline says of pull requests whose truth only the simulation
knows: a repository of two sides, the ledger, and a model server over HTTP.
Printed by simulate -pipeline, with the seed of the simulation's table.

H        measurements of base that the ledger has of each case before; with 0, base
         is measured next to head
broken   cases that pass at base and fail at head
alarm    % of the pull requests in which anything was called
calls    calls that the model server answered, a mean
alone    calls that package confirm takes in memory for the same pull requests
differ   pull requests with other calls or other classes than in memory

`)
	fmt.Fprintf(w, "%-7s %5s %3s %6s %5s %6s %7s %7s %6s\n", "truth", "cases", "H", "broken", "pulls", "alarm", "calls", "alone", "differ")
}

// Line judges the pull requests of a row and returns its line of the table. Each has
// its own ledger, which is removed afterwards.
func (r Row) Line(ctx context.Context) (string, error) {
	var alarms, calls, alone, differ int
	for number := range r.Pulls {
		pull := simulation.NewPull(r.Cell, simulation.Seed, uint64(number))
		got, err := judge(ctx, pull, r.Cell)
		if err != nil {
			return "", err
		}
		want := Alone(pull, r.Cell)
		calls, alone = calls+got.Calls, alone+want.Calls
		if got.Alarm {
			alarms++
		}
		if !got.Same(want) {
			differ++
		}
	}
	each := func(n int) float64 { return float64(n) / float64(r.Pulls) }
	c := r.Cell
	return strings.TrimRight(fmt.Sprintf("%-7s %5d %3d %6d %5d %6.1f %7.1f %7.1f %6d",
		c.Truth.Name, c.Cases, c.History, c.Broken, r.Pulls, 100*each(alarms), each(calls), each(alone), differ), " "), nil
}

// judge puts a pull request on its own stage.
func judge(ctx context.Context, pull *simulation.Pull, cell simulation.Cell) (d Decision, err error) {
	dir, err := os.MkdirTemp("", "rehearsal")
	if err != nil {
		return d, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a ledger that is left there disturbs nobody
	s, err := New(ctx, pull, cell, dir)
	if err != nil {
		return d, err
	}
	s.AtOnce = 4
	defer func() {
		if closing := s.Close(); err == nil {
			err = closing
		}
	}()
	if err := s.MakeHistory(ctx); err != nil {
		return d, err
	}
	r, err := s.Run(ctx)
	if err != nil {
		return d, err
	}
	return s.Decided(r), nil
}
