package matrix

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/template"
)

// defaultWindow is how many turns a judge of conversation-relevance sees at once.
const defaultWindow = 5

// defaultCounted is the threshold of the assertions that count what a judge says.
const defaultCounted = 0.5

// countedKinds are the assertions that count what a judge says of parts.
var countedKinds = []string{evaluator.ByFaithfulness, evaluator.ByRecall, evaluator.ByRelevance, evaluator.ByConversation}

// counted compiles an assertion about a context that was retrieved, or about the turns of
// a conversation.
func (j *judgement) counted(kind string, a written, value json.RawMessage, vars template.Variables) (schema.Spec, schema.Rule, error) {
	spec := evaluator.Counted{By: kind, Least: defaultCounted, Not: strings.HasPrefix(a.Type, "not-"), Target: a.assessors.over(j.by).judge}
	rule := passes()
	if a.Threshold != nil {
		spec.Least = *a.Threshold
	}
	if a.rubricPrompt != "" || j.rubricPrompt != "" {
		return nil, rule, &template.NeedError{What: "Gavel's own question of " + kind + " in place of rubricPrompt"}
	}
	if kind == evaluator.ByConversation {
		err := turns(&spec, a, vars)
		return spec, rule, err
	}
	if kind == evaluator.ByRecall {
		truth, err := oneText(kind, a.Type, value)
		if err != nil {
			return nil, rule, err
		}
		spec.Truth = truth
	} else {
		query, isText := document.ParseText(vars["query"])
		if !isText || query == "" {
			return nil, rule, mistake(fmt.Sprintf("the test of %s has no variable query with the question of the user", a.Type), "add vars: {query: …}")
		}
		spec.Query = query
	}
	err := j.passages(&spec, a, vars)
	return spec, rule, err
}

// passages finds the context: by the function of the assertion, in the variable context,
// or, for recall, in the prompt.
func (j *judgement) passages(spec *evaluator.Counted, a written, vars template.Variables) (err error) {
	context := vars["context"]
	text, isText := document.ParseText(context)
	switch {
	case a.ContextTransform != "":
		return j.contextCode(spec, a, vars)
	case isText && text != "":
		spec.Passages = []string{text}
	case len(context) > 0 && context[0] == '[':
		spec.Apart = true
		if spec.Passages, err = list(context); err != nil {
			return mistake(fmt.Sprintf("the variable context of %s has %v", a.Type, err), "write a text or a list of texts")
		}
	case spec.By == evaluator.ByRecall:
		spec.Passages = []string{j.prompt}
	}
	if len(spec.Passages) == 0 || slices.Contains(spec.Passages, "") {
		return mistake(fmt.Sprintf("the test of %s has no context, or an empty one", a.Type), "add vars: {context: …} with what was retrieved, or contextTransform with a function that takes it from the answer")
	}
	return nil
}

// contextCode compiles the function that takes the context from the answer, as the
// provider's transform returns it.
func (j *judgement) contextCode(spec *evaluator.Counted, a written, vars template.Variables) (err error) {
	code := a.ContextTransform
	switch word := assertion.Foreign(code); {
	case strings.HasPrefix(code, "file://"):
		return &template.NeedError{What: "a program (contextTransform in a file)"}
	case word != "":
		return &template.NeedError{What: fmt.Sprintf("a program (contextTransform with %s)", word)}
	case a.Transform != "" || len(j.transforms) > 1 && j.transforms[1] != "":
		return &template.NeedError{What: "`contextTransform` without a `transform` of the test"}
	}
	spec.Code = code
	spec.Context, err = j.told(written{Config: a.Config}, vars, code)
	return err
}

// turns reads the conversation and its window.
func turns(spec *evaluator.Counted, a written, vars template.Variables) error {
	var config struct{ WindowSize *float64 }
	if len(a.Config) > 0 && json.Unmarshal(a.Config, &config) != nil || config.WindowSize != nil && (*config.WindowSize < 0 || *config.WindowSize != float64(int(*config.WindowSize))) {
		return mistake(fmt.Sprintf("the config of %s cannot be read", a.Type), "write config: {windowSize: 5} with a number of turns")
	}
	if spec.Window = defaultWindow; config.WindowSize != nil && *config.WindowSize > 0 {
		spec.Window = int(*config.WindowSize)
	}
	said := vars["_conversation"]
	if len(said) == 0 || string(said) == "null" {
		return nil
	}
	var list []struct{ Input, Output json.RawMessage }
	if json.Unmarshal(said, &list) != nil {
		return mistake(fmt.Sprintf("the variable _conversation of %s is not a list of turns", a.Type), "write a list of {input: …, output: …}")
	}
	for _, turn := range list {
		spec.Turns = append(spec.Turns, evaluator.Turn{Input: template.Written(turn.Input), Output: template.Written(turn.Output)})
	}
	return nil
}
