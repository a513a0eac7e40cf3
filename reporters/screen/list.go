package screen

import (
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// body renders the part between head and foot: the problems and the list, the detail
// next to it or in its place, or the help.
func (m Model) body(palette []string) []string {
	height := m.bodyHeight()
	var out []string
	switch {
	case m.help:
		out = paintAll(m.scrolled(helpLines(), height), m.width, palette)
	case m.open && m.wide():
		left := m.width * 45 / 100
		list := m.list(left, height, palette)
		pane := paintAll(m.scrolled(m.pane(m.width-left-3), height), m.width-left-3, palette)
		bar := " " + text(rule, "│").paint(palette, "") + " "
		for i := range height {
			out = append(out, list[i]+bar+pane[i])
		}
	case m.open:
		out = paintAll(m.scrolled(m.pane(m.width-2), height), m.width, palette)
	default:
		out = m.list(m.width, height, palette)
	}
	return out
}

// paintAll paints lines at a width.
func paintAll(lines []line, width int, palette []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.fit(width).paint(palette, "")
	}
	return out
}

// scrolled returns the visible lines, filled up to the height.
func (m Model) scrolled(lines []line, height int) []line {
	from := min(m.scroll, max(len(lines)-height, 0))
	out := append([]line{}, lines[from:min(from+height, len(lines))]...)
	for len(out) < height {
		out = append(out, nil)
	}
	if from+height < len(lines) {
		out[height-1] = text(dim, " … "+textfmt.Int(int64(len(lines)-from-height+1))+" more lines")
	}
	return out
}

// list renders the problems and, below, the rows around the selected one.
func (m Model) list(width, height int, palette []string) []string {
	out := paintAll(m.problems(width, max(height/4, 2)), width, palette)
	rows := m.listed()
	room := height - len(out)
	if len(rows) == 0 {
		out = append(out, paintAll([]line{m.empty()}, width, palette)...)
	}
	from := min(max(m.at-len(m.board.Problems)-room/2, 0), max(len(rows)-room, 0))
	keys := keyColumns(rows, width)
	for i := from; i < min(from+room, len(rows)); i++ {
		background, gutter := "", " "
		if rows[i].Key == m.selected {
			background, gutter = marked[m.dark], "›"
		}
		l := append(text(strong, gutter), rowLine(&rows[i], keys, width)...)
		out = append(out, l.fit(width).paint(palette, background))
	}
	for len(out) < height {
		out = append(out, strings.Repeat(" ", width))
	}
	return out
}

// empty explains an empty list.
func (m Model) empty() line {
	switch {
	case !m.told:
		return text(dim, "  reading the definitions")
	case len(m.board.Rows) > 0:
		return text(dim, "  no matching cases; a lists all")
	case m.board.Total > 0:
		return text(dim, "  save a file to see the cases that it affects; A judges every case")
	}
	return text(dim, "  there are no cases")
}

const (
	wordColumns = 14
	// compactColumns is the width below which a list omits the former score.
	compactColumns = 70
)

// scoreColumns returns the width of the scores.
func scoreColumns(width int) int {
	if width < compactColumns {
		return 11
	}
	return 21
}

// keyColumns returns the width of the keys, so that the scores are aligned.
func keyColumns(rows []reporters.WatchRow, width int) int {
	widest := 0
	for i := range rows {
		widest = max(widest, textfmt.Columns(textfmt.Line(rows[i].Key)))
	}
	return max(min(widest, width-wordColumns-scoreColumns(width)-3), 10)
}

func rowLine(row *reporters.WatchRow, keys, width int) line {
	mark, c := mark(row)
	key := shorten(textfmt.Line(row.Key), keys)
	out := line{{c, textfmt.Pad(mark+" "+terminal.Word(row), wordColumns)}, {plain, textfmt.Pad(key, keys) + "  "}}
	score := scores(row)
	if width < compactColumns && len(score) > 1 {
		score = score[1:]
	}
	return append(out, score...)
}

// mark returns the mark and color of a row.
func mark(row *reporters.WatchRow) (string, color) {
	switch {
	case row.Kept:
		return "!", yellow
	case row.Due:
		return "◌", yellow
	case row.Failing():
		return "✗", red
	case row.Unrun():
		return "!", yellow
	case row.Action == plan.Removed || row.Verdict == nil:
		return "·", dim
	case *row.Verdict == verdict.Borderline:
		return "~", yellow
	case *row.Verdict == verdict.Pass:
		return "✓", green
	}
	return "·", dim
}

// shorten keeps the end of a key, which says more than its start.
func shorten(key string, room int) string {
	if textfmt.Columns(key) <= room {
		return key
	}
	return "…" + textfmt.Tail(key, room-1)
}

// scores compares the score with base's or, without one, with the previous one.
func scores(row *reporters.WatchRow) line {
	from := row.BaseScore
	if from == nil && row.Before != nil {
		from = row.Before.Score
	}
	switch {
	case row.Kept && row.Score == nil:
		return nil
	case row.Kept:
		return text(dim, "was "+row.Shown(row.Score))
	case row.Score == nil && from == nil:
		return nil
	case row.Score == nil:
		return text(dim, "was "+row.Shown(from))
	case from == nil:
		return text(plain, row.Shown(row.Score))
	}
	scale := row.Scale()
	out := line{{dim, textfmt.Points(from, scale) + " → "}, {plain, row.Shown(row.Score)}}
	switch d := textfmt.Signed((*row.Score-*from)*scale, 2); {
	case d == "0":
	case *row.Score < *from:
		out = append(out, span{red, "  " + d})
	default:
		out = append(out, span{green, "  " + d})
	}
	return out
}

// why returns the plan's reasons for a row.
func (m Model) why(row *reporters.WatchRow) string { return textfmt.Line(plan.Summarise(row.Reasons)) }

func helpLines() []line {
	var out []line
	for _, k := range keys {
		out = append(out, line{{strong, "  " + textfmt.Pad(k.press, 15)}, {plain, k.does}})
	}
	return out
}
