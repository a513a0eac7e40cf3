package evalcase_test

import (
	"strings"
	"testing"
)

// TestMisspeltAssertions: an unknown type is an error, and does not skip the test; a
// type that AgentV has and Gavel has not is named as unsupported.
func TestMisspeltAssertions(t *testing.T) {
	for _, tt := range []struct{ kind, want string }{
		{"containss", "did you mean `contains`?"},
		{"regx", "did you mean `regex`?"},
		{"llm_gradr", "did you mean `llm-grader`?"},
		{"code-gader", "did you mean `code-grader`?"},
		{"trajectory:tool-usd", "did you mean `trajectory:tool-used`?"},
		{"assert-st", "did you mean `assert-set`?"},
		{"not-contains", "write type: contains, and negate: true"},
		{"contains-json", "did you mean `contains`?"},
		{"polite", "add .agentv/assertions/polite.py"},
		{"' '", "add .agentv/assertions/NAME.py"},
		{"agent-judge", ""},
		{"agent_judge", ""},
		{"webhook", ""},
	} {
		cases, problems := load(t, "tests: [{id: a, criteria: x, input: hi, assertions: [{type: "+tt.kind+", value: b, command: [x], prompt: y}]}]")
		said := strings.Join(problems, "\n")
		if isError := strings.Contains(said, "error: there is no assertion"); isError != (tt.want != "") || !strings.Contains(said, tt.want) || (len(cases) == 0) != isError {
			t.Errorf("%s: %d cases, %s; want %q", tt.kind, len(cases), said, tt.want)
		}
	}
}
