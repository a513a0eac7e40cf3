package simulation

import (
	"fmt"
	"io"
	"strings"

	"github.com/gavel-evals/gavel/controller/confirm"
)

// A Section is a part of the table: rows that show one thing.
type Section struct {
	Name, Title string
	Rows        []Row
}

// A Row is a cell with the options that its pull requests are decided with, and
// how many of them there are.
type Row struct {
	Cell    Cell
	Options confirm.Options
	Pulls   int
	// Fixed is how many runs a side every case gets instead; 0 leaves the decision
	// to package confirm.
	Fixed int
	// Stored puts stored measurements into the tests instead, as package confirm does
	// not.
	Stored bool
}

// Seed is the seed of the kept table.
const Seed = 20260101

// Sections returns all parts of the table.
func Sections() []Section {
	return []Section{
		{"null", "Nothing changed", null()},
		{"drift", "Nothing changed, and the model is worse today than when history was taken", drifts()},
		{"hour", "Nothing changed, and head's first outcomes were taken in a bad hour", hours()},
		{"outage", "An outage spoiled some of the first outcomes of both sides, or of head alone where there is a history", outages()},
		{"moving", "Nothing changed, and the provider is worse for a while, in the order of the calls", moving()},
		{"turns", "Cases are turns of conversations of five, which fail together half of the time", turns()},
		{"errors", "Calls that end in an error, at random", failures()},
		{"limits", "Limits on scores: % that fail, that pass, that stay open, and that fail if one measurement decides", limitRows()},
		{"found", "Something changed", changes()},
		{"both", "One case of 200 broke, and the model is worse today as well", changesUnderDrift()},
		{"budget", "One case of 200 broke, and the budget ends the measurements", budgets()},
		{"fixed", "For comparison: a fixed number of runs of every case", fixed()},
		{"stored", "For comparison: stored measurements of base are part of the tests", histories()},
		{"width", "How many cases are measured at a time", widths()},
	}
}

var (
	all    = []Truth{Mixed, Calm, Steady}
	uneven = []Truth{Mixed, Calm}
)

// unbounded are the options without a budget.
var unbounded = confirm.Options{Budget: -1}

// row returns a row without a budget. It has fewer pull requests that change something,
// since each is more informative.
func row(c Cell) Row {
	pulls := 2000
	if c.Changed() {
		pulls = 1000
	}
	return Row{Cell: c, Options: unbounded, Pulls: pulls}
}

func null() (rows []Row) {
	for _, truth := range all {
		for _, cases := range []int{20, 200, 2000} {
			for _, history := range []int{0, 1, 5, 20} {
				rows = append(rows, row(Cell{Truth: truth, Cases: cases, History: history}))
			}
		}
	}
	return rows
}

// drifted returns cells with each of the drifts.
func drifted(c Cell) (rows []Row) {
	for _, drift := range []float64{.05, .1, .2} {
		c.Drift = drift
		rows = append(rows, row(c))
	}
	c.Drift, c.Third = .3, true
	return append(rows, row(c))
}

func drifts() (rows []Row) {
	for _, truth := range uneven {
		for _, cases := range []int{20, 200} {
			for _, history := range []int{5, 20} {
				rows = append(rows, drifted(Cell{Truth: truth, Cases: cases, History: history})...)
			}
		}
		rows = append(rows, drifted(Cell{Truth: truth, Cases: 2000, History: 20})...)
	}
	return append(rows, drifted(Cell{Truth: Mixed, Cases: 200, History: 1})...)
}

func hours() (rows []Row) {
	for _, truth := range uneven {
		for _, history := range []int{5, 20} {
			for _, hour := range []float64{.1, .3} {
				rows = append(rows, row(Cell{Truth: truth, Cases: 200, History: history, Hour: hour}))
			}
		}
	}
	return rows
}

func outages() (rows []Row) {
	for _, truth := range uneven {
		for _, history := range []int{0, 5} {
			c := Cell{Truth: truth, Cases: 200, History: history}
			for _, c.Outage = range []float64{.1, .5} {
				c.Broken = 0
				rows = append(rows, row(c))
				c.Broken = 1
				rows = append(rows, row(c))
			}
		}
	}
	return rows
}

func moving() (rows []Row) {
	for _, truth := range []Truth{Real, Mixed, Calm} {
		for _, cases := range []int{20, 200, 1000} {
			for _, history := range []int{0, 5} {
				rows = append(rows, movingRows(Cell{Truth: truth, Cases: cases, History: history})...)
			}
		}
	}
	return rows
}

