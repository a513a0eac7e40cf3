package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTreeByTarget holds that the groups of two targets are not mixed.
func TestTreeByTarget(t *testing.T) {
	var all groupTree
	one, half := 1.0, 0.5
	all.AddHead(groupPath{"domain", "b", []string{"math", "1"}}, &one, 1)
	all.AddHead(groupPath{"domain", "a", []string{"math", "1"}}, &half, 1)
	all.AddHead(groupPath{"domain", "a", nil}, &half, 1)
	var got []string
	for _, g := range all.Groups() {
		if len(g.Path) == 1 {
			got = append(got, g.Target+" "+g.Path[0])
			if want := map[string]float64{"a": 0.5, "b": 1}[g.Target]; *g.Score != want {
				t.Errorf("%s scores %v", g.Target, *g.Score)
			}
		}
	}
	if diff := cmp.Diff([]string{"a math", "b math"}, got); diff != "" {
		t.Errorf("the groups (-want +got):\n%s", diff)
	}
}
