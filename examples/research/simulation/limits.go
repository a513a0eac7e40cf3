package simulation

import (
	"fmt"

	"github.com/gavel-evals/gavel/controller/confirm"
)

// Limits counts the results of a limit on scores.
type Limits struct {
	Broken, Held, Open int
	// Once counts the pull requests that fail if the first measurements decide.
	Once int
}

func (l *Limits) count(r confirm.LimitResult, once bool) {
	switch r.State {
	case confirm.LimitBroken:
		l.Broken++
	case confirm.LimitHeld:
		l.Held++
	default:
		l.Open++
	}
	if once {
		l.Once++
	}
}

// once reports whether the first measurements are below a limit.
func (p *Pull) once(l confirm.Limit) bool {
	p.calls = 0
	var sum float64
	for _, c := range p.Cases() {
		sum += *c.Head.Score
		if l.Paired {
			sum -= *c.Base[len(c.Base)-1].Score
		}
	}
	return sum/float64(p.cell.Cases) < l.Least-1e-9
}

// limitRows decide about limits that are held, broken, or exactly met.
func limitRows() (rows []Row) {
	add := func(c Cell, l confirm.Limit) {
		c.Scored = true
		for i := range c.Cases {
			l.Cases = append(l.Cases, i)
		}
		rows = append(rows, Row{Cell: c, Options: confirm.Options{Budget: -1, Limits: []confirm.Limit{l}}, Pulls: 1000})
	}
	drop := func(d float64) confirm.Limit { return confirm.Limit{Least: -d, Paired: true} }
	least := func(score float64) confirm.Limit { return confirm.Limit{Least: score} }
	for _, c := range []Cell{{Truth: Nine, Cases: 20}, {Truth: Nine, Cases: 100}, {Truth: Real, Cases: 200}, {Truth: Mixed, Cases: 200}, {Truth: Calm, Cases: 200}} {
		for _, d := range []float64{0, .02, .05, .1} {
			add(c, drop(d))
		}
	}
	for _, fall := range []float64{.05, .1, .2} {
		add(Cell{Truth: Nine, Cases: 100, Fall: fall}, drop(.05))
		add(Cell{Truth: Real, Cases: 200, Fall: fall}, drop(.05))
		add(Cell{Truth: Real, Cases: 200, Fall: fall, History: 5}, drop(.05))
	}
	for _, provider := range []Cell{{Burst: 30, Every: 300}, {Dip: .1}, {Dip: .3}} {
		provider.Truth, provider.Cases = Real, 200
		add(provider, drop(.05))
	}
	for _, drift := range []float64{.1, .2} {
		add(Cell{Truth: Real, Cases: 200, History: 5, Drift: drift}, drop(.05))
	}
	for _, cases := range []int{20, 50, 100, 200} {
		for _, score := range []float64{.7, .85, .9} {
			add(Cell{Truth: Nine, Cases: cases}, least(score))
		}
		add(Cell{Truth: Eight, Cases: cases}, least(.9))
	}
	return rows
}

// limitLine returns the line of a row about a limit.
func (r Row) limitLine(t Tally) string {
	l, c := t.Limits, r.Cell
	failed := fmt.Sprintf("%.2f ± %.2f", 100*t.Rate(l.Broken), 100*t.Error(l.Broken))
	return fmt.Sprintf("%-7s %5d %3d  %-26s %5d %12s  passes %5s  open %5s  once %5s  extra %6.1f",
		c.Truth.Name, c.Cases, c.History, r.kind(), r.Pulls, failed, percent(l.Held, t.Pulls), percent(l.Open, t.Pulls), percent(l.Once, t.Pulls), t.Extra(c.Cases))
}

// limitKind names the limit of a row; empty without one.
func (r Row) limitKind() string {
	if len(r.Options.Limits) == 0 {
		return ""
	}
	if l := r.Options.Limits[0]; l.Paired {
		return fmt.Sprintf("max_drop %.2f", -l.Least)
	}
	return fmt.Sprintf("min_score %.2f", r.Options.Limits[0].Least)
}
