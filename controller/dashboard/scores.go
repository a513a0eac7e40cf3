package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// mostColumns is how many runs the scores of groups are shown of, and mostScoreRows
// how many groups.
const (
	mostColumns   = 15
	mostScoreRows = 200
)

// A column is a run in the table of scores.
type column struct{ URL, When, Head string }

// scores is the heat map of domains and levels over the newest runs that have groups,
// the oldest on the left.
func (s *Site) scores(r *http.Request) (view, error) {
	found, _, err := ledger.PageRuns(r.Context(), s.cfg.Ledger, s.cfg.Repository, ledger.RunPage{Limit: 4 * mostColumns})
	if err != nil {
		return view{}, err
	}
	var columns []column
	var runs []scoredRun
	for _, run := range found {
		rep, err := report.Decode(run.Report)
		if err != nil {
			return view{}, fmt.Errorf("report of run %s: %w", run.ID, err)
		}
		if len(rep.Groups) == 0 {
			continue
		}
		columns = append(columns, column{s.runURL(run.ID), run.Finished.UTC().Format("01-02 15:04"), s.headOf(run.Head, rep.Branch)})
		if runs = append(runs, scoredRun{redact.Apply(rep.Groups, s.cfg.Hide), rep.Selected}); len(runs) == mostColumns {
			break
		}
	}
	slices.Reverse(columns)
	slices.Reverse(runs)
	rows, times := scoreRows(runs), make([]string, len(columns))
	for i, c := range columns {
		times[i] = c.When
	}
	body := struct {
		Columns []column
		Rows    []heatRow
		More    int
		Map     heatMap
		Partly  bool
	}{columns, rows[:min(len(rows), mostScoreRows)], max(len(rows)-mostScoreRows, 0), drawHeatMap(times, rows), slices.ContainsFunc(rows, isPartly)}
	return view{Template: "scores", Title: "Scores", Body: body}, nil
}

// isPartly reports whether a score of a row leaves out cases.
func isPartly(row heatRow) bool {
	return slices.ContainsFunc(row.Cells, func(c html.Cell) bool { return c.Part != "" })
}

// A scoredRun has the groups of a run.
type scoredRun struct {
	groups   []report.Group
	selected bool // of some cases, so that a group may lack others
}

// scoreRows are the groups of all runs, by name: an outer one before its inner ones.
func scoreRows(runs []scoredRun) []heatRow {
	cells := map[string][]html.Cell{}
	last := map[string]float64{}
	for i, run := range runs {
		for _, g := range run.groups {
			if len(g.Path) == 0 || g.Score == nil {
				continue
			}
			name := strings.Join(append([]string{g.Dialect, g.Target}, g.Path...), "\x00")
			if cells[name] == nil {
				cells[name] = slices.Repeat([]html.Cell{{Heat: -1}}, len(runs))
			}
			cell := html.Cell{Score: textfmt.Short(textfmt.Score(g.Score, 2)), Heat: min(max(int(*g.Score*10), 0), 10)}
			switch { // a mean without some cases says nothing about a change
			case g.Unjudged > 0:
				cell.Part = fmt.Sprintf("%s %s no verdict", textfmt.Count(g.Unjudged, "case"), textfmt.Verb(g.Unjudged, "has", "have"))
			case run.selected:
				cell.Part = "only selected cases were run"
			}
			if cell.Part != "" {
				cells[name][i] = cell
				continue
			}
			before, known := last[name]
			cell.Worse = known && *g.Score <= before-0.005
			cells[name][i], last[name] = cell, *g.Score
		}
	}
	var names []string
	for name := range cells {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []heatRow
	for _, name := range names {
		path := strings.Split(name, "\x00")[2:]
		row := heatRow{Name: textfmt.Line(path[len(path)-1]), Inner: len(path) > 1, Cells: cells[name]}
		if target := strings.Split(name, "\x00")[1]; target != "" {
			row.Name += ": " + textfmt.Line(target)
		}
		out = append(out, row)
	}
	return out
}

// A badge is the newest run in a picture for a README.
type badge struct {
	Word, Color string
	Left, Width int
	Title       string
	LeftMiddle  int
	RightMiddle int
	// Right is how wide the colored half is without its round corners.
	Right int
}

// badgeOf returns the badge of a run; an empty one if nothing was judged.
func badgeOf(run *ledger.Run) (badge, error) {
	word, color, title := "no run", "#59636e", "Gavel: nothing was judged yet"
	if run != nil {
		rep, err := report.Decode(run.Report)
		if err != nil {
			return badge{}, fmt.Errorf("report of run %s: %w", run.ID, err)
		}
		word, color = rep.Gate.Result, map[string]string{"pass": "#1a7f37", "fail": "#cf222e"}[rep.Gate.Result]
		if color == "" {
			word, color = "undetermined", "#9a6700"
		}
		if rep.Summary.Score != nil {
			word += " " + textfmt.Score(rep.Summary.Score, 2)
		}
		title = "Gavel: " + word + ", " + run.Finished.UTC().Format(time.DateOnly)
	}
	const left, letter, room = 44, 7, 14
	width := left + room + letter*len(word)
	return badge{Word: word, Color: color, Left: left, Width: width, Title: title, LeftMiddle: left / 2, RightMiddle: (left + width) / 2, Right: width - left - 3}, nil
}

// badge answers with the picture.
func (s *Site) badge(w http.ResponseWriter, r *http.Request) {
	found, _, err := ledger.PageRuns(r.Context(), s.cfg.Ledger, s.cfg.Repository, ledger.RunPage{Limit: 1})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var newest *ledger.Run
	if len(found) > 0 {
		newest = &found[0]
	}
	b, err := badgeOf(newest)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "no-cache")
	_ = templates().ExecuteTemplate(w, "badge", b) // the reader is gone
}
