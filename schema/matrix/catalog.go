package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/template"
)

// leadingAssertion returns the longest assertion type at the beginning of a text,
// followed by nothing, a colon or a bracket. It is empty without one.
func leadingAssertion(text string) string {
	best := tracedAssertion.FindString(text)
	for _, kind := range slices.Concat(readAssertions, slices.Collect(maps.Keys(unreadAssertions))) {
		rest, begins := strings.CutPrefix(text, kind)
		if begins && (rest == "" || rest[0] == ':' || rest[0] == '(') && len(kind) > len(best) {
			best = kind
		}
	}
	return best
}

// tracedAssertion matches the assertions about traces.
var tracedAssertion = lazyregexp.New(`^trace-(?:error-spans|span-count|span-duration)\b`)

// ReadsAssertion reports whether a type of assertion, without not- in front, is read.
func ReadsAssertion(kind string) bool { return slices.Contains(readAssertions, kind) }

// refusedAssertion returns the reason why an assertion of an unsupported kind is
// rejected: a [*template.NeedError] if promptfoo has it, and a [*template.MistakeError]
// if nobody does. written is the kind as written, possibly with not- in front.
func refusedAssertion(kind, written string) error {
	if what := assertionNeed(kind); what != "" {
		return &template.NeedError{What: what + " (" + kind + ")"}
	}
	wrong := &template.MistakeError{Message: fmt.Sprintf("the assertion %q is not known", template.Clip(written))}
	switch near := suggest.Nearest(kind, readAssertions); {
	case insteadOf[written] != "":
		wrong.Message, wrong.Hint = wrong.Message+"; promptfoo does not have it either", "write "+insteadOf[written]
	case near != "":
		wrong.Hint = suggest.Question(strings.TrimSuffix(written, kind) + near)
	default:
		wrong.Message, wrong.Hint = wrong.Message+"; promptfoo does not have it either", "write the type of an assertion, such as contains or llm-rubric"
	}
	return wrong
}

// assertionNeed returns the need of an unsupported promptfoo assertion; empty for any
// other.
func assertionNeed(kind string) string {
	switch {
	case strings.HasPrefix(kind, "trace-"):
		return "spans of a trace"
	case strings.HasPrefix(kind, "promptfoo:redteam:"):
		return "a grader of promptfoo's red team"
	}
	return unreadAssertions[kind]
}

// insteadOf maps assertion types that do not exist to the ones that people mean.
var insteadOf = map[string]string{
	"not-empty": `javascript with "output.length > 0"`, "min-length": `javascript with "output.length >= 10"`, "max-length": `javascript with "output.length <= 10"`,
	"exact-match": "equals", "matches": "regex", "json": "is-json", "schema": "is-json with a schema as its value",
}

// unreadAssertions are unsupported promptfoo assertions, with their needs.
var unreadAssertions = map[string]string{
	"webhook":    "a program",
	"human":      "a person who judges",
	"guardrails": "what a provider says of its own guardrails", "pi": "the scorer of Pi Labs",
	"is-sql": "a parser of SQL", "contains-sql": "a parser of SQL",
	"rouge-l": "a measure of overlap", "rouge-s": "a measure of overlap", "gleu": "a measure of overlap", "meteor": "a measure of overlap",
	"perplexity": "probabilities of tokens", "perplexity-score": "probabilities of tokens",
	"tool-call-f1": "a measure of tool calls", "search-rubric": "a judge that searches", "agent-rubric": "a judge with tools",
}

// readAssertions are the types that are read.
var readAssertions = []string{
	"contains", "icontains", "contains-any", "contains-all", "icontains-any", "icontains-all", "starts-with", "ends-with", "equals", "regex",
	"is-json", "contains-json", "levenshtein", "latency", "cost", "llm-rubric", "javascript",
	"model-graded-closedqa", "factuality", "model-graded-factuality", "g-eval", "answer-relevance", "similar", "word-count", "python", "ruby", "assert-set",
	"is-valid-openai-tools-call", "is-valid-openai-function-call", "is-valid-function-call", "trajectory:tool-used", "trajectory:tool-sequence", "trajectory:tool-args-match", "trajectory:step-count",
	"trajectory:goal-success", "skill-used", "select-best", "max-score", "similar:cosine", "similar:dot", "similar:euclidean", "finish-reason", "classifier", "moderation",
	"is-refusal", "is-xml", "contains-xml", "is-html", "contains-html", "rouge-n", "bleu",
	"context-faithfulness", "context-recall", "context-relevance", "conversation-relevance",
}
