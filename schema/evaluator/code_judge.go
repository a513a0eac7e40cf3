package evaluator

import (
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// CodeJudge runs a program that reads the conversation from stdin and prints a
// score. If it fails or prints something else, the case has no judgement.
type CodeJudge struct {
	Program
	Subject
	// Form names the tool whose fields the program reads in addition to the evalcase
	// format's; empty for none.
	Form string `json:"form,omitempty"`
	// MaxCalls bounds the program's questions to a model; 0 allows none.
	MaxCalls int `json:"max_calls,omitempty"`
	// Target is the model that it asks; empty means the judge. Its identity is a
	// separate part of J.
	Target string `json:"-"`
}

// AgentV's programs read the same fields, print their score in their own way, and are
// judged by their exit status if they print no JSON.
const (
	// FormAgentV4 is a code-grader. The score that it leaves out is the share of its
	// assertions that passed, and 0 without any.
	FormAgentV4 = "agentv-4"
	// FormAgentV5 is a script. A missing score is the mean of its checks, else its
	// pass.
	FormAgentV5 = "agentv-5"
)

// Kind returns "code_judge".
func (CodeJudge) Kind() string { return "code_judge" }

// Version returns the version of the program's input and output. Since 2, the input
// lacks the model's thinking. Since 3, guidelines are separate from the other files of
// the input. Since 4, an AgentV program that prints no JSON is judged by its exit
// status, and a code-grader by its assertions if it prints no score. Since 5, it only
// sees the digested files.
func (CodeJudge) Version() int { return 5 }

// Roles returns the judge if the program may ask it, once whatever the number of calls.
func (j CodeJudge) Roles() []schema.Role {
	if j.MaxCalls == 0 {
		return nil
	}
	return judgeUnless(j.Target)
}

// Targets names the model that the program may ask in place of the judge.
func (j CodeJudge) Targets() []string {
	if j.MaxCalls == 0 {
		return nil
	}
	return named(j.Target)
}

// IsGuideline reports whether a file of the input has instructions for the agent: by
// the format's patterns it ends in .instructions.md or .prompt.md, or is below a folder
// named instructions or prompts.
func IsGuideline(file string) bool {
	if strings.HasSuffix(file, ".instructions.md") || strings.HasSuffix(file, ".prompt.md") {
		return true
	}
	folders := strings.Split(path.Dir(file), "/")
	return slices.Contains(folders, "instructions") || slices.Contains(folders, "prompts")
}
