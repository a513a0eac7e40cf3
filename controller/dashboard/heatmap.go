package dashboard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

const (
	// mostHeatRows is how many groups the heat map draws.
	mostHeatRows = 40
	// The sizes are pixels of the drawing.
	heatLeft      = 150
	heatTop       = 18
	heatRowHeight = 20
	heatWidest    = 490 // all columns
	heatNarrowest = 190 // the columns of few runs, which fit on a phone with the names
	heatColumn    = 48
)

// A heatMap draws groups and runs as a grid of colors.
type heatMap struct {
	// Width and Height are pixels of the drawing, which a page scales.
	Width, Height int
	Labels        []heatLabel
	// Shades are the cells of each color, from 0 for a score of 0 to 10 for 1, and
	// Falls marks the cells that are lower than the one before.
	Shades []heatShade
	Falls  string
	// First and Last name the runs at the ends.
	First, Last string
	// Text describes the drawing in words.
	Text string
	More int
}

// A heatLabel is the name of a group.
type heatLabel struct {
	Name, X string
	TextY   int
	Inner   bool
}

// A heatShade is all cells of one color as the data of a path.
type heatShade struct {
	Heat int
	Path string
}

// A heatRow is one domain, suite or level with its score in each run.
type heatRow struct {
	Name  string
	Inner bool
	Cells []html.Cell
}

// drawHeatMap draws the scores of groups, a row for each; none for fewer than two runs, which
// are given by their times.
func drawHeatMap(runs []string, rows []heatRow) heatMap {
	if len(runs) < 2 {
		return heatMap{}
	}
	out := heatMap{More: max(0, len(rows)-mostHeatRows), First: runs[0], Last: runs[len(runs)-1]}
	rows = rows[:len(rows)-out.More]
	out.Height = heatTop + len(rows)*heatRowHeight
	across := min(max(len(runs)*heatColumn, heatNarrowest), heatWidest)
	out.Width = heatLeft + across
	width := float64(across) / float64(len(runs))
	var paths [11]strings.Builder
	var falls strings.Builder
	for n, row := range rows {
		y := heatTop + n*heatRowHeight
		label := heatLabel{Name: textfmt.Clip(row.Name, 22), X: "0", TextY: y + 14, Inner: row.Inner}
		if row.Inner {
			label.X, label.Name = "12", textfmt.Clip(row.Name, 20)
		}
		out.Labels = append(out.Labels, label)
		for i, cell := range row.Cells {
			if cell.Heat < 0 {
				continue
			}
			x := heatLeft + width*float64(i)
			height := heatRowHeight - 1
			if cell.Part != "" {
				height /= 2
			}
			fmt.Fprintf(&paths[cell.Heat], "M%.1f %dh%.1fv%dh-%.1fz", x, y, width-1, height, width-1)
			if cell.Worse {
				fmt.Fprintf(&falls, "M%.1f %dh%.1f", x+width*0.25, y+heatRowHeight-5, width*0.5-1)
			}
		}
	}
	for heat := range paths {
		if paths[heat].Len() > 0 {
			out.Shades = append(out.Shades, heatShade{heat, paths[heat].String()})
		}
	}
	out.Falls = falls.String()
	out.Text = fmt.Sprintf("%s over %s, from %s to %s. %s", textfmt.Count(len(rows), "group"), textfmt.Count(len(runs), "run"), out.First, out.Last, heatTrend(rows))
	return out
}

// heatTrend returns how many groups ended higher and lower than they began. Scores that
// leave out cases are not compared.
func heatTrend(rows []heatRow) string {
	var higher, lower, same, partly int
	for _, row := range rows {
		cells := slices.DeleteFunc(slices.Clone(row.Cells), func(c html.Cell) bool { return c.Heat < 0 })
		whole := slices.DeleteFunc(slices.Clone(cells), func(c html.Cell) bool { return c.Part != "" })
		switch {
		case len(whole) < 2 && len(cells) >= 2:
			partly++
			continue
		case len(whole) < 2:
			continue
		}
		switch first, last := whole[0].Heat, whole[len(whole)-1].Heat; {
		case last > first:
			higher++
		case last < first:
			lower++
		default:
			same++
		}
	}
	said := fmt.Sprintf("%d ended higher than they began, %d lower, and %d about the same.", higher, lower, same)
	if partly > 0 {
		said += fmt.Sprintf(" %d %s not compared, since not all of %s cases have a verdict in two runs.", partly, textfmt.Verb(partly, "is", "are"), textfmt.Verb(partly, "its", "their"))
	}
	return said
}
