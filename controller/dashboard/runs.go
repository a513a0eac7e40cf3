package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A runRow is a run in the list.
type runRow struct {
	ID, URL, When, ISO string
	Head, About, Title string
	Gate, Reason       string
	Counts, Score, Of  string
	Cost, Took         string
	Compare            string
	// Part says that a person selected the cases.
	Part string
	// Before says that the run is the one that another is compared with first.
	Before bool
	// Open is running or interrupted for a run without a report.
	Open string
	// scope is equal for runs of the same cases.
	scope string
}

// runs is the list of runs, the newest first.
func (s *Site) runs(r *http.Request) (view, error) {
	n := pageOf(r)
	found, total, err := ledger.PageRuns(r.Context(), s.cfg.Ledger, s.cfg.Repository, ledger.RunPage{Skip: n * perPage, Limit: perPage + 1})
	if err != nil {
		return view{}, err
	}
	body := struct {
		Root  string
		Runs  []runRow
		Pager pager
	}{Root: s.cfg.Root, Pager: paged(r, total)}
	var rows []runRow
	for _, run := range found {
		row, err := s.runRow(run)
		if err != nil {
			return view{}, err
		}
		rows = append(rows, row)
	}
	for i, row := range rows[:min(len(rows), perPage)] {
		if before := rows[i+1:]; len(before) > 0 {
			row.Compare = s.cfg.Root + compareURL(before[beforeOf(row, before)].ID, row.ID)
		}
		body.Runs = append(body.Runs, row)
	}
	open, err := s.cfg.Ledger.Unreported(r.Context(), s.cfg.Repository)
	if err != nil {
		return view{}, err
	}
	body.Runs = s.withOpen(body.Runs, open, found, n == 0)
	return view{Template: "runs", Title: "Runs", Body: body, Live: true}, nil
}

// withOpen returns the rows of a page with the runs without a report that began between those
// found: the ones of the page, and the first one of the next page. On the first page newer
// ones come first.
func (s *Site) withOpen(rows []runRow, open []ledger.Unreported, found []ledger.Run, isFirst bool) []runRow {
	var out []runRow
	for i := 0; i <= len(rows); i++ {
		for _, u := range open {
			after := i < len(found) && !u.Started.After(found[i].Started) // it belongs further down
			before := i > 0 && u.Started.After(found[i-1].Started)        // it is above already
			if !after && !before && (i > 0 || isFirst) {
				out = append(out, s.openRow(u))
			}
		}
		if i < len(rows) {
			out = append(out, rows[i])
		}
	}
	return out
}

// openRow returns the row of a run without a report.
func (s *Site) openRow(u ledger.Unreported) runRow {
	row := runRow{
		Open: "interrupted", When: formatRunTime(u.Finished), ISO: u.Finished.Format(time.RFC3339),
		Head: s.headOf(u.Head, ""), About: about(u.Run, s.cfg.Repository == ""),
		Counts: textfmt.Count(int(u.Cost.Calls), "call"), Took: textfmt.Duration(u.Finished.Sub(u.Started)),
	}
	if u.Running {
		row.Open = "running"
	}
	if u.Cost.USD > 0 {
		row.Cost = textfmt.USD(u.Cost.USD)
	}
	return row
}

// workTree is the head of runs of the working tree.
const workTree = "worktree"

// headOf returns the short name of a head. The working tree is named by its branch, if that is
// known, since it is called the same in all runs.
func (s *Site) headOf(head, branch string) string {
	if head == workTree && branch != "" {
		return textfmt.Clip(s.line(branch), mostOption)
	}
	return html.ShortCommit(head)
}

// beforeOf returns which of some earlier runs, the newest first, a run is compared with: the last
// of the same cases, or else the last.
func beforeOf(row runRow, before []runRow) int {
	return max(0, slices.IndexFunc(before, func(b runRow) bool { return b.scope == row.scope }))
}

// scopeOf returns a text that is equal for reports of the same cases.
func scopeOf(r *report.Report) string {
	var out strings.Builder
	fmt.Fprint(&out, r.Selected, r.Summary.Cases)
	for _, g := range r.Groups {
		fmt.Fprint(&out, g.Dialect, g.Target, g.Path, g.Cases)
	}
	return out.String()
}

