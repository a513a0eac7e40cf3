package reporters

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
)

// A GroupTable has the scores of one dialect's groups, with one target if there are
// several.
type GroupTable struct {
	// Title is the dialect's word for its groups, with the dialect's name if another
	// one uses the same.
	Title           string
	Dialect, Target string
	// Columns are the names of the inner groups, such as levels, in natural order.
	Columns []string
	Rows    []GroupRow
	// Total is the whole dialect; nil if the report has no such group.
	Total *report.Group
	// Pairs counts the Cases judged on both sides.
	Pairs, Cases int
}

// A GroupRow is an outer group with the inner ones by their names.
type GroupRow struct {
	Group report.Group
	Cells map[string]report.Group
}

// title returns a dialect's word for its groups.
func title(dialect string) string {
	if schema.TraitsOf(dialect).Levels {
		return "By domain and level"
	}
	return "By suite"
}

// GroupTables arranges groups as tables: a row for each outer group, a column for
// each name of the groups in it. The groups of one table follow each other, each
// outer group before its inner ones, as they do in a report.
func GroupTables(groups []report.Group) []GroupTable {
	var out []GroupTable
	for i, g := range groups {
		if len(out) == 0 || out[len(out)-1].Dialect != g.Dialect || out[len(out)-1].Target != g.Target {
			out = append(out, GroupTable{Dialect: g.Dialect, Target: g.Target})
		}
		t := &out[len(out)-1]
		switch len(g.Path) {
		case 0:
			t.Total = &groups[i]
		case 1:
			t.Rows = append(t.Rows, GroupRow{Group: g, Cells: map[string]report.Group{}})
			t.Pairs, t.Cases = t.Pairs+g.Pairs, t.Cases+g.Cases
		case 2:
			name := g.Path[1]
			t.Rows[len(t.Rows)-1].Cells[name] = g
			if !slices.Contains(t.Columns, name) {
				t.Columns = append(t.Columns, name)
			}
		}
	}
	for i, t := range out {
		out[i].Title = title(t.Dialect)
		if slices.ContainsFunc(out, func(o GroupTable) bool { return o.Dialect != t.Dialect && title(o.Dialect) == title(t.Dialect) }) {
			out[i].Title += " (" + t.Dialect + ")"
		}
		slices.SortFunc(out[i].Columns, report.CompareNatural)
	}
	return out
}
