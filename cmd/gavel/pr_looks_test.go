package main

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestAFileThatLooksLikeADefinition and is not one, since it lacks what it would
// be known by, is a warning in the comment.
func TestAFileThatLooksLikeADefinition(t *testing.T) {
	const file = "test_definitions/bot.json"
	base := map[string]string{
		"gavel.yaml":                               "version: 1\ntargets: {bot: {provider: mock, replies: [{reply: hello}]}}\n",
		"test_definitions/talk/domain.json":        `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
		"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["hello"]}}`,
	}
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.replace(t, base, map[string]string{file: `{"name": "bot", "input": "Hi", "rubric": {"criteria": []}}`})
	_, stderr, _ := j.run(t)
	comments := j.forge.Comments(1)
	if len(comments) != 1 {
		t.Fatalf("%d comments\n%s", len(comments), stderr)
	}
	text := strings.ReplaceAll(comments[0].Body, "<wbr>", "")
	_, block, found := strings.Cut(text, "> [!WARNING]")
	if !found || !strings.Contains(block, file) || !strings.Contains(block, "it looks like promptval") {
		t.Errorf("the comment is\n%s", text)
	}
}
