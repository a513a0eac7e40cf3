package screen

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A key is a key of the keyboard with its action, as the help shows it.
type key struct{ press, does, short string }

// foot formats the key for the foot, with little room.
func (k key) foot() string {
	if k.press == "enter" {
		return "↵"
	}
	return k.press
}

// keys are in the order of the help; keys with a short form are at the foot.
var keys = []key{
	{"↑ ↓ PgUp PgDn", "move, or scroll the detail", ""},
	{"enter", "show all of a case, or of a problem; again: close", "detail"},
	{"a", "list all affected and failing cases, after f or /", "all"},
	{"f", "list only those that fail", "failed"},
	{"/", "list only those whose key or reason contains a text", "filter"},
	{"r", "judge the selected case again, as a new sample", "rerun"},
	{"R", "judge all listed cases again", ""},
	{"A", "list all cases; judge those without a stored verdict", ""},
	{"e", "open the definition in $EDITOR at its line", "edit"},
	{"p", "pause: plan changes and run nothing; again: go on", "pause"},
	{"c", "accept: compare with this from now on; nothing is stored", "accept"},
	{"y n", "answer a question", ""},
	{"?", "show or hide this", "help"},
	{"Ctrl-C", "stop the run; again: quit", ""},
	{"q", "close what is open, as Esc does; else quit", "quit"},
}

// press executes a key.
func (m Model) press(msg tea.KeyPressMsg) (Model, tea.Cmd) {
	name := msg.String()
	if name == "ctrl+c" {
		return m.interrupt()
	}
	m.note = ""
	if m.typing {
		return m.typed(msg)
	}
	switch name {
	case "q":
		if !m.help && !m.open {
			return m, tea.Quit
		}
		return m.back()
	case "?":
		m.help, m.scroll = !m.help, 0
	case "esc":
		return m.back()
	case "up", "k", "down", "j", "pgup", "pgdown", "home", "end", "g", "G", "space":
		return m.move(name)
	case "enter":
		m.open, m.help, m.scroll, m.moved = !m.open && m.selected != "", false, 0, true
	case "a":
		m.failedOnly, m.filter = false, ""
		m.settle()
	case "f":
		m.failedOnly = !m.failedOnly
		m.settle()
	case "/":
		m.typing, m.help = true, false
	case "e":
		return m.edit()
	default:
		m.ask(name)
	}
	return m, nil
}

// ask forwards an action to the watch.
func (m *Model) ask(name string) {
	switch name {
	case "r":
		if m.current() == nil {
			m.note = "no case is selected; A judges all cases"
			return
		}
		m.cfg.Do(reporters.WatchCommand{Do: reporters.WatchRerun, Keys: []string{m.selected}})
	case "R":
		var all []string
		for _, row := range m.listed() {
			all = append(all, row.Key)
		}
		if len(all) == 0 {
			m.note = "no case is listed; A judges all cases"
			return
		}
		m.cfg.Do(reporters.WatchCommand{Do: reporters.WatchRerun, Keys: all})
	case "A":
		m.cfg.Do(reporters.WatchCommand{Do: reporters.WatchAll})
	case "p":
		m.cfg.Do(reporters.WatchCommand{Do: reporters.WatchPause})
	case "c":
		m.cfg.Do(reporters.WatchCommand{Do: reporters.WatchAccept})
		m.note = "accepted: later results are compared with these"
	case "y":
		m.cfg.Do(reporters.WatchCommand{Do: reporters.WatchAnswer})
	case "n":
		m.cfg.Do(reporters.WatchCommand{Do: reporters.WatchDecline})
	}
}

// interrupt stops the current run, or else quits.
func (m Model) interrupt() (Model, tea.Cmd) {
	if m.board.State == reporters.WatchRunning {
		m.cfg.Do(reporters.WatchCommand{Do: reporters.WatchStop})
		m.board.State = reporters.WatchStopping // so that the next one quits
		return m, nil
	}
	m.interrupted = true
	return m, tea.Quit
}

// back closes the view opened last.
func (m Model) back() (Model, tea.Cmd) {
	switch {
	case m.help:
		m.help = false
	case m.open:
		m.open = false
	default:
		m.filter, m.failedOnly = "", false
		m.settle()
	}
	m.scroll = 0
	return m, nil
}

// typed edits the filter.
func (m Model) typed(msg tea.KeyPressMsg) (Model, tea.Cmd) {
	switch msg.String() {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, m.filter = false, ""
	case "backspace":
		if runes := []rune(m.filter); len(runes) > 0 {
			m.filter = string(runes[:len(runes)-1])
		}
	case "ctrl+u":
		m.filter = ""
	default:
		m.filter += msg.Key().Text
	}
	m.settle()
	return m, nil
}

// move moves in the list, or scrolls the view that covers it.
func (m Model) move(name string) (Model, tea.Cmd) {
	page := max(m.bodyHeight()-1, 1)
	by := map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "pgdown": page, "space": page,
		"home": -1 << 20, "g": -1 << 20, "end": 1 << 20, "G": 1 << 20,
	}[name]
	if m.help || m.open && !m.wide() || m.open && (name == "pgup" || name == "pgdown" || name == "space") {
		m.scroll = max(m.scroll+by, 0)
		return m, nil
	}
	ids := m.ids()
	if len(ids) == 0 {
		return m, nil
	}
	m.at = min(max(m.at+by, 0), len(ids)-1)
	m.selected, m.scroll, m.moved = ids[m.at], 0, true
	return m, nil
}

// edit opens the selected definition, or the file with the selected problem.
func (m Model) edit() (Model, tea.Cmd) {
	file, number := "", 0
	if row := m.current(); row != nil {
		file, number = row.File, row.Line
	}
	if p, _ := m.problem(); p != nil {
		file, number = p.File, p.Line
	}
	if file == "" || m.cfg.Edit == nil {
		return m, nil
	}
	program, err := m.cfg.Edit(file, number)
	if err != nil {
		m.note = err.Error()
		return m, nil
	}
	return m, tea.Exec(program, func(err error) tea.Msg { return edited{err} })
}

// settle keeps the selection on the user's choice, or near its place. Before a choice,
// it is the first case, or without cases the first problem.
func (m *Model) settle() {
	ids := m.ids()
	if at := slices.Index(ids, m.selected); at >= 0 && m.moved {
		m.at = at
		return
	}
	if !m.moved {
		m.at = len(m.board.Problems)
	}
	m.at = max(min(m.at, len(ids)-1), 0)
	m.selected = ""
	if len(ids) > 0 {
		m.selected = ids[m.at]
	}
}

// listed returns the rows that pass the view and the filter.
func (m Model) listed() []reporters.WatchRow {
	if !m.failedOnly && m.filter == "" {
		return m.board.Rows
	}
	var out []reporters.WatchRow
	text := strings.ToLower(m.filter)
	for _, row := range m.board.Rows {
		if m.failedOnly && !row.Failing() {
			continue
		}
		if strings.Contains(strings.ToLower(row.Key+" "+textfmt.Line(row.VerdictReason)), text) {
			out = append(out, row)
		}
	}
	return out
}

// current returns the selected row, or nil.
func (m Model) current() *reporters.WatchRow {
	rows := m.listed()
	if at := m.at - len(m.board.Problems); at >= 0 && at < len(rows) && rows[at].Key == m.selected {
		return &rows[at]
	}
	return nil
}
