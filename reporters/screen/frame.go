package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

const (
	// headLines and footLines are above and below the body.
	headLines = 5
	footLines = 4
	// wideColumns is the width from which list and detail are side by side.
	wideColumns = 110
	// Below lowLines there are fewer lines above and below the body.
	lowLines                 = headLines + footLines + 3
	lowHead, lowFoot         = 3, 2
	leastColumns, leastLines = 40, lowHead + lowFoot + 3
)

func (m Model) wide() bool { return m.width >= wideColumns }
func (m Model) low() bool  { return m.height < lowLines }

func (m Model) bodyHeight() int {
	if m.low() {
		return m.height - lowHead - lowFoot
	}
	return m.height - headLines - footLines
}

// Frame returns the terminal's content: height lines of at most width columns.
func (m Model) Frame() string {
	palette := palettes[m.dark]
	if m.width < leastColumns || m.height < leastLines {
		return textfmt.Fit(fmt.Sprintf("needs %d×%d or more", leastColumns, leastLines), max(m.width, 1))
	}
	var lines []string
	draw := func(ls ...line) {
		for _, l := range ls {
			lines = append(lines, l.fit(m.width).paint(palette, ""))
		}
	}
	draw(m.head()...)
	lines = append(lines, m.body(palette)...)
	draw(m.foot()...)
	return strings.Join(lines, "\n")
}

// head renders refs, changes, result and state.
func (m Model) head() []line {
	b := &m.board
	title := line{{strong, " gavel watch"}, {dim, "  against " + terminal.Against(b)}}
	if b.Accepted {
		title = append(title, span{dim, ", since what was accepted"})
	}
	changed := " nothing differs from base"
	if b.Differing > 0 {
		changed = " " + textfmt.Count(b.Differing, "file") + " " + textfmt.Verb(b.Differing, "differs", "differ")
	}
	if len(b.Changed) > 0 {
		changed = " changed " + textfmt.Line(terminal.Files(b.Changed, 2))
	}
	affected := textfmt.Count(b.Total, "case") + " "
	switch {
	case b.All:
		changed += "; all cases were asked for"
	case b.Base != "":
		affected = fmt.Sprintf("%s of %saffected ", textfmt.Int(int64(b.Affected)), affected)
	}
	if m.low() {
		return []line{ends(title, m.width, m.state()), ends(m.counts(), m.width, m.money()...), m.activity()}
	}
	return []line{
		ends(title, m.width, m.state()),
		ends(text(plain, changed), m.width, text(dim, affected)),
		ends(m.counts(), m.width, m.money()...),
		m.activity(),
		text(rule, strings.Repeat("─", m.width)),
	}
}

func (m Model) state() line {
	word, c := string(m.board.State), dim
	switch {
	case !m.told:
		word = "looking"
	case m.board.State == reporters.WatchRunning:
		word, c = "judging", yellow
	case m.board.State == reporters.WatchAsking, m.board.State == reporters.WatchPaused, m.board.State == reporters.WatchStopping:
		c = yellow
	case m.board.Stopped:
		word, c = "stopped", yellow
	case m.board.State == reporters.WatchWaiting:
		word = "waiting for a change"
	}
	return line{{c, word + " "}}
}

// counts renders the verdicts, and their changes since the last time.
func (m Model) counts() line {
	c := m.board.Count()
	out := text(plain, " ")
	add := func(n int, col color, word string) {
		if n == 0 {
			return
		}
		if len(out) > 1 {
			out = append(out, span{dim, " · "})
		}
		out = append(out, span{col, textfmt.Int(int64(n)) + " " + word})
	}
	add(c.Fail, red, "failed")
	add(c.Error, red, "not judged")
	add(c.Unrun, yellow, "not run")
	add(c.Invalid, yellow, "invalid")
	add(c.Borderline, yellow, "borderline")
	add(c.Pass, green, "passed")
	add(c.Due, yellow, "to judge")
	add(c.Broke, red, "broke")
	add(c.Fixed, green, "fixed")
	if len(out) == 1 {
		return text(dim, " no case is affected")
	}
	return out
}

// money renders the plan's estimate with the spending, and the spending alone.
func (m Model) money() []line {
	spent := "spent " + terminal.Spent(&m.board) + " "
	out := []line{text(dim, spent)}
	if m.board.Estimate.Calls > 0 && m.board.State != reporters.WatchWaiting {
		out = slices.Insert(out, 0, text(dim, m.board.Estimate.String()+" · "+spent))
	}
	return out
}

