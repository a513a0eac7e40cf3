package terminal

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// most bounds the equal problems that are shown one by one.
const most = 3

// Problems writes each problem with its source line and a caret. Many equal ones, as of
// all tests of a broken domain, are counted. source returns a line of a file, counted
// from 1, if it can.
func Problems(w io.Writer, problems []schema.Problem, source func(file string, line int) (string, bool), o Options) error {
	p := newPage(o)
	left, shown := map[schema.Problem]int{}, map[schema.Problem]int{}
	for _, problem := range problems {
		problem.Position = schema.Position{}
		left[problem]++
	}
	for _, problem := range problems {
		said := problem
		said.Position = schema.Position{}
		// A single rest is shown rather than counted.
		if shown[said]++; shown[said] > most && left[said] > most+1 {
			if shown[said] == most+1 {
				p.WriteString(p.paint(dim, fmt.Sprintf("… and %d more: ", left[said]-most)) + textfmt.Line(problem.Message) + "\n\n")
			}
			continue
		}
		color := red
		if problem.Severity != schema.Error {
			color = yellow
		}
		p.WriteString(p.paint(bold, textfmt.Line(problem.Position.String())+":") + " " +
			p.paint(color, textfmt.Line(string(problem.Severity))+":") + " " +
			textfmt.Line(problem.Message) + p.paint(dim, " ["+textfmt.Line(problem.Rule)+"]") + "\n")
		if line, ok := source(problem.File, problem.Line); ok {
			p.excerpt(line, problem.Position)
		}
		p.paragraph(margin{"    = ", dim}, problem.Hint, green)
		p.WriteString("\n")
	}
	return p.writeTo(w)
}

// Source reads the lines that problems point to. Without its source a problem is shown
// without it.
func Source(files fs.FS) func(file string, line int) (string, bool) {
	cache := map[string][]string{}
	return func(file string, line int) (string, bool) {
		lines, ok := cache[file]
		if !ok {
			if data, err := fs.ReadFile(files, file); err == nil {
				lines = strings.Split(string(data), "\n")
			}
			cache[file] = lines
		}
		if line < 1 || line > len(lines) {
			return "", false
		}
		return lines[line-1], true
	}
}

// Validated writes the problems of the definitions, the notes, and the counts.
func Validated(w io.Writer, v reporters.Validation, source func(file string, line int) (string, bool), o Options) error {
	if err := Problems(w, v.Problems, source, o); err != nil {
		return err
	}
	for _, n := range v.Notes {
		fmt.Fprintln(w, textfmt.Line(n))
	}
	for _, d := range v.Definitions {
		isTold := slices.ContainsFunc(v.Problems, func(p schema.Problem) bool { return p.File == d.File && p.Rule == "rows-not-run" })
		if d.Runnable < d.Cases && !isTold {
			fmt.Fprintln(w, textfmt.Line(fmt.Sprintf("%s: %d of %s can run; skipped: %s", d.File, d.Runnable, textfmt.Count(d.Cases, "case"), d.Skip)))
		}
	}
	s := v.Summary
	cases := textfmt.Count(s.Cases, "case")
	if s.Runnable < s.Cases {
		cases += fmt.Sprintf(" (runnable: %d)", s.Runnable)
	}
	_, err := fmt.Fprintf(w, "%s, %s, %s, %s\n", textfmt.Count(s.Definitions, "definition"), cases, textfmt.Count(s.Errors, "error"), textfmt.Count(s.Warnings, "warning"))
	return err
}

// excerpt shows the part of a line around a column, and a caret below it. The caret is
// in the right column even if earlier characters are wide or were left out as
// unprintable.
func (p *page) excerpt(line string, at schema.Position) {
	runes := []rune(strings.TrimRight(line, "\r\n"))
	column := min(max(at.Column-1, 0), len(runes))
	before, after := printable(string(runes[:column])), printable(string(runes[column:]))
	number := fmt.Sprintf("%4d | ", at.Line)
	room := p.Width - len(number)
	if textfmt.Columns(before) > room-12 {
		before = "…" + textfmt.Tail(before, room/2)
	}
	p.WriteString(p.paint(dim, number) + before + textfmt.Fit(after, room-textfmt.Columns(before)) + "\n")
	if at.Column > 0 {
		p.WriteString(p.paint(dim, strings.Repeat(" ", len(number)-2)+"| ") + strings.Repeat(" ", textfmt.Columns(before)) + p.paint(red, "^") + "\n")
	}
}

// printable cleans a part of one line and keeps its blanks.
func printable(s string) string {
	return strings.NewReplacer("\t", " ", "\n", "␤").Replace(textfmt.Clean(s))
}

// Annotations writes problems as the workflow commands of GitHub Actions, which show
// them on the lines of a pull request.
func Annotations(w io.Writer, problems []schema.Problem) error {
	var b strings.Builder
	for _, problem := range problems {
		message := problem.Message
		if problem.Hint != "" {
			message += "; " + problem.Hint
		}
		level := "error"
		switch problem.Severity {
		case schema.Warning:
			level = "warning"
		case schema.Note:
			level = "notice"
		}
		fmt.Fprintf(&b, "::%s file=%s", level, property(problem.File))
		if problem.Line > 0 {
			fmt.Fprintf(&b, ",line=%d", problem.Line)
		}
		if problem.Column > 0 {
			fmt.Fprintf(&b, ",col=%d", problem.Column)
		}
		fmt.Fprintf(&b, ",title=%s::%s\n", property(problem.Rule), data(message))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// data escapes the message of a workflow command for the runner.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(textfmt.Clean(s))
}

// property escapes a property's value, including separators.
func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}
