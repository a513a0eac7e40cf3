package terminal

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// TestBar holds the content of the line after each step and between two of them, that
// it fits, and that nothing is left of it.
func TestBar(t *testing.T) {
	cost := func(usd float64, unpriced int) verdict.Usage {
		return verdict.Usage{Calls: 1, CostUSD: usd, Unpriced: unpriced}
	}
	steps := []Step{
		{Side: "head", Total: 3}, {Side: "head", Done: 1, Total: 3, Verdict: verdict.Pass},
		{Side: "base", Done: 3, Total: 3, Verdict: verdict.Fail, Spent: cost(0.75, 0)},
		{Side: "base", Done: 3, Total: 3, Again: 14, Spent: cost(0, 1)},
	}
	for _, tt := range []struct {
		width int
		want  []string
	}{
		{80, []string{
			"head ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0/3  0 passed, 0 failed, 0 errors · 0 s",
			"head ████████░░░░░░░░░░░░░░░░ 1/3  1 passed, 0 failed, 0 errors · 2 s, 5 s left",
			"base ███████████████████████████ 3/3  1 passed, 1 failed, 0 errors · 5 s, $0.75",
			"telling regressions from noise: 14 measurements so far · 7 s, over $0.75",
		}},
		{30, []string{"head ░░░░░ 0/3  0 passed, 0 f", "head █░░░░ 1/3  1 passed, 0 f", "base █████ 3/3  1 passed, 1 f", "telling regressions from noise"[:29]}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out log
			bar := &Bar{w: &out, width: tt.width, on: true, tally: map[verdict.Verdict]int{}}
			bar.Show(Step{Side: "head"}) // nothing has to be done
			for i, s := range steps {
				out.take()
				bar.Show(s)
				shown := out.take()
				line, ok := strings.CutPrefix(shown, "\r\x1b[K")
				if !ok || line != tt.want[i] || utf8.RuneCountInString(line) >= tt.width {
					t.Errorf("%d wide: %q, want %q", tt.width, shown, tt.want[i])
				}
				time.Sleep(2600 * time.Millisecond) // never when the line is drawn by itself, too
			}
			ticks := out.take()
			if n := strings.Count(ticks, "\r\x1b[K"); n < 2 || n > 3 {
				t.Errorf("%q is drawn within 2.6 s, want a line a second", ticks)
			}
			if bar.Clear(); !strings.HasSuffix(out.take(), "\r\x1b[K") {
				t.Error("the line is left")
			}
			time.Sleep(time.Minute)
			if late := out.take(); late != "" {
				t.Errorf("%q is drawn after the end", late)
			}
		})
	}

	var out bytes.Buffer
	bar := NewBar(&out)
	bar.Show(Step{Side: "head", Done: 1, Total: 3, Verdict: verdict.Pass})
	if bar.Clear(); out.Len() > 0 {
		t.Errorf("%q is written where there is no terminal", &out)
	}
}

// A log is written by one goroutine and read by another.
type log struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

// take returns the text since the last call.
func (l *log) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := string(l.text)
	l.text = nil
	return text
}

// TestLines: where there is no terminal a line tells every ten seconds how far
// the run is, whether or not a case ended, and none follows its end.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out log
		bar := NewBar(&out)
		for range 2 { // a Bar serves several runs
			out.take()
			bar.Show(Step{Side: "head", Done: 0, Total: 1200})
			time.Sleep(9 * time.Second)
			bar.Show(Step{Side: "head", Done: 1, Total: 1200, Verdict: verdict.Pass})
			synctest.Wait()
			if early := out.take(); early != "" {
				t.Errorf("%q is written within ten seconds", early)
			}
			time.Sleep(12 * time.Second)
			bar.Show(Step{Side: "base", Done: 1200, Total: 1200, Verdict: verdict.Fail})
			time.Sleep(10 * time.Second)
			bar.Show(Step{Side: "base", Done: 1200, Total: 1200, Again: 1})
			time.Sleep(10 * time.Second)
			bar.Clear()
			time.Sleep(time.Minute)
		}
		want := "head: 1 of 1,200 cases done after 10 s, 3 h 19 min left: 2 passed, 1 failed, 0 errors\n" +
			"head: 1 of 1,200 cases done after 20 s, 6 h 39 min left: 2 passed, 1 failed, 0 errors\n" +
			"base: 1,200 of 1,200 cases done after 30 s: 2 passed, 2 failed, 0 errors\n" +
			"telling regressions from noise: 1 measurement so far, after 40 s\n"
		if got := out.take(); got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
	})
}

// TestALineThatWaits says why nothing goes on, on a terminal and elsewhere.
func TestALineThatWaits(t *testing.T) {
	const held = "bot refused calls as too many; the next one is sent in 27 s"
	waits := Step{Side: "head", Done: 1, Total: 3, Held: func() string { return held }}
	synctest.Test(t, func(t *testing.T) {
		var screen, file log
		drawn := &Bar{w: &screen, width: 100, on: true, tally: map[verdict.Verdict]int{}}
		written := NewBar(&file)
		drawn.Show(waits)
		written.Show(waits)
		if got, want := screen.take(), "\r\x1b[Khead 1/3  "+held; got != want {
			t.Errorf("a terminal shows %q, want %q", got, want)
		}
		time.Sleep(11 * time.Second)
		if got, want := file.take(), "head: 1 of 3 cases done after 10 s: 0 passed, 0 failed, 0 errors; "+held+"\n"; got != want {
			t.Errorf("a file has %q, want %q", got, want)
		}
		drawn.Clear()
		written.Clear()
	})
}
