package matrix

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// csvTests reads a table: a column is a variable, or one of the names that begin
// with two underscores.
func (c *compiler) csvTests(file schema.File) []test {
	if file.Path == "" {
		return nil
	}
	c.tables[file.Path] = true
	rows, problems := document.ReadTable(file)
	if rows != nil {
		problems = columnProblems(rows.Head)
	}
	if c.Problems = append(c.Problems, problems...); schema.HasErrors(problems) {
		return nil
	}
	c.Budget.Spend(document.Tests, len(rows.Rows))
	var all []test
	for _, row := range rows.Rows {
		t := c.shared
		c.inherit(c.shared)
		t.at = row.At
		t.inherited = t.vars
		t.asserts, t.inputs, t.vars, t.order = slices.Clone(t.asserts), slices.Clone(t.inputs), maps.Clone(t.vars), slices.Clone(t.order)
		t.functions = maps.Clone(c.shared.functions)
		c.note(&t, row.Problems)
		for n, column := range rows.Head {
			if n < len(row.Cells) && column.Text != "" {
				c.cell(&t, column.Text, row.Cells[n])
			}
		}
		c.settings(&t, rows.Head, row, len(c.shared.asserts))
		c.Budget.Found(len(c.Problems) + len(c.wrong))
		all = append(all, t)
	}
	return all
}

// columns are the columns with a special meaning, as people write them.
var columns = []string{"__expected", "__prefix", "__suffix", "__description", "__providerOutput", "__metric", "__threshold", "__metadata:category", "__config:__expected:threshold"}

// config matches a column with a setting for another column's assertion.
var config = lazyregexp.New(`^__config:(__expected\d*):threshold$`)

// columnProblems returns problems of column names that begin with underscores and mean
// nothing, so that their cells would be lost.
func columnProblems(head []document.Cell) []schema.Problem {
	var found []schema.Problem
	add := func(cell document.Cell, severity schema.Severity, message, hint string) {
		found = append(found, schema.Problem{Position: cell.At, Severity: severity, Rule: "unknown-column", Message: message, Hint: hint})
	}
	named := map[string]bool{}
	for _, cell := range head {
		named[strings.TrimSuffix(cell.Text, "1")] = true
	}
	for _, cell := range head {
		name := cell.Text
		of := config.FindStringSubmatch(name)
		switch {
		case of != nil:
			if !named[strings.TrimSuffix(of[1], "1")] {
				add(cell, schema.Error, fmt.Sprintf("the column %s is about a column %s, which the table does not have", name, of[1]), "name the column of the assertion, as in __config:__expected2:threshold")
			}
		case strings.HasPrefix(name, "__expected"), strings.HasPrefix(name, "__metadata:"), slices.Contains(columns, name):
		case strings.HasPrefix(name, "__"):
			hint := suggest.DidYouMean(name, columns)
			if hint == "" {
				hint = "names that begin with two underscores are " + strings.Join(columns, ", ") + "; name a variable otherwise"
			}
			add(cell, schema.Error, fmt.Sprintf("the column %q means nothing", name), hint)
		case strings.HasPrefix(name, "_") && meansSetting(name):
			add(cell, schema.Warning, fmt.Sprintf("the column %q is a variable, since it begins with one underscore", name), suggest.Question("_"+name))
		}
	}
	return found
}

// meansSetting reports whether a name with one underscore is a setting's with two.
func meansSetting(name string) bool {
	return slices.ContainsFunc(columns, func(column string) bool {
		short, _, _ := strings.Cut(column[1:], ":")
		return strings.HasPrefix(name, short)
	})
}

// cell processes one field of a table.
func (c *compiler) cell(t *test, name string, cell document.Cell) {
	value := cell.Text
	switch {
	case strings.HasPrefix(name, "__expected"):
		if strings.TrimSpace(value) != "" {
			t.asserts = append(t.asserts, c.cellAssertion(t, name, cell))
		}
	case name == "__prefix":
		t.prefix = value
	case name == "__suffix":
		t.suffix = value
	case name == "__description":
		t.description = value
	case name == "__threshold":
		if n, ok := c.cellNumber(t, cell, name); ok {
			t.threshold = &n
		}
	case name == "__metadata:tags[]" || name == "__metadata:category":
		t.tags = slices.Clip(t.tags) // others share them
		for tag := range strings.SplitSeq(value, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				t.tags = append(t.tags, tag)
			}
		}
	case name == "__providerOutput" && value != "":
		t.given = &given{text: value}
	case strings.HasPrefix(name, "__"):
	default:
		if _, known := t.vars[name]; !known {
			t.order = append(t.order, name)
		}
		text, _ := json.Marshal(value)
		t.vars[name] = c.variable(t, name, text, cell.At)
	}
}

// cellAssertion reads the assertion of a cell.
func (c *compiler) cellAssertion(t *test, column string, cell document.Cell) written {
	c.Budget.Spend(document.Assertions, 1)
	a, problem := shortForm(cell.Text)
	a.column, a.at, a.valueAt = column, cell.At, cell.At
	if problem != nil {
		c.note(t, []schema.Problem{{Position: cell.At, Severity: schema.Error, Rule: "wrong-value", Message: problem.Message, Hint: problem.Hint}})
		return a
	}
	c.resolve(t, &a, cell.At)
	return a
}

// cellNumber returns the number from 0 to 1 in a cell; false for an empty one, and for
// another text, which is an error.
func (c *compiler) cellNumber(t *test, cell document.Cell, name string) (float64, bool) {
	text := strings.TrimSpace(cell.Text)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	isNumber := err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
	if isNumber && (name != "__threshold" || n >= 0 && n <= 1) {
		return n, true
	}
	message, hint := fmt.Sprintf("%s is %q", name, text), "write a number with a point, such as 0.5"
	if isNumber {
		hint = "write a number from 0 to 1"
	}
	c.note(t, []schema.Problem{{Position: cell.At, Severity: schema.Error, Rule: "wrong-type", Message: message, Hint: hint}})
	return 0, false
}

// settings applies the setting columns of a row to its own assertions, which come after
// the shared ones: __metric to all, __config:__expected2:threshold to one. A column
// __expected may be called __expected1.
func (c *compiler) settings(t *test, head []document.Cell, row document.TableRow, shared int) {
	own := t.asserts[shared:]
	of := map[string][]int{} // by column
	for i, a := range own {
		name := strings.TrimSuffix(a.column, "1")
		of[name] = append(of[name], i)
	}
	for n, column := range head {
		if n >= len(row.Cells) || row.Cells[n].Text == "" {
			continue
		}
		if name := thresholdOf(column.Text); name != "" {
			c.setThreshold(t, own, of[name], column.Text, row.Cells[n])
		}
		if column.Text != "__metric" {
			continue
		}
		for i := range own {
			own[i].Metric = row.Cells[n].Text
		}
	}
}

// thresholdOf returns the column, without a 1 at its end, whose assertion a column has the
// threshold of; empty for another column.
func thresholdOf(column string) string {
	of := config.FindStringSubmatch(column)
	if of == nil {
		return ""
	}
	return strings.TrimSuffix(of[1], "1")
}

// setThreshold sets the threshold of some of a row's own assertions to the number in a cell.
func (c *compiler) setThreshold(t *test, own []written, some []int, column string, cell document.Cell) {
	least, isNumber := c.cellNumber(t, cell, column)
	if !isNumber {
		return
	}
	for _, i := range some {
		own[i].Threshold = &least
	}
}
