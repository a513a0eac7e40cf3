package files

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/golden"
	"github.com/gavel-evals/gavel/schema/jsonschema"
)

var problems = []schema.Problem{
	{
		Position: schema.Position{File: "test_definitions/math/level_1/sum.json", Line: 4, Column: 3}, Severity: schema.Error,
		Rule: "unknown-field", Message: "unknown field `expcted`", Hint: "did you mean `expected`?",
	},
	{Position: schema.Position{File: "test_definitions/a b/100%#1.json", Line: 1}, Severity: schema.Error, Rule: "unknown-field", Message: "see [here](https://evil.example)\n\x1b[0m"},
	{Position: schema.Position{File: "gavel.yaml"}, Severity: schema.Warning, Rule: "missing-file", Message: "there is no gavel.yaml"},
	{
		Position: schema.Position{File: "c:tests/grüße [1]?.yaml", Line: 2, Column: 7}, Severity: schema.Error,
		Rule: "missing-field", Message: "the field `rubric` is missing {0}", Hint: `add "rubric": {"criteria": [{"name": …}]}`,
	},
	{Severity: schema.Note, Rule: "no-definition", Message: "7 files are not definitions"},
}

func TestSARIFGolden(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSARIF(&b, problems); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "sarif", "problems.sarif")
	golden.Compare(t, path, b.String())
}

// TestSARIFSchema holds a report against what the schema of the format says of the
// fields that are used, and knows no others.
func TestSARIFSchema(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "sarif", "sarif-excerpt.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	form, err := jsonschema.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range [][]schema.Problem{problems, nil} {
		var b bytes.Buffer
		if err := WriteSARIF(&b, given); err != nil {
			t.Fatal(err)
		}
		if err := form.Check(b.Bytes()); err != nil {
			t.Errorf("%v in\n%s", err, b.String())
		}
	}
}

// TestSARIFStructure checks what a reader of SARIF relies on.
func TestSARIFStructure(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSARIF(&b, problems); err != nil {
		t.Fatal(err)
	}
	var doc sarifLog
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	run := doc.Runs[0]
	if n := len(run.Tool.Driver.Rules); n != 4 {
		t.Errorf("%d rules, want 4", n)
	}
	for i, r := range run.Results {
		if got := run.Tool.Driver.Rules[r.RuleIndex].ID; got != r.RuleID {
			t.Errorf("result %d points to rule %s, its id is %s", i, got, r.RuleID)
		}
		if braces := strings.NewReplacer("{{", "", "}}", "").Replace(r.Message.Text); strings.ContainsAny(braces, "{}") {
			t.Errorf("message %q has a placeholder", r.Message.Text)
		}
		if strings.Contains(r.Message.Text, "](") || strings.ContainsAny(r.Message.Text, "\x1b\n") {
			t.Errorf("message %q", r.Message.Text)
		}
		for _, l := range r.Locations {
			u, err := url.Parse(l.Physical.Artifact.URI)
			if err != nil || u.IsAbs() || u.Path != problems[i].File || strings.HasPrefix(u.Path, "/") {
				t.Errorf("location %q does not lead to %q", l.Physical.Artifact.URI, problems[i].File)
			}
			if _, known := run.Bases[l.Physical.Artifact.Base]; !known {
				t.Errorf("what %q is relative to is not said", l.Physical.Artifact.URI)
			}
			if r := l.Physical.Region; r != nil && (r.StartLine < 1 || r.StartColumn < 0) {
				t.Errorf("region %+v", r)
			}
		}
	}
	if run.Results[2].Locations[0].Physical.Region != nil || run.Results[4].Locations != nil {
		t.Error("a problem without a line has one")
	}
}

func TestSARIFWithoutProblems(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSARIF(&b, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"results": []`, `"rules": []`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}
