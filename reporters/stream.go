package reporters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gavel-evals/gavel/controller/report"
)

// WriteReport writes a report as JSON for people, a case at a time: the JSON of all
// cases at once takes more memory than they do.
func WriteReport(w io.Writer, r *report.Report) error {
	frame := *r
	frame.Cases = []report.Row{}
	var around bytes.Buffer
	if err := encoder(&around, "").Encode(&frame); err != nil {
		return err
	}
	// No other line begins like this one: nested fields are indented further, and a
	// text has no line breaks.
	before, after, found := bytes.Cut(around.Bytes(), []byte("\n  \"cases\": []"))
	if len(r.Cases) == 0 || !found {
		return encoder(w, "").Encode(r)
	}
	if _, err := fmt.Fprintf(w, "%s\n  \"cases\": [", before); err != nil {
		return err
	}
	var row bytes.Buffer
	for i := range r.Cases {
		row.Reset()
		if i > 0 {
			row.WriteByte(',')
		}
		row.WriteString("\n    ")
		if err := encoder(&row, "    ").Encode(&r.Cases[i]); err != nil {
			return err
		}
		if _, err := w.Write(bytes.TrimSuffix(row.Bytes(), []byte("\n"))); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n  ]%s", after)
	return err
}

// encoder writes JSON for people, with a prefix on its lines.
func encoder(w io.Writer, prefix string) *json.Encoder {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent(prefix, "  ")
	return out
}
