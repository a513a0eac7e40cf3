package load

import "testing"

// TestWithoutAnAnalysis a configuration is judged by its checks, and passes without a
// threshold where it has none.
func TestWithoutAnAnalysis(t *testing.T) {
	res := loadAll(t, map[string]string{
		"test_definitions/none.yaml":           "test_type: agent\nname: bot\nuser_input: Hi\ntesting_prompt: Good?\nanalysis: false\n",
		"test_definitions/checked.yaml":        "test_type: agent\nname: bot\nuser_input: Hi\ntesting_prompt: Good?\nanalysis: false\n",
		"test_definitions/checked.checks.yaml": ".: [{contains: hat}]\n",
	})
	if len(res.Cases) != 2 || len(res.Problems) != 1 || res.Problems[0].Rule != "asks-nothing" {
		t.Fatalf("%d cases, problems %v, want 2 and the note about the one that asks nothing", len(res.Cases), res.Problems)
	}
	for _, c := range res.Cases {
		if len(c.Evaluators) != 1 || c.Evaluators[0].Weight != 1 || c.Evaluators[0].Rule.Ungated != (c.Key == "none") {
			t.Errorf("%s has the evaluators %+v, want one, ungated where there are no checks", c.Key, c.Evaluators)
		}
	}
}
