package html

import (
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A Table has the scores of groups.
type Table struct {
	Title   string
	Columns []string
	Rows    []tableRow
	// Differs means that a row has a difference to base.
	Differs bool
	// More counts the omitted outer groups.
	More int
}

// A tableRow is one outer group with a cell per column.
type tableRow struct {
	Name         string
	Total        Cell
	Delta, Cases string
	Worse        bool
	Cells        []Cell
}

// A Cell is one score. Heat is the shade, from 0 for a score of 0 to 10 for 1, and -1
// without a score.
type Cell struct {
	Score string
	Heat  int
	Worse bool
	// Part counts the cases that the score leaves out for lack of a verdict; empty for
	// none.
	Part string
}

// Tables converts the scores of groups.
func Tables(groups []report.Group) []Table {
	var out []Table
	for _, g := range reporters.GroupTables(groups) {
		t := Table{Title: g.Title}
		if g.Target != "" {
			t.Title += ": " + textfmt.Line(g.Target)
		}
		for _, name := range g.Columns {
			t.Columns = append(t.Columns, textfmt.Line(strings.TrimPrefix(name, "level_")))
		}
		for _, row := range g.Rows {
			t.Differs = t.Differs || row.Group.Known()
			t.Rows = append(t.Rows, rowOf(textfmt.Line(row.Group.Path[0]), row, g.Columns))
		}
		if g.Total != nil && len(g.Rows) > 1 {
			t.Differs = t.Differs || g.Total.Known()
			t.Rows = append(t.Rows, rowOf("mean of the rows", reporters.GroupRow{Group: *g.Total}, g.Columns))
		}
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func rowOf(name string, row reporters.GroupRow, columns []string) tableRow {
	out := tableRow{Name: name, Total: cellOf(row.Group), Cases: textfmt.Int(int64(row.Group.Cases))}
	out.Delta, out.Worse = reporters.Change(row.Group.Delta, row.Group.Between), row.Group.Fell()
	for _, name := range columns {
		c := Cell{Heat: -1}
		if g, ok := row.Cells[name]; ok {
			c = cellOf(g)
		}
		out.Cells = append(out.Cells, c)
	}
	return out
}

func cellOf(g report.Group) Cell {
	c := Cell{Score: textfmt.Short(textfmt.Score(g.Score, 2)), Heat: -1, Worse: g.Fell()}
	if g.Score != nil {
		c.Heat = int(*g.Score * 10)
	}
	return c
}