func (s *Site) runRow(run ledger.Run) (runRow, error) {
	rep, err := report.Decode(run.Report)
	if err != nil {
		return runRow{}, fmt.Errorf("report of run %s: %w", run.ID, err)
	}
	sum := rep.Summary
	rep.Branch, rep.Subject = s.cfg.Hide(rep.Branch), s.cfg.Hide(rep.Subject) // before they are clipped
	head := s.headOf(run.Head, rep.Branch)
	if run.Head == workTree { // whose head is the branch
		rep.Branch = ""
	}
	row := runRow{
		ID: run.ID, URL: s.runURL(run.ID), When: formatRunTime(run.Finished), ISO: run.Finished.Format(time.RFC3339),
		Head: head, scope: scopeOf(rep), About: about(run, s.cfg.Repository == ""), Title: s.line(html.Title(rep)),
		Gate: rep.Gate.Result, Reason: textfmt.Clip(s.line(rep.Gate.Reason), 160),
		Counts: counts(sum), Score: textfmt.Score(sum.Score, 2), Of: judgedOf(sum),
		Took: textfmt.Duration(time.Duration(rep.DurationMS) * time.Millisecond),
	}
	if rep.Selected {
		row.Part = "selected cases"
	}
	if sum.CostUSD != nil && *sum.CostUSD > 0 {
		row.Cost = textfmt.USD(*sum.CostUSD)
	}
	return row, nil
}

// longestLine is how long a foreign text on one line may be, in characters.
const longestLine = 400

// line returns a foreign text on one line, without secrets.
func (s *Site) line(text string) string {
	if len(text) > mostFile {
		text = text[:mostFile] // more is never shown
	}
	return textfmt.Clip(textfmt.Line(s.cfg.Hide(text)), longestLine)
}

// about returns the purpose of a run.
func about(run ledger.Run, named bool) string {
	var said []string
	if named && run.Repository != "" {
		said = append(said, textfmt.Line(run.Repository))
	}
	if run.PullRequest != 0 {
		said = append(said, "#"+strconv.Itoa(run.PullRequest))
	}
	return strings.Join(said, " ")
}

// counts returns the outcomes of a run's cases in numbers.
func counts(sum report.Summary) string {
	var said []string
	for _, c := range []struct {
		n    int
		word string
	}{{sum.Fail, "fail"}, {sum.Error - sum.NotRun, "error"}, {sum.NotRun, "not run"}, {sum.Borderline, "borderline"}, {sum.Pass, "pass"}, {sum.Skipped, "skipped"}} {
		if c.n > 0 {
			said = append(said, textfmt.Int(int64(c.n))+" "+c.word)
		}
	}
	return strings.Join(said, " · ")
}

// judgedOf returns how many cases the score of a run covers, if other active cases have
// no verdict: a mean without them says nothing about a change.
func judgedOf(sum report.Summary) string {
	lacking := sum.Error + sum.NoVerdict
	if lacking == 0 || sum.Score == nil {
		return ""
	}
	active := sum.Cases - sum.Skipped
	return fmt.Sprintf("of %s of %s", textfmt.Int(int64(active-lacking)), textfmt.Count(active, "case"))
}

// A day has the cost of one day.
type day struct {
	Date, Calls, Tokens, Cost string
	ledger.CostSum
}

// costRuns is how many of the newest runs the costs are added up over.
const costRuns = 1000

// costs has the costs of the newest runs, by day.
func (s *Site) costs(r *http.Request) (view, error) {
	found, total, err := s.spent.Newest(r.Context(), s.cfg.Repository, costRuns)
	if err != nil {
		return view{}, err
	}
	days := byDay(found)
	body := struct {
		Runs, Total int
		Days        []day
		Chart       bars
		Unpriced    bool
		Tokens      bool
	}{len(found), total, days, chartOf(days), false, false}
	for _, d := range days {
		body.Unpriced = body.Unpriced || d.Unpriced > 0
		body.Tokens = body.Tokens || d.Unpriced > 0 && d.CostSum.Tokens > 0
	}
	return view{Template: "costs", Title: "Costs", Body: body}, nil
}

// byDay adds up the costs of runs, the newest day first.
func byDay(runs []ledger.RunCost) []day {
	var days []day
	for _, run := range runs {
		date := run.Finished.Format(time.DateOnly)
		at := slices.IndexFunc(days, func(d day) bool { return d.Date == date })
		if at < 0 {
			at, days = len(days), append(days, day{Date: date})
		}
		days[at].CostSum = days[at].Add(run)
	}
	for i := range days {
		d := &days[i]
		d.Calls, d.Tokens, d.Cost = textfmt.Int(d.CostSum.Calls), textfmt.Int(d.CostSum.Tokens), textfmt.Spent(d.USD, d.Unpriced)
	}
	return days
}
