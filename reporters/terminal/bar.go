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

// The intervals at which a Bar reports progress: with a line in a file or a pipe, and
// by redrawing its line on a terminal.
const (
	lineEvery = 10 * time.Second
	drawEvery = time.Second
)

// A Bar shows a run's progress, elapsed and remaining time, and cost: on one line of a
// terminal, elsewhere, as in the log of a CI job, with a line every ten seconds. Its
// methods are not safe for concurrent use. A caller that has shown a step clears the
// Bar.
type Bar struct {
	w     io.Writer
	width int
	on    bool
	ended chan struct{}  // nil until the first step; closed to end the ticks
	ticks sync.WaitGroup // the goroutine that writes at each

	mu    sync.Mutex
	shown bool                    // guarded by mu
	last  Step                    // guarded by mu
	tally map[verdict.Verdict]int // guarded by mu
	spent verdict.Usage           // guarded by mu
	// began is the time of the first step, and side the time of this side's first step,
	// with so many cases done.
	began, side time.Time // guarded by mu
	before      int       // guarded by mu
}

// NewBar returns a Bar, which is not shown before the first step.
func NewBar(w io.Writer) *Bar {
	width, isTerminal := Screen(w)
	return &Bar{w: w, width: width, on: isTerminal, tally: map[verdict.Verdict]int{}}
}

// A Step is the progress of one side's cases.
type Step struct {
	Side        string // head or base
	Done, Total int
	// Again counts the measurements so far that distinguish regressions from noise.
	// From the first of them on, they are shown instead.
	Again int
	// Verdict is the verdict of the finished case; empty without one.
	Verdict verdict.Verdict
	// Spent is the cost of that case's calls.
	Spent verdict.Usage
	// Held returns the reason why no calls are sent now; empty if they are. It may be
	// nil.
	Held func() string
}

// Show redraws the line, or keeps the step for the next line.
func (b *Bar) Show(s Step) {
	if s.Total == 0 && s.Again == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.ended == nil {
		b.began = now
		b.begin()
	}
	if s.Side != b.last.Side || s.Done < b.last.Done {
		b.side, b.before = now, s.Done
	}
	b.last = s
	if s.Verdict != "" {
		b.tally[s.Verdict]++
	}
	b.spent = b.spent.Add(s.Spent)
	if b.on {
		b.draw(now)
	}
}

// draw needs mu.
func (b *Bar) draw(now time.Time) {
	b.shown = true
	s := b.last
	if held := b.held(); held != "" {
		fmt.Fprintf(b.w, "\r\x1b[K%.*s", b.width-1, fmt.Sprintf("%s %d/%d  %s", s.Side, s.Done, s.Total, held))
		return
	}
	if line := remeasureText(s); line != "" {
		fmt.Fprintf(b.w, "\r\x1b[K%.*s", b.width-1, line+" · "+b.progress(now))
		return
	}
	tail := fmt.Sprintf(" %d/%d  %s · %s", s.Done, s.Total, b.counts(), b.progress(now))
	cells := max(min(b.width-textfmt.Columns(s.Side+tail)-2, 30), 5)
	done := cells * s.Done / s.Total
	line := s.Side + " " + strings.Repeat("█", done) + strings.Repeat("░", cells-done) + tail
	fmt.Fprintf(b.w, "\r\x1b[K%.*s", b.width-1, line)
}

// held needs mu.
func (b *Bar) held() string {
	if b.last.Held == nil {
		return ""
	}
	return textfmt.Line(b.last.Held())
}

// remeasureText describes the progress of the measurements that distinguish regressions
// from noise; empty before the first of them.
func remeasureText(s Step) string {
	if s.Again == 0 {
		return ""
	}
	return "telling regressions from noise: " + textfmt.Count(s.Again, "measurement") + " so far"
}

// counts needs mu.
func (b *Bar) counts() string {
	return fmt.Sprintf("%d passed, %d failed, %s", b.tally[verdict.Pass], b.tally[verdict.Fail], textfmt.Count(b.tally[verdict.Error], "error"))
}

// progress formats the elapsed time, the remaining time at this side's rate, and the
// cost. It needs mu.
func (b *Bar) progress(now time.Time) string {
	out := seconds(now.Sub(b.began))
	if done, left := b.last.Done-b.before, b.last.Total-b.last.Done; done > 0 && left > 0 {
		each := now.Sub(b.side) / time.Duration(done)
		out += ", " + seconds(max(each*time.Duration(left), time.Second)) + " left"
	}
	switch {
	case b.spent.CostUSD > 0 && b.spent.Unpriced > 0:
		out += ", over " + textfmt.USD(b.spent.CostUSD)
	case b.spent.CostUSD > 0:
		out += ", " + textfmt.USD(b.spent.CostUSD)
	}
	return out
}

// seconds formats a time without fractions of a second.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return textfmt.Duration(d)
}

// begin starts writing at each tick.
func (b *Bar) begin() {
	ended, every := make(chan struct{}), lineEvery
	if b.on {
		every = drawEvery
	}
	b.ended = ended
	tick := time.NewTicker(every)
	b.ticks.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case now := <-tick.C:
				b.redraw(now)
			}
		}
	})
}

// redraw redraws the line of a terminal, or writes a new line elsewhere.
func (b *Bar) redraw(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.on {
		b.draw(now)
		return
	}
	if line := remeasureText(b.last); line != "" {
		fmt.Fprintf(b.w, "%s, after %s\n", line, b.progress(now))
		return
	}
	counts := b.counts()
	if held := b.held(); held != "" {
		counts += "; " + held
	}
	fmt.Fprintf(b.w, "%s: %s of %s done after %s: %s\n", b.last.Side, textfmt.Int(int64(b.last.Done)),
		textfmt.Count(b.last.Total, "case"), b.progress(now), counts)
}

// Clear removes the line of a terminal and ends the lines elsewhere.
func (b *Bar) Clear() {
	if b.ended != nil {
		close(b.ended)
		b.ticks.Wait()
		b.ended = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.shown = false
	}
}
