package promptval

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// policy follows the precedence: written in the case, its target, gavel.yaml's
// defaults, ours.
func (c *compiler) policy(target schema.TargetSettings) schema.Policy {
	return schema.Policy{
		Iterations:    orElse(field[int](c, "iterations"), max(c.Settings.Iterations, 1)),
		Timeout:       cmp.Or(target.Timeout, c.Settings.Timeout, defaultTimeout),
		MaxToolRounds: maxToolRounds,
		Retry:         c.retry(),
		Whole:         true,
	}
}

// retry requires the field of that name: the number of retries means nothing without
// it. Without retries an editor can still propose a prompt for a failed case.
func (c *compiler) retry() *schema.Retry {
	on := orElse(field[bool](c, "retry"), false)
	most := orElse(field[int](c, "max_retries"), 0)
	edited := orElse(field[bool](c, "edit_prompt"), false)
	switch {
	case !on && most > 0:
		c.Warn("ignored-field", "`max_retries` is ignored, since retry is not true", `write "retry": true, or remove it`, "max_retries")
	case on && most == 0:
		c.Warn("ignored-field", "`retry` has no effect, since max_retries is 0", `write "max_retries": 1 or more`, "retry")
	}
	if !on {
		most = 0
	}
	if most == 0 && !edited {
		return nil
	}
	retry := &schema.Retry{Most: most}
	if edited {
		retry.Edit = &schema.Edit{Editor: schema.GeminiEditor, ShowOutputs: true}
		if c.Doc.Text("editor_model") == "claude" {
			retry.Edit = &schema.Edit{Editor: schema.ClaudeEditor}
		}
	}
	return retry
}

// checkSamples rejects a case with too many samples.
func (c *compiler) checkSamples(tc *schema.Case) {
	attempts := 1
	if tc.Policy.Retry != nil {
		attempts += tc.Policy.Retry.Most
	}
	n := tc.Samples() * attempts
	if n <= maxSamples {
		return
	}
	at := c.input
	for _, field := range []string{"max_retries", "iterations"} {
		if c.Doc.Has(field) {
			at = field
		}
	}
	c.Fail("too-many-samples", fmt.Sprintf("the case takes up to %d samples (inputs × iterations × attempts: %d × %d × %d); it may take %d",
		n, max(1, len(tc.Drive.Openings)), tc.Policy.Iterations, attempts, maxSamples),
		"lower `iterations` or `max_retries`, or write several files", at)
}

// checkRetry warns of retries that nothing can bring about.
func (c *compiler) checkRetry(tc *schema.Case) {
	if tc.Policy.Retry == nil || len(tc.Evaluators) != 1 || !tc.Evaluators[0].Rule.Ungated {
		return
	}
	if tc.Policy.Retry.Most == 0 {
		c.Warn("never-edited", "no prompt is ever proposed, since without a threshold every score passes", `add "threshold": …`, "edit_prompt")
		return
	}
	c.Warn("never-retried", "the case is never retried, since without a threshold every score passes", `add "threshold": …`, "retry")
}

// alternative reads new_prompt. Numeric scores are compared criterion by criterion;
// a semantic judgement needs to see both outputs.
func (c *compiler) alternative(judged []schema.Evaluator) *schema.Alternative {
	text := c.Doc.Text("new_prompt")
	if strings.TrimSpace(text) == "" {
		if c.Doc.Has("new_prompt") {
			c.Warn("ignored-field", "`new_prompt` is empty; nothing is compared", "write a prompt, or remove it", "new_prompt")
		}
		return nil
	}
	alternative := &schema.Alternative{System: text}
	if len(judged) > 0 {
		if spec, ok := judged[0].Spec.(evaluator.Semantic); ok {
			alternative.Comparison = evaluator.Comparison(spec)
		}
	}
	return alternative
}

// checkPrompt rejects a prompt for a target that accepts none, and warns about one that
// replaces nothing.
func (c *compiler) checkPrompt(target string, tc *schema.Case) {
	settings := c.Settings.Targets[target]
	accepts := settings.AcceptsPrompt
	if accepts == nil || *accepts {
		if !settings.Agent && settings.Prompt == (schema.TargetPrompt{}) {
			c.withoutOriginal(target, tc)
		}
		return
	}
	hint := "write accepts_prompt: true for the target in gavel.yaml if it does, or remove this"
	if tc.Alternative != nil {
		c.Fail("prompt-not-accepted", target+" takes no prompt from outside, so that none can be compared", hint, "new_prompt")
	}
	if retry := tc.Policy.Retry; retry != nil && retry.Edit != nil {
		c.Fail("prompt-not-accepted", target+" takes no prompt from outside, so that it cannot be rewritten", hint, "edit_prompt")
	}
}

// withoutOriginal warns if a prompt is compared or rewritten, and the model has none: a
// better one could replace nothing.
func (c *compiler) withoutOriginal(target string, tc *schema.Case) {
	hint := "write system_prompt: {file: …} for the target in gavel.yaml"
	if tc.Alternative != nil {
		c.Warn("no-original-prompt", fmt.Sprintf("the target %s has no system prompt, so that `new_prompt` is compared with none", target), hint, "new_prompt")
	}
	if retry := tc.Policy.Retry; retry != nil && retry.Edit != nil {
		c.Warn("no-original-prompt", fmt.Sprintf("the target %s has no system prompt, so that the editor starts from none", target), hint, "edit_prompt")
	}
}
