package report_test

import (
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
)

// TestTheLineOfTargetChanges names the changes, and their effect.
func TestTheLineOfTargetChanges(t *testing.T) {
	model := report.TargetChange{Target: "bot", Says: "model old → new"}
	share := func(x float64) *float64 { return &x }
	for _, tt := range []struct {
		changes *report.TargetChanges
		want    string
	}{
		{nil, ""},
		{&report.TargetChanges{Refused: []report.TargetChange{model}}, ""},
		{&report.TargetChanges{Judged: []report.TargetChange{model}}, "model old → new: no verdict changed"},
		{&report.TargetChanges{Judged: []report.TargetChange{model}, Broke: 3, Better: 5, Tokens: share(0.594)}, "model old → new: 3 broke, 5 got better, tokens −41 %"},
		{&report.TargetChanges{Judged: []report.TargetChange{model}, Broke: 1, Tokens: share(1.2)}, "model old → new: 1 broke, tokens +20 %"},
		{&report.TargetChanges{Judged: []report.TargetChange{model}, Tokens: share(1.001)}, "model old → new: no verdict changed, as many tokens"},
		{&report.TargetChanges{Judged: []report.TargetChange{model, {Target: "bot", Says: "parameter seed 1 added"}, {Target: "other", Says: "tools pay added"}}},
			"bot model old → new, parameter seed 1 added, other tools pay added: no verdict changed"},
		{&report.TargetChanges{Judged: []report.TargetChange{model, model, model, model, model}}, "model old → new, model old → new, model old → new, 2 more: no verdict changed"},
	} {
		if got := tt.changes.Line(); got != tt.want {
			t.Errorf("the line of %+v is %q, want %q", tt.changes, got, tt.want)
		}
	}
}
