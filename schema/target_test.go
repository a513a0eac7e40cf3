package schema_test

import (
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

func TestFindTarget(t *testing.T) {
	s := schema.Settings{
		Targets: map[string]schema.TargetSettings{"small": {}, "agent": {}},
		Aliases: map[string]string{"azure": "small", "${{ AGENT }}": "small"},
		Unusable: map[string]schema.Problem{
			"vscode": {Position: schema.Position{File: ".agentv/targets.yaml", Line: 3, Column: 5}, Hint: "write the target in gavel.yaml"},
			"small":  {Hint: "never shown, since the name is a target"},
		},
	}
	for _, tt := range []struct{ name, want, hint string }{
		{"small", "small", ""},
		{"azure", "small", ""},
		{"agnet", "", "did you mean `agent`?"},
		{"vscode", "", "write the target in gavel.yaml"},
		{"${{ AGENT }}", "small", ""}, // an alias
		{"${{ AGNET }}", "", "write the name of a target, or in gavel.yaml aliases: {\"${{ AGNET }}\": …} with it"},
		{"{{ env.AGENT }}", "", "write the name of a target, or in gavel.yaml aliases: {\"{{ env.AGENT }}\": …} with it"},
		{"$AGENT", "", "write the name of a target, or in gavel.yaml aliases: {\"$AGENT\": …} with it"},
		{"zebra", "", "add it to targets: or aliases: in gavel.yaml"},
	} {
		got, ok, problem := s.FindTarget(tt.name)
		hint := ""
		if problem != nil {
			hint = problem.Hint
		}
		if got != tt.want || ok != (tt.want != "") || hint != tt.hint {
			t.Errorf("%s: %q, %v, hint %q", tt.name, got, ok, hint)
		}
	}
	if got, ok, problem := (schema.Settings{}).FindTarget("any"); got != "any" || ok || problem != nil {
		t.Errorf("without a configuration: %q, %v, %v", got, ok, problem)
	}
}
