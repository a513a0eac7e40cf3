package dashboard

import (
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/html"
)

// The charts are drawn on a ground of this size, which the page scales.
const (
	chartWidth  = 640
	chartHeight = 150
	chartLeft   = 34 // the place of the labels of the scores
	chartMargin = 10
)

// A point is one judgement in the chart of scores.
type point struct {
	X, Y string
	Bad  bool
	Tip  string
	// Low and High are the ends of the score's interval; empty if it has none.
	Low, High string
}

// A curve is the chart of scores over time.
type curve struct {
	Label  string
	Line   string
	Points []point
	// Intervals says that a point has one.
	Intervals bool
	// Changes mark where the case, or its evaluators, changed.
	Changes []mark
	Grid    []tick
	// First and Last are the ends of the time axis; Last is empty if they are equal.
	First, Last string
}

// A mark is a place on the time axis.
type mark struct{ X, Tip string }

// A tick is a line of the grid with its label.
type tick struct{ Y, TextY, Label string }

// curveOf draws the judgements with their intervals, which may be nil, the oldest on
// the left; it returns a curve without points if none has a score.
func curveOf(judged []ledger.PastJudgement, intervals []*stats.Interval) curve {
	c := curve{Label: passes(judged), First: formatTime(judged[0].At)}
	if last := formatTime(judged[len(judged)-1].At); last != c.First {
		c.Last = last
	}
	for _, score := range []float64{0, 0.5, 1} {
		y := height(score)
		c.Grid = append(c.Grid, tick{pixels(y), pixels(y + 4), fmt.Sprintf("%.1f", score)})
	}
	var line strings.Builder
	step := 0.0
	if len(judged) > 1 {
		step = float64(chartWidth-chartLeft-2*chartMargin) / float64(len(judged)-1)
	}
	for i, j := range judged {
		x := chartLeft + chartMargin + step*float64(i)
		if j.Changed {
			c.Changes = append(c.Changes, mark{pixels(x - step/2), "changed" + commitLabel(j)})
		}
		if j.Score == nil {
			continue
		}
		y := height(*j.Score)
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y)
		tip := fmt.Sprintf("%s: %s %.2f%s", formatTime(j.At), j.Verdict, *j.Score, commitLabel(j))
		p := point{X: pixels(x), Y: pixels(y), Bad: j.Verdict != verdict.Pass}
		if between := intervals[i]; between != nil {
			p.Low, p.High, c.Intervals = pixels(height(between.Low)), pixels(height(between.High)), true
			tip += fmt.Sprintf(", 95 %% interval %.2f to %.2f", between.Low, between.High)
		}
		p.Tip = tip
		c.Points = append(c.Points, p)
	}
	c.Line = strings.TrimSpace(line.String())
	return c
}

// commitLabel names the judged commit: " at 1234567", or " at base 1234567".
func commitLabel(j ledger.PastJudgement) string {
	switch {
	case len(j.Commit) != 40: // a working tree
		return ""
	case j.Base:
		return " at base " + html.ShortCommit(j.Commit)
	}
	return " at " + html.ShortCommit(j.Commit)
}

// height returns the position of a score on the chart.
func height(score float64) float64 {
	return chartMargin + (1-min(1, max(0, score)))*(chartHeight-2*chartMargin)
}

func pixels(x float64) string { return fmt.Sprintf("%.1f", x) }

// passes returns how often a case passed: "passed 7 of the last 9 times, 5 of 6 under
// the current definition".
func passes(judged []ledger.PastJudgement) string {
	var all, passed, same, samePassed int
	for _, j := range judged {
		all++
		current := j.Current
		if current {
			same++
		}
		if j.Verdict == verdict.Pass {
			passed++
			if current {
				samePassed++
			}
		}
	}
	out := fmt.Sprintf("passed %d of the last %d times", passed, all)
	if same != all {
		out += fmt.Sprintf(", %d of %d under the current definition", samePassed, same)
	}
	return out
}

// flakeRate returns the share of judgements of the current definition that differ from
// its most frequent verdict; ok is false for fewer than two.
func flakeRate(judged []ledger.PastJudgement) (rate float64, of int, ok bool) {
	counts := map[verdict.Verdict]int{}
	most := 0
	for _, j := range judged {
		if j.Current {
			counts[j.Verdict]++
			of++
			most = max(most, counts[j.Verdict])
		}
	}
	if of < 2 {
		return 0, of, false
	}
	return float64(of-most) / float64(of), of, true
}

// A bar is one day of the chart of costs.
type bar struct{ X, Y, Width, Height, Tip string }

// bars is the chart of costs.
type bars struct {
	Label, Text string
	Bars        []bar
	Most        string
	// First and Last are the ends of the time axis; Last is empty if they are equal.
	First, Last string
}

// mostBars is how many days have a bar, and mostBarWidth how wide one is.
const (
	mostBars     = 60
	mostBarWidth = 48
)

// chartOf draws the cost of days, the oldest on the left; the newest comes first.
func chartOf(days []day) bars {
	days = days[:min(len(days), mostBars)]
	var most day
	for _, d := range days {
		if d.USD > most.USD {
			most = d
		}
	}
	out := bars{Label: fmt.Sprintf("Cost of each of the last %d days with a run", len(days)), Most: fmt.Sprintf("$%.2f", most.USD)}
	if most.USD == 0 {
		return out
	}
	if out.First = days[len(days)-1].Date; len(days) > 1 {
		out.Last = days[0].Date
	}
	out.Text = fmt.Sprintf("The most was paid on %s: %s.", most.Date, most.Cost)
	room := float64(chartWidth-chartLeft) / float64(len(days))
	wide := min(room*0.8, mostBarWidth)
	for i := range days {
		d := days[len(days)-1-i]
		tall := d.USD / most.USD * (chartHeight - 2*chartMargin)
		out.Bars = append(out.Bars, bar{
			pixels(chartLeft + room*float64(i) + (room-wide)/2), pixels(chartHeight - chartMargin - tall),
			pixels(wide), pixels(tall), d.Date + ": " + d.Cost,
		})
	}
	return out
}
