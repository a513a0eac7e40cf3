package reporters

import (
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// LabelCounts counts the results of the cases with a label: "5 cases: 3 pass, 2 fail".
func LabelCounts(l report.Label) string {
	var parts []string
	for _, v := range []struct {
		n    int
		word string
	}{{l.Pass, "pass"}, {l.Borderline, "borderline"}, {l.Fail, "fail"}, {l.Error, "error"}, {l.Skipped, "skipped"}} {
		if v.n > 0 {
			parts = append(parts, textfmt.Int(int64(v.n))+" "+v.word)
		}
	}
	counts := textfmt.Count(l.Cases, "case")
	if len(parts) == 0 {
		return counts
	}
	return counts + ": " + strings.Join(parts, ", ")
}
