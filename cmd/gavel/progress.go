package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A progress draws one line on a terminal and nothing elsewhere.
type progress struct {
	w     io.Writer
	width int
	shown bool
	on    bool
	tally map[verdict.Verdict]int
}

func newProgress(w io.Writer) *progress {
	width, isTerminal := screen(w)
	return &progress{w: w, width: width, on: isTerminal, tally: map[verdict.Verdict]int{}}
}

func (p *progress) observe(e controller.Progress) {
	if !p.on || e.Total == 0 {
		return
	}
	side := "head"
	if e.Base {
		side = "base"
	}
	if e.Outcome != nil {
		p.tally[e.Outcome.Result.Verdict]++
	}
	cells := max(min(p.width-50, 30), 5)
	done := cells * e.Done / e.Total
	line := fmt.Sprintf("%s %s%s %d/%d  %d passed, %d failed, %d errors", side,
		strings.Repeat("█", done), strings.Repeat("░", cells-done), e.Done, e.Total,
		p.tally[verdict.Pass], p.tally[verdict.Fail], p.tally[verdict.Error])
	fmt.Fprintf(p.w, "\r\x1b[K%.*s", p.width-1, line)
	p.shown = true
}

// close removes the line.
func (p *progress) close() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// newID names a run.
func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