func movingRows(of Cell) (rows []Row) {
	for _, provider := range []Cell{
		{Burst: 10, Every: 100}, {Burst: 30, Every: 300}, {Burst: 30, Every: 600},
		{Dip: .05}, {Dip: .1}, {Dip: .3},
	} {
		of.Burst, of.Every, of.Dip = provider.Burst, provider.Every, provider.Dip
		r := row(of)
		r.Pulls = 1000
		rows = append(rows, r)
	}
	return rows
}

func failures() (rows []Row) {
	for _, truth := range []Truth{Real, Mixed, Calm} {
		for _, cases := range []int{20, 200} {
			for _, history := range []int{0, 5} {
				rows = append(rows, failing(Cell{Truth: truth, Cases: cases, History: history})...)
			}
		}
	}
	return rows
}

func failing(c Cell) (rows []Row) {
	for _, c.Errors = range []float64{.002, .02} {
		for _, c.Broken = range []int{0, 1} {
			r := row(c)
			r.Pulls = 1000
			rows = append(rows, r)
		}
	}
	return rows
}

func turns() (rows []Row) {
	for _, truth := range all {
		for _, history := range []int{0, 5, 20} {
			rows = append(rows, row(Cell{Truth: truth, Cases: 200, History: history, Turns: 5}))
		}
	}
	for _, history := range []int{0, 5, 20} {
		rows = append(rows, row(Cell{Truth: Mixed, Cases: 200, History: history, Turns: 5, Broken: 1}))
	}
	return rows
}

func changes() (rows []Row) {
	for _, c := range []Cell{
		{Truth: Mixed, Cases: 20, Broken: 1},
		{Truth: Mixed, Cases: 200, Broken: 1}, {Truth: Calm, Cases: 200, Broken: 1}, {Truth: Steady, Cases: 200, Broken: 1},
		{Truth: Mixed, Cases: 2000, Broken: 1},
		{Truth: Mixed, Cases: 200, Broken: 5}, {Truth: Calm, Cases: 200, Broken: 5},
		{Truth: Mixed, Cases: 200, Loose: 3}, {Truth: Real, Cases: 200, Loose: 3},
		{Truth: Mixed, Cases: 20, Weak: 3}, {Truth: Mixed, Cases: 200, Weak: 10}, {Truth: Calm, Cases: 200, Weak: 10},
		{Truth: Mixed, Cases: 200, Fall: .05}, {Truth: Calm, Cases: 200, Fall: .05},
		{Truth: Mixed, Cases: 200, Fall: .1}, {Truth: Calm, Cases: 200, Fall: .1},
	} {
		for _, history := range []int{0, 5, 20} {
			c.History = history
			rows = append(rows, row(c))
		}
	}
	return rows
}

func changesUnderDrift() (rows []Row) {
	for _, truth := range uneven {
		for _, history := range []int{5, 20} {
			rows = append(rows, drifted(Cell{Truth: truth, Cases: 200, History: history, Broken: 1})...)
		}
	}
	return rows
}

