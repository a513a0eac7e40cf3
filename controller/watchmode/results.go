package watchmode

import (
	"path"
	"slices"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

// results are the shown cases, with the previous result of each.
type results struct {
	shown map[string]*reporters.WatchRow
	// last are the latest verdicts before this run or, after an accept, the accepted ones,
	// which stay. Errors are none: a case whose agent was out of order is not fixed when
	// the agent answers again.
	last     map[string]reporters.WatchMark
	accepted bool
}

func newResults() results {
	return results{shown: map[string]*reporters.WatchRow{}, last: map[string]reporters.WatchMark{}}
}

// rows returns copies in display order.
func (r *results) rows() []reporters.WatchRow {
	out := make([]reporters.WatchRow, 0, len(r.shown))
	for _, row := range r.shown {
		out = append(out, *row)
	}
	reporters.SortWatchRows(out)
	return out
}

// failing names the definitions of failing cases: they stay on the screen until they
// pass, whatever they are compared with.
func (r *results) failing() []string {
	var files []string
	for _, row := range r.shown {
		if row.Failing() {
			files = append(files, row.File)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// planned takes over the results known before a run. A case that must be judged keeps
// its last result until then.
func (r *results) planned(report *report.Report, problems []schema.Problem) {
	before := r.shown
	r.shown = map[string]*reporters.WatchRow{}
	for i := range report.Cases {
		row := report.Cases[i]
		due := row.Action == plan.Run || row.Action == plan.Rejudge || row.Action == plan.Redecide
		if !shows(report, &row) && !due {
			continue
		}
		next := &reporters.WatchRow{Row: row, Due: due}
		old := before[row.Key]
		switch {
		case row.Invalid() && old != nil && old.Verdict != nil:
			next = keepRow(old, problems)
			next.Error = row.Error
		case due && old != nil && old.Verdict != nil && *old.Verdict != verdict.Skipped:
			next.Verdict, next.Score, next.VerdictReason, next.Native = old.Verdict, old.Score, old.VerdictReason, old.Native
		}
		r.shown[row.Key] = r.compared(next)
	}
	for key, old := range before {
		if _, there := r.shown[key]; !there && old.Mark() != nil && unreadable(old.File, problems) {
			r.shown[key] = keepRow(old, problems)
		}
	}
}

// unreadable reports whether a definition has errors, or a folder above it has some
// that may concern it.
func unreadable(file string, problems []schema.Problem) bool {
	return slices.ContainsFunc(problems, func(p schema.Problem) bool {
		return p.Severity == schema.Error && covers(path.Dir(p.File), file)
	})
}

// shows reports whether people want to see a row: it is affected, it fails, or there is
// no base that it could be unaffected by.
func shows(report *report.Report, row *report.Row) bool {
	if row.Action == plan.Skip && row.Error == nil {
		return false
	}
	failing := row.Verdict != nil && (*row.Verdict == verdict.Fail || *row.Verdict == verdict.Error)
	return report.Base == nil || failing || len(row.Reasons) > 0
}

// keepRow keeps a result from before its definition or the configuration became invalid,
// with the reason: an error in the definition itself if there is one.
func keepRow(old *reporters.WatchRow, problems []schema.Problem) *reporters.WatchRow {
	row := *old
	row.Kept, row.Due, row.Problem = true, false, nil
	for i := range problems {
		p := problems[i]
		switch own := p.File == row.File; {
		case p.Severity != schema.Error || !covers(path.Dir(p.File), row.File):
		case row.Problem == nil, own && row.Problem.File != row.File:
			row.Problem = &p
		}
	}
	return &row
}

// keepAll keeps all results from before the configuration broke.
func (r *results) keepAll(problems []schema.Problem) {
	for key, row := range r.shown {
		r.shown[key] = keepRow(row, problems)
	}
}

// compared adds the case's previous result.
func (r *results) compared(row *reporters.WatchRow) *reporters.WatchRow {
	row.Before = nil
	if mark, ok := r.last[row.Key]; ok {
		row.Before = &mark
	}
	return row
}

// judged takes over one case while the others are still running.
func (r *results) judged(o *run.Outcome) *reporters.WatchRow {
	old, ok := r.shown[o.Key]
	if !ok {
		return nil
	}
	row := *old
	v := o.Result.Verdict
	row.Verdict, row.Score, row.VerdictReason, row.Due = &v, o.Result.Score, o.Result.Reason, false
	r.shown[o.Key] = &row
	return &row
}

// finished takes over a report: about everything affected, or about some cases that
// were judged again.
func (r *results) finished(report *report.Report, some bool) {
	if !some {
		for key, row := range r.shown {
			if !row.Kept {
				delete(r.shown, key)
			}
		}
	}
	for i := range report.Cases {
		row := report.Cases[i]
		if old := r.shown[row.Key]; old != nil && old.Kept || !shows(report, &row) {
			continue
		}
		r.shown[row.Key] = r.compared(&reporters.WatchRow{Row: row})
	}
	if r.accepted {
		return
	}
	for key, row := range r.shown {
		if mark := row.Mark(); mark != nil && mark.Verdict != verdict.Error && !row.Kept {
			r.last[key] = *mark
		}
	}
}

// accept makes the shown results the reference of the next ones.
func (r *results) accept() {
	r.accepted = true
	for key, row := range r.shown {
		if mark := row.Mark(); mark != nil && mark.Verdict != verdict.Error {
			r.last[key] = *mark
		}
		next := *row
		r.shown[key] = r.compared(&next)
	}
}
