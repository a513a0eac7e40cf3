package html

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// A GridLayout arranges the cases of a report in tables: a row for each test, and a
// column for each prompt and target that it runs with, in the order of the file. Each file of the matrix format is a
// table, and all other cases that run with several targets are one.
type GridLayout struct {
	// tests are sorted by file and name, the cases without a prompt last.
	tests   []*gridTest
	columns map[string][]gridColumn // by file
}

// A gridTest is a row of a table. Cases of other formats have an empty file.
type gridTest struct {
	file, name string
	cells      map[gridColumn]*report.Row
}

// A gridColumn is a prompt with a target.
type gridColumn struct{ prompt, target string }

// mostColumns bounds the columns of a table, and mostAnswer the shown beginning of an
// answer, in characters.
const (
	mostColumns = 20
	mostAnswer  = 160
)

// A Grid is one table of a [GridLayout], or a part of it.
type Grid struct {
	// Title is the path of the file; empty for other formats.
	Title   string
	Columns []GridColumn
	Rows    []GridRow
	// More counts the omitted columns.
	More int
}

// A GridColumn is the head of a column. Target is empty if all columns have the same.
type GridColumn struct{ Prompt, Target string }

// Name returns the head on one line.
func (c GridColumn) Name() string {
	if c.Prompt == "" || c.Target == "" {
		return c.Prompt + c.Target
	}
	return c.Prompt + " · " + c.Target
}

// A GridRow is one test.
type GridRow struct {
	Name, Vars string
	Cells      []GridCell
}

// A GridCell is the result of a test with a prompt and a target; empty without one.
type GridCell struct{ Kind, Icon, Score, Answer, Link string }

// NewGridLayout arranges the cases of a report.
func NewGridLayout(r *report.Report) *GridLayout {
	l := &GridLayout{columns: map[string][]gridColumn{}}
	tests := map[[2]string]*gridTest{}
	seen := map[string]map[gridColumn]int{} // the places of columns
	for i := range r.Cases {
		row := &r.Cases[i]
		file, name, at := placeOf(row)
		if file == "" && !row.PerTarget {
			continue // its row would have one cell
		}
		t := tests[[2]string{file, name}]
		if t == nil {
			t = &gridTest{file: file, name: name, cells: map[gridColumn]*report.Row{}}
			tests[[2]string{file, name}] = t
			l.tests = append(l.tests, t)
		}
		t.cells[at] = row
		if seen[file] == nil {
			seen[file] = map[gridColumn]int{}
		}
		if _, known := seen[file][at]; !known {
			seen[file][at] = row.GridColumn
			l.columns[file] = append(l.columns[file], at)
		}
	}
	for file, columns := range l.columns {
		slices.SortStableFunc(columns, func(a, b gridColumn) int {
			return cmp.Or(cmp.Compare(seen[file][a], seen[file][b]), cmp.Compare(a.prompt, b.prompt), cmp.Compare(a.target, b.target))
		})
	}
	slices.SortStableFunc(l.tests, func(a, b *gridTest) int {
		if (a.file == "") != (b.file == "") {
			return cmp.Compare(b.file, a.file)
		}
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.name, b.name))
	})
	return l
}

// placeOf returns where a case is: its key is FILE#TEST/PROMPT in the matrix format, where
// a file with one prompt has no PROMPT.
func placeOf(row *report.Row) (file, test string, at gridColumn) {
	at.target = row.Target
	i := strings.LastIndexByte(row.Key, '#')
	if row.Dialect != schema.DialectMatrix || i < 0 {
		return "", row.Key, at
	}
	test, at.prompt, _ = strings.Cut(row.Key[i+1:], "/")
	return row.Key[:i], test, at
}

// Tests counts the rows of all tables.
func (l *GridLayout) Tests() int { return len(l.tests) }

// Matrix counts the rows of the tables of the matrix format, which are the first ones.
func (l *GridLayout) Matrix() int {
	n := slices.IndexFunc(l.tests, func(t *gridTest) bool { return t.file == "" })
	if n < 0 {
		return len(l.tests)
	}
	return n
}

// Compares reports whether the tests of a file run with several prompts or targets.
func (l *GridLayout) Compares() bool {
	for _, columns := range l.columns {
		if len(columns) > 1 {
			return true
		}
	}
	return false
}

// Digests returns the digests of the cases in the shown cells of some tests that have no
// answer in their detail.
func (l *GridLayout) Digests(from, to int) []string {
	var all []string
	for _, t := range l.tests[from:to] {
		for _, at := range l.shown(t.file) {
			if row := t.cells[at]; row != nil && row.Digest != "" && answerOf(row) == "" {
				all = append(all, row.Digest)
			}
		}
	}
	return all
}

func (l *GridLayout) shown(file string) []gridColumn {
	return l.columns[file][:min(len(l.columns[file]), mostColumns)]
}

// Grids returns the tables of some tests. link returns the address of a case. A case
// without an answer in its detail shows the one in replies, by its digest.
func (l *GridLayout) Grids(from, to int, replies map[string]schema.Message, link func(*report.Row) string) []Grid {
	var all []Grid
	for i, t := range l.tests[from:to] {
		columns := l.shown(t.file)
		if i == 0 || l.tests[from+i-1].file != t.file {
			all = append(all, Grid{Title: textfmt.Line(t.file), Columns: l.heads(t.file), More: len(l.columns[t.file]) - len(columns)})
		}
		line := GridRow{Name: textfmt.Line(t.name)}
		for _, at := range columns {
			row := t.cells[at]
			if row == nil {
				line.Cells = append(line.Cells, GridCell{})
				continue
			}
			line.Vars = cmp.Or(line.Vars, textfmt.Line(row.Vars))
			line.Cells = append(line.Cells, cellOfGrid(row, replies, link(row)))
		}
		last := &all[len(all)-1]
		last.Rows = append(last.Rows, line)
	}
	return all
}

// heads returns the heads of a table's columns, with the names of prompts where a case
// has one.
func (l *GridLayout) heads(file string) []GridColumn {
	names := map[string]string{}
	targets := map[string]bool{}
	for _, t := range l.tests {
		if t.file != file {
			continue
		}
		for at, row := range t.cells {
			names[at.prompt] = cmp.Or(names[at.prompt], row.Prompt)
			targets[at.target] = true
		}
	}
	var heads []GridColumn
	for _, at := range l.shown(file) {
		head := GridColumn{Prompt: textfmt.Line(cmp.Or(names[at.prompt], at.prompt))}
		if len(targets) > 1 || head.Prompt == "" {
			head.Target = textfmt.Line(at.target)
		}
		heads = append(heads, head)
	}
	return heads
}

func cellOfGrid(row *report.Row, replies map[string]schema.Message, link string) GridCell {
	kind := KindOf(row)
	c := GridCell{Kind: kind, Icon: Icons[kind], Score: score(row.Score, row.Scale()), Link: link}
	said := answerOf(row)
	if m, known := replies[row.Digest]; known && said == "" {
		_, said = verdict.Thought(m)
	}
	if row.Error != nil {
		said = *row.Error
	}
	if len(said) > mostAnswer*16 { // more is never shown
		said = said[:mostAnswer*16]
	}
	c.Answer = textfmt.Clip(textfmt.Line(said), mostAnswer)
	return c
}

// answerOf returns the last answer in the detail of a case; empty without one.
func answerOf(row *report.Row) string {
	if row.Detail == nil {
		return ""
	}
	for _, m := range slices.Backward(row.Detail.Messages) {
		if m.Role == schema.RoleAssistant {
			_, said := verdict.Thought(m)
			return said
		}
	}
	return ""
}
