package reporters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// A pieceMeter knows the longest text that was written at once.
type pieceMeter struct {
	bytes.Buffer
	longest int
}

// Write takes a text.
func (m *pieceMeter) Write(p []byte) (int, error) {
	m.longest = max(m.longest, len(p))
	return m.Buffer.Write(p)
}

// TestWriteReport writes what the encoder of JSON does, and never all of it at once.
func TestWriteReport(t *testing.T) {
	many := report.Compare(reporttest.ChangedCases(300).In)
	for i, r := range []*report.Report{
		many, report.Compare(reporttest.Regressions().In), report.Compare(reporttest.Commanded("ada", "it is\n  \"cases\": []").In),
		report.Compare(reporttest.Hostile(reporttest.HostileTexts()).In), report.Compare(reporttest.NothingAffected().In), {},
	} {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		got := &pieceMeter{}
		if err := fmt.Sprint(enc.Encode(r), WriteReport(got, r)); err != "<nil> <nil>" {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("report %d (-encoder +written):\n%.2000s", i, diff)
		}
		if r == many && got.longest > want.Len()/10 {
			t.Errorf("%d of %d bytes are written at once", got.longest, want.Len())
		}
	}
}
