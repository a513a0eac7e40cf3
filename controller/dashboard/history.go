package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

const (
	// mostIntervals is how many judgement digests are read for intervals.
	mostIntervals = 30
	// mostCriterionColumns is how many judgements the table of criteria has.
	mostCriterionColumns = 12
)

// A caseHistory is how a case was judged over time.
type caseHistory struct {
	Curve    curve
	Judged   []judgedRow
	Flake    string
	Criteria criteriaHistory
}

// A judgedRow is one earlier judgement in words.
type judgedRow struct {
	When, Verdict, Score, Interval, Head, URL string
	Changed, Base                             bool
}

// A criteriaHistory is a table of criteria and judgements, the oldest on the left.
type criteriaHistory struct {
	Columns []column
	Rows    []criterionRow
	More    int
}

// A criterionRow is one criterion over the judgements.
type criterionRow struct {
	Name  string
	Cells []html.Cell
}

// history returns the judgements of a row's case over time.
func (s *Site) history(ctx context.Context, row *report.Row, scope ledger.Scope, judged []ledger.PastJudgement) (caseHistory, error) {
	if len(judged) == 0 {
		return caseHistory{}, nil
	}
	intervals, err := s.intervals(ctx, scope, judged)
	if err != nil {
		return caseHistory{}, err
	}
	scale := row.Scale()
	out := caseHistory{Curve: curveOf(judged, intervals), Flake: flakeText(judged), Criteria: s.criteria(row, judged)}
	for i, j := range slices.Backward(judged) {
		line := judgedRow{
			When: formatTime(j.At), Verdict: string(j.Verdict), Score: textfmt.OutOf(j.Score, scale),
			Head: cmp.Or(html.ShortCommit(j.Commit), "–"), Base: j.Base, Changed: j.Changed,
		}
		if between := intervals[i]; between != nil {
			line.Interval = textfmt.Points(&between.Low, scale) + " to " + textfmt.Points(&between.High, scale)
		}
		if j.Run != "" {
			line.URL = s.judgementURL(j, row)
		}
		out.Judged = append(out.Judged, line)
	}
	return out, nil
}

// judgementURL returns the page of a judgement in its run. It has the digest, since the
// case had another name there before it was moved.
func (s *Site) judgementURL(j ledger.PastJudgement, row *report.Row) string {
	return s.caseURL(j.Run, row.Name()) + "&" + url.Values{"digest": {j.Digest}}.Encode()
}

// intervals returns the intervals of the judgements' scores, nil if a score has none.
func (s *Site) intervals(ctx context.Context, scope ledger.Scope, judged []ledger.PastJudgement) ([]*stats.Interval, error) {
	out := make([]*stats.Interval, len(judged))
	read := map[string][]verdict.Sample{}
	for i, j := range slices.Backward(judged) {
		if j.Samples < 2 || j.Score == nil {
			continue
		}
		samples, known := read[j.J]
		if !known && len(read) == mostIntervals {
			continue
		}
		if !known {
			stored, err := s.cfg.Ledger.Judgements(ctx, scope, j.J)
			if err != nil {
				return nil, err
			}
			for _, x := range stored {
				samples = append(samples, x.Sample)
			}
			read[j.J] = samples
		}
		if interval, ok := sampleInterval(j, samples); ok {
			out[i] = &interval
		}
	}
	return out, nil
}

// flakeText returns how often the current definition comes to another verdict than usual.
func flakeText(judged []ledger.PastJudgement) string {
	rate, of, ok := flakeRate(judged)
	if !ok {
		return "not known yet, because the current definition was judged " + textfmt.Count(of, "time")
	}
	return fmt.Sprintf("%.0f %% of %d judgements of the current definition differ from the usual verdict", 100*rate, of)
}

// criteria returns the table with the scores of each criterion in the newest
// judgements.
func (s *Site) criteria(row *report.Row, judged []ledger.PastJudgement) criteriaHistory {
	judged = judged[max(0, len(judged)-mostCriterionColumns):]
	var out criteriaHistory
	for _, j := range judged {
		c := column{When: j.At.UTC().Format("01-02 15:04"), Head: cmp.Or(html.ShortCommit(j.Commit), "–")}
		if j.Run != "" {
			c.URL = s.judgementURL(j, row)
		}
		out.Columns = append(out.Columns, c)
	}
	lines := criterionLines(judged)
	several := slices.ContainsFunc(lines, func(l criterionLine) bool { return l.Evaluator != lines[0].Evaluator })
	out.More = max(0, len(lines)-mostCriteria)
	for _, line := range lines[:len(lines)-out.More] {
		next := criterionRow{Name: s.line(cmp.Or(line.Criterion, line.Evaluator))}
		if several && line.Criterion != "" && line.Criterion != line.Evaluator {
			next.Name = s.line(line.Evaluator + ": " + line.Criterion)
		}
		var before *float64
		for _, score := range line.Scores {
			cell := html.Cell{Heat: -1}
			if score != nil {
				cell.Score, cell.Heat = textfmt.Short(textfmt.Score(score, 2)), min(max(int(*score*10), 0), 10)
				cell.Worse = before != nil && *score <= *before-0.005
				before = score
			}
			next.Cells = append(next.Cells, cell)
		}
		out.Rows = append(out.Rows, next)
	}
	return out
}
