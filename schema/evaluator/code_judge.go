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
}

// FormAgentV4 are the fields that AgentV 4 hands to a code-grader.
const FormAgentV4 = "agentv-4"

// Kind returns "code_judge".
func (CodeJudge) Kind() string { return "code_judge" }

// Version is the version of what the program reads and prints. Since 2, it does not
// read what a model thought before it answered. Since 3, guidelines are apart from
// the other files of the input.
func (CodeJudge) Version() int { return 3 }

// Roles returns nil: a program is asked.
func (CodeJudge) Roles() []schema.Role { return nil }

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
