package document_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// TestReadTable shows the cells of a table with their places, which count code points.
func TestReadTable(t *testing.T) {
	got, problems := document.ReadTable(schema.File{Path: "t.csv", Data: []byte("\ufeff x ,__expected,\nhé,\"a, b\",\n\n\"two\nlines\",c,\n")})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var said []string
	for _, row := range append([]document.TableRow{{Cells: got.Head}}, got.Rows...) {
		line := ""
		for _, cell := range row.Cells {
			line += fmt.Sprintf("%d:%d %q ", cell.At.Line, cell.At.Column, cell.Text)
		}
		said = append(said, line)
	}
	want := []string{`1:1 "x" 1:5 "__expected" 1:16 "" `, `2:1 "hé" 2:4 "a, b" 2:11 "" `, `4:1 "two\nlines" 5:8 "c" 5:10 "" `}
	if !slices.Equal(said, want) {
		t.Errorf("the cells are\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	if got.Column("__expected") != 1 || got.Column("y") != -1 || len(got.Problems()) > 0 {
		t.Errorf("columns %d and %d, problems %v; want 1, -1 and none", got.Column("__expected"), got.Column("y"), got.Problems())
	}
}

// TestLinesOfOldEditors: a table whose lines end with a carriage return alone has its rows, each
// in its line.
func TestLinesOfOldEditors(t *testing.T) {
	got, problems := document.ReadTable(schema.File{Path: "t.csv", Data: []byte("x,__expected\rhola,contains:zzz\rb,c\r")})
	if len(problems) > 0 || len(got.Rows) != 2 || got.Rows[1].Cells[1].Text != "c" || got.Rows[1].At.Line != 3 {
		t.Errorf("%+v, problems %v; want two rows, of which the second is in line 3", got, problems)
	}
}

// TestQuotesWithinACell: a quote in the middle of a cell is a part of it, as promptfoo reads
// it, and the cells behind it have their places.
func TestQuotesWithinACell(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string // the cells of the first row
		at   []int    // their columns
	}{
		{"x,y\na,say \"hi\"\n", []string{"a", `say "hi"`}, []int{1, 3}},
		{"x,y\n6\" pan,b\n", []string{`6" pan`, "b"}, []int{1, 8}},
		{"x,y\r\n6\" pan,5\" lid\r\n", []string{`6" pan`, `5" lid`}, []int{1, 8}},
		{"x,y\n6\" pan,\"a, \"\"b\"\"\nc\"", []string{`6" pan`, "a, \"b\"\nc"}, []int{1, 8}},
		{"x,y\n\"a\nb\",6\" pan\n", []string{"a\nb", `6" pan`}, []int{1, 4}},
	} {
		got, problems := document.ReadTable(schema.File{Path: "t.csv", Data: []byte(tt.text)})
		if len(problems) > 0 || len(got.Rows) != 1 {
			t.Errorf("%q gives %+v, problems %v; want one row", tt.text, got, problems)
			continue
		}
		for i, cell := range got.Rows[0].Cells {
			if cell.Text != tt.want[i] || cell.At.Column != tt.at[i] {
				t.Errorf("%q: cell %d is %q at column %d, want %q at %d", tt.text, i+1, cell.Text, cell.At.Column, tt.want[i], tt.at[i])
			}
		}
	}
}

