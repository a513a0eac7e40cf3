package reporters

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/jsonschema"
	"github.com/gavel-evals/gavel/schema/load"
)

// shape is the part on which programs rely: fields may be added, never renamed.
const shape = `{
  "type": "object", "required": ["definitions", "problems", "summary", "notes"], "additionalProperties": false,
  "properties": {
    "definitions": {"type": "array", "items": {
      "type": "object", "required": ["file", "dialect", "cases", "runnable"], "additionalProperties": false,
      "properties": {"file": {"type": "string"}, "dialect": {"enum": ["testcase", "promptval", "domain", "evalcase"]}, "cases": {"type": "integer", "minimum": 0}, "runnable": {"type": "integer", "minimum": 0}}
    }},
    "problems": {"type": "array", "items": {
      "type": "object", "required": ["file", "line", "column", "severity", "rule", "message", "hint"], "additionalProperties": false,
      "properties": {
        "file": {"type": "string"}, "line": {"type": "integer", "minimum": 0}, "column": {"type": "integer", "minimum": 0},
        "severity": {"enum": ["error", "warning"]}, "rule": {"type": "string"}, "message": {"type": "string"}, "hint": {"type": "string"}
      }
    }},
    "summary": {
      "type": "object", "required": ["definitions", "cases", "errors", "warnings", "notes"], "additionalProperties": false,
      "properties": {"definitions": {"type": "integer"}, "cases": {"type": "integer"}, "runnable": {"type": "integer"}, "errors": {"type": "integer"}, "warnings": {"type": "integer"}, "notes": {"type": "integer"}}
    },
    "notes": {"type": "array", "items": {"type": "string"}}
  }
}`

func TestShape(t *testing.T) {
	form, err := jsonschema.Compile([]byte(shape))
	if err != nil {
		t.Fatal(err)
	}
	listed := []load.FileSummary{{File: "a.json", Dialect: schema.DialectTestcase, Cases: 2, Runnable: 1}, {File: "b.json", Dialect: schema.DialectDomain}}
	problems := []schema.Problem{
		{Position: schema.Position{File: "b.json", Line: 2, Column: 3}, Severity: schema.Error, Rule: "syntax", Message: "m"},
		{Position: schema.Position{File: "a.json"}, Severity: schema.Warning, Rule: "octal", Message: "m", Hint: "h"},
		{Severity: schema.Note, Rule: "no-definition", Message: "1 file is not a definition: a.json"},
	}
	for _, tt := range []struct {
		name string
		out  Validation
	}{
		{"all", NewValidation(slices.Values(listed), problems)}, {"nothing", NewValidation(slices.Values([]load.FileSummary{}), nil)},
	} {
		text, err := json.Marshal(tt.out)
		if err != nil {
			t.Fatal(err)
		}
		if err := form.Check(text); err != nil {
			t.Errorf("%s: %v in\n%s", tt.name, err, text)
		}
	}
	out := NewValidation(slices.Values(listed), problems)
	if want := (ValidationSummary{Definitions: 2, Cases: 2, Runnable: 1, Errors: 1, Warnings: 1, Notes: 1}); out.Summary != want || len(out.Notes) != 1 || out.Problems[0].File != "a.json" {
		t.Errorf("the document is %+v, want its counts, one note and the problem of a.json", out)
	}
}

// TestPlacesOfNotes: a note about a line has its place, on the first line too.
func TestPlacesOfNotes(t *testing.T) {
	first := schema.Position{File: "a.json", Line: 1, Column: 9}
	out := NewValidation(slices.Values([]load.FileSummary{}), []schema.Problem{
		{Position: first, Severity: schema.Note, Rule: "short", Message: "5 short keywords are listed", Hint: "add match"},
		{Position: schema.Position{File: "gavel.yaml", Line: 1, Column: 1}, Severity: schema.Note, Rule: "whole", Message: "no targets are configured in gavel.yaml", Hint: "add them"},
	})
	if want := []string{"a.json:1:9: 5 short keywords are listed; add match", "no targets are configured in gavel.yaml"}; !slices.Equal(out.Notes, want) {
		t.Errorf("the notes are %q, want %q", out.Notes, want)
	}
}

// TestCauses holds that what follows from one mistake is one problem, with a
// count of the others, and that mistakes of one text in several files are not.
func TestCauses(t *testing.T) {
	at := func(file string, rule, message string) schema.Problem {
		return schema.Problem{Position: schema.Position{File: file, Line: 1, Column: 1}, Severity: schema.Error, Rule: rule, Message: message}
	}
	out := NewValidation(slices.Values([]load.FileSummary(nil)), []schema.Problem{
		at("d/level_1/a.json", "domain-invalid", "d/domain.json is invalid"),
		at("d/domain.json", "unknown-field", "unknown field `nam`"),
		at("d/level_1/b.json", "domain-invalid", "d/domain.json is invalid"),
		at("d/level_1/c.json", "domain-invalid", "d/domain.json is invalid"),
		at("e/level_1/c.json", "domain-invalid", "e/domain.json is invalid"),
		at("x.yaml", "missing-field", "the field `id` is missing"),
		at("y.yaml", "missing-field", "the field `id` is missing"),
		at("y.yaml", "unknown-target", "unknown target \"bot\""),
		at("z.yaml", "unknown-target", "unknown target \"bot\""),
		at("z.yaml", "judged-by-checks", "no judge is asked"),
		at("z2.yaml", "judged-by-checks", "no judge is asked"),
		at("z3.yaml", "judged-by-checks", "no judge is asked"),
	})
	var got []string
	for _, p := range out.Problems {
		got = append(got, p.File+": "+p.Message)
	}
	want := []string{
		"d/domain.json: unknown field `nam`",
		"d/level_1/a.json: d/domain.json is invalid (2 other tests build on it, too)",
		"e/level_1/c.json: e/domain.json is invalid",
		"x.yaml: the field `id` is missing",
		"y.yaml: the field `id` is missing",
		"y.yaml: unknown target \"bot\" (1 other place names it, too)",
		"z.yaml: no judge is asked (2 other cases are, too)",
	}
	if !slices.Equal(got, want) || out.Summary.Errors != len(want) {
		t.Errorf("%d errors: %q, want %q", out.Summary.Errors, got, want)
	}
}
