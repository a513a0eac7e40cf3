package screen

import (
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// A sheet collects the lines of the detail pane.
type sheet struct {
	width int
	lines []line
}

// paragraph adds foreign text, broken at spaces, behind a label.
func (s *sheet) paragraph(label string, c color, content string) {
	const most = 4000
	first := true
	for part := range strings.SplitSeq(textfmt.Clip(textfmt.Clean(content), most), "\n") {
		for _, row := range textfmt.Wrap(part, max(s.width-textfmt.Columns(label)-1, 10)) {
			start := strings.Repeat(" ", textfmt.Columns(label))
			if first {
				start, first = label, false
			}
			s.lines = append(s.lines, line{{dim, " " + start}, {c, row}})
		}
	}
}

func (s *sheet) title(words string) {
	s.lines = append(s.lines, nil, text(strong, " "+words))
}

// pane shows everything known about the selected case or problem.
func (m Model) pane(width int) []line {
	if p, _ := m.problem(); p != nil {
		return problemPane(&sheet{width: width}, p)
	}
	row := m.current()
	if row == nil {
		return []line{text(dim, " no case is selected")}
	}
	s := &sheet{width: width}
	s.paragraph("", strong, row.Key)
	s.paragraph("", dim, fmt.Sprintf("%s:%d", row.File, row.Line))
	m.writeVerdict(s, row)
	switch {
	case m.detail.Key != row.Key:
		s.title("reading what is stored")
		return s.lines
	case m.detail.err != nil:
		s.lines = append(s.lines, nil)
		s.paragraph("", red, m.detail.err.Error())
		return s.lines
	}
	s.criteria(row.Scale(), m.detail.Samples, m.detail.Base)
	s.reasons(m.detail.Samples)
	s.transcript(m.detail.Transcript)
	return s.lines
}

// writeVerdict shows the verdict, here and at base, and the reason for it.
func (m Model) writeVerdict(s *sheet, row *reporters.WatchRow) {
	_, c := mark(row)
	if row.Kept {
		writeKept(s, row, c)
		return
	}
	switch {
	case row.Verdict != nil:
		s.paragraph("now     ", c, scored(row, *row.Verdict, row.Score))
	case row.Due:
		s.paragraph("now     ", c, "not judged yet")
	}
	if row.BaseVerdict != nil {
		s.paragraph("base    ", plain, scored(row, *row.BaseVerdict, row.BaseScore))
	}
	if row.Before != nil {
		s.paragraph("before  ", plain, scored(row, row.Before.Verdict, row.Before.Score))
	}
	s.paragraph("reason  ", plain, row.VerdictReason)
	s.paragraph("why     ", dim, m.why(row))
	if again := row.Confirmation; again.Measured() {
		s.paragraph("again   ", plain, again.Series())
		s.paragraph("", dim, again.Sentence)
	}
	if !row.Retried() {
		return
	}
	for _, said := range reporters.NewAttempts(row.Attempts, row.Comparison).Lines(row.Scale()) {
		s.paragraph("", plain, said)
	}
}

// writeKept shows why a case is invalid now, and its last verdict.
func writeKept(s *sheet, row *reporters.WatchRow, c color) {
	s.paragraph("now     ", c, strings.TrimSuffix("invalid: "+row.ProblemText(), ": "))
	if row.Verdict != nil {
		s.paragraph("last    ", plain, scored(row, *row.Verdict, row.Score)+", of the last valid definition")
	}
	if row.BaseVerdict != nil {
		s.paragraph("base    ", plain, scored(row, *row.BaseVerdict, row.BaseScore))
	}
	s.paragraph("reason  ", plain, row.VerdictReason)
}

func scored(row *reporters.WatchRow, v verdict.Verdict, score *float64) string {
	if score == nil {
		return string(v)
	}
	return string(v) + " " + row.Shown(score)
}

// A criterion is the mean over a side's samples.
type criterion struct {
	sum  float64
	n    int
	note string
}

func (c *criterion) mean() *float64 {
	if c == nil || c.n == 0 {
		return nil
	}
	mean := c.sum / float64(c.n)
	return &mean
}

// means are grouped by evaluator and id, in order of appearance.
func means(samples []verdict.Sample) (map[string]*criterion, []string) {
	found := map[string]*criterion{}
	var order []string
	add := func(name string, c verdict.Criterion) {
		if found[name] == nil {
			found[name] = &criterion{}
			order = append(order, name)
		}
		mean := found[name]
		mean.sum, mean.n, mean.note = mean.sum+c.Score, mean.n+1, c.Note
	}
	for _, sample := range samples {
		for _, m := range sample.Measurements {
			for _, c := range m.Criteria {
				add(strings.TrimPrefix(m.Evaluator+" "+c.ID, c.ID+" "), c)
			}
		}
	}
	return found, order
}

// criteria compares each criterion with base.
func (s *sheet) criteria(scale float64, samples, base []verdict.Sample) {
	now, order := means(samples)
	was, _ := means(base)
	if len(order) == 0 {
		return
	}
	s.title("criteria")
	room := max(min(s.width-24, 40), 10)
	for _, name := range order {
		c, before := now[name], was[name]
		shown := textfmt.Pad(textfmt.Fit(textfmt.Line(name), room), room)
		l := line{{plain, " " + shown + "  "}}
		if before != nil {
			l = append(l, span{dim, textfmt.Points(before.mean(), scale) + " → "})
		}
		col := plain
		if *c.mean() < 1 {
			col = red
		}
		s.lines = append(s.lines, append(l, span{col, textfmt.OutOf(c.mean(), scale)}))
		if *c.mean() < 1 {
			s.paragraph("  ", dim, c.note)
		}
	}
}

// reasons lists each evaluator's reason for each sample.
func (s *sheet) reasons(samples []verdict.Sample) {
	first := true
	for i, sample := range samples {
		for _, m := range sample.Measurements {
			if m.Reason == "" && m.Error == "" {
				continue
			}
			if first {
				s.title("reasons")
				first = false
			}
			label := textfmt.Line(m.Evaluator) + ": "
			if len(samples) > 1 {
				label = fmt.Sprintf("%d %s", i+1, label)
			}
			s.paragraph(textfmt.Fit(label, 24), plain, m.Reason)
			s.paragraph("  ", red, m.Error)
		}
	}
}

// transcript shows the conversation, the system prompt first.
func (s *sheet) transcript(t *verdict.Transcript) {
	if t == nil {
		return
	}
	s.title("transcript")
	const label = 11
	s.paragraph(textfmt.Pad("system", label), dim, t.System)
	for _, m := range t.Messages {
		role := m.Role
		if role == schema.RoleAssistant {
			role = "agent"
		}
		thinking, said := verdict.Thought(m)
		if thinking != "" { // folded to a line; gavel explain --json has all of it
			s.paragraph(textfmt.Pad("thought", label), dim, textfmt.Fit(textfmt.Line(thinking), 60))
		}
		s.paragraph(textfmt.Pad(textfmt.Fit(textfmt.Line(role), label-1), label), plain, said)
		for _, call := range m.ToolCalls {
			s.paragraph(textfmt.Pad("calls", label), green, call.Function.Name+" "+call.Function.Arguments)
		}
	}
}
