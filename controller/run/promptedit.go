package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// maxPrompt bounds an editor's prompt in bytes.
const maxPrompt = 64 << 10

// editorFormat is the format of the editor's answers.
var editorFormat = target.Format{
	Name:   "prompt",
	Schema: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"],"additionalProperties":false}`),
}

// readPrompt returns the prompt of a reply. The error describes its mistake in words
// for the editor.
func readPrompt(reply string) (string, error) {
	var got struct {
		Prompt string `json:"prompt"`
	}
	if err := evaluate.StrictJSON(reply, &got); err != nil {
		return "", err
	}
	prompt := strings.TrimSpace(strings.ReplaceAll(got.Prompt, target.Mark, ""))
	switch {
	case prompt == "":
		return "", errors.New(`its "prompt" is empty`)
	case len(prompt) > maxPrompt:
		return "", fmt.Errorf(`its "prompt" has %d bytes, more than %d`, len(prompt), maxPrompt)
	}
	return prompt, nil
}

const editorSystem = "You improve the system prompt of an AI agent that did not do well in a test. You are given all there is to know; you have no tools."

// A failedAttempt is a failed attempt.
type failedAttempt struct {
	// System is its prompt; empty if none was sent.
	System  string
	Samples []failedSample
}

// A failedSample is one output of the agent with its judgement.
type failedSample struct {
	Judged verdict.Sample
	Output string
}

// editRequest shows the prompt, its judgement, and, to an editor that may see them, the
// outputs. A changed word needs a higher Version of [schema.Edit].
func editRequest(edit schema.Edit, failed failedAttempt) target.Request {
	parts := []string{evaluate.IsData}
	if failed.System == "" {
		parts = append(parts, "The agent was sent no system prompt. If it has one of its own, that is not known; what you write comes in its place.")
	} else {
		parts = append(parts, evaluate.Block("SYSTEM PROMPT", failed.System))
	}
	if edit.ShowOutputs {
		for i, s := range failed.Samples {
			if s.Judged.Error == "" {
				parts = append(parts, evaluate.Block(fmt.Sprintf("OUTPUT %d", i+1), s.Output))
			}
		}
	}
	parts = append(parts,
		evaluate.Block("EVALUATION", summary(failed)),
		"YOUR TASK. The EVALUATION says how the agent did with this system prompt. Write a system prompt with which it does better at what is missing, and as well at the rest. Keep what the agent is for, its rules and its limits. Write for inputs of every kind and not for the ones of the test: nothing of the evaluation itself, of its criteria or of scores belongs into the prompt.",
		`Reply with one JSON object {"prompt": "…"}: prompt is the whole system prompt, ready to be used. Write nothing else.`)
	return target.Request{
		System: editorSystem, Format: &editorFormat,
		Messages: []schema.Message{{Role: schema.RoleUser, Content: strings.Join(parts, "\n\n")}},
	}
}

// summary describes the evaluation of an attempt.
func summary(failed failedAttempt) string {
	var b strings.Builder
	for i, s := range failed.Samples {
		for _, m := range s.Judged.Measurements {
			if m.Error != "" {
				continue
			}
			fmt.Fprintf(&b, "Output %d, by %s: %s\n", i+1, m.Evaluator, m.Reason)
			for _, c := range m.Criteria {
				fmt.Fprintf(&b, "- %s: %.4g of 10. %s\n", c.ID, 10*c.Score, c.Note)
			}
		}
	}
	return strings.TrimSpace(b.String())
}