// TestTableProblems has mistakes in people's tables, with the place and the repair.
func TestTableProblems(t *testing.T) {
	utf16 := "\xff\xfex\x00,\x00y\x00\n\x00"
	for _, tt := range []struct{ text, want string }{
		{"", "t.csv:1:1: error: the table is empty; write a line with the names of the columns, then a line for each row"},
		{"\n\n", "t.csv:1:1: error: the table is empty; write a line with the names of the columns, then a line for each row"},
		{"x,__expected\n", "t.csv:1:1: error: the table has a header and no row below it; write a line for each row below the names of the columns"},
		{"x;__expected\nhola;contains:zzz\n", "t.csv:1:1: error: the table has one column, whose name holds a semicolon; save it with commas between the cells, as CSV (comma delimited)"},
		{"x\t__expected\nhola\tcontains:zzz\n", "t.csv:1:1: error: the table has one column, whose name holds a tab; save it with commas between the cells, as CSV (comma delimited)"},
		{utf16, "t.csv:1:1: error: the file is not UTF-8 but UTF-16; save it as UTF-8"},
		{"x,y\nhola,a\xf1o\n", "t.csv:2:7: error: the line is not valid UTF-8; save the file as UTF-8"},
		{"x,y\na, \"b\"\n", `t.csv:2:4: error: the table cannot be read: a quote is within a cell that has none around it; double the quotes and put the cell in quotes, as in "say ""hi"""`},
		{"x,y\na,b\nc,\"say \"hi\"\n", `t.csv:3:8: error: the table cannot be read: a quote is followed by more of its cell; double the quotes and put the cell in quotes, as in "say ""hi"""`},
		{"x,y\na,\"b\nc,d\n", `t.csv:2:1: error: a cell of the record begins with a quote that is not closed; close the quote; double the quotes and put the cell in quotes, as in "say ""hi"""`},
		{"x,y,x\na,b,c\n", `t.csv:1:5: error: two columns are named "x"; give each column a name of its own`},
		{",\na,b\n", "t.csv:1:1: error: no column has a name; write the names of the columns into the first line"},
		{"x,y\na\n", "t.csv:2:1: error: the record has 1 cell, and the header has 2 columns; write every cell, also one that is empty: a comma for each"},
		{"x,y\nñ,contains-all:ho,zzz\n", "t.csv:2:19: error: the record has 3 cells, and the header has 2 columns; put a cell that holds a comma in double quotes"},
		{"x,\na,b\n", "t.csv:2:3: error: the cell is in a column without a name; name the column in the first line"},
		{"x\n" + strings.Repeat("a\n", 20_000+1), "t.csv:20002:1: error: the table has more than 20000 rows; split it"},
	} {
		got, problems := document.ReadTable(schema.File{Path: "t.csv", Data: []byte(tt.text)})
		if got != nil {
			problems = append(problems, got.Problems()...)
		}
		if len(problems) != 1 || problems[0].String() != tt.want {
			t.Errorf("%.40q: problems %v, want %s", tt.text, problems, tt.want)
		}
	}
}

// TestWideTables reads tables of very long lines, whose cells have their places. One whose cells
// would take much more memory than its text is refused.
func TestWideTables(t *testing.T) {
	const columns = 400_000
	var head, row strings.Builder
	for i := range columns {
		fmt.Fprintf(&head, "é%d,", i)
		row.WriteString(`6" x,`)
	}
	got, problems := document.ReadTable(schema.File{Path: "t.csv", Data: []byte(head.String() + "last\n" + row.String() + "y")})
	if len(problems) > 0 || len(got.Rows) != 1 {
		t.Fatalf("problems %v; want one row", problems)
	}
	if at, want := got.Head[columns].At.Column, 1+len([]rune(head.String())); at != want {
		t.Errorf("the last name is at column %d, want %d", at, want)
	}
	if at, want := got.Rows[0].Cells[columns].At.Column, 1+row.Len(); at != want {
		t.Errorf("the last cell is at column %d, want %d", at, want)
	}
	for _, text := range []string{"a" + strings.Repeat(",", 2_000_000) + "\nb", "a\n" + strings.Repeat(strings.Repeat(",", 199)+"\n", 10_000)} {
		got, problems := document.ReadTable(schema.File{Path: "t.csv", Data: []byte(text)})
		if got != nil || len(problems) != 1 || problems[0].Rule != "too-many-values" {
			t.Errorf("%d bytes: problems %v, want too-many-values", len(text), problems)
		}
	}
}
