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

// TestBar holds what is on the line after each step, that it fits, and that
// nothing is left of it.
func TestBar(t *testing.T) {
	for _, tt := range []struct {
		width int
		want  []string
	}{
		{80, []string{
			"head ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0/3  0 passed, 0 failed, 0 errors",
			"head ██████████░░░░░░░░░░░░░░░░░░░░ 1/3  1 passed, 0 failed, 0 errors",
			"base ██████████████████████████████ 3/3  1 passed, 1 failed, 0 errors",
			"telling regressions from noise: 14 measurements so far",
		}},
		{30, []string{"head ░░░░░ 0/3  0 passed, 0 f", "head █░░░░ 1/3  1 passed, 0 f", "base █████ 3/3  1 passed, 1 f", "telling regressions from noise"[:29]}},
	} {
		var out bytes.Buffer
		bar := &Bar{w: &out, width: tt.width, on: true, tally: map[verdict.Verdict]int{}}
		bar.Show(Step{Side: "head"}) // nothing has to be done
		for i, s := range []Step{
			{Side: "head", Total: 3}, {Side: "head", Done: 1, Total: 3, Verdict: verdict.Pass},
			{Side: "base", Done: 3, Total: 3, Verdict: verdict.Fail}, {Side: "base", Done: 3, Total: 3, Again: 14},
		} {
			out.Reset()
			bar.Show(s)
			line, ok := strings.CutPrefix(out.String(), "\r\x1b[K")
			if !ok || line != tt.want[i] || utf8.RuneCountInString(line) >= tt.width {
				t.Errorf("%d wide: %q, want %q", tt.width, out.String(), tt.want[i])
			}
		}
		out.Reset()
		if bar.Clear(); out.String() != "\r\x1b[K" {
			t.Errorf("%q is left", out.String())
		}
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

// take returns what was written since the last time.
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
		want := "head: 1 of 1,200 cases done after 10 s: 2 passed, 1 failed, 0 errors\n" +
			"head: 1 of 1,200 cases done after 20 s: 2 passed, 1 failed, 0 errors\n" +
			"base: 1,200 of 1,200 cases done after 30 s: 2 passed, 2 failed, 0 errors\n" +
			"telling regressions from noise: 1 measurement so far, after 40 s\n"
		if got := out.take(); got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
	})
}
