package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/evaluate/number"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// fieldAccuracy compares fields of a JSON answer, which is alone or the only block of
// code, with expected values (the field_accuracy of the evalcase format). Each field is
// a criterion: 1 if it matches, else 0. A missing field is 0 if it is required, and
// does not count otherwise; an answer that is not JSON has no fields. If no field
// counts, the score is 0. The Rule combines them: Σ w·s / Σ w, the minimum, or all or
// nothing.
func fieldAccuracy(spec evaluator.FieldAccuracy, in suiteInput) (suiteFinding, error) {
	if len(spec.Fields) == 0 {
		return suiteFinding{}, errors.New("no field is to be compared")
	}
	answer := structured(in.Answer())
	var f suiteFinding
	var wrong []string
	counted := 0
	for _, field := range spec.Fields {
		c, err := compareField(field, answer)
		if err != nil {
			return suiteFinding{}, fmt.Errorf("field %s: %w", field.Path, err)
		}
		f.Criteria = append(f.Criteria, c)
		if c.NotApplicable {
			continue
		}
		counted++
		if c.Score == 0 {
			wrong = append(wrong, field.Path+" "+c.Note)
		}
	}
	if counted == 0 {
		wrong = append(wrong, "no field is there")
		f.Criteria = append(f.Criteria, verdict.Criterion{ID: "fields", Note: "no field is there"})
	}
	switch {
	case answer == nil:
		f.Reason = "the answer is not JSON: " + quote(in.Answer())
	case len(wrong) > 0:
		f.Reason = strings.Join(wrong, "; ")
	default:
		f.Reason = fmt.Sprintf("%d of %d fields are right", counted, counted)
	}
	return f, nil
}

// structured returns an answer as canonical JSON, or nil if it is not JSON. Models
// write sentences around a block of code.
func structured(answer string) json.RawMessage {
	candidates := []string{unfenced(answer)}
	if blocks := fences(answer); len(blocks) == 1 {
		candidates = append(candidates, blocks[0].Body)
	}
	for _, text := range candidates {
		if raw, err := schema.Canonical([]byte(text)); err == nil {
			return raw
		}
	}
	return nil
}

// compareField returns the criterion of a field, with the reason of a mismatch in its
// note.
func compareField(f evaluator.Field, answer json.RawMessage) (verdict.Criterion, error) {
	c := verdict.Criterion{ID: f.Path}
	way, ok := evaluator.ParsePath(f.Path)
	if !ok {
		return c, errors.New("the path leads nowhere")
	}
	found := way.Find(answer)
	switch {
	case f.Unexpected && answer != nil:
		c.Score, c.Note = 1, "nothing is expected"
		return c, nil
	case found == nil:
		if c.Note, c.NotApplicable = "is missing", !f.Required; f.Required {
			contrast(&c, string(f.Expected), "")
		}
		return c, nil
	case f.Expected == nil:
		c.Score = 1
		return c, nil
	}
	matches, err := matchField(f, found)
	if c.Score = share(matches); !matches {
		c.Note = fmt.Sprintf("is %s, expected %s (%s)", clip(string(found)), clip(string(f.Expected)), f.Match)
		contrast(&c, string(f.Expected), string(found))
	}
	return c, err
}

func matchField(f evaluator.Field, found json.RawMessage) (bool, error) {
	want, got := ofJSON(f.Expected), ofJSON(found)
	switch f.Match {
	case "exact":
		expected, err := schema.Canonical(f.Expected)
		return string(expected) == string(found), err
	case "contains":
		return strings.Contains(got, want), nil
	case "regex":
		re, err := regexp.Compile(want)
		return err == nil && re.MatchString(got), err
	case "numeric_tolerance":
		return near(f, found)
	case "date":
		day, ok := parseDay(want, f.Formats)
		if !ok {
			return false, fmt.Errorf("the expected %s is not a date", quote(want))
		}
		other, ok := parseDay(got, f.Formats)
		return ok && day.Equal(other), nil
	}
	return false, fmt.Errorf("there is no match %q", f.Match)
}

// near compares numbers: |a − e| ≤ tolerance, or tolerance·|e| if it is relative, plus
// 1e-9 for rounding.
func near(f evaluator.Field, found json.RawMessage) (bool, error) {
	expected := readings(f.Expected)
	if len(expected) == 0 {
		return false, fmt.Errorf("the expected %s is not a number", f.Expected)
	}
	for _, e := range expected {
		tolerance := f.Tolerance
		if f.Relative {
			tolerance *= math.Abs(e)
		}
		if (number.Readings{e}).Near(readings(found), tolerance) {
			return true, nil
		}
	}
	return false, nil
}

// readings returns the possible readings of a string as a number. A JSON number has one
// reading.
func readings(raw json.RawMessage) number.Readings {
	var v float64
	if json.Unmarshal(raw, &v) == nil && string(raw) != "null" {
		return number.Readings{v}
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil
	}
	return number.Parse(text)
}

// layouts maps the date parts of definitions to Go's, longest first.
var layouts = strings.NewReplacer(
	"YYYY", "2006", "yyyy", "2006", "YY", "06", "yy", "06",
	"MMMM", "January", "MMM", "Jan", "MM", "01", "M", "1",
	"DD", "02", "dd", "02", "D", "2", "d", "2",
	"HH", "15", "mm", "04", "ss", "05",
)

// wordy are dates as people and programs write them, which JavaScript's Date reads, too.
var wordy = []string{
	"Jan 2, 2006", "Jan 2 2006", "January 2, 2006", "January 2 2006", "2 Jan 2006", "2 January 2006", "2-Jan-2006", "2-January-2006",
	"Mon, 2 Jan 2006", "Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700", "Mon Jan 2 2006", "Monday, January 2, 2006", "2006/1/2", "2006-1-2",
}

// numeric are dates in numbers. One that fits both is month first, as JavaScript reads it.
var numeric = []string{"1/2/2006", "1-2-2006", "2/1/2006", "2-1-2006"}

// parseDay parses a date by the first format that fits, or as year-month-day with or
// without a time, with the month as a word, or in numbers. Only the day counts.
func parseDay(text string, formats []string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	known := make([]string, 0, len(formats)+4)
	for _, f := range formats {
		known = append(known, layouts.Replace(f))
	}
	known = append(known, time.DateOnly, time.RFC3339, "2006-01-02T15:04:05", time.DateTime)
	for _, layout := range slices.Concat(known, wordy, numeric) {
		if t, err := time.Parse(layout, text); err == nil {
			return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC), true
		}
	}
	return time.Time{}, false
}
