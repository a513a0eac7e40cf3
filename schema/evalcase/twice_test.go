package evalcase_test

import (
	"strings"
	"testing"

	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
)

// TestTargetsThatAreListedTwice: the tests of a target that a suite lists twice, or by its
// name and an alias, are run once, and a warning says so.
func TestTargetsThatAreListedTwice(t *testing.T) {
	settings := schema.Settings{
		DefaultTarget: "bot", Targets: map[string]schema.TargetSettings{"bot": {}, "other": {}}, Aliases: map[string]string{"robot": "bot"},
	}
	const (
		v4 = "tests: [{id: x, input: z, criteria: y}]\n"
		v5 = "prompts: ['{{ input }}']\ntests: [{id: x, vars: {input: z}, criteria: y}]\n"
	)
	for _, tt := range []struct {
		name, text string
		cases      int
		said       string
	}{
		{"AgentV 4", "execution: {targets: [bot, bot]}\n" + v4, 1, `warning: the target "bot" is listed twice; its cases are run once`},
		{"AgentV 4, an alias", "execution: {targets: [bot, robot, other]}\n" + v4, 2, `warning: the target "bot" is listed twice`},
		{"AgentV 4, of a test", "tests: [{id: x, input: z, criteria: y, execution: {targets: [other, other]}}]\n", 1, `warning: the target "other" is listed twice`},
		{"AgentV 4, objects", "execution: {targets: [{name: bot}, {extends: bot}]}\n" + v4, 1, `warning: the target "bot" is listed twice`},
		{"AgentV 5", "providers: [bot, bot]\n" + v5, 1, `warning: the provider "bot" is listed twice; its cases are run once`},
		{"AgentV 5, of a test", "prompts: ['{{ input }}']\ntests: [{id: x, vars: {input: z}, criteria: y, providers: [other, bot, other]}]\n", 2, `warning: the provider "other" is listed twice`},
		{"two targets", "execution: {targets: [bot, other]}\n" + v4, 2, ""},
	} {
		cases, problems := loadIn(t, fstest.MapFS{"suites/a.yaml": {Data: []byte(tt.text)}}, "a.yaml", settings)
		said := strings.Join(problems, "\n")
		if len(cases) != tt.cases || !strings.Contains(said, tt.said) || (tt.said == "") != (said == "") {
			t.Errorf("%s: %d cases, problems %q; want %d and %q", tt.name, len(cases), said, tt.cases, tt.said)
		}
	}
}
