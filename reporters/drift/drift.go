// Package drift tells what became of a commit that was judged again: whether the
// same definitions still get the same verdicts. It is pure.
//
// Most callers want [Status] and [Markdown], which say the same report next to a
// commit and in the comment of an issue.
package drift

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/github"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// Context is that of the status.
const Context = "gavel/drift"

// A drift sorts the cases of a report.
type drift struct {
	report *report.Report
	// worse and better have another verdict than before, those whose score moved
	// most first.
	worse, better []*report.Row
	// unjudged were to be judged and were not, broken ones not among them.
	unjudged []*report.Row
	judged   int
	// first counts those that were not judged before.
	first int
}

// of sorts a report that compares a commit with itself.
func newDrift(r *report.Report) drift {
	d := drift{report: r}
	for i := range r.Cases {
		row := &r.Cases[i]
		switch {
		case row.Invalid():
		case row.Error != nil:
			d.unjudged = append(d.unjudged, row)
		case row.Class == nil || row.Verdict == nil || *row.Verdict == verdict.Skipped:
		default:
			d.judged++
			d.sort(row)
		}
	}
	for _, rows := range [][]*report.Row{d.worse, d.better} {
		slices.SortStableFunc(rows, func(a, b *report.Row) int { return cmp.Compare(moved(b), moved(a)) })
	}
	return d
}

func (d *drift) sort(row *report.Row) {
	if row.BaseVerdict == nil {
		d.first++
		return
	}
	switch was, is := row.BaseVerdict.Rank(), row.Verdict.Rank(); {
	case is < was:
		d.worse = append(d.worse, row)
	case is > was:
		d.better = append(d.better, row)
	}
}

// moved is by how much a score changed.
func moved(row *report.Row) float64 {
	if row.Score == nil || row.BaseScore == nil {
		return 0
	}
	return max(*row.Score-*row.BaseScore, *row.BaseScore-*row.Score)
}

// state is success where no verdict got worse. Where something was not judged
// that is not known.
func (d *drift) state() github.State {
	switch {
	case d.report.NotRunReason != "":
		return github.Error
	case len(d.worse) > 0:
		return github.Failure
	case len(d.unjudged) > 0 || d.judged == 0 || report.InvalidFiles(d.report.Problems) > 0:
		return github.Error
	}
	return github.Success
}

// headline returns in one line what happened. It is plain text that still has to
// be escaped.
func (d *drift) headline() string {
	if d.report.NotRunReason != "" {
		return textfmt.Line(d.report.NotRunReason)
	}
	cases := textfmt.Count(d.judged, "case")
	var line string
	switch changed := len(d.worse) + len(d.better); {
	case d.judged == 0:
		line = "no case was judged"
	case d.judged == d.first:
		line = cases + " judged for the first time"
	case changed == 0:
		line = "no verdict of " + cases + " changed"
	case len(d.worse) == 0:
		line = fmt.Sprintf("%s of %s got better", textfmt.Count(changed, "verdict"), cases)
	case len(d.better) == 0:
		line = fmt.Sprintf("%s of %s got worse", textfmt.Count(changed, "verdict"), cases)
	default:
		line = fmt.Sprintf("%s of %s changed, %d for the worse", textfmt.Count(changed, "verdict"), cases, len(d.worse))
	}
	if n := len(d.unjudged); n > 0 {
		line += fmt.Sprintf(", %s not judged", textfmt.Int(int64(n)))
	}
	if n := report.InvalidFiles(d.report.Problems); n > 0 {
		line += ", " + textfmt.Count(n, "invalid definition")
	}
	return line
}

// scores is how the mean moved, empty where it did not.
func (d *drift) scores() string {
	x := d.report.Diff
	if x.Delta == nil || *x.Delta == 0 {
		return ""
	}
	return fmt.Sprintf("score %s → %s (%s)", textfmt.Score(x.ScoreBase, 3), textfmt.Score(x.ScoreHead, 3), reporters.Difference(x))
}

// Status says a report in one status, without a target URL: success where no
// verdict got worse, failure where one did, error where that is not known.
func Status(r *report.Report) github.Status {
	d := newDrift(r)
	words := d.headline()
	if scores := d.scores(); scores != "" {
		words += " · " + scores
	}
	return github.Status{Context: Context, State: d.state(), Description: words}
}
