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
	// Form is whose fields the program reads in addition to those of the evalcase
	// format; empty for none.
	Form string `json:"form,omitempty"`
	// MaxCalls is how often the program may ask a model; 0 lets it ask none.
	MaxCalls int `json:"max_calls,omitempty"`
	// Target is the model that it asks; empty means the judge. Its identity is a
	// part of J of its own.
	Target string `json:"-"`
}

// The programs of AgentV read the same fields, print their score in their own way, and are
// judged by their exit status where they print no JSON.
const (
	// FormAgentV4 is a code-grader. The score that it leaves out is the share of its
	// assertions that passed, and 0 without any.
	FormAgentV4 = "agentv-4"
	// FormAgentV5 is a script. The score that it leaves out is the mean of its checks,
	// else whether it says that it passed.
	FormAgentV5 = "agentv-5"
)

// Kind returns "code_judge".
func (CodeJudge) Kind() string { return "code_judge" }

// Version is the version of what the program reads and prints. Since 2, it does not
// read what a model thought before it answered. Since 3, guidelines are apart from
// the other files of the input. Since 4, a program of AgentV that prints no JSON is judged by
// its exit status, and a code-grader by its assertions where it prints no score. Since 5, it
// sees the files that count and no others.
func (CodeJudge) Version() int { return 5 }

// Roles returns the judge where the program may ask it, once however often that is.
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

// IsGuideline reports whether a file of the input has instructions for the agent:
// by the patterns of the format it ends in .instructions.md or .prompt.md, or is
// below a folder named instructions or prompts.
func IsGuideline(file string) bool {
	if strings.HasSuffix(file, ".instructions.md") || strings.HasSuffix(file, ".prompt.md") {
		return true
	}
	folders := strings.Split(path.Dir(file), "/")
	return slices.Contains(folders, "instructions") || slices.Contains(folders, "prompts")
}