// activity renders the current state: a question, a run, an error, the gate.
func (m Model) activity() line {
	b := &m.board
	switch {
	case b.Question != "":
		return line{{yellow, " ? " + b.Question}, {strong, "  y"}, {plain, " yes  "}, {strong, "n"}, {plain, " no"}}
	case b.State == reporters.WatchRunning && b.Due+b.Again > 0:
		return m.progress()
	case b.Error != "":
		return text(red, " ! "+textfmt.Line(b.Error))
	case b.Notice != "":
		return text(yellow, " ! "+textfmt.Line(b.Notice))
	case b.Stopped:
		return text(yellow, " the run was stopped; p goes on with what is left")
	case b.State == reporters.WatchPaused:
		return text(yellow, " paused: changes are planned and not run; p goes on")
	case len(b.Notices) > 0 && b.Affected == 0:
		return text(yellow, " ! "+textfmt.Line(b.Notices[0].File+" "+b.Notices[0].Message))
	case b.Gate.Result == "":
		return nil
	}
	c := green
	if b.Gate.Result == report.GateFail {
		c = red
	}
	if b.Gate.Result == report.GateUndetermined {
		c = yellow
	}
	said := b.Gate.Reason
	if n := b.FailedBefore(); n > 0 && b.Gate.Result == report.GatePass {
		said += fmt.Sprintf("; %s failed at base, too", textfmt.Int(int64(n)))
	}
	if b.Line != "" {
		said = b.Line + " · " + said
	}
	return line{{c, " gate " + b.Gate.Result}, {dim, ": " + textfmt.Line(said)}}
}

// progress renders a bar with the rate and the remaining time.
func (m Model) progress() line {
	b := &m.board
	if b.Again > 0 {
		return text(plain, " telling regressions from noise: "+textfmt.Count(b.Again, "measurement")+" so far")
	}
	cells := min(max(m.width-50, 10), 40)
	done := cells * b.Done / max(b.Due, 1)
	out := line{
		{plain, " "}, {green, strings.Repeat("█", done)}, {rule, strings.Repeat("░", cells-done)},
		{plain, fmt.Sprintf(" %s/%s", textfmt.Int(int64(b.Done)), textfmt.Int(int64(b.Due)))},
	}
	took := m.now.Sub(b.Began)
	if b.Done == 0 || took <= 0 {
		return append(out, span{dim, "  " + textfmt.Duration(max(took, 0).Truncate(time.Second))})
	}
	rate := float64(b.Done) / took.Seconds()
	left := time.Duration(float64(b.Due-b.Done) / rate * float64(time.Second))
	return append(out, span{dim, fmt.Sprintf("  %.1f a second, %s left", rate, textfmt.Duration(max(left.Round(time.Second), time.Second)))})
}

// foot renders details of the selected case, and the keys.
func (m Model) foot() []line {
	out := []line{m.divider(), nil, nil, nil}
	if p, _ := m.problem(); p != nil && !m.help {
		out[1], out[2] = text(plain, " "+problemText(p)), text(dim, " "+textfmt.Line(p.Position.String()))
	}
	if row := m.current(); row != nil && !m.help {
		said := textfmt.Line(row.VerdictReason)
		if row.Error != nil {
			said = textfmt.Line(*row.Error)
		}
		if row.Kept {
			said = textfmt.Line(row.ProblemText())
		}
		about := terminal.PreviousVerdict(&m.board, row)
		if why := m.why(row); why != "" {
			about = strings.TrimPrefix(about+"; "+why, "; ")
		}
		out[1], out[2] = text(plain, " "+said), text(dim, " "+about)
	}
	if m.note != "" {
		out[2] = text(yellow, " "+textfmt.Line(m.note))
	}
	if m.typing || m.filter != "" {
		cursor := ""
		if m.typing {
			cursor = "▏"
		}
		out[2] = line{{strong, " / "}, {plain, textfmt.Clean(m.filter) + cursor}}
	}
	out[3] = m.keyLine()
	if m.low() { // the second line has the filter, a note, or the case's result
		if m.note == "" && !m.typing && m.filter == "" {
			out[2] = out[1]
		}
		return out[2:]
	}
	return out
}

// divider shows the visible part of the list.
func (m Model) divider() line {
	rows := m.listed()
	what := ""
	switch {
	case m.help:
	case m.failedOnly:
		what = "failed only, "
	case m.filter != "":
		what = "filtered, "
	}
	problem, at := m.problem()
	switch n := len(rows); {
	case m.help:
	case problem != nil:
		what += fmt.Sprintf("problem %s of %s", textfmt.Int(int64(at+1)), textfmt.Int(int64(len(m.board.Problems))))
	case n > 0:
		what += fmt.Sprintf("%s of %s", textfmt.Int(int64(m.at-len(m.board.Problems)+1)), textfmt.Int(int64(n)))
	}
	what = strings.TrimSuffix(what, ", ")
	if what == "" {
		return text(rule, strings.Repeat("─", m.width))
	}
	what = " " + what + " "
	return line{{rule, strings.Repeat("─", max(m.width-textfmt.Columns(what)-3, 0))}, {dim, what}, {rule, "───"}}
}

// keyLine names the keys, spaced if there is room.
func (m Model) keyLine() line {
	var out line
	for _, gap := range []string{"   ", "  ", " "} {
		out = text(plain, " ")
		for _, k := range keys {
			if k.short == "" {
				continue
			}
			does := k.short
			if k.press == "q" && (m.help || m.open) {
				does = "close"
			}
			if k.press == "p" && (m.board.State == reporters.WatchPaused || m.board.Stopped && m.board.State == reporters.WatchWaiting) {
				does = "go on"
			}
			out = append(out, span{strong, k.foot()}, span{dim, " " + does}, span{plain, gap})
		}
		out = out[:len(out)-1]
		if out.columns() <= m.width {
			break
		}
	}
	return out
}
