package load

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
)

// TestAgainst compiles definitions of several dialects for another target than
// they name: its timeout holds and its tools are offered, although it is not
// of the kind that a definition asks for.
func TestAgainst(t *testing.T) {
	texts := map[string]string{
		"test_definitions/tools/now.json": `{"id": "now", "function": {"name": "now"}, "mock_response": "noon"}`,
		"test_definitions/prompt.yaml":    "test_type: agent\nname: planner\nuser_input: x\ntesting_prompt: y\n",
		"test_definitions/suite.yaml": "name: s\nexecution: {target: planner}\nevalcases:\n" +
			"  - {id: one, expected_outcome: c, input: i}\n  - {id: two, expected_outcome: c, input: i, execution: {target: small}}\n",
		"test_definitions/math/domain.json":      `{"id": "math", "name": "Math"}`,
		"test_definitions/math/level_1/sum.json": `{"id": "sum", "name": "Sum", "prompt": "1+1?", "expected": {"keywords": ["2"]}, "evaluator_id": "keyword"}`,
	}
	base := schema.Settings{
		Definitions: []string{"test_definitions"}, DefaultTarget: "small",
		Targets: map[string]schema.TargetSettings{
			"planner": {Kind: "agent", Agent: true}, "small": {Kind: "model"}, "flow": {Kind: "workflow", Timeout: 7 * time.Second, Tools: []string{"now"}},
		},
	}
	compiled := func(s schema.Settings) map[string]string {
		res := loadBy(t, s, texts)
		for _, p := range res.Problems {
			if p.Severity == schema.Error {
				t.Error(p)
			}
		}
		out := map[string]string{}
		for _, c := range res.Cases {
			out[c.Key] = fmt.Sprintf("%s %s %d", c.Target, c.Policy.Timeout, len(c.Tools))
		}
		return out
	}
	want := map[string]string{"prompt": "planner 2m0s 0", "suite#one": "planner 5m0s 0", "suite#two": "small 5m0s 0", "math/level_1/sum": " 30s 0"}
	if diff := cmp.Diff(want, compiled(base)); diff != "" {
		t.Error(diff)
	}
	want = map[string]string{"prompt": "flow 7s 1", "suite#one": "flow 7s 1", "suite#two": "flow 7s 1", "math/level_1/sum": " 7s 1"}
	if diff := cmp.Diff(want, compiled(base.CompileAgainst("flow"))); diff != "" {
		t.Error(diff)
	}
	if base.Targets["flow"].Kind != "workflow" {
		t.Error("the settings themselves were changed")
	}
}
