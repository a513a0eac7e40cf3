package evaluator

import "github.com/gavel-evals/gavel/schema"

// CodeJudge runs a program that reads the conversation from stdin and prints a
// score. If it fails or prints something else, the case has no judgement.
type CodeJudge struct {
	Program
	Subject
}

// Kind returns "code_judge".
func (CodeJudge) Kind() string { return "code_judge" }

// Version is the version of what the program reads and prints. Since 2, it does not
// read what a model thought before it answered.
func (CodeJudge) Version() int { return 2 }

// Roles returns nil: a program is asked.
func (CodeJudge) Roles() []schema.Role { return nil }
