package review

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

// TestWhatTakesEffectAfterTheMerge is what a pull request changes of what targets are
// told and offered: base's configuration decides for it.
func TestWhatTakesEffectAfterTheMerge(t *testing.T) {
	parse := func(fields string) *config.Config {
		cfg, problems := config.Parse("gavel.yaml", []byte("version: 1\ntargets:\n  bot: {provider: openai, model: m"+fields+"}\n"))
		if schema.HasErrors(problems) {
			t.Fatal(problems)
		}
		return cfg
	}
	const (
		text = "changes the system prompt of the target bot, which takes effect after the merge; " +
			"write it into a file and name that with system_prompt: {file: …}: then a pull request tests the prompt that it edits"
		source = "changes where the system prompt of the target bot comes from, which takes effect after the merge; " +
			"edits of the file that base names are tested here"
		tools = "changes the tools of the target bot, which takes effect after the merge; edits of the files of its tools are tested here"
	)
	for _, tt := range []struct {
		base, head string
		want       []string
	}{
		{", system_prompt: A", ", system_prompt: B", []string{text}},
		{"", ", system_prompt: B", []string{text}},
		{", system_prompt: {file: a.md}", ", system_prompt: B", []string{text}},
		{", system_prompt: A", "", []string{source}},
		{", system_prompt: A", ", system_prompt: {file: a.md}", []string{source}},
		{", system_prompt: {file: a.md}", ", system_prompt: {file: b.md}", []string{source}},
		{", system_prompt: {file: a.md}", ", system_prompt: {file: ./a.md}", nil},
		{", tools: [a]", ", tools: [a, b], system_prompt: B", []string{text, tools}},
		{", temperature: 0", ", temperature: 1", nil},
	} {
		if diff := cmp.Diff(tt.want, afterMerge(parse(tt.base), parse(tt.head))); diff != "" {
			t.Errorf("from %q to %q (-want +got):\n%s", tt.base, tt.head, diff)
		}
	}
	if got := afterMerge(config.Default(), parse(", system_prompt: B")); got != nil {
		t.Errorf("a target that base does not have gives %q, want nothing", got)
	}
}
