package reporters_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
)

// TestTriggers names the skills with most wrong queries, and counts the others.
func TestTriggers(t *testing.T) {
	r := &report.Report{}
	for i := range 12 {
		r.Triggers = append(r.Triggers, report.Triggering{Skill: fmt.Sprintf("s%02d", i), Wanted: report.Queries{Right: 10, Of: 10 + i%2}, Unwanted: report.Queries{Right: 9, Of: 10}})
	}
	r.Triggers[1].Target = "coder"
	got := reporters.Triggers(r)
	if len(got) != 10 {
		t.Fatalf("%q", got)
	}
	want := []string{"s01 (coder): 19 of 21 right: 10 of 11 wanted, 9 of 10 unwanted", "s06: 19 of 20 right: 10 of 10 wanted, 9 of 10 unwanted; and 2 more skills"}
	if diff := cmp.Diff(want, []string{got[0], got[9]}); diff != "" {
		t.Error(diff)
	}
}
