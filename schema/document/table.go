package document

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
)

const (
	// maxTableRows bounds the rows of a table below its header.
	maxTableRows = 20_000
	// maxTableCells bounds its cells, each of which takes more memory than the comma that ends
	// an empty one.
	maxTableCells = 2_000_000
	// maxProblems bounds the problems that are reported about one table.
	maxProblems = 20
	ruleTable   = "csv"
)

// A table is a header with the rows below it.
type table struct {
	// Head are the names of the columns, without white space around them. One that has no
	// name is empty, and so are its cells.
	Head []Cell
	Rows []TableRow
}

// A Cell is a text with its place.
type Cell struct {
	Text string
	At   schema.Position
}

// A TableRow is a record. Its cells are as many as the names of the header, unless it has
// problems.
type TableRow struct {
	At    schema.Position
	Cells []Cell
	// Problems are errors about its length.
	Problems []schema.Problem
}

// A tableReader reads one table.
type tableReader struct {
	file  string
	lines []string
	// added are the columns of the quotes that were put into a line to read it, by its number.
	added map[int][]int
	csv   *csv.Reader
}

// ReadTable reads a file of CSV. A record whose length is not the header's, a separator other than a
// comma, and bytes that are not UTF-8 are problems with a place, since each of them would otherwise
// cost an assertion that nobody misses. The problems are errors for which there is no table; rows
// have their own.
func ReadTable(file schema.File) (*table, []schema.Problem) {
	if found := CheckEncoding(file); len(found) > 0 {
		return nil, found
	}
	text := string(bytes.TrimPrefix(file.Data, []byte("\ufeff")))
	if !strings.Contains(text, "\n") { // as old editors of the Mac end lines
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	if found := cellsProblems(file.Path, text); len(found) > 0 {
		return nil, found
	}
	plain, added := quoted(text)
	r := tableReader{file: file.Path, lines: strings.Split(text, "\n"), added: added, csv: csv.NewReader(strings.NewReader(plain))}
	r.csv.FieldsPerRecord = -1
	head, problem := r.record()
	switch {
	case problem != nil:
		return nil, []schema.Problem{*problem}
	case head == nil:
		return nil, []schema.Problem{r.problem(1, 1, "the table is empty", "write a line with the names of the columns, then a line for each row")}
	}
	out := &table{}
	for _, cell := range head {
		out.Head = append(out.Head, Cell{strings.TrimSpace(cell.Text), cell.At})
	}
	if found := headProblems(out.Head); len(found) > 0 {
		return nil, found
	}
	for {
		cells, problem := r.record()
		switch {
		case problem != nil:
			return nil, []schema.Problem{*problem}
		case cells == nil && len(out.Rows) == 0:
			return nil, []schema.Problem{r.problem(1, 1, "the table has a header and no row below it", "write a line for each row below the names of the columns")}
		case cells == nil:
			return out, nil
		case len(out.Rows) == maxTableRows:
			return nil, []schema.Problem{{Position: cells[0].At, Severity: schema.Error, Rule: "too-many-rows", Message: fmt.Sprintf("the table has more than %d rows", maxTableRows), Hint: "split it"}}
		}
		out.Rows = append(out.Rows, rowOf(out.Head, cells))
	}
}

// cellsProblems refuses a text with the commas and lines of more cells than a table may have.
func cellsProblems(file, text string) []schema.Problem {
	if strings.Count(text, ",")+strings.Count(text, "\n") < maxTableCells {
		return nil
	}
	return []schema.Problem{{
		Position: schema.Position{File: file, Line: 1, Column: 1}, Severity: schema.Error, Rule: "too-many-values",
		Message: fmt.Sprintf("the table has the commas and lines of more than %d cells", maxTableCells), Hint: "split it",
	}}
}

// Problems returns the problems of all rows, up to a reasonable number.
func (t *table) Problems() []schema.Problem {
	var all []schema.Problem
	for _, row := range t.Rows {
		if all = append(all, row.Problems...); len(all) >= maxProblems {
			break
		}
	}
	return all
}

// Column returns the index of a column, or -1.
func (t *table) Column(name string) int {
	for i, cell := range t.Head {
		if cell.Text == name {
			return i
		}
	}
	return -1
}

// record returns the next record; nil at the end.
func (r *tableReader) record() ([]Cell, *schema.Problem) {
	record, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		p := r.unreadable(err)
		return nil, &p
	}
	cells := make([]Cell, len(record))
	var at tablePlace
	for i, text := range record {
		line, column := r.csv.FieldPos(i)
		cells[i] = Cell{text, r.ahead(&at, line, column)}
	}
	return cells, nil
}

// quoted puts cells in quotes that have a quote in their middle, such as 6" pan, which
// people write and promptfoo reads: it is a part of the cell. A cell that begins with a quote
// stays as it is. added are the columns, from 1, of the quotes that are put in, by line.
func quoted(text string) (out string, added map[int][]int) {
	if !strings.Contains(text, `"`) {
		return text, nil
	}
	var b strings.Builder
	added = map[int][]int{}
	line, begin := 1, 0 // of the line in the output
	write := func(part string) {
		b.WriteString(part)
		if n := strings.Count(part, "\n"); n > 0 {
			line, begin = line+n, b.Len()-len(part)+strings.LastIndexByte(part, '\n')+1
		}
	}
	add := func() {
		added[line] = append(added[line], b.Len()-begin+1)
		b.WriteByte('"')
	}
	wrap := func(cell string) {
		add()
		for before, rest, more := strings.Cut(cell, `"`); ; before, rest, more = strings.Cut(rest, `"`) {
			if b.WriteString(before); !more {
				break
			}
			b.WriteByte('"')
			add()
		}
		add()
	}
	for len(text) > 0 {
		end := cellEnd(text)
		cell := strings.TrimSuffix(text[:end], "\r")
		if first := strings.TrimLeft(cell, " \t"); !strings.Contains(cell, `"`) || first[0] == '"' {
			write(cell)
		} else {
			wrap(cell)
		}
		next := min(end+1, len(text))
		write(text[len(cell):next])
		text = text[next:]
	}
	return b.String(), added
}

