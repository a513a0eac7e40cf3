// Package catalog knows the types of assertion that promptfoo has: those that are read,
// and what the others need.
package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/template"
)

// Known reports whether promptfoo has a type of assertion, without not- in front.
func Known(kind string) bool { return Reads(kind) || unread[kind] != "" }

// Reads reports whether a type of assertion, without not- in front, is read.
func Reads(kind string) bool { return slices.Contains(read, kind) }

// Need names what an assertion of a kind that is not read needs. written is the kind as
// the file has it, which may have not- in front.
func Need(kind, written string) string {
	if what := unread[kind]; what != "" {
		return what + " (" + kind + ")"
	}
	if strings.HasPrefix(kind, "trace-span-") {
		return "spans of a trace (" + kind + ")"
	}
	if near := suggest.Nearest(kind, read); near != "" && instead[written] == "" {
		return fmt.Sprintf("the assertion %q, which is not known; did you mean %s", template.Clip(written), near)
	}
	need := fmt.Sprintf("the assertion %q, which promptfoo does not have either", template.Clip(written))
	if instead[written] != "" {
		need += "; write " + instead[written]
	}
	return need
}

// instead are the assertions that do what some people expect of types that do not exist.
var instead = map[string]string{
	"not-empty": `javascript with "output.length > 0"`, "min-length": `javascript with "output.length >= 10"`, "max-length": `javascript with "output.length <= 10"`,
	"exact-match": "equals", "matches": "regex", "json": "is-json", "schema": "is-json with a schema as its value",
}

// unread are the assertions of promptfoo that are not read, with what they need.
var unread = map[string]string{
	"webhook":    "a program",
	"guardrails": "what a provider says of its own guardrails", "pi": "the scorer of Pi Labs",
	"is-sql": "a parser of SQL", "contains-sql": "a parser of SQL",
	"is-xml": "a parser of XML or HTML", "contains-xml": "a parser of XML or HTML", "is-html": "a parser of XML or HTML", "contains-html": "a parser of XML or HTML",
	"rouge-n": "a measure of overlap", "bleu": "a measure of overlap", "gleu": "a measure of overlap", "meteor": "a measure of overlap",
	"perplexity": "probabilities of tokens", "perplexity-score": "probabilities of tokens",
	"context-recall": "a context that was retrieved", "context-relevance": "a context that was retrieved", "context-faithfulness": "a context that was retrieved",
	"is-refusal":   "a list of the words of refusals",
	"tool-call-f1": "a measure of tool calls", "search-rubric": "a judge that searches", "agent-rubric": "a judge with tools", "conversation-relevance": "the turns of a conversation",
}

// read are the assertions that are read.
var read = []string{
	"contains", "icontains", "contains-any", "contains-all", "icontains-any", "icontains-all", "starts-with", "ends-with", "equals", "regex",
	"is-json", "contains-json", "levenshtein", "latency", "cost", "llm-rubric", "javascript",
	"model-graded-closedqa", "factuality", "model-graded-factuality", "g-eval", "answer-relevance", "similar", "word-count", "python", "ruby", "assert-set",
	"is-valid-openai-tools-call", "is-valid-function-call", "trajectory:tool-used", "trajectory:tool-sequence", "trajectory:tool-args-match", "trajectory:step-count",
	"trajectory:goal-success", "skill-used", "select-best", "max-score", "similar:cosine", "similar:dot", "similar:euclidean", "finish-reason", "classifier", "moderation",
}
