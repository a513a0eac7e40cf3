package sarif

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

func TestWrite(t *testing.T) {
	var b strings.Builder
	err := Write(&b, []schema.Problem{
		{Position: schema.Position{File: "a.json", Line: 2, Column: 3}, Severity: schema.Error, Rule: "r1", Message: "m", Hint: "h"},
		{Position: schema.Position{File: "b.json"}, Severity: schema.Warning, Rule: "r2", Message: "n"},
		{Position: schema.Position{File: "c.json", Line: 1, Column: 1}, Severity: schema.Error, Rule: "r1", Message: "o"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got document
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	run := got.Runs[0]
	if got.Version != "2.1.0" || len(run.Tool.Driver.Rules) != 2 || len(run.Results) != 3 {
		t.Fatalf("%+v", got)
	}
	first, second := run.Results[0], run.Results[1]
	if first.Message.Text != "m; h" || first.Level != "error" || *first.Locations[0].Physical.Region != (region{2, 3}) {
		t.Errorf("%+v", first)
	}
	if second.RuleIndex != 1 || second.Level != "warning" || second.Locations[0].Physical.Region != nil {
		t.Errorf("%+v", second)
	}
	if run.Results[2].RuleIndex != 0 {
		t.Errorf("%+v", run.Results[2])
	}
}
