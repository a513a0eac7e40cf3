package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Bar shows on one line of a terminal how far a run is. Elsewhere it writes
// nothing. Its methods are for one goroutine.
type Bar struct {
	w     io.Writer
	width int
	on    bool
	shown bool
	tally map[verdict.Verdict]int
}

// NewBar makes a Bar, which is not shown before the first step.
func NewBar(w io.Writer) *Bar {
	width, isTerminal := Screen(w)
	return &Bar{w: w, width: width, on: isTerminal, tally: map[verdict.Verdict]int{}}
}

// A Step is how far the cases of one side are.
type Step struct {
	Side        string // head or base
	Done, Total int
	// Verdict is that of the case that ended; empty where none did.
	Verdict verdict.Verdict
}

// Show draws the line anew.
func (b *Bar) Show(s Step) {
	if !b.on || s.Total == 0 {
		return
	}
	if s.Verdict != "" {
		b.tally[s.Verdict]++
	}
	cells := max(min(b.width-50, 30), 5)
	done := cells * s.Done / s.Total
	line := fmt.Sprintf("%s %s%s %d/%d  %d passed, %d failed, %d errors", s.Side,
		strings.Repeat("█", done), strings.Repeat("░", cells-done), s.Done, s.Total,
		b.tally[verdict.Pass], b.tally[verdict.Fail], b.tally[verdict.Error])
	fmt.Fprintf(b.w, "\r\x1b[K%.*s", b.width-1, line)
	b.shown = true
}

// Clear removes the line.
func (b *Bar) Clear() {
	if b.shown {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}
