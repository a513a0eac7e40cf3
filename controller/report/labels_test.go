package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
)

// TestLabels counts cases by difficulty, tag and status, and leaves out of the
// distribution what all of them share.
func TestLabels(t *testing.T) {
	s := reporttest.New()
	for _, c := range []struct {
		key    string
		side   *reporttest.Side
		labels schema.Labels
	}{
		{"a/1/a", pass(1), schema.Labels{Difficulty: "hard", Tags: []string{"slow", "red-team", "slow"}, Status: "active"}},
		{"a/1/b", fail(0, "no"), schema.Labels{Difficulty: "hard", Tags: []string{"slow"}, Status: "active"}},
		{"a/1/c", pass(0.5), schema.Labels{Difficulty: "normal", Status: "active"}},
		{"a/1/d", &reporttest.Side{Skip: "draft"}, schema.Labels{Difficulty: "normal", Status: "active"}},
		{"a/1/e", pass(1), schema.Labels{}},
	} {
		s.Add(c.key, nil, c.side, definition)
		row := &s.In.Plan.Rows[len(s.In.Plan.Rows)-1]
		c.labels.Groups = row.Head.Labels.Groups
		row.Head.Labels = c.labels
	}
	r := report.Compare(s.In)
	type line struct {
		Label, Name                string
		Cases, Pass, Fail, Skipped int
		Score                      float64
	}
	lines := func(all []report.Label) (out []line) {
		for _, l := range all {
			out = append(out, line{l.Label, l.Name, l.Cases, l.Pass, l.Fail, l.Skipped, *l.Score})
		}
		return out
	}
	want := []line{
		{"difficulty", "hard", 2, 1, 1, 0, 0.5}, {"difficulty", "normal", 2, 1, 0, 1, 0.5},
		{"tag", "red-team", 1, 1, 0, 0, 1}, {"tag", "slow", 2, 1, 1, 0, 0.5},
		{"status", "active", 4, 2, 1, 1, 0.5},
	}
	if diff := cmp.Diff(want, lines(r.Labels)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:4], lines(r.Distribution())); diff != "" {
		t.Errorf("distribution (-want +got):\n%s", diff)
	}
}
