package evalcase

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/evaluate/number"
	"github.com/gavel-evals/gavel/controller/evaluate/textnorm"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// FieldAccuracy compares fields of an answer that is JSON, alone or in the only
// block of code, with expected values (the field_accuracy of the evalcase
// format). Each field is a criterion, 1 where it matches and else 0; one that is
// missing does not match, and of an answer that is no JSON none does. What is
// made of them is the Rule's: Σ w·s / Σ w, the minimum, or all or nothing.
func FieldAccuracy(spec evaluator.FieldAccuracy, in Input) (Finding, error) {
	if len(spec.Fields) == 0 {
		return Finding{}, errors.New("no field is to be compared")
	}
	answer := structured(in.Answer())
	var f Finding
	var wrong []string
	for _, field := range spec.Fields {
		note, err := compareField(field, answer)
		if err != nil {
			return Finding{}, fmt.Errorf("field %s: %w", field.Path, err)
		}
		if note != "" {
			wrong = append(wrong, field.Path+" "+note)
		}
		f.Criteria = append(f.Criteria, verdict.Criterion{ID: field.Path, Score: share(note == ""), Note: note})
	}
	switch {
	case answer == nil:
		f.Reason = "the answer is not JSON: " + textnorm.Quote(in.Answer())
	case len(wrong) > 0:
		f.Reason = strings.Join(wrong, "; ")
	default:
		f.Reason = fmt.Sprintf("%d of %d fields are right", len(spec.Fields), len(spec.Fields))
	}
	return f, nil
}

// structured is an answer as canonical JSON, or nil where it is none. Models put
// a sentence around a block of code.
func structured(answer string) json.RawMessage {
	candidates := []string{textnorm.Unfenced(answer)}
	if blocks := textnorm.Fences(answer); len(blocks) == 1 {
		candidates = append(candidates, blocks[0].Body)
	}
	for _, text := range candidates {
		if raw, err := schema.Canonical([]byte(text)); err == nil {
			return raw
		}
	}
	return nil
}

// compareField says why a field does not match; nothing where it does.
func compareField(f evaluator.Field, answer json.RawMessage) (string, error) {
	way, ok := evaluator.ParsePath(f.Path)
	if !ok {
		return "", errors.New("the path leads nowhere")
	}
	found := way.Find(answer)
	if found == nil {
		return "is missing", nil
	}
	matches, err := matchField(f, found)
	if err != nil || matches {
		return "", err
	}
	return fmt.Sprintf("is %s, expected %s (%s)", textnorm.Clip(string(found)), textnorm.Clip(string(f.Expected)), f.Match), nil
}

func matchField(f evaluator.Field, found json.RawMessage) (bool, error) {
	want, got := textnorm.OfJSON(f.Expected), textnorm.OfJSON(found)
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
			return false, fmt.Errorf("the expected %s is not a date", textnorm.Quote(want))
		}
		other, ok := parseDay(got, f.Formats)
		return ok && day.Equal(other), nil
	}
	return false, fmt.Errorf("there is no match %q", f.Match)
}

// near compares numbers: |a − e| ≤ tolerance, or tolerance·|e| where it is
// relative, after allowing 1e-9 for rounding.
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

// readings are those of a number as people write it where it is a string; a
// number of JSON has one.
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

// layouts are the parts of a date as definitions write them, longest first.
var layouts = strings.NewReplacer(
	"YYYY", "2006", "yyyy", "2006", "YY", "06", "yy", "06",
	"MMMM", "January", "MMM", "Jan", "MM", "01", "M", "1",
	"DD", "02", "dd", "02", "D", "2", "d", "2",
	"HH", "15", "mm", "04", "ss", "05",
)

// parseDay reads a date in one of the formats, the first that fits, or as
// year-month-day with or without a time. Only the day counts.
func parseDay(text string, formats []string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	known := make([]string, 0, len(formats)+4)
	for _, f := range formats {
		known = append(known, layouts.Replace(f))
	}
	known = append(known, time.DateOnly, time.RFC3339, "2006-01-02T15:04:05", time.DateTime)
	for _, layout := range known {
		if t, err := time.Parse(layout, text); err == nil {
			return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC), true
		}
	}
	return time.Time{}, false
}
