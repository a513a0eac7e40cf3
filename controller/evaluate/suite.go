package evaluate

import (
	"context"
	"errors"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/controller/workspaces"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// Programs runs a program of the repository and returns its output. The error describes
// the program's failure. A nil Programs runs none.
type Programs func(ctx context.Context, start Start) ([]byte, error)

// A Start is a program with its input.
type Start struct {
	evaluator.Program
	Stdin []byte
	// Sent are files of the repository whose paths are in Stdin, made visible to the
	// program.
	Sent []string
	// Proxy answers the program's questions to a model; nil allows none.
	Proxy *Proxy
	// Workspace is the folder as the target left it, whose path is added to Stdin as
	// workspace_path; nil for none.
	Workspace *workspaces.Session
}

// A suiteFinding is the result of an evaluator.
type suiteFinding struct {
	Criteria []verdict.Criterion
	// Reason explains the criteria in one or two sentences.
	Reason string
}

// one returns a finding with a single score, and lists of hits and misses.
func one(score float64, reason string, hits, misses []string) suiteFinding {
	return suiteFinding{[]verdict.Criterion{{ID: "score", Score: score, Note: reason, Hits: hits, Misses: misses}}, reason}
}

// A suiteInput is the input of an evaluator.
type suiteInput struct {
	Case       *schema.Case
	Transcript *verdict.Transcript
	// dialogue asks models.
	*dialogue
	Programs Programs
}

// openingCount counts the messages that begin the case.
func (in suiteInput) openingCount() int {
	return min(len(in.Case.Drive.Messages), len(in.Transcript.Messages))
}

// input returns the messages that begin the case, output the messages after them.
func (in suiteInput) input() []schema.Message  { return in.Transcript.Messages[:in.openingCount()] }
func (in suiteInput) output() []schema.Message { return in.Transcript.Messages[in.openingCount():] }

// Answer returns the target's last text, or its replacement.
func (in suiteInput) Answer() string {
	if in.Transcript.Said != "" {
		return in.Transcript.Said
	}
	return verdict.Answer(in.output())
}

// question returns the user's last text.
func (in suiteInput) question() string {
	input := in.input()
	for i := len(input) - 1; i >= 0; i-- {
		if input[i].Role == schema.RoleUser {
			return input[i].Content
		}
	}
	return ""
}

// errUntraced is the error of evaluators that need calls.
var errUntraced = errors.New("the target does not report its tool calls")
