package document

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/golden"
)

// fieldTables are the tables of all dialects: testdata/domain.txt is about the
// definitions of domain.cue.
func fieldTables(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}

// A fieldRow is one line of the table: a field or constraint of a definition
// with a value that is accepted, one that is rejected, and the problem that
// the latter gives. A rejected value of - says that every value is accepted.
type fieldRow struct{ def, field, accepted, rejected, problem string }

func fieldTable(t *testing.T, file string) (head string, rows []fieldRow) {
	t.Helper()
	data, err := os.ReadFile(file)
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
			t.Fatalf("%s: a row has %d cells: %s", file, len(cells), line)
		}
		rows = append(rows, fieldRow{cells[0], cells[1], cells[2], cells[3], cells[4]})
	}
	return head, rows
}

// least returns the fields that a definition cannot do without, each with the
// value that its own row has accepted.
func least(def string, rows []fieldRow) map[string]string {
	values := map[string]string{}
	for _, field := range shapeOf(def).Must {
		i := slices.IndexFunc(rows, func(r fieldRow) bool { return r.def == def && r.field == field })
		if i >= 0 {
			values[field] = rows[i].accepted
		}
	}
	return values
}

// document writes the field on the second line, its key in column 3; a value
// of (missing) leaves it out.
func document(field, value string, least map[string]string) string {
	var others []string
	for _, name := range slices.Sorted(maps.Keys(least)) {
		if name != field {
			others = append(others, fmt.Sprintf("%q: %s", name, least[name]))
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
		problems = doc.Check(def, schema.Warning)
	}
	var out []string
	for _, p := range problems {
		out = append(out, strings.TrimPrefix(p.String(), "x.json:"))
	}
	return out
}

func TestFields(t *testing.T) {
	for _, file := range fieldTables(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { testFields(t, file) })
	}
}

func testFields(t *testing.T, file string) {
	head, rows := fieldTable(t, file)
	for i, row := range rows {
		least := least(row.def, rows)
		if got := check(t, row.def, document(row.field, row.accepted, least)); len(got) > 0 {
			t.Errorf("%s.%s: %s is rejected: %v", row.def, row.field, row.accepted, got)
		}
		if row.rejected == "-" {
			continue
		}
		got := strings.Join(check(t, row.def, document(row.field, row.rejected, least)), " / ")
		if golden.Update() {
			rows[i].problem = got
		} else if got != row.problem || got == "" {
			t.Errorf("%s.%s: %s gives\n%s\nwant\n%s", row.def, row.field, row.rejected, got, row.problem)
		}
	}
	if golden.Update() {
		writeTable(t, file, head, rows)
	}
}

func writeTable(t *testing.T, file, head string, rows []fieldRow) {
	t.Helper()
	out, last := strings.TrimRight(head, "\n")+"\n", ""
	for _, r := range rows {
		if r.def != last {
			out += "\n"
		}
		last = r.def
		out += strings.TrimSuffix(strings.Join([]string{r.def, r.field, r.accepted, r.rejected, r.problem}, " | "), " | ") + "\n"
	}
	if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestEveryFieldHasARow fails when a field of a dialect's schema is not in its
// table, or when the table is about something else.
func TestEveryFieldHasARow(t *testing.T) {
	for _, file := range fieldTables(t) {
		_, rows := fieldTable(t, file)
		name := strings.TrimSuffix(filepath.Base(file), ".txt") + ".cue"
		src, err := schema.CUE(name)
		if err != nil {
			t.Fatal(err)
		}
		var defs []string
		for _, line := range strings.Split(src, "\n") {
			def, isDef := strings.CutSuffix(line, ": {")
			if !isDef || !strings.HasPrefix(def, "#") {
				continue
			}
			defs = append(defs, def)
			for _, field := range shapeOf(def).Names {
				if !slices.ContainsFunc(rows, func(r fieldRow) bool { return r.def == def && r.field == field }) {
					t.Errorf("%s.%s has no row in %s", def, field, file)
				}
			}
		}
		for _, row := range rows {
			if !slices.Contains(defs, row.def) {
				t.Errorf("%s: there is no %s in %s", file, row.def, name)
			}
		}
	}
}
