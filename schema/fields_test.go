package schema

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the problems of testdata/fields.txt anew")

const fieldsFile = "testdata/fields.txt"

// A fieldRow is one line of the table: a field or constraint of a definition
// with a value that is accepted, one that is rejected, and the problem that
// the latter gives. A rejected value of - says that every value is accepted.
type fieldRow struct{ def, field, accepted, rejected, problem string }

func fieldTable(t *testing.T) (head string, rows []fieldRow) {
	t.Helper()
	data, err := os.ReadFile(fieldsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		if strings.HasPrefix(line, "//") || line == "" {
			head += line + "\n"
			continue
		}
		cells := strings.Split(line, " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) == 4 {
			cells = append(cells, "")
		}
		if len(cells) != 5 {
			t.Fatalf("%s: a row has %d cells: %s", fieldsFile, len(cells), line)
		}
		rows = append(rows, fieldRow{cells[0], cells[1], cells[2], cells[3], cells[4]})
	}
	return head, rows
}

// least are the fields that a definition cannot do without.
var least = map[string]string{
	"#Domain": `"id": "x", "name": "X"`, "#Test": `"id": "x", "name": "X", "prompt": "?"`,
	"#TwoPassExpected": `"answer": 1`, "#Evaluator": `"id": "x"`, "#Tool": `"id": "x", "function": {"name": "f"}`,
}

// document writes the field on the second line, its key in column 3; a value
// of (missing) leaves it out.
func document(def, field, value string) string {
	var others []string
	for _, pair := range strings.Split(least[def], ", ") {
		if pair != "" && !strings.HasPrefix(pair, fmt.Sprintf("%q:", field)) {
			others = append(others, pair)
		}
	}
	rest := strings.Join(others, ", ")
	if value == "(missing)" {
		return "{\n  " + rest + "\n}"
	}
	if rest != "" {
		rest = ",\n  " + rest
	}
	return fmt.Sprintf("{\n  %q: %s%s\n}", field, value, rest)
}

func check(t *testing.T, def, text string) []string {
	t.Helper()
	doc, problems := Parse("x.json", []byte(text))
	if doc != nil {
		problems = doc.Check(def, Warning)
	}
	var out []string
	for _, p := range problems {
		out = append(out, strings.TrimPrefix(p.String(), "x.json:"))
	}
	return out
}

func TestFields(t *testing.T) {
	head, rows := fieldTable(t)
	for i, row := range rows {
		if got := check(t, row.def, document(row.def, row.field, row.accepted)); len(got) > 0 {
			t.Errorf("%s.%s: %s is rejected: %v", row.def, row.field, row.accepted, got)
		}
		if row.rejected == "-" {
			continue
		}
		got := strings.Join(check(t, row.def, document(row.def, row.field, row.rejected)), " / ")
		if *update {
			rows[i].problem = got
		} else if got != row.problem || got == "" {
			t.Errorf("%s.%s: %s gives\n%s\nwant\n%s", row.def, row.field, row.rejected, got, row.problem)
		}
	}
	if *update {
		out, last := strings.TrimRight(head, "\n")+"\n", ""
		for _, r := range rows {
			if r.def != last {
				out += "\n"
			}
			last = r.def
			out += strings.TrimSuffix(strings.Join([]string{r.def, r.field, r.accepted, r.rejected, r.problem}, " | "), " | ") + "\n"
		}
		if err := os.WriteFile(fieldsFile, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryFieldHasARow fails when a field of the domain dialect's schema is
// not in the table.
func TestEveryFieldHasARow(t *testing.T) {
	_, rows := fieldTable(t)
	c, err := newChecker(sources)
	if err != nil {
		t.Fatal(err)
	}
	src, err := CUE("domain.cue")
	if err != nil {
		t.Fatal(err)
	}
	defs := 0
	for _, line := range strings.Split(src, "\n") {
		def, isDef := strings.CutSuffix(line, ": {")
		if !isDef || !strings.HasPrefix(def, "#") {
			continue
		}
		defs++
		for _, field := range c.shape(def).names {
			if !slices.ContainsFunc(rows, func(r fieldRow) bool { return r.def == def && r.field == field }) {
				t.Errorf("%s.%s has no row in %s", def, field, fieldsFile)
			}
		}
	}
	if defs < 9 {
		t.Errorf("only %d definitions were found in domain.cue", defs)
	}
}
