package matrix_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestChosenRows: the prompts and providers of a test choose which of its rows exist,
// or defaultTest's if it has none.
func TestChosenRows(t *testing.T) {
	const head = "prompts: [{label: a, raw: 'A'}, {label: 'b:one', raw: 'B'}, file://c.txt]\nproviders: [{id: 'openai:gpt-5', label: big}, bot]\n"
	others := map[string]string{"c.txt": "C\n---\nD\n"}
	for _, tt := range []struct{ test, want string }{
		{"{}", "A@bot A@large B@bot B@large C@bot C@large D@bot D@large"},
		{"{prompts: [a]}", "A@bot A@large"},
		{"{prompts: a}", "A@bot A@large"},
		{"{prompts: [b], providers: [big]}", "B@large"},
		{"{prompts: ['b:*'], providers: ['openai:*']}", "B@large"},
		{"{prompts: [c.txt], providers: [bot]}", "C@bot D@bot"},
		{"{prompts: ['file://c.txt'], providers: [openai]}", "C@large D@large"},
		{"{prompts: [A], providers: ['openai:gpt-5']}", "A@large"},
		{"{providers: [bot], provider: large, prompts: [a]}", "A@large"},
	} {
		got := cases(t, head+"tests: [{description: x, "+strings.TrimPrefix(tt.test, "{")+"]\n", others)
		if tt.test == "{}" {
			got = cases(t, head+"tests: [{description: x}]\n", others)
		}
		var said []string
		for _, c := range got {
			said = append(said, c.Drive.Messages[0].Content+"@"+c.Target)
		}
		if slices.Sort(said); strings.Join(said, " ") != tt.want {
			t.Errorf("%s: rows %q, want %s", tt.test, said, tt.want)
		}
	}
	got := cases(t, head+"defaultTest: {prompts: [a]}\ntests: [{description: x, providers: [bot]}, {description: y, prompts: [b], providers: [bot]}]\n", others)
	if len(got) != 2 || got[0].Drive.Messages[0].Content != "A" || got[1].Drive.Messages[0].Content != "B" {
		t.Errorf("rows %q, want A of the first test and B of the second", lines(got))
	}
}

// TestChosenRowsThatAreNot: a prompt or a provider that the file does not have is an error, and
// a test without a row is named.
func TestChosenRowsThatAreNot(t *testing.T) {
	const head = "prompts: [{label: short, raw: 'A'}, {label: long, raw: 'B'}]\nproviders: [{id: 'openai:gpt-5', prompts: [short]}, {id: bot, prompts: [short]}]\n"
	for _, tt := range []struct{ test, want string }{
		{"{prompts: [shrt]}", "promptfooconfig.yaml:3:26: error: the file has no prompt \"shrt\"; did you mean `short`?"},
		{"{prompts: [other]}", `promptfooconfig.yaml:3:26: error: the file has no prompt "other"; name it by its label, or as it is written under prompts`},
		{"{providers: [gpt]}", `promptfooconfig.yaml:3:26: error: the file has no provider "gpt"; name it by its label, or as it is written under providers`},
		{"{prompts: [long]}", "promptfooconfig.yaml:3:9: warning: the test has no row: no prompt is sent to any provider that it names; correct its prompts and providers, or the prompts of the providers"},
	} {
		_, problems := load(t, head+"tests: [{description: x, "+strings.TrimPrefix(tt.test, "{")+", {description: y, assert: [{type: contains, value: x}]}]\n", nil)
		if !slices.ContainsFunc(problems, func(p schema.Problem) bool { return p.String() == tt.want }) {
			t.Errorf("%s: problems %v, want %s", tt.test, problems, tt.want)
		}
	}
}
