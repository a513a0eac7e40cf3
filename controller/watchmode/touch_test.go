package watchmode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/watchmode"
	"github.com/gavel-evals/gavel/reporters"
)

// TestAnUnknownVersionIsAskedByTheSaveThatAffectsIt and by no other one.
func TestAnUnknownVersionIsAskedByTheSaveThatAffectsIt(t *testing.T) {
	const bye = "test_definitions/talk/level_1/bye.json"
	s := newFixture(t, watchmode.Options{}, map[string]string{"gavel.yaml": "version: 1\ntargets: {bot: {provider: http, url: \"https://h\"}}\n"})
	s.until(reporters.WatchResult, nil)

	for _, step := range []struct {
		name, file, text string
		want             []string
	}{
		{"a first change", hello, greeting("hello you"), []string{"hello you"}},
		{"a change of another case", bye, `{"id": "bye", "name": "Bye", "prompt": "bye you", "expected": {"keywords": ["hello"]}}`, []string{"bye you"}},
		{"a second change", hello, greeting("hello there"), []string{"hello there"}},
		{"back to the first one", hello, greeting("hello you"), []string{"hello you"}},
		{"what bears on no verdict", hello, greeting("hello you") + "\n", nil},
		{"back to base", hello, start[hello], nil},
		{"the first change again", hello, greeting("hello you"), []string{"hello you"}},
	} {
		s.write(map[string]string{step.file: step.text})
		s.until(reporters.WatchResult, func(b *reporters.WatchSnapshot) bool { return len(b.Changed) == 1 && b.Changed[0] == step.file })
		if diff := cmp.Diff(step.want, s.bot.calls()); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestAFileOfTheProgramRerunsItsCases where the target names no inputs, and one
// that git ignores does not.
func TestAFileOfTheProgramRerunsItsCases(t *testing.T) {
	s := newFixture(t, watchmode.Options{}, map[string]string{
		"gavel.yaml":     "version: 1\ntargets: {bot: {provider: command, argv: [sh, agent/run.sh]}}\n",
		"agent/run.sh":   "true\n",
		"agent/tone.txt": "kind\n",
		".gitignore":     "*.log\n",
	})
	s.until(reporters.WatchResult, nil)
	s.changed(map[string]string{"agent/tone.txt": "kinder\n"})
	// Base is measured with its own files, once, at the same time as head, also where head
	// ends in an error.
	s.want(s.bot.calls(), "bye", "bye", "hello", "hello", "hello", "hello", "more", "more")
	s.changed(map[string]string{"agent/new/part.txt": "new\n"})
	s.want(s.bot.calls(), "bye", "hello", "hello", "more")
	s.write(map[string]string{"agent/run.log": "noise\n"})
	s.changed(map[string]string{hello: greeting("hi")})
	s.want(s.bot.calls(), "hi")
}
