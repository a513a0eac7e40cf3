// Package terminal renders plans, reports and problems as text. Everything
// that a repository or a model wrote is stripped of control characters before
// it is shown.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters/phrase"
	"github.com/gavel-evals/gavel/schema"
)

// Options say how wide and colourful the text is.
type Options struct {
	// Width in columns. Defaults to 80.
	Width int
	// Color turns ANSI colours on.
	Color bool
}

// A page collects the text.
type page struct {
	strings.Builder
	Options
}

func newPage(o Options) *page {
	if o.Width == 0 {
		o.Width = 80
	}
	return &page{Options: o}
}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
	bold   = "1"
)

func (p *page) paint(code, text string) string {
	if !p.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// wrapped writes text at an indent, broken at spaces to the width.
func (p *page) wrapped(indent, text, code string) {
	room := max(p.Width-utf8.RuneCountInString(indent), 20)
	line := ""
	flush := func() {
		p.WriteString(indent + p.paint(code, line) + "\n")
		line = ""
	}
	for _, word := range strings.Fields(phrase.Clean(text)) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > room {
			flush()
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		flush()
	}
}

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.String())
	return err
}

// Plan writes each affected case with the reason, and one number for the rest.
func Plan(w io.Writer, pl *plan.Plan, o Options) error {
	p := newPage(o)
	counts := map[plan.Action]int{}
	rest := 0
	for _, row := range pl.Rows {
		if row.Action == plan.Reuse && len(row.Reasons) == 0 {
			rest++
			continue
		}
		counts[row.Action]++
		p.WriteString(p.paint(actionColor(row.Action), fmt.Sprintf("%-9s", verb(row))) + phrase.Line(row.Key) + "\n")
		p.wrapped("         ", plan.Summarise(row.Reasons), dim)
	}
	if len(counts) > 0 {
		p.WriteString("\n")
	}
	var parts []string
	for _, a := range []plan.Action{plan.Run, plan.Rejudge, plan.Redecide, plan.Reuse, plan.Skip, plan.Removed} {
		if counts[a] > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", counts[a], words[a]))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing is affected")
	}
	fmt.Fprintf(p, "%s; %s unaffected\n", strings.Join(parts, ", "), phrase.Count(rest, "other case"))
	return p.writeTo(w)
}

var words = map[plan.Action]string{
	plan.Run: "run", plan.Rejudge: "judge again", plan.Redecide: "decide again",
	plan.Reuse: "reuse", plan.Skip: "skip", plan.Removed: "drop",
}

func verb(row plan.Row) string {
	if row.MovedFrom != "" {
		return "moved"
	}
	return string(row.Action)
}

func actionColor(a plan.Action) string {
	switch a {
	case plan.Run:
		return yellow
	case plan.Rejudge, plan.Redecide:
		return green
	}
	return dim
}

// Problems writes each problem with its source line and a caret. source gives
// a line of a file, counted from 1, if it can.
func Problems(w io.Writer, problems []schema.Problem, source func(file string, line int) (string, bool), o Options) error {
	p := newPage(o)
	for _, problem := range problems {
		color := red
		if problem.Severity != schema.Error {
			color = yellow
		}
		p.WriteString(phrase.Line(problem.Position.String()) + ": " + p.paint(color, string(problem.Severity)) + ": " +
			phrase.Line(problem.Message) + p.paint(dim, " ["+problem.Rule+"]") + "\n")
		if line, ok := source(problem.File, problem.Line); ok {
			p.excerpt(line, problem)
		}
		if problem.Hint != "" {
			p.wrapped("    = ", problem.Hint, green)
		}
		p.WriteString("\n")
	}
	return p.writeTo(w)
}

// excerpt shows the part of a line around the problem's column.
func (p *page) excerpt(line string, problem schema.Problem) {
	runes := []rune(strings.ReplaceAll(phrase.Clean(strings.TrimRight(line, "\r")), "\t", " "))
	at := min(max(problem.Column-1, 0), len(runes))
	number := fmt.Sprintf("%4d | ", problem.Line)
	room := max(p.Width-len(number), 20)
	from := 0
	if at > room-10 {
		from = at - room/2
	}
	to := min(from+room, len(runes))
	p.WriteString(p.paint(dim, number) + string(runes[from:to]) + "\n")
	p.WriteString(p.paint(dim, "     | ") + strings.Repeat(" ", at-from) + p.paint(red, "^") + "\n")
}

// Annotations writes problems as the workflow commands of GitHub Actions,
// which show them on the lines of a pull request.
func Annotations(w io.Writer, problems []schema.Problem) error {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, problem := range problems {
		message := problem.Message
		if problem.Hint != "" {
			message += "; " + problem.Hint
		}
		level := "error"
		if problem.Severity != schema.Error {
			level = "warning"
		}
		_, err := fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", level,
			property.Replace(problem.File), max(problem.Line, 1), max(problem.Column, 1), property.Replace(problem.Rule), text.Replace(message))
		if err != nil {
			return err
		}
	}
	return nil
}
