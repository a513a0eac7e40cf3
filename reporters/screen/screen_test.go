package screen

import (
	"errors"
	"fmt"
	imagecolor "image/color"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/golden"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func number(x float64) *float64 { return &x }

// row is a case with its verdict here, at base and before; a negative score is
// none.
func row(key string, now, base, before float64) reporters.WatchRow {
	mark := func(score float64) (*verdict.Verdict, *float64) {
		v := verdict.Pass
		switch {
		case score < 0:
			return nil, nil
		case score < 0.7:
			v = verdict.Fail
		}
		return &v, number(score)
	}
	r := reporters.WatchRow{Row: report.Row{
		Key: key, File: "test_definitions/" + key + ".json", Line: 3, Action: plan.Run,
		Reasons: []plan.Reason{{Part: "system prompt", File: "test_definitions/support/domain.json", Message: "system prompt changed"}},
	}}
	r.Verdict, r.Score = mark(now)
	r.BaseVerdict, r.BaseScore = mark(base)
	if v, score := mark(before); v != nil {
		r.Before = &reporters.WatchMark{Verdict: *v, Score: score}
	}
	if now >= 0 && now < 0.7 {
		r.VerdictReason = `the reply contains the forbidden "60 days"; 0 of 1 keywords were found; missing: "30 days"`
	}
	return r
}

// day is a board in the middle of somebody's day.
func day() reporters.WatchSnapshot {
	regression := report.Regression
	broke := row("support/level_1/test_refund_window", 0, 1, 1)
	broke.Class = &regression
	b := reporters.WatchSnapshot{
		State: reporters.WatchWaiting, Base: "ef4ffb6c0c0ffee0c0ffee0c0ffee0c0ffee0c0f", Ref: "HEAD",
		Changed: []string{"test_definitions/support/domain.json"}, Differing: 2, Affected: 5, Total: 12,
		Estimate: report.Estimate{Calls: 8, USD: number(0.02)}, Spent: verdict.Usage{Calls: 31, CostUSD: 0.14},
		Gate: report.Gate{Result: report.GateFail, Reason: "1 case regressed (fail_on: regression)"},
		Rows: []reporters.WatchRow{
			broke,
			row("support/level_2/test_angry_customer", 0.5, 0.5, 0.5),
			row("conversation/level_2/test_opening_hours_on_public_holidays_in_the_mountains", 1, 1, 0.8),
			row("support/level_1/test_order_number", 1, 0, 0),
			row("tool_calling/level_1/test_weather", 0.9, -1, -1),
		},
	}
	return b
}

// broken has definitions with nine problems.
func broken(b *reporters.WatchSnapshot) {
	at := func(file string, line int) schema.Position { return schema.Position{File: file, Line: line, Column: 3} }
	for i := range 9 {
		b.Problems = append(b.Problems, schema.Problem{
			Position: at("test_definitions/math/level_2/test_ratio.json", 5+i), Severity: schema.Error,
			Message: "unknown field `expcted`", Hint: "did you mean `expected`?",
		})
	}
	b.Rows[1].Kept, b.Rows[1].Problem = true, &schema.Problem{
		Position: at("test_definitions/support/level_2/test_angry_customer.json", 7), Severity: schema.Error,
		Message: "unknown field `forbiden`", Hint: "did you mean `forbidden`?",
	}
	b.Notice = "files cannot be watched (no space left on device) and are looked at every 2s; raise fs.inotify.max_user_watches to have them watched"
}

// detail is the stored data of the first case of day.
func detail() reporters.WatchDetail {
	sample := func(score float64, note string) []verdict.Sample {
		return []verdict.Sample{{Measurements: []verdict.Measurement{{
			Evaluator: "keyword", Reason: "0 of 1 keywords were found",
			Criteria: []verdict.Criterion{{ID: "30 days", Score: score, Note: note}, {ID: "60 days", Score: score, Veto: true, Note: "it is there"}, {ID: "receipt", Score: 1}},
		}}}}
	}
	return reporters.WatchDetail{
		Samples: sample(0, "not in the reply"), Base: sample(1, ""),
		Transcript: &verdict.Transcript{
			System: "You are the support agent of a bicycle shop. Purchases can be returned within 60 days with the receipt.",
			Messages: []schema.Message{
				{Role: schema.RoleUser, Content: "How long can I return my bike?"},
				{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{{Function: schema.FunctionCall{Name: "find_policy", Arguments: `{"about":"returns"}`}}}},
				{Role: schema.RoleTool, Content: `{"days": 60}`},
				{Role: schema.RoleAssistant, Content: "You can bring it back within 60 days.\n\nDo you still have the receipt?"},
			},
		},
	}
}

// A fixture is a model that a test drives.
type fixture struct {
	t     *testing.T
	model tea.Model
	asked []reporters.WatchCommand
	quit  bool
}

func newFixture(t *testing.T, width, height int, b reporters.WatchSnapshot) *fixture {
	t.Helper()
	s := &fixture{t: t}
	s.model = New(Config{
		Do:     func(c reporters.WatchCommand) { s.asked = append(s.asked, c) },
		Detail: func(string) (reporters.WatchDetail, error) { return detail(), nil },
		Edit:   func(string, int) (Program, error) { return nil, errors.New("no editor is set") },
		Now:    func() time.Time { return noon },
	})
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	s.send(updated{Kind: reporters.WatchResult, Snapshot: b})
	return s
}

// send gives the model a message, and then what its command comes back with.
func (s *fixture) send(msg tea.Msg) {
	s.t.Helper()
	next, cmd := s.model.Update(msg)
	s.model = next
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.QuitMsg:
		s.quit = true
	case loaded:
		s.send(msg)
	}
}

