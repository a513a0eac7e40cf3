package live_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/live"
	"github.com/gavel-evals/gavel/reporters/board"
)

// TestAnUnknownVersionIsAskedByTheSaveThatAffectsIt and by no other one.
func TestAnUnknownVersionIsAskedByTheSaveThatAffectsIt(t *testing.T) {
	const (
		hello = "test_definitions/talk/level_1/hello.json"
		bye   = "test_definitions/talk/level_1/bye.json"
	)
	s := newStage(t, live.Options{})
	s.until(board.Result, nil)
	s.write(map[string]string{"gavel.yaml": "version: 1\ntargets: {bot: {provider: http, url: \"https://h\"}}\n"})
	s.git("commit", "-qam", "deploy")
	s.bot.calls()

	say := func(word string) string {
		return `{"id": "hello", "name": "Hello", "prompt": "` + word + `", "expected": {"keywords": ["hello"]}}`
	}
	for _, step := range []struct {
		name, file, text string
		want             []string
	}{
		{"a first change", hello, say("hello you"), []string{"hello you"}},
		{"a change of another case", bye, `{"id": "bye", "name": "Bye", "prompt": "bye you", "expected": {"keywords": ["hello"]}}`, []string{"bye you"}},
		{"a second change", hello, say("hello there"), []string{"hello there"}},
		{"back to the first one", hello, say("hello you"), []string{"hello you"}},
		{"what bears on no verdict", hello, say("hello you") + "\n", nil},
		{"back to base", hello, start[hello], nil},
		{"the first change again", hello, say("hello you"), []string{"hello you"}},
	} {
		s.write(map[string]string{step.file: step.text})
		s.until(board.Result, func(b *board.Board) bool { return len(b.Changed) == 1 && b.Changed[0] == step.file })
		if diff := cmp.Diff(step.want, s.bot.calls()); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", step.name, diff)
		}
	}
}