func budgets() (rows []Row) {
	for _, history := range []int{0, 20} {
		for _, width := range []int{1, 0, 200} {
			for _, budget := range []int{10, 20, 40, 80, 160} {
				r := row(Cell{Truth: Mixed, Cases: 200, History: history, Broken: 1})
				r.Options.Budget, r.Options.Width, r.Pulls = budget, width, 500
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func widths() (rows []Row) {
	for _, history := range []int{0, 5, 20} {
		for _, width := range []int{1, 0, 200} {
			for _, broken := range []int{0, 1} {
				r := row(Cell{Truth: Mixed, Cases: 200, History: history, Broken: broken})
				r.Options.Width, r.Pulls = width, 1000
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// Header explains the columns of [Row.Line].
func Header(w io.Writer) {
	fmt.Fprint(w, `How often package confirm is wrong, printed by simulate with a fixed
seed. Each row decides about as many pull requests as pulls says, with the truths
of package simulation and α = 0.05.

H        measurements of base that are stored of each case; with 0, base is
         measured next to head
alarm    % of the pull requests in which anything was called, with its standard error
mean     % of them in which the mean was
caught   % in which a changed case or the mean was
found    % of the changed cases that were called
wrong    calls of cases that did not change, per 100 calls
extra    measurements beyond one a case at head, a mean
covers   % of the 95 % intervals that contain the true difference

`)
	fmt.Fprintf(w, "%-7s %5s %3s  %-26s %5s %12s %5s %6s %5s %5s %7s %6s\n",
		"truth", "cases", "H", "", "pulls", "alarm", "mean", "caught", "found", "wrong", "extra", "covers")
}

// Line runs a row and returns its line of the table.
func (r Row) Line() string {
	t := r.run()
	c := r.Cell
	if len(r.Options.Limits) > 0 {
		return r.limitLine(t)
	}
	caught, found, wrong, covers := "", "", "", ""
	if c.Changed() {
		caught = percent(t.Caught, t.Pulls)
	}
	if t.Changed > 0 {
		found = percent(t.Found, t.Changed)
		wrong = percent(t.Wrong, max(1, t.Wrong+t.Found))
	}
	if t.Intervals > 0 && c.Hour == 0 && (c.History == 0 || c.Burst == 0 && c.Dip == 0) && r.Options.Budget < 0 {
		covers = percent(t.Covered, t.Intervals)
	}
	alarm := fmt.Sprintf("%.2f ± %.2f", 100*t.Rate(t.Alarms), 100*t.Error(t.Alarms))
	if c.Errors > 0 {
		covers += fmt.Sprintf("  undetermined %5s", percent(t.Undetermined, t.Pulls))
	}
	return strings.TrimRight(fmt.Sprintf("%-7s %5d %3d  %-26s %5d %12s %5s %6s %5s %5s %7.1f %6s",
		c.Truth.Name, c.Cases, c.History, r.kind(), r.Pulls, alarm, percent(t.Means, t.Pulls), caught, found, wrong, t.Extra(c.Cases), covers), " ")
}

func (r Row) run() Tally {
	if r.Fixed > 0 {
		return RunFixed(r.Cell, r.Fixed, r.Pulls, Seed)
	}
	if r.Stored {
		return RunStored(r.Cell, r.Pulls, Seed)
	}
	return Run(r.Cell, r.Options, r.Pulls, Seed)
}

func percent(n, of int) string { return fmt.Sprintf("%.1f", 100*float64(n)/float64(of)) }

// kind returns the special properties of a row.
func (r Row) kind() string {
	var parts []string
	add := func(format string, value any, said bool) {
		if said {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	c := r.Cell
	add("%s", r.limitKind(), len(r.Options.Limits) > 0)
	add("%d broken", c.Broken, c.Broken > 0)
	add("%d half broken", c.Weak, c.Weak > 0)
	add("%d flaky ones broken", c.Loose, c.Loose > 0)
	add("all −%.2f", c.Fall, c.Fall > 0)
	add("drift −%.2f", c.Drift, c.Drift > 0 && !c.Third)
	add("a third −%.2f", c.Drift, c.Third)
	add("hour −%.2f", c.Hour, c.Hour > 0)
	add("errors %.1f %%", 100*c.Errors, c.Errors > 0)
	add("dip −%.2f", c.Dip, c.Dip > 0)
	add("bursts of %s", fmt.Sprintf("%d per %d", c.Burst, c.Every), c.Burst > 0)
	add("outage of %.0f %%", 100*c.Outage, c.Outage > 0)
	add("%d a side", r.Fixed, r.Fixed > 0)
	add("%s", "in the test", r.Stored)
	add("budget %d", r.Options.Budget, r.Options.Budget >= 0 && r.Fixed == 0 && !r.Stored)
	add("width %d", r.Options.Width, r.Options.Width > 0)
	return strings.Join(parts, ", ")
}

func fixed() (rows []Row) {
	for _, truth := range all {
		for _, cases := range []int{20, 200} {
			rows = append(rows, Row{Cell: Cell{Truth: truth, Cases: cases}, Fixed: 1, Pulls: 2000})
		}
	}
	for _, n := range []int{3, 5, 8} {
		for _, c := range []Cell{{Truth: Mixed, Cases: 200}, {Truth: Mixed, Cases: 200, Broken: 1}, {Truth: Mixed, Cases: 200, Weak: 10}} {
			rows = append(rows, Row{Cell: c, Fixed: n, Pulls: 1000})
		}
	}
	return rows
}

// histories show the savings from stored measurements in the tests, and their cost once
// the model has changed.
func histories() (rows []Row) {
	for _, c := range []Cell{
		{Truth: Mixed, Cases: 200, History: 5}, {Truth: Mixed, Cases: 200, History: 20},
		{Truth: Mixed, Cases: 2000, History: 5}, {Truth: Mixed, Cases: 2000, History: 20},
		{Truth: Calm, Cases: 200, History: 5}, {Truth: Calm, Cases: 200, History: 20},
		{Truth: Calm, Cases: 2000, History: 5}, {Truth: Calm, Cases: 2000, History: 20},
	} {
		for _, c.Drift = range []float64{0, .05, .1} {
			rows = append(rows, Row{Cell: c, Stored: true, Pulls: 1000})
		}
	}
	return rows
}
