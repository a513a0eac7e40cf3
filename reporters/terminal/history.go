package terminal

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// bars are the heights of a sparkline, for scores from 0 to 1.
var bars = []rune("▁▂▃▄▅▆▇█")

// mostBars bounds the judgements in a sparkline.
const mostBars = 24

// sparkline draws scores, the oldest on the left, the failures in red.
func (p *page) sparkline(judgements []report.PastJudgement) string {
	var out strings.Builder
	for _, j := range judgements[max(0, len(judgements)-mostBars):] {
		if j.Score == nil {
			out.WriteString("·")
			continue
		}
		bar := string(bars[int(min(1, max(0, *j.Score))*float64(len(bars)-1)+0.5)])
		out.WriteString(p.paint(colorOf(j.Verdict), bar))
	}
	return out.String()
}

func colorOf(v verdict.Verdict) string {
	switch v {
	case verdict.Pass:
		return green
	case verdict.Borderline:
		return yellow
	case verdict.Fail:
		return red
	}
	return ""
}

// Histories writes each case: its last verdict, how often it passed, the curve of its
// scores and the time of its last judgement. That is a line for each, or two if a name
// does not fit next to the rest.
func Histories(w io.Writer, h report.CaseHistory, o Options) error {
	p := newPage(o)
	if len(h) == 0 {
		p.WriteString("no case was judged here; `gavel run` does it\n")
		return p.writeTo(w)
	}
	names, curves, counts := 0, 0, 0
	for name, all := range h {
		names = max(names, textfmt.Columns(textfmt.Line(name)))
		curves = max(curves, min(len(all), mostBars))
		counts = max(counts, len(passedOf(all)))
	}
	first := len(verdict.Borderline) + 2
	rest := curves + 2 + counts + 2 + len(time.DateOnly)
	fits := first+names+2+rest <= p.Width
	for _, name := range h.Names() {
		all := h[name]
		last := all[len(all)-1]
		p.WriteString(p.paint(colorOf(last.Verdict), verdictColumn(last.Verdict)) + "  ")
		if fits {
			p.WriteString(textfmt.Pad(textfmt.Line(name), names) + "  ")
		} else {
			p.WriteString(textfmt.Tail(textfmt.Line(name), p.Width-first) + "\n" + strings.Repeat(" ", first))
		}
		curve := p.sparkline(all) + strings.Repeat(" ", curves-min(curves, len(all)))
		p.WriteString(curve + "  " + textfmt.Pad(passedOf(all), counts) + "  " + p.paint(dim, last.At.UTC().Format(time.DateOnly)) + "\n")
	}
	return p.writeTo(w)
}

// passedOf returns how many of the judgements passed, as in "3 of 4 passed".
func passedOf(all []report.PastJudgement) string {
	passed := 0
	for _, j := range all {
		if j.Verdict == verdict.Pass {
			passed++
		}
	}
	return strconv.Itoa(passed) + " of " + strconv.Itoa(len(all)) + " passed"
}

// History writes a line for each judgement of a case, the newest first.
func History(w io.Writer, name string, judgements []report.PastJudgement, o Options) error {
	p := newPage(o)
	p.WriteString(p.paint(bold, textfmt.Line(name)) + "  " + p.sparkline(judgements) + "\n")
	for i := len(judgements) - 1; i >= 0; i-- {
		j := judgements[i]
		head := j.Head
		if len(head) == 40 {
			head = head[:7]
		}
		line := p.paint(colorOf(j.Verdict), verdictColumn(j.Verdict)) + "  " + textfmt.Score(j.Score, 2) + "  " +
			j.At.UTC().Format("2006-01-02 15:04") + "  " + textfmt.Line(head)
		if j.PullRequest != 0 {
			line += "  #" + strconv.Itoa(j.PullRequest)
		}
		if j.Changed {
			line += p.paint(dim, "  the case or its target was changed")
		}
		p.WriteString(line + "\n")
	}
	return p.writeTo(w)
}

// verdictColumn formats a verdict as wide as the widest one.
func verdictColumn(v verdict.Verdict) string {
	return string(v) + strings.Repeat(" ", max(0, len(verdict.Borderline)-len(v)))
}