// cellEnd returns where the first cell of a text ends: at a comma or a line feed that is not
// within its quotes.
func cellEnd(text string) int {
	at := 0
	for strings.HasPrefix(text[at:], `"`) {
		closed := strings.IndexByte(text[at+1:], '"')
		if closed < 0 {
			return len(text)
		}
		at += closed + 2
	}
	if i := strings.IndexAny(text[at:], ",\n"); i >= 0 {
		return at + i
	}
	return len(text)
}

// unreadable is the problem of a text that is not CSV, which is about its quotes.
func (r *tableReader) unreadable(err error) schema.Problem {
	const double = `double the quotes and put the cell in quotes, as in "say ""hi"""`
	parse, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case !ok:
		return r.problem(1, 1, "the table cannot be read: "+err.Error(), "write a line with the names of the columns, then a line for each row")
	case errors.Is(parse, csv.ErrQuote) && r.isOpen(parse):
		return r.problem(parse.StartLine, 1, "a cell of the record begins with a quote that is not closed", "close the quote; "+double)
	case errors.Is(parse, csv.ErrQuote):
		return r.problem(parse.Line, parse.Column, "the table cannot be read: a quote is followed by more of its cell", double)
	}
	return r.problem(parse.Line, parse.Column, "the table cannot be read: a quote is within a cell that has none around it", double)
}

// isOpen reports whether a quote is never closed.
func (r *tableReader) isOpen(err *csv.ParseError) bool {
	last := len(strings.TrimRight(strings.Join(r.lines, "\n"), "\r\n"))
	before := 0
	for _, line := range r.lines[:min(err.Line-1, len(r.lines))] {
		before += len(line) + 1
	}
	return before+r.written(err.Line, err.Column) > last
}

func (r *tableReader) problem(line, column int, message, hint string) schema.Problem {
	return schema.Problem{Position: r.position(line, column), Severity: schema.Error, Rule: ruleTable, Message: message, Hint: hint}
}

// written returns the column in the file for a column of the processed text, both in
// bytes from 1.
func (r *tableReader) written(line, column int) int {
	n, _ := slices.BinarySearch(r.added[line], column)
	return column - n
}

// position is a place whose column is counted in bytes from 1.
func (r *tableReader) position(line, column int) schema.Position {
	return r.ahead(&tablePlace{}, line, column)
}

// A tablePlace is a place in a table up to which characters were counted.
type tablePlace struct{ line, bytes, runes int }

// ahead is position for a place behind another one, which moves there, so that the cells of
// a long line are counted once.
func (r *tableReader) ahead(at *tablePlace, line, column int) schema.Position {
	column = r.written(line, column)
	if line > 0 && line <= len(r.lines) {
		text := r.lines[line-1]
		to := max(0, min(column-1, len(text)))
		if at.line != line || to < at.bytes {
			*at = tablePlace{line: line}
		}
		at.runes += utf8.RuneCountInString(text[at.bytes:to])
		at.bytes, column = to, 1+at.runes
	}
	return schema.Position{File: r.file, Line: line, Column: column}
}

// separators are the separators of other tables than CSV, with their names.
var separators = []struct{ sign, name string }{{";", "a semicolon"}, {"\t", "a tab"}}

// headProblems are about the names of columns.
func headProblems(head []Cell) []schema.Problem {
	fail := func(at schema.Position, message, hint string) []schema.Problem {
		return []schema.Problem{{Position: at, Severity: schema.Error, Rule: ruleTable, Message: message, Hint: hint}}
	}
	for _, by := range separators {
		if len(head) == 1 && strings.Contains(head[0].Text, by.sign) {
			return fail(head[0].At, "the table has one column, whose name holds "+by.name, "save it with commas between the cells, as CSV (comma delimited)")
		}
	}
	seen := map[string]bool{}
	for _, cell := range head {
		if cell.Text != "" && seen[cell.Text] {
			return fail(cell.At, fmt.Sprintf("two columns are named %q", cell.Text), "give each column a name of its own")
		}
		seen[cell.Text] = true
	}
	if len(seen) == 1 && seen[""] {
		return fail(head[0].At, "no column has a name", "write the names of the columns into the first line")
	}
	return nil
}

// rowOf holds a record to the header.
func rowOf(head, cells []Cell) TableRow {
	row := TableRow{At: cells[0].At, Cells: cells}
	fail := func(at schema.Position, message, hint string) {
		row.Problems = append(row.Problems, schema.Problem{Position: at, Severity: schema.Error, Rule: ruleTable, Message: message, Hint: hint})
	}
	lengths := fmt.Sprintf("the record has %s, and the header has %s", count(len(cells), "cell"), count(len(head), "column"))
	switch {
	case len(cells) > len(head):
		fail(cells[len(head)].At, lengths, "put a cell that holds a comma in double quotes")
	case len(cells) < len(head):
		fail(cells[len(cells)-1].At, lengths, "write every cell, also one that is empty: a comma for each")
	}
	for i, name := range head {
		if name.Text == "" && i < len(cells) && strings.TrimSpace(cells[i].Text) != "" {
			fail(cells[i].At, "the cell is in a column without a name", "name the column in the first line")
		}
	}
	return row
}
