package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// lineEvery is how often a Bar writes a line where there is no terminal.
const lineEvery = 10 * time.Second

// A Bar shows how far a run is: on one line of a terminal, elsewhere, as in the
// log of a CI job, with a line every ten seconds. Its methods are for one
// goroutine. Who has shown a step has to clear the Bar.
type Bar struct {
	w     io.Writer
	width int
	on    bool
	shown bool
	ended chan struct{}  // nil until the first step; closed to end the lines
	lines sync.WaitGroup // the goroutine that writes them

	mu    sync.Mutex
	last  Step                    // guarded by mu
	tally map[verdict.Verdict]int // guarded by mu
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
	// Again counts the measurements so far that tell regressions from noise. From
	// the first of them on, they are what is shown.
	Again int
	// Verdict is that of the case that ended; empty where none did.
	Verdict verdict.Verdict
}

// Show draws the line again, or takes the step for the next line.
func (b *Bar) Show(s Step) {
	if s.Total == 0 && s.Again == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = s
	if s.Verdict != "" {
		b.tally[s.Verdict]++
	}
	if !b.on {
		b.begin()
		return
	}
	line := again(s)
	if line == "" {
		cells := max(min(b.width-50, 30), 5)
		done := cells * s.Done / s.Total
		line = fmt.Sprintf("%s %s%s %d/%d  %s", s.Side,
			strings.Repeat("█", done), strings.Repeat("░", cells-done), s.Done, s.Total, b.counts())
	}
	fmt.Fprintf(b.w, "\r\x1b[K%.*s", b.width-1, line)
	b.shown = true
}

// again says how far the measurements are that tell regressions from noise; empty
// before the first of them.
func again(s Step) string {
	if s.Again == 0 {
		return ""
	}
	return "telling regressions from noise: " + textfmt.Count(s.Again, "measurement") + " so far"
}

// counts needs mu.
func (b *Bar) counts() string {
	return fmt.Sprintf("%d passed, %d failed, %d errors", b.tally[verdict.Pass], b.tally[verdict.Fail], b.tally[verdict.Error])
}

// begin starts to write lines.
func (b *Bar) begin() {
	if b.ended != nil {
		return
	}
	b.ended = make(chan struct{})
	began, tick := time.Now(), time.NewTicker(lineEvery)
	b.lines.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-b.ended:
				return
			case now := <-tick.C:
				b.line(now.Sub(began))
			}
		}
	})
}

func (b *Bar) line(took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if line := again(b.last); line != "" {
		fmt.Fprintf(b.w, "%s, after %s\n", line, textfmt.Duration(took))
		return
	}
	fmt.Fprintf(b.w, "%s: %s of %s done after %s: %s\n", b.last.Side, textfmt.Int(int64(b.last.Done)),
		textfmt.Count(b.last.Total, "case"), textfmt.Duration(took), b.counts())
}

// Clear removes the line of a terminal and ends the lines elsewhere.
func (b *Bar) Clear() {
	if b.shown {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
	if b.ended != nil {
		close(b.ended)
		b.lines.Wait()
		b.ended = nil
	}
}