func (s *fixture) press(keys ...string) {
	s.t.Helper()
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown, "up": tea.KeyUp, "pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace, "end": tea.KeyEnd}
	for _, key := range keys {
		switch code, ok := special[key]; {
		case ok:
			s.send(tea.KeyPressMsg{Code: code})
		case key == "ctrl+c":
			s.send(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
		default:
			s.send(tea.KeyPressMsg{Code: []rune(key)[0], Text: key})
		}
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// frame is the screen without colors, after a check of what always holds.
func (s *fixture) frame() string {
	s.t.Helper()
	m := s.model.(Model)
	lines := strings.Split(sgr.ReplaceAllString(m.Frame(), ""), "\n")
	if len(lines) != m.height {
		s.t.Errorf("%d lines on a terminal of %d", len(lines), m.height)
	}
	for i, l := range lines {
		if n := textfmt.Columns(l); n != m.width {
			s.t.Errorf("line %d has %d columns on a terminal of %d: %q", i+1, n, m.width, l)
		}
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestFrames compares whole screens.
func TestFrames(t *testing.T) {
	for _, tt := range []struct {
		name  string
		board func(b *reporters.WatchSnapshot)
		keys  []string
	}{
		{name: "day"},
		{name: "empty", board: func(b *reporters.WatchSnapshot) {
			*b = reporters.WatchSnapshot{State: reporters.WatchWaiting, Base: b.Base, Ref: "main", Total: 12}
		}},
		{name: "running", board: func(b *reporters.WatchSnapshot) {
			b.State, b.Done, b.Due, b.Began = reporters.WatchRunning, 12, 30, noon.Add(-4*time.Second)
			b.Rows[0].Due, b.Rows[3].Due = true, true
			b.Rows[3].Verdict, b.Rows[3].Score = nil, nil
		}},
		{name: "asking", board: func(b *reporters.WatchSnapshot) {
			b.State, b.Question = reporters.WatchAsking, "judge 120 cases in about 240 calls for about $3.10?"
		}},
		{name: "broken", board: broken},
		{name: "problem", board: broken, keys: []string{"up", "up", "enter"}},
		{name: "again", board: func(b *reporters.WatchSnapshot) {
			b.State, b.Done, b.Due, b.Again = reporters.WatchRunning, 30, 30, 14
			b.Estimate.Again = &report.Expense{UsualCalls: 4, MostCalls: 208, UsualUSD: number(0.01), MostUSD: number(0.52)}
		}},
		{name: "confirmed", board: func(b *reporters.WatchSnapshot) {
			b.Line = "1 regression (confirmed), 1 flaky"
			sample := func(side string, v verdict.Verdict) report.NoiseSample {
				return report.NoiseSample{Side: side, Verdict: v}
			}
			b.Rows[0].Confirmation = &report.Confirmation{
				Confirmed: true, Sentence: "failed in 4 of 4 reruns here, passed 4 of 4 at base (p = 0.01 after all looks)",
			}
			for range 4 {
				b.Rows[0].Confirmation.Samples = append(b.Rows[0].Confirmation.Samples, sample("head", verdict.Fail), sample("base", verdict.Pass))
			}
		}, keys: []string{"enter"}},
		{name: "stopped", board: func(b *reporters.WatchSnapshot) { b.Stopped, b.Rows[2].Due = true, true }},
		{name: "failed", keys: []string{"f"}},
		{name: "filter", keys: []string{"/", "t", "e", "s", "t", "_", "o", "backspace", "o"}},
		{name: "detail", keys: []string{"enter"}},
		{name: "help", keys: []string{"?"}},
		{name: "hostile", board: func(b *reporters.WatchSnapshot) {
			b.Changed = []string{"a\x1b[2Jb\nc.json", "日本語のとても長い名前のファイルですよ本当にとても長い名前のファイル.json"}
			b.Rows[0].Key = "日本語/\x1b]0;owned\x07/レベル一/とても長い名前のテストケースですよ本当にとても長い"
			b.Rows[0].VerdictReason = "\x1b[31mred\u202e reversed\n\n" + strings.Repeat("long ", 100)
			b.Error = "\x1b[Hhome"
		}},
		{name: "emoji", board: func(b *reporters.WatchSnapshot) {
			const warning, thumb, family = "\u26a0\ufe0f", "\U0001f44d\U0001f3fd", "\U0001f468\u200d\U0001f469\u200d\U0001f467"
			b.Changed = []string{strings.Repeat(family, 60) + ".json", "\ufe0f\u0301" + thumb + ".json"}
			b.Rows[0].Key = strings.Repeat(warning+thumb+"/", 40) + family
			b.Rows[1].Key = "\ufe0f\u200d" + strings.Repeat("e\u0301", 100)
			b.Rows[0].VerdictReason = strings.Repeat(family+" "+thumb+warning, 50)
		}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			full := fmt.Sprintf("%s_%dx%d", tt.name, size[0], size[1])
			t.Run(full, func(t *testing.T) {
				b := day()
				if tt.board != nil {
					tt.board(&b)
				}
				s := newFixture(t, size[0], size[1], b)
				s.press(tt.keys...)
				golden.Compare(t, "testdata/"+full+".txt", s.frame())
			})
		}
	}
}

// TestLowFrames holds the whole screen on ten lines, as half a split terminal has.
func TestLowFrames(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []string
	}{{"low", nil}, {"low_down", []string{"down", "down", "down", "down"}}, {"low_detail", []string{"enter"}}, {"low_problem", []string{"up", "enter"}}} {
		b := day()
		if tt.name == "low_problem" {
			broken(&b)
		}
		s := newFixture(t, 80, 10, b)
		s.press(tt.keys...)
		golden.Compare(t, "testdata/"+tt.name+"_80x10.txt", s.frame())
	}
}

// TestProblemsAreSelected goes up from the first case through all problems, also those
// that the list has no room for, and opens one in the editor.
func TestProblemsAreSelected(t *testing.T) {
	b := day()
	broken(&b)
	s := newFixture(t, 100, 24, b)
	opened := 0
	m := s.model.(Model)
	m.cfg.Edit = func(file string, line int) (Program, error) {
		opened = line
		return nil, errors.New(file)
	}
	s.model = m
	for i := range b.Problems {
		s.press("up")
		want := &b.Problems[len(b.Problems)-1-i]
		if frame := s.frame(); !strings.Contains(frame, "›! "+want.Position.String()) || !strings.Contains(frame, fmt.Sprintf("problem %d of 9", len(b.Problems)-i)) {
			t.Fatalf("%s is not the selected one:\n%s", want.Position, frame)
		}
	}
	if s.press("up", "r", "e"); opened != b.Problems[0].Line || len(s.asked) != 0 {
		t.Errorf("line %d is opened, want %d; the watch was asked for %v", opened, b.Problems[0].Line, s.asked)
	}
	selected := s.model.(Model).selected
	b.Problems = b.Problems[:4]
	if s.send(updated{Kind: reporters.WatchPlanned, Snapshot: b}); s.model.(Model).selected != selected {
		t.Error("another one is selected although the problem is still there")
	}
	b.Problems = nil
	if s.send(updated{Kind: reporters.WatchPlanned, Snapshot: b}); s.model.(Model).selected != b.Rows[0].Key {
		t.Errorf("%q is selected after the problems are gone", s.model.(Model).selected)
	}
	broken(&b)
	b.Rows = nil
	s = newFixture(t, 100, 24, b)
	if s.press("enter"); !strings.Contains(s.frame(), "did you mean `expected`?") {
		t.Errorf("without a case the first problem is not opened:\n%s", s.frame())
	}
}

// TestColors holds the colors on a dark and on a light terminal.
func TestColors(t *testing.T) {
	for _, tt := range []struct {
		name       string
		background imagecolor.Color
	}{{"dark", imagecolor.Black}, {"light", imagecolor.White}} {
		s := newFixture(t, 80, 24, day())
		s.send(tea.BackgroundColorMsg{Color: tt.background})
		painted := s.model.(Model).Frame()
		shown := strings.NewReplacer("\x1b[m", "‹›", "\x1b[", "‹").Replace(painted)
		shown = regexp.MustCompile("‹([0-9;]*)m").ReplaceAllString(shown, "‹$1›")
		golden.Compare(t, "testdata/colors_"+tt.name+".txt", shown+"\n")
	}
}

// TestEverySize draws every scene at sizes between the smallest and a large
// one; frame looks at the lines.
func TestEverySize(t *testing.T) {
	for _, keys := range [][]string{nil, {"enter"}, {"?"}, {"down", "down", "enter", "pgdown"}, {"f", "/", "x"}} {
		for width := leastColumns; width < 160; width += 7 {
			for _, height := range []int{leastLines, 10, lowLines - 1, lowLines, 21, 39, 57} {
				s := newFixture(t, width, height, day())
				s.press(keys...)
				s.frame()
			}
		}
	}
	if got := newFixture(t, 20, 5, day()).model.(Model).Frame(); got != "needs 40×8 or more" {
		t.Errorf("a tiny terminal shows %q", got)
	}
}

// TestKeys holds what the keys ask for.
func TestKeys(t *testing.T) {
	first, second := day().Rows[0].Key, day().Rows[1].Key
	for _, tt := range []struct {
		name string
		keys []string
		want []reporters.WatchCommand
		quit bool
	}{
		{name: "rerun", keys: []string{"r"}, want: []reporters.WatchCommand{{Do: reporters.WatchRerun, Keys: []string{first}}}},
		{name: "rerun the next", keys: []string{"down", "r"}, want: []reporters.WatchCommand{{Do: reporters.WatchRerun, Keys: []string{second}}}},
		{name: "rerun what failed", keys: []string{"f", "R"}, want: []reporters.WatchCommand{{Do: reporters.WatchRerun, Keys: []string{first, second}}}},
		{name: "rerun nothing", keys: []string{"/", "n", "o", "n", "e", "enter", "r", "R"}},
		{name: "all cases", keys: []string{"A"}, want: []reporters.WatchCommand{{Do: reporters.WatchAll}}},
		{name: "pause", keys: []string{"p"}, want: []reporters.WatchCommand{{Do: reporters.WatchPause}}},
		{name: "accept", keys: []string{"c"}, want: []reporters.WatchCommand{{Do: reporters.WatchAccept}}},
		{name: "answers", keys: []string{"y", "n"}, want: []reporters.WatchCommand{{Do: reporters.WatchAnswer}, {Do: reporters.WatchDecline}}},
		{name: "text for a filter", keys: []string{"/", "q", "r", "esc"}},
		{name: "quit", keys: []string{"q"}, quit: true},
		{name: "quit a case", keys: []string{"enter", "q"}},
		{name: "quit a case and the watch", keys: []string{"enter", "q", "q"}, quit: true},
		{name: "quit the help", keys: []string{"?", "q"}},
		{name: "leave the help and a case", keys: []string{"enter", "?", "esc", "esc", "q"}, quit: true},
		{name: "leave one of two", keys: []string{"enter", "?", "esc", "q"}},
		{name: "interrupt", keys: []string{"ctrl+c"}, quit: true},
	} {
		s := newFixture(t, 80, 24, day())
		s.press(tt.keys...)
		if diff := cmp.Diff(tt.want, s.asked); diff != "" || s.quit != tt.quit {
			t.Errorf("%s: quits %v (-want +got):\n%s", tt.name, s.quit, diff)
		}
	}
	b := day()
	b.State, b.Due = reporters.WatchRunning, 3
	s := newFixture(t, 80, 24, b)
	if s.press("ctrl+c"); s.quit || len(s.asked) != 1 || s.asked[0].Do != reporters.WatchStop {
		t.Errorf("the first Ctrl-C quits %v and asks for %v", s.quit, s.asked)
	}
	if s.press("ctrl+c"); !s.quit {
		t.Error("the second Ctrl-C does not quit")
	}
	s = newFixture(t, 80, 24, day())
	if s.press("e"); !strings.Contains(s.frame(), "no editor is set") {
		t.Error("it is not said that there is no editor")
	}
}

// TestSelection holds that the selected case stays selected as the rows move.
func TestSelection(t *testing.T) {
	b := day()
	s := newFixture(t, 80, 24, b)
	s.press("down", "down")
	want := b.Rows[2].Key
	b.Rows = append([]reporters.WatchRow{row("new/one", 0, 1, 1)}, b.Rows...)
	s.send(updated{Kind: reporters.WatchResult, Snapshot: b})
	if got := s.model.(Model).selected; got != want {
		t.Errorf("%s is selected, want %s", got, want)
	}
	b.Rows = b.Rows[:1]
	s.send(updated{Kind: reporters.WatchResult, Snapshot: b})
	if got := s.model.(Model).selected; got != "new/one" {
		t.Errorf("%q is selected where one is left", got)
	}
}

// TestThePaneIsOfTheSelectedCase moves the selection in every way while the detail pane
// is open: the pane shows the selected case.
func TestThePaneIsOfTheSelectedCase(t *testing.T) {
	rows := day().Rows
	less := day()
	less.Rows = rows[1:]
	for _, tt := range []struct {
		name string
		move func(*fixture)
	}{
		{"key", func(s *fixture) { s.press("down") }},
		{"filter", func(s *fixture) { s.press(append([]string{"/"}, strings.Split(rows[1].Key, "")...)...) }},
		{"board", func(s *fixture) { s.send(updated{Kind: reporters.WatchPlanned, Snapshot: less}) }},
		{"again", func(s *fixture) { s.press("enter", "down", "enter") }},
	} {
		s := newFixture(t, 120, 40, day())
		s.press("enter")
		tt.move(s)
		m := s.model.(Model)
		if m.selected != rows[1].Key && tt.name != "board" || m.detail.Key != m.selected {
			t.Errorf("%s: the pane is of %s, and %s is selected", tt.name, m.detail.Key, m.selected)
		}
	}
}

// TestScoresOfADialect shows scores as the authors of a case write theirs.
func TestScoresOfADialect(t *testing.T) {
	b := day()
	b.Rows = []reporters.WatchRow{row("plans/trip", 0.85, 0.65, 0)}
	b.Rows[0].Dialect = schema.DialectPromptval
	s := newFixture(t, 80, 24, b)
	if list := s.frame(); !strings.Contains(list, "  6.50 → 8.50/10  +2.00\n") {
		t.Errorf("the list:\n%s", list)
	}
	s.press("enter")
	for _, want := range []string{"8.50/10\n", "base    fail 6.50/10\n", "10.00 → 0.00/10\n"} {
		if pane := s.frame(); !strings.Contains(pane, want) {
			t.Errorf("the pane lacks %q:\n%s", want, pane)
		}
	}
}

// TestEnds holds which parts are left out if two lines do not fit next to each other.
func TestEnds(t *testing.T) {
	left, long, short := text(plain, strings.Repeat("l", 20)), text(plain, "long right"), text(plain, "right")
	for _, tt := range []struct {
		width int
		want  string
	}{
		{32, "llllllllllllllllllll  long right"}, {31, "llllllllllllllllllll      right"}, {27, "llllllllllllllllllll  right"},
		{26, "llllllllllllllllll…  right"}, {12, "lllllllllll…"},
	} {
		got := ""
		for _, s := range ends(left, tt.width, long, short) {
			got += s.text
		}
		if got != tt.want {
			t.Errorf("%d columns: %q, want %q", tt.width, got, tt.want)
		}
	}
}

// TestTicking holds that the clock of a run is one, and ends with it.
func TestTicking(t *testing.T) {
	b := day()
	b.State = reporters.WatchRunning
	m := New(Config{Now: func() time.Time { return noon }})
	for i, want := range []bool{true, false, false} {
		next, cmd := m.Update(updated{Kind: reporters.WatchJudged, Snapshot: b})
		if m = next.(Model); (cmd != nil) != want {
			t.Errorf("update %d starts a clock: %v", i, cmd != nil)
		}
	}
	next, cmd := m.Update(ticked{})
	if m = next.(Model); cmd == nil || !m.ticking {
		t.Error("the clock does not go on")
	}
	b.State = reporters.WatchWaiting
	next, _ = m.Update(updated{Kind: reporters.WatchResult, Snapshot: b})
	next, cmd = next.(Model).Update(ticked{})
	if m = next.(Model); cmd != nil || m.ticking {
		t.Error("the clock goes on after the run")
	}
}

// TestThePageShowsAFrame holds that the page on watching shows lines of a real frame.
func TestThePageShowsAFrame(t *testing.T) {
	page, err := os.ReadFile("../../examples/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, ok := strings.Cut(string(page), "```\n gavel watch")
	shown, _, closed := strings.Cut(shown, "```")
	if !ok || !closed {
		t.Fatal("the page shows no frame")
	}
	frame := newFixture(t, 80, 24, day()).frame()
	for line := range strings.Lines(" gavel watch" + shown) {
		if !strings.Contains(frame, line) {
			t.Errorf("the page shows a line that no frame has: %q", line)
		}
	}
}

// TestThePageNamesTheKeys holds that the page and the help name the same keys with the same
// verb.
func TestThePageNamesTheKeys(t *testing.T) {
	page, err := os.ReadFile("../../examples/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	does := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.+) \\| (.+) \\|$").FindAllStringSubmatch(string(page), -1) {
		for press := range strings.SplitSeq(row[1], ", ") {
			does[strings.Trim(press, "`")] = row[2]
		}
	}
	if does["Esc"] == "" || !strings.Contains(keys[len(keys)-1].does, "as Esc does") {
		t.Error("the page or the help does not name Esc")
	}
	delete(does, "Esc")
	for _, k := range keys {
		verb, _, _ := strings.Cut(k.does, " ")
		for press := range strings.FieldsSeq(k.press) {
			if !strings.HasPrefix(does[press], strings.Trim(verb, ":,")) {
				t.Errorf("%s: the page says %q, the help %q", press, does[press], k.does)
			}
			delete(does, press)
		}
	}
	if len(does) > 0 {
		t.Errorf("the help does not name %v", does)
	}
}

// TestNothingToRerun: a key that has nothing to judge says which one judges all cases.
func TestNothingToRerun(t *testing.T) {
	for press, want := range map[string]string{"r": "no case is selected; A judges all cases", "R": "no case is listed; A judges all cases"} {
		s := newFixture(t, 80, 24, reporters.WatchSnapshot{State: reporters.WatchWaiting, Base: day().Base, Ref: "main", Total: 12})
		if s.press(press); len(s.asked) != 0 || !strings.Contains(s.frame(), want) {
			t.Errorf("%s asks for %v and shows\n%s", press, s.asked, s.frame())
		}
	}
}

// TestAllCases that were asked for are not called affected.
func TestAllCases(t *testing.T) {
	b := day()
	b.Changed, b.Differing, b.All, b.Affected = nil, 0, true, 12
	if got := newFixture(t, 80, 24, b).frame(); !strings.Contains(got, " nothing differs from base; all cases were asked for ") || !strings.Contains(got, " 12 cases\n") || strings.Contains(got, "affected") {
		t.Errorf("the screen shows\n%s", got)
	}
}

// TestAnInvalidCase shows its problem and not its last result as the present one.
func TestAnInvalidCase(t *testing.T) {
	b := day()
	broken(&b)
	s := newFixture(t, 200, 40, b)
	s.press("down", "enter")
	got := s.frame()
	for _, want := range []string{
		" 1 failed · 1 invalid · 3 passed ", "›! invalid     support/level_2/test_angry_customer", "was 0.50",
		"now     invalid: test_definitions/support/level_2/test_angry_customer.json:7:3 unknown field `forbiden`;", "last    fail 0.50, of the last valid definition",
		"\n test_definitions/support/level_2/test_angry_customer.json:7:3 unknown field `forbiden`; did you mean `forbidden`?\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the screen does not say %q", want)
		}
	}
	if strings.Contains(got, "0.50 → 0.50") || strings.Contains(got, "now     fail") || t.Failed() {
		t.Errorf("the screen shows\n%s", got)
	}
}

// TestWhatIsNotJudgedIsNotPassed has a question that was declined: the head says how
// much is to be judged, and abandoned calls are part of the spending.
func TestWhatIsNotJudgedIsNotPassed(t *testing.T) {
	b := reporters.WatchSnapshot{
		State: reporters.WatchWaiting, Affected: 2000, Total: 2000, Spent: verdict.Usage{Calls: 4}, GivenUp: 36,
		Gate: report.Gate{Result: report.GateUndetermined, Reason: "2,000 cases are not judged yet"},
	}
	for i := range 2000 {
		r := row(fmt.Sprint("case ", i), -1, -1, -1)
		r.Due = true
		b.Rows = append(b.Rows, r)
	}
	got := newFixture(t, 120, 20, b).frame()
	for _, want := range []string{"2,000 to judge", "gate undetermined: 2,000 cases are not judged yet", "spent 4 calls, 36 given up"} {
		if !strings.Contains(got, want) {
			t.Errorf("the screen does not say %q:\n%s", want, got)
		}
	}
}

// TestFailedBefore: a gate that passes next to cases that fail says why.
func TestFailedBefore(t *testing.T) {
	fail, pass := verdict.Fail, verdict.Pass
	for _, tt := range []struct {
		gate string
		base *verdict.Verdict
		want bool
	}{{report.GatePass, &fail, true}, {report.GatePass, &pass, false}, {report.GatePass, nil, false}, {report.GateFail, &fail, false}} {
		b := day()
		b.Gate = report.Gate{Result: tt.gate, Reason: "no case regressed"}
		for i := range b.Rows {
			b.Rows[i].BaseVerdict = tt.base
		}
		if got := strings.Contains(newFixture(t, 120, 24, b).frame(), "no case regressed; 2 failed at base, too"); got != tt.want {
			t.Errorf("%+v: it is said: %v", tt, got)
		}
	}
}
