// Package screen shows a watch on the whole terminal.
//
// Most callers want [Terminal.Run]. A [Model] turns keys and updates into frames and
// does nothing else, so that tests compare frames. Every frame has as many lines as the
// terminal, none wider than it, and no text of a repository or a model can move the
// cursor or change a colour.
package screen

import (
	"context"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gavel-evals/gavel/reporters"
)

// A Program takes over the terminal for a while, such as an editor.
type Program interface {
	Run() error
	SetStdin(io.Reader)
	SetStdout(io.Writer)
	SetStderr(io.Writer)
}

// A Config has the screen's actions.
type Config struct {
	// Do forwards the user's command.
	Do func(reporters.WatchCommand)
	// Detail reads the stored results of a case.
	Detail func(key string) (reporters.WatchDetail, error)
	// Edit opens a file at a line; its error gives the reason why it cannot.
	Edit func(file string, line int) (Program, error)
	// Now defaults to time.Now.
	Now func() time.Time
}

// A Terminal shows updates until the user quits.
type Terminal struct{ program *tea.Program }

// Open prepares the terminal, which Run takes over. The caller handles signals.
func Open(cfg Config, in io.Reader, out io.Writer) *Terminal {
	return &Terminal{tea.NewProgram(New(cfg), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())}
}

// Render shows an update. It may be called before Run and after it.
func (t *Terminal) Render(u reporters.WatchUpdate) { t.program.Send(updated(u)) }

// Run shows the watch until the user quits or ctx ends, and restores the terminal.
// interrupted means that Ctrl-C ended it.
func (t *Terminal) Run(ctx context.Context) (interrupted bool, err error) {
	stop := context.AfterFunc(ctx, t.program.Quit)
	defer stop()
	last, err := t.program.Run()
	m, ok := last.(Model)
	return ok && m.interrupted, err
}

// updated is the message that carries an update.
type updated reporters.WatchUpdate

// loaded carries the stored results of a case.
type loaded struct {
	reporters.WatchDetail
	err error
}

// edited reports the end of an editor.
type edited struct{ err error }

// ticked advances the shown time of a run.
type ticked struct{}

// A Model is the state of the screen.
type Model struct {
	cfg           Config
	width, height int
	dark          bool
	board         reporters.WatchSnapshot
	told          bool // an update has arrived

	selected   string // key
	at         int    // its place among the listed rows
	moved      bool   // by the user; before, the first row is selected
	failedOnly bool
	filter     string
	typing     bool // in the filter
	help       bool
	open       bool   // the detail pane is open
	reading    string // the pane's case that is being read
	detail     loaded
	scroll     int // of the pane or the help
	note       string

	now         time.Time
	ticking     bool
	interrupted bool
}

// New returns the screen before the first update.
func New(cfg Config) Model {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return Model{cfg: cfg, dark: true, width: 80, height: 24, now: cfg.Now()}
}

// Init asks the terminal for its background.
func (m Model) Init() tea.Cmd { return tea.RequestBackgroundColor }

// View returns the frame.
func (m Model) View() tea.View {
	return tea.View{Content: m.Frame(), AltScreen: true, WindowTitle: "gavel watch"}
}

// Update processes a message. The selected case is read for the detail pane.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m, cmd := m.handle(msg)
	switch {
	case !m.open:
		m.reading = ""
	case m.reading != m.selected:
		m.reading = m.selected
		cmd = tea.Batch(cmd, m.load())
	}
	return m, cmd
}

func (m Model) handle(msg tea.Msg) (Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		m.dark = msg.IsDark()
	case updated:
		return m.update(reporters.WatchUpdate(msg))
	case loaded:
		if msg.Key == m.selected {
			m.detail = msg
		}
	case edited:
		m.note = ""
		if msg.err != nil {
			m.note = "the editor ended badly: " + msg.err.Error()
		}
	case ticked:
		m.now = m.cfg.Now()
		tick := m.tick()
		m.ticking = tick != nil
		return m, tick
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		if m.typing {
			m.filter += msg.Content
			m.settle()
		}
	}
	return m, nil
}

// update shows a new board. The selection stays with its case.
func (m Model) update(u reporters.WatchUpdate) (Model, tea.Cmd) {
	m.board, m.now, m.told = u.Snapshot, m.cfg.Now(), true
	m.settle()
	var cmds []tea.Cmd
	if !m.ticking {
		if tick := m.tick(); tick != nil {
			m.ticking = true
			cmds = append(cmds, tick)
		}
	}
	if m.open && u.Kind == reporters.WatchResult {
		cmds = append(cmds, m.load())
	}
	return m, tea.Batch(cmds...)
}

// tick continues while a run is active.
func (m Model) tick() tea.Cmd {
	if m.board.State != reporters.WatchRunning {
		return nil
	}
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return ticked{} })
}

// load reads the selected case.
func (m Model) load() tea.Cmd {
	row, read := m.current(), m.cfg.Detail
	if row == nil || read == nil {
		return nil
	}
	key := row.Key
	return func() tea.Msg {
		detail, err := read(key)
		detail.Key = key
		return loaded{detail, err}
	}
}
