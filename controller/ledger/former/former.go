// Package former reads the JSON in which this version or an earlier one stored what
// a ledger has.
//
// Callers use [Decision], [Transcript] or [Judgement].
package former

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/oldnames"
)

// A Form says how what an earlier version stored differs from today's form: one of
// the names tells it, and the rules rename its fields.
type Form struct {
	names [][]byte
	rules oldnames.Rules
}

// The forms of what a ledger has.
var (
	Decision = Form{
		[][]byte{[]byte(`"duration":`)}, verdict.OldNames.Nested("result").With(oldnames.Rules{"": {"duration": "duration_ns"}}),
	}
	Transcript = Form{[][]byte{[]byte(`"latency":`)}, verdict.OldTranscript}
	Judgement  = Form{[][]byte{[]byte(`"asked":`), []byte(`"answered":`)}, verdict.OldMeasurement.Nested("sample.measurements")}
)

// Decode is json.Unmarshal for a body in today's form or in the earlier one. The
// error is that of JSON that cannot be read.
func (f Form) Decode(body []byte, into any) error {
	isOld := func(name []byte) bool { return bytes.Contains(body, name) }
	if slices.ContainsFunc(f.names, isOld) {
		renamed, err := oldnames.Rename(body, f.rules)
		if err != nil {
			return err
		}
		return json.Unmarshal(renamed, into)
	}
	return json.Unmarshal(body, into)
}
