package evaluator

import (
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// LLMJudge asks a model for a score from 0 to 1.
type LLMJudge struct {
	// Template is its question, with {{names}} of JudgeVariables. A Program prints it
	// instead. Neither asks whether the expected outcome was reached.
	Template string   `json:"template,omitempty"`
	Program  *Program `json:"program,omitempty"`
	// Target is the judging model; empty means the judge. Its identity is a separate
	// part of J.
	Target string `json:"-"`
	// Subject has the parts that the template uses and the note, which is added if the
	// template has no place for it; all parts if a program prints it.
	Subject
}

// JudgeVariables returns the names that a template may have between double braces.
func JudgeVariables() []string {
	return []string{
		"question", "expected_outcome", "candidate_answer", "reference_answer",
		"input_messages", "expected_messages", "output_messages", "note",
	}
}

// FileChanges is an additional name if the target works in a workspace: its changes
// there, as git prints them.
const FileChanges = "file_changes"

// ResultsVariables returns the additional names of a composite judge's template: each
// is the members' results as JSON.
func ResultsVariables() []string { return []string{"EVALUATOR_RESULTS_JSON", "evaluator_results"} }

var variable = lazyregexp.New(`\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

// VariablesOf returns the names between double braces in a template, sorted.
func VariablesOf(template string) []string {
	var names []string
	for _, m := range variable.FindAllStringSubmatch(template, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Kind returns "llm_judge".
func (LLMJudge) Kind() string { return "llm_judge" }

// Version returns the version of the question, of the template's frame and of reading
// the reply. Since 2, a score below 0 is asked for again.
// Since 3 the model is told that an answer was cut off.
func (LLMJudge) Version() int { return 3 }

// Roles returns the judge unless another model is asked.
func (j LLMJudge) Roles() []schema.Role { return judgeUnless(j.Target) }

// Targets returns the name of the model that replaces the judge.
func (j LLMJudge) Targets() []string { return named(j.Target) }

// ReadsCost reports whether a program reads the cost.
func (j LLMJudge) ReadsCost() bool { return j.Program != nil }

// agentV are the variables of AgentV 4's templates, by Gavel's names.
var agentV = map[string]string{
	"output": "candidate_answer", "answer": "candidate_answer", "input": "question", "criteria": "expected_outcome",
	"expected_output": "reference_answer", "messages": "output_messages",
}

// TemplateOfAgentV4 writes the variables of a template of AgentV 4 by Gavel's names. One
// that does not show the answer gets it at its end, as AgentV adds it.
func TemplateOfAgentV4(template string) string {
	template = variable.ReplaceAllStringFunc(template, func(s string) string {
		if name, ok := agentV[variable.FindStringSubmatch(s)[1]]; ok {
			return "{{" + name + "}}"
		}
		return s
	})
	names := VariablesOf(template)
	if slices.Contains(names, "candidate_answer") || slices.Contains(names, "output_messages") {
		return template
	}
	return template + "\n\nQuestion:\n{{question}}\n\nAnswer:\n{{candidate_answer}}"
}
