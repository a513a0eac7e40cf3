package evaluate

import (
	"context"
	"errors"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/controller/workspaces"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// Programs runs a program of the repository and returns what it printed. The
// error says what went wrong with it. A nil Programs runs none.
type Programs func(ctx context.Context, start Start) ([]byte, error)

// A Start is a program with what it is given.
type Start struct {
	evaluator.Program
	Stdin []byte
	// Sent are files of the repository whose paths are in Stdin, so that the program sees
	// them.
	Sent []string
	// Proxy answers what the program asks of a model; nil lets it ask none.
	Proxy *Proxy
	// Workspace is the folder as the target left it, whose path is to be added to
	// Stdin as workspace_path; nil for none.
	Workspace *workspaces.Session
}

// A suiteFinding is what an evaluator saw.
type suiteFinding struct {
	Criteria []verdict.Criterion
	// Reason explains them in one or two sentences.
	Reason string
}

// one is a finding of a single score, with what was listed as right and wrong.
func one(score float64, reason string, hits, misses []string) suiteFinding {
	return suiteFinding{[]verdict.Criterion{{ID: "score", Score: score, Note: reason, Hits: hits, Misses: misses}}, reason}
}

// A suiteInput is what evaluators look at.
type suiteInput struct {
	Case       *schema.Case
	Transcript *verdict.Transcript
	// dialogue asks models.
	*dialogue
	Programs Programs
}

// openingCount counts the messages that the case begins with.
func (in suiteInput) openingCount() int {
	return min(len(in.Case.Drive.Messages), len(in.Transcript.Messages))
}

// input are the messages that the case begins with, output those after them.
func (in suiteInput) input() []schema.Message  { return in.Transcript.Messages[:in.openingCount()] }
func (in suiteInput) output() []schema.Message { return in.Transcript.Messages[in.openingCount():] }

// Answer is the last that the target said in words, or what counts in its place.
func (in suiteInput) Answer() string {
	if in.Transcript.Said != "" {
		return in.Transcript.Said
	}
	return verdict.Answer(in.output())
}

// question is the last that the user said.
func (in suiteInput) question() string {
	input := in.input()
	for i := len(input) - 1; i >= 0; i-- {
		if input[i].Role == schema.RoleUser {
			return input[i].Content
		}
	}
	return ""
}

// errUntraced is the error of evaluators that look at calls.
var errUntraced = errors.New("the target does not report its tool calls")
