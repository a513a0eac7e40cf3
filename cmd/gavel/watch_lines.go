package main

import (
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/gavel-evals/gavel/reporters/board"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
)

// watchLines write what happens in a watch, as text or as JSON lines.
type watchLines struct {
	*app
	problems []schema.Problem // that were shown last
	notice   string
	err      error

	// running is read by who is interrupted.
	running, interrupted atomic.Bool
}

// stoppable reports whether an interrupt has a run to stop.
func (l *watchLines) stoppable() bool { return l.running.Load() }

// write is called by one goroutine.
func (l *watchLines) write(u board.Update) error {
	l.running.Store(u.Board.State == board.Running)
	if l.json {
		l.err = json.NewEncoder(l.stdout).Encode(u.Event())
	} else {
		l.err = l.text(u)
	}
	return l.err
}

func (l *watchLines) text(u board.Update) error {
	width, isTerminal := screen(l.stdout)
	opts := terminal.Options{Width: width, Color: isTerminal && l.colour()}
	if notice := u.Board.Notice; notice != l.notice {
		l.notice = notice
		u := board.Update{Kind: board.Fault, Board: board.Board{Fault: notice}}
		if err := terminal.Watch(l.stdout, u, opts); err != nil {
			return err
		}
	}
	if err := terminal.Watch(l.stdout, u, opts); err != nil {
		return err
	}
	if u.Kind != board.Planned || slices.Equal(l.problems, u.Board.Problems) {
		return nil
	}
	l.problems = u.Board.Problems
	w, err := l.workspace()
	if err != nil {
		return err
	}
	defer w.close()
	return l.writeProblems(w.files, l.problems)
}
