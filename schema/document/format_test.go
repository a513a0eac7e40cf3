package document

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/jsonschema"
	"github.com/gavel-evals/gavel/schema/shape"
)

// forEditors are the schemas of definitions of a file, as an editor gets them.
func forEditors(t *testing.T, defs []string) map[string]*jsonschema.Schema {
	t.Helper()
	w := &shape.Writer{Shape: shapeOf, Definitions: shapes().definitions, Closed: closed}
	for _, def := range defs {
		w.Ref(def)
	}
	text, err := json.Marshal(shape.JSON{"$defs": w.Defs()})
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, def := range defs {
		if schemas[def] != nil {
			continue
		}
		if schemas[def] != nil {
			continue
		}
		if schemas[def], err = jsonschema.CompileDefinition(text, strings.TrimPrefix(def, "#")); err != nil {
			t.Fatalf("compile %s: %v", def, err)
		}
	}
	return schemas
}

// mutants are values that differ from one in a single place.
func mutants(value any) []any {
	out := []any{nil, true, 0.0, -1.0, 1.5, "", "x", []any{}, []any{map[string]any{}}, map[string]any{"zzz": 1.0}}
	switch x := value.(type) {
	case map[string]any:
		for name, inner := range x {
			less := map[string]any{}
			for other, v := range x {
				if other != name {
					less[other] = v
				}
			}
			out = append(out, less)
			for _, m := range mutants(inner) {
				out = append(out, with(less, name, m))
			}
		}
		out = append(out, with(x, "zzz", 1.0))
	case []any:
		for i, inner := range x {
			for _, m := range mutants(inner) {
				changed := slices.Clone(x)
				changed[i] = m
				out = append(out, changed)
			}
		}
		out = append(out, append(slices.Clone(x), 5.0))
	}
	return out
}

func with(fields map[string]any, name string, value any) map[string]any {
	out := map[string]any{name: value}
	for other, v := range fields {
		if other != name {
			out[other] = v
		}
	}
	return out
}

// TestTheJSONSchemaSaysWhatIsChecked goes over all rows of the tables of
// fields and over their mutants: of a definition by itself the schema for
// editors says all that is checked.
func TestTheJSONSchemaSaysWhatIsChecked(t *testing.T) {
	for _, file := range fieldTables(t) {
		_, rows := fieldTable(t, file)
		var defs []string
		for _, row := range rows {
			defs = append(defs, row.def)
		}
		forms := forEditors(t, defs)
		for _, row := range rows {
			least := least(row.def, rows)
			for _, value := range []string{row.accepted, row.rejected} {
				if value == "-" {
					continue
				}
				text := document(row.field, value, least)
				same(t, forms[row.def], row.def, text)
				var parsed any
				if value != row.accepted || json.Unmarshal([]byte(text), &parsed) != nil {
					continue
				}
				for _, m := range mutants(parsed) {
					raw, err := json.Marshal(m)
					if err != nil {
						t.Fatal(err)
					}
					same(t, forms[row.def], row.def, string(raw))
				}
			}
		}
	}
}

// same compares the two verdicts on a document.
func same(t *testing.T, form *jsonschema.Schema, def, text string) {
	t.Helper()
	doc, _ := Parse("x.json", []byte(text))
	if doc == nil {
		return // only a document has a schema
	}
	extra := schema.Warning
	if slices.Contains(closed, def) {
		extra = schema.Error
	}
	problems := slices.DeleteFunc(doc.Check(def, extra), func(p schema.Problem) bool { return p.Severity != schema.Error })
	err := form.Check([]byte(text))
	switch {
	case len(problems) == 0 && err != nil:
		t.Errorf("%s: the schema refuses a valid %s: %v", def, text, err)
	case len(problems) > 0 && err == nil:
		t.Errorf("%s: the schema accepts %s: %v", def, text, problems)
	}
}

// TestFormats holds that every format can be printed in both ways.
func TestFormats(t *testing.T) {
	for _, format := range Formats() {
		text, err := FormatJSON(format)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := jsonschema.Compile(text); err != nil || s.Check([]byte(`5`)) == nil {
			t.Errorf("%s: %v, and 5 is fine: %s", format, err, text)
		}
		if src, err := FormatCUE(format); err != nil || !strings.HasPrefix(src, "package schema\n") {
			t.Errorf("%s as CUE: %v %.20q", format, err, src)
		}
	}
	if _, err := FormatJSON("nothing"); err == nil {
		t.Error("there is a schema of nothing")
	}
}

// TestEveryFieldIsDescribed holds that an editor can say of every field of every format
// what it is.
func TestEveryFieldIsDescribed(t *testing.T) {
	t.Parallel()
	for _, format := range Formats() {
		text, err := FormatJSON(format)
		if err != nil {
			t.Fatal(err)
		}
		var whole any
		if err := json.Unmarshal(text, &whole); err != nil {
			t.Fatal(err)
		}
		if n := described(t, format, whole); n < 4 {
			t.Errorf("%s has %d fields, want more", format, n)
		}
	}
}

// described counts the fields below a part of a schema. Conditions repeat fields that
// are described elsewhere.
func described(t *testing.T, path string, part any) int {
	t.Helper()
	n := 0
	switch part := part.(type) {
	case map[string]any:
		fields, _ := part["properties"].(map[string]any)
		for name, field := range fields {
			form, _ := field.(map[string]any)
			if text, _ := form["description"].(string); strings.TrimSpace(text) == "" && !strings.Contains(path, "/allOf") {
				t.Errorf("the field %s/%s is not described", path, name)
			}
			n++
		}
		for name, below := range part {
			n += described(t, path+"/"+name, below)
		}
	case []any:
		for _, below := range part {
			n += described(t, path, below)
		}
	}
	return n
}
