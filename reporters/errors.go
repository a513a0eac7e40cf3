package reporters

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// An ErrorGroup is a set of rows with the same error, or one other row.
type ErrorGroup struct {
	Rows []*report.Row
	// Text is the error; empty for a row without one.
	Text string
}

// ErrorGroups puts rows with equal errors into one group, at the place of the first of
// them.
func ErrorGroups(rows []*report.Row) []ErrorGroup {
	var out []ErrorGroup
	at := map[string]int{}
	for _, row := range rows {
		text, label := "", Label(row)
		if label == "error" || label == "not run" {
			text = sharedError(Remark(row))
		}
		i, known := at[label+"\x00"+text]
		if text == "" || !known {
			at[label+"\x00"+text] = len(out)
			out = append(out, ErrorGroup{[]*report.Row{row}, text})
			continue
		}
		out[i].Rows = append(out[i].Rows, row)
	}
	return out
}

// sharedError removes the case's own part of an error: a program that reads an
// invisible file does so under whatever name a case has for it.
func sharedError(text string) string {
	before, list, ok := strings.Cut(text, "; add it to ")
	if !ok {
		return text
	}
	if i := strings.LastIndex(before, ": "); i >= 0 {
		before = before[i+2:]
	}
	return before + "; add it to " + list
}

// Count counts the cases with the error.
func (g ErrorGroup) Count() string { return textfmt.Count(len(g.Rows), "case") }

// Names lists the first rows by a func for each, and counts the rest.
func (g ErrorGroup) Names(most int, name func(*report.Row) string) string {
	var names []string
	for _, row := range g.Rows[:min(most, len(g.Rows))] {
		names = append(names, name(row))
	}
	if more := len(g.Rows) - most; more > 0 {
		names = append(names, "and "+textfmt.Int(int64(more))+" more")
	}
	return strings.Join(names, ", ")
}

// SharedErrors returns replacements for repeated errors: the first row has the text for
// all, the others refer to it.
func SharedErrors(rows []*report.Row) map[*report.Row]string {
	said := map[*report.Row]string{}
	for _, g := range ErrorGroups(slices.DeleteFunc(slices.Clone(rows), func(row *report.Row) bool { return row.Error == nil })) {
		if len(g.Rows) < 2 || g.Text == "" {
			continue
		}
		said[g.Rows[0]] = g.Count() + ": " + g.Text
		for _, row := range g.Rows[1:] {
			said[row] = "the error of " + g.Rows[0].Name()
		}
	}
	return said
}
