package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

const (
	mostSamples   = 10
	mostText      = 60_000 // bytes of all conversations on a page
	mostTurn      = 8_000  // bytes of one turn
	mostLines     = 300    // lines of a definition
	mostFile      = 1 << 20
	mostJudgments = 100
	mostCriteria  = 100 // of one evaluator
	mostTurns     = 200
)

// A caseBody is the page of a case in a run.
type caseBody struct {
	html.Case
	Run, RunURL, When, Head string
	Siblings                []caseRow
	Samples                 []sampleView
	MoreSamples             int
	// AtBase is base's last reply, if it is another one.
	AtBase     string
	Definition definition
	History    caseHistory
	// RunPath is the path to which a form with the token is posted to run the case. It is
	// empty where cases are not run from the page.
	RunPath, Token string
}

// A sampleView is one conversation with its measurements.
type sampleView struct {
	Title string
	// Open says that the conversation is unfolded.
	Open   bool
	System string
	Turns  []turnView
	Notes  []string
	Judges []judgeView
	// MoreTurns and MoreNotes count the hidden ones.
	MoreTurns, MoreNotes int
}

// A turnView is a turn with the remarks of judges that cite it.
type turnView struct {
	html.Turn
	Cited []citation
	More  int // tool calls
}

// A citation is the remark of a criterion about a turn.
type citation struct {
	Name, Note string
	Bad        bool
}

// A judgeView has the measurements of one evaluator.
type judgeView struct {
	Name, Reason string
	Criteria     []criterionView
	More         int // criteria
}

// Single returns the only criterion if it says nothing more than the judge; nil for all others.
func (j judgeView) Single() *criterionView {
	if len(j.Criteria) != 1 || j.More > 0 || j.Criteria[0].Note != "" || len(j.Criteria[0].Turns) > 0 {
		return nil
	}
	return &j.Criteria[0]
}

// A criterionView is one measurement.
type criterionView struct {
	Name, Score, Note string
	Expected, Actual  string
	Bad               bool
	Turns             []int
}

// runCase is the page of a case in a run.
func (s *Site) runCase(r *http.Request) (view, error) {
	run, err := s.reports.get(r.Context(), r.PathValue("run"))
	if err != nil {
		return view{}, err
	}
	name := r.URL.Query().Get("name")
	row := cmp.Or(run.byName[name], run.judgedAs(r.URL.Query().Get("digest")))
	if row == nil {
		return view{}, fmt.Errorf("case %q is not in this run: %w", textfmt.Clip(s.line(name), 200), errNoPage)
	}
	body := caseBody{
		Case: html.NewCase(run.report, row, html.Options{}),
		Run:  run.ID, RunURL: s.runURL(run.ID), When: formatRunTime(run.Finished), Head: html.ShortCommit(run.Head),
	}
	if s.cfg.Run != "" {
		body.RunPath = s.cfg.Root + s.cfg.Run
	}
	for i := range run.report.Cases {
		if other := &run.report.Cases[i]; other.Key == row.Key && other != row && len(body.Siblings) < mostSamples {
			body.Siblings = append(body.Siblings, s.caseRow(run, other))
		}
	}
	room := mostText
	if d := row.Detail; d != nil && d.BaseReply != nil {
		_, said := verdict.Thought(*d.BaseReply)
		body.AtBase = s.clip(said, &room)
	}
	body.Reason, body.Error, body.Remark = s.clip(body.Reason, &room), s.clip(body.Error, &room), s.clip(body.Remark, &room)
	scope := run.Scope()
	if err := s.samples(r.Context(), &body, scope, row); err != nil {
		return view{}, err
	}
	body.Definition = s.definition(r.Context(), run, row)
	judged, err := ledger.PastJudgements(r.Context(), s.cfg.Ledger, scope, row.Digest, mostJudgments)
	if err != nil {
		return view{}, err
	}
	if body.History, err = s.history(r.Context(), row, scope, judged); err != nil {
		return view{}, err
	}
	return view{Template: "case", Title: body.Name, Body: body}, nil
}

// samples adds the conversations on which the verdict rests. If the ledger no longer
// has them, the report's remain.
func (s *Site) samples(ctx context.Context, body *caseBody, scope ledger.Scope, row *report.Row) error {
	decided, err := s.cfg.Ledger.Decided(ctx, scope, []string{row.Digest})
	if err != nil {
		return err
	}
	decision := decided[row.Digest]
	if decision == nil {
		return nil
	}
	executions, _, err := s.cfg.Ledger.Executions(ctx, scope, decision.E)
	if err != nil {
		return err
	}
	judgements, err := s.cfg.Ledger.Judgements(ctx, scope, decision.J)
	if err != nil {
		return err
	}
	byOrdinal := map[int]ledger.Judgement{}
	for _, j := range judgements {
		byOrdinal[j.Sample.Ordinal] = j
	}
	room := mostText
	differs := func(x ledger.Execution) bool { return hasContrast(byOrdinal[x.Ordinal].Sample) }
	shown := shownSamples(executions, differs)
	body.MoreSamples = len(executions) - len(shown)
	open := max(0, slices.IndexFunc(shown, differs))
	for i, x := range shown {
		title := "Conversation"
		if len(executions) > 1 {
			title = fmt.Sprintf("Sample %d of %d", x.Ordinal+1, len(executions))
			if differs(x) {
				title += ": not as expected"
			}
		}
		one := s.sample(title, x.Transcript, byOrdinal[x.Ordinal].Sample, &room)
		one.Open = i == open
		body.Samples = append(body.Samples, one)
	}
	return nil
}

