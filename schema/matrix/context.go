package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/chat"
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
	asks := cmp.Or(a.rubricPrompt, j.rubricPrompt)
	if kind == evaluator.ByConversation {
		err := turns(&spec, a, vars)
		if err == nil {
			err = j.askTurns(&spec, asks, vars)
		}
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
	if err := j.passages(&spec, a, vars); err != nil {
		return spec, rule, err
	}
	err := j.askContext(&spec, a.Type, asks, vars)
	return spec, rule, err
}

// askContext compiles the definition's own questions about a context: two of
// context-faithfulness, one of others.
func (j *judgement) askContext(spec *evaluator.Counted, kind, asks string, vars template.Variables) (err error) {
	questions := []string{asks}
	switch {
	case asks == "":
		return nil
	case spec.By == evaluator.ByFaithfulness:
		if questions = bothQuestions(asks); questions == nil {
			return mistake("the rubricPrompt of "+kind+" is not a list of one or two prompts", "write rubricPrompt: [a prompt with {{question}} and {{answer}}, one with {{context}} and {{statements}}]")
		}
	}
	if spec.By == evaluator.ByRelevance {
		vars = template.Variables{"query": vars["query"]} // the only one that promptfoo fills in
	}
	told := []map[string]any{{"context": evaluator.MarkContext}}
	switch spec.By {
	case evaluator.ByRecall:
		told[0]["groundTruth"] = spec.Truth
	case evaluator.ByFaithfulness:
		told = []map[string]any{{"question": spec.Query, "answer": evaluator.MarkAnswer}, {"context": evaluator.MarkContext, "statements": []string{evaluator.MarkStatements}}}
	}
	spec.Prompts = make([]string, len(questions))
	for i, question := range questions {
		own := maps.Clone(vars)
		for name, value := range told[i] {
			own[name], _ = json.Marshal(value) // texts
		}
		if spec.Prompts[i], err = j.asked(question, own); err != nil {
			return err
		}
	}
	return nil
}

// bothQuestions returns the prompts of a list: texts, or messages with one each; nil for
// another value.
func bothQuestions(asks string) (questions []string) {
	var items []json.RawMessage
	if json.Unmarshal([]byte(asks), &items) != nil || len(items) == 0 || len(items) > 2 {
		return nil
	}
	for _, item := range items {
		question, isText := document.ParseText(item)
		var m chat.Message
		if !isText && json.Unmarshal(item, &m) == nil {
			question, isText = document.ParseText(m.Content)
		}
		if !isText {
			return nil
		}
		questions = append(questions, question)
	}
	return questions
}

// askTurns compiles the definition's own question about each turn of a conversation, with
// the turns that the judge sees.
func (j *judgement) askTurns(spec *evaluator.Counted, asks string, vars template.Variables) error {
	if asks == "" {
		return nil
	}
	turns := spec.Turns
	if len(turns) == 0 {
		turns = []evaluator.Turn{{Input: evaluator.MarkInput, Output: evaluator.MarkAnswer}}
	}
	own := template.Variables{}
	maps.Copy(own, vars)
	for i := range turns {
		own["messages"], _ = json.Marshal(turns[max(0, i-spec.Window+1) : i+1]) // texts
		question, err := j.asked(asks, own)
		if err != nil {
			return err
		}
		spec.Prompts = append(spec.Prompts, question)
	}
	return nil
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
// provider's transform returns it: those of the test do not apply to it.
func (j *judgement) contextCode(spec *evaluator.Counted, a written, vars template.Variables) (err error) {
	code := a.ContextTransform
	switch word := j.scanner.use(code).foreign; {
	case strings.HasPrefix(code, "file://"):
		return &template.NeedError{What: "a program (contextTransform in a file)"}
	case word != "":
		return &template.NeedError{What: fmt.Sprintf("a program (contextTransform with %s)", word)}
	}
	before := *j
	before.transforms = j.transforms[:1] // of the provider
	if spec.Steps, err = before.steps(code); err != nil {
		return err
	}
	spec.Context, err = j.told(written{Config: a.Config}, vars, spec.Steps...)
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
