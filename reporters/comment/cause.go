package comment

import "github.com/gavel-evals/gavel/controller/report"

// A causeGroup is rows that were done again for one reason.
type causeGroup struct {
	why  string
	rows []*report.Row
}

// byCause groups rows by why. A group is where its first row was; a row without a
// reason is alone.
func byCause(rows []*report.Row, why func(*report.Row) string) []causeGroup {
	var out []causeGroup
	at := map[string]int{}
	for _, row := range rows {
		reason := why(row)
		i, known := at[reason]
		if reason == "" || !known {
			at[reason] = len(out)
			out = append(out, causeGroup{reason, []*report.Row{row}})
			continue
		}
		out[i].rows = append(out[i].rows, row)
	}
	return out
}
