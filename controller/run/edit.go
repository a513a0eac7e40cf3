package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/evaluate/judgecall"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// maxPrompt bounds, in bytes, what an editor may write.
const maxPrompt = 64 << 10

// editorFormat is what the editor answers in.
var editorFormat = target.Format{
	Name:   "prompt",
	Schema: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"],"additionalProperties":false}`),
}

// rewrite asks the editor for the prompt of the attempt that follows one that
// failed. An editor whose reply cannot be used leaves the case stuck: the attempt
// that was asked for cannot be made, and that is not a failure of the case.
func (c *caseRun) rewrite(ctx context.Context, failed *attempt) (string, error) {
	n := failed.number + 1
	next := &sample{attempt: failed, number: n * failed.size, execution: &ledger.Execution{}}
	log, err := next.openLog(ctx, c.job.Digests.Edit(n).E)
	if err != nil {
		return "", err
	}
	log.attempt = n
	edit := c.job.Case.Policy.Retry.Edit
	var written string
	var made verdict.Usage
	metered := evaluate.Ask(func(ctx context.Context, role schema.Role, req target.Request) (target.Reply, error) {
		reply, err := log.askRole(ctx, role, req)
		made = made.Add(reply.Usage)
		return reply, err
	})
	for again := true; again; {
		made = verdict.Usage{}
		err = metered.Retry(ctx, edit.Editor, editorRequest(*edit, failed), func(reply string) error {
			var err error
			written, err = readPrompt(reply)
			return err
		})
		again, err = log.startOver(ctx, err)
	}
	c.costs.add(log.caller.spent, made)
	if fault, ok := errors.AsType[*evaluate.Fault](err); ok {
		return "", fault.Err
	}
	if ctx.Err() != nil {
		failed.samples[0].stopped = true
	}
	if err != nil {
		c.stuck = err.Error()
	}
	return written, nil
}

func readPrompt(reply string) (string, error) {
	var got struct {
		Prompt string `json:"prompt"`
	}
	if err := judgecall.StrictJSON(reply, &got); err != nil {
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

// editorRequest shows the prompt, how it was judged, and, to an editor that may
// see them, the outputs. A changed word needs a higher Version of
// [schema.Edit].
func editorRequest(edit schema.Edit, failed *attempt) target.Request {
	parts := []string{judgecall.IsData}
	if failed.system == "" {
		parts = append(parts, "The agent was sent no system prompt. If it has one of its own, that is not known; what you write comes in its place.")
	} else {
		parts = append(parts, judgecall.Block("SYSTEM PROMPT", failed.system))
	}
	if edit.ShowOutputs {
		for i, s := range failed.samples {
			if s.result.Error == "" {
				parts = append(parts, judgecall.Block(fmt.Sprintf("OUTPUT %d", i+1), s.execution.Transcript.Final()))
			}
		}
	}
	parts = append(parts,
		judgecall.Block("EVALUATION", summary(failed)),
		"YOUR TASK. The EVALUATION says how the agent did with this system prompt. Write a system prompt with which it does better at what is missing, and as well at the rest. Keep what the agent is for, its rules and its limits. Write for inputs of every kind and not for the ones of the test: nothing of the evaluation itself, of its criteria or of scores belongs into the prompt.",
		`Reply with one JSON object {"prompt": "…"}: prompt is the whole system prompt, ready to be used. Write nothing else.`)
	return target.Request{
		System: editorSystem, Format: &editorFormat,
		Messages: []schema.Message{{Role: schema.RoleUser, Content: strings.Join(parts, "\n\n")}},
	}
}

// summary is the evaluation of an attempt in words.
func summary(failed *attempt) string {
	var b strings.Builder
	for i, s := range failed.samples {
		for _, m := range s.result.Measurements {
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
