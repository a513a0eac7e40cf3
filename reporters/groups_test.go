package reporters_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/schema"
)

// TestTitlesOfGroups names the dialect of a table only where two have the same title.
func TestTitlesOfGroups(t *testing.T) {
	group := func(dialect string) report.Group { return report.Group{Dialect: dialect, Path: []string{"a"}} }
	for _, test := range []struct{ dialects, want []string }{
		{[]string{schema.DialectDomain, schema.DialectEvalcase}, []string{"By domain and level", "By suite"}},
		{[]string{schema.DialectEvalcase, schema.DialectTestcase}, []string{"By suite (evalcase)", "By suite (testcase)"}},
	} {
		var groups []report.Group
		for _, d := range test.dialects {
			groups = append(groups, group(d))
		}
		var got []string
		for _, table := range reporters.GroupTables(groups) {
			got = append(got, table.Title)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("titles of %v (-want +got):\n%s", test.dialects, diff)
		}
	}
}