// shownSamples returns the newest samples, the newest first. If none of them differs from
// what is expected, the newest that does takes the place of the last.
func shownSamples(executions []ledger.Execution, differs func(ledger.Execution) bool) []ledger.Execution {
	all := slices.Clone(executions)
	slices.Reverse(all)
	shown := all[:min(len(all), mostSamples)]
	if at := slices.IndexFunc(all, differs); at >= len(shown) {
		shown[len(shown)-1] = all[at]
	}
	return shown
}

// hasContrast reports whether a sample has a criterion with an expected and an actual text.
func hasContrast(s verdict.Sample) bool {
	return slices.ContainsFunc(s.Measurements, func(m verdict.Measurement) bool {
		return slices.ContainsFunc(m.Criteria, func(c verdict.Criterion) bool { return c.Expected != "" && !c.NotApplicable })
	})
}

func (s *Site) sample(title string, t verdict.Transcript, judged verdict.Sample, room *int) sampleView {
	out := sampleView{Title: title, System: s.clip(t.System, room)}
	notes, more := first(t.Notes, mostNotices)
	out.MoreNotes = more
	for _, note := range notes {
		out.Notes = append(out.Notes, s.line(note))
	}
	cited := map[int][]citation{}
	for _, m := range judged.Measurements {
		judge := judgeView{Name: s.line(m.Evaluator), Reason: s.clip(m.Reason, room)}
		criteria, more := first(m.Criteria, mostCriteria)
		judge.More = more
		for _, c := range criteria {
			if c.NotApplicable {
				continue
			}
			line := criterionView{Name: s.line(c.ID), Score: textfmt.Score(&c.Score, 2), Note: s.clip(c.Note, room), Bad: c.Score < 1, Turns: c.Turns}
			if c.Value != nil { // it has no score before it is compared with its bounds
				line.Score, line.Bad = "–", false
			}
			if c.Note == m.Reason { // which is above the table
				line.Note = ""
			}
			line.Expected, line.Actual = s.clip(c.Expected, room), s.clip(c.Actual, room)
			judge.Criteria = append(judge.Criteria, line)
			for _, turn := range c.Turns {
				cited[turn] = append(cited[turn], citation{line.Name, line.Note, line.Bad})
			}
		}
		out.Judges = append(out.Judges, judge)
	}
	shown := t.Messages[:min(len(t.Messages), mostTurns)]
	out.MoreTurns = len(t.Messages) - len(shown)
	for i, turn := range html.Turns(s.clipped(shown, room)) {
		out.Turns = append(out.Turns, turnView{turn, cited[i+1], max(0, len(shown[i].ToolCalls)-mostCriteria)})
	}
	return out
}

// clipped bounds the shown length of messages.
func (s *Site) clipped(messages []schema.Message, room *int) []schema.Message {
	out := make([]schema.Message, 0, len(messages))
	for _, m := range messages {
		thinking, said := verdict.Thought(m)
		m.Content, m.Reasoning, m.Name = s.clip(said, room), s.clip(thinking, room), s.line(m.Name)
		calls := make([]schema.ToolCall, len(m.ToolCalls))
		for i, call := range m.ToolCalls {
			call.Function.Name = s.line(call.Function.Name)
			call.Function.Arguments = s.clip(call.Function.Arguments, room)
			calls[i] = call
		}
		m.ToolCalls = calls[:min(len(calls), mostCriteria)]
		out = append(out, m)
	}
	return out
}

// clip returns a foreign text without secrets, cut to the available room.
func (s *Site) clip(text string, room *int) string {
	text = textfmt.Clean(s.cfg.Hide(text))
	most := min(mostTurn, max(*room, 100))
	*room -= min(len(text), most)
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return fmt.Sprintf("%s … (%s more; gavel explain has all of it)", text[:most], textfmt.Count(utf8.RuneCountInString(text[most:]), "character"))
}

// A definition is a file, or the part of it around a case.
type definition struct {
	File, About string
	// Edit is where it can be changed; empty for nowhere.
	Edit  string
	Lines []line
	// Cut says that there are more lines.
	Cut bool
}

// A line is a line of a file; On marks the lines of the case.
type line struct {
	Number int
	Text   string
	On     bool
}

// definition reads the file of a case at the commit of a run. If it cannot be read, the
// result says why.
func (s *Site) definition(ctx context.Context, run *stored, row *report.Row) definition {
	out := definition{File: s.line(row.File)}
	if s.cfg.Files == nil || row.File == "" {
		return out
	}
	commit := run.Head
	if row.Withdrawn == report.WithdrawnRemoved || row.Class != nil && *row.Class == report.Gone {
		commit = run.Base
	}
	s.reading.Lock() // a repository is read by one at a time
	defer s.reading.Unlock()
	files, err := s.cfg.Files(ctx, commit)
	if err != nil {
		out.About = "commit " + html.ShortCommit(commit) + " is not in this repository"
		return out
	}
	out.About = "at " + html.ShortCommit(commit)
	if len(commit) != 40 {
		out.About = "as it is in the working tree now"
	}
	data, err := schema.ReadFile(files, row.File, mostFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		out.About = "the file does not exist " + out.About
		return out
	case err != nil:
		out.About = "the file cannot be read: " + s.line(err.Error())
		return out
	}
	if s.cfg.Edit != nil {
		out.Edit = s.cfg.Root + s.cfg.Edit(row.File, row.Key)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	first := 0
	if len(lines) > mostLines {
		first, out.Cut = min(max(0, row.Line-20), len(lines)-mostLines), true
		lines = lines[first : first+mostLines]
	}
	room := mostText
	for i, text := range lines {
		out.Lines = append(out.Lines, line{first + i + 1, s.clip(text, &room), first+i+1 == row.Line && row.Line > 1})
	}
	return out
}
