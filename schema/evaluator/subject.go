package evaluator

import (
	"encoding/json"
	"time"

	"github.com/gavel-evals/gavel/schema"
)

// A Subject is a judge's input about a case in addition to its conversation, which is
// the input and the target's answer.
type Subject struct {
	ExpectedOutcome string `json:"expected_outcome,omitempty"`
	// ExpectedMessages are the answer to compare with, Reference is its text.
	ExpectedMessages []schema.Message `json:"expected_messages,omitempty"`
	Reference        string           `json:"reference_answer,omitempty"`
	// Note is the case's note for every judge.
	Note string `json:"note,omitempty"`
	// Changes shows what the target changed in its workspace.
	Changes bool `json:"file_changes,omitempty"`
}

// A Program is a command of the repository that judges, or writes a judge's question.
type Program struct {
	// Argv is the program with its arguments, as it is started in Dir.
	Argv []string `json:"argv"`
	// Config is handed to it, as canonical JSON.
	Config json.RawMessage `json:"config,omitempty"`
	// Files are the files named in Argv, relative to the repository root.
	Files []string `json:"-"`
	// Built has its source files, which are visible to it. They are separate parts of
	// J, by the names that the program sees.
	Built *schema.ProgramFiles `json:"-"`
	// Dir is relative to the repository root. Moving a program together with
	// its suite changes nothing, so it is in no digest.
	Dir string `json:"-"`
	// Timeout ends it; 0 leaves that to its caller.
	Timeout time.Duration `json:"-"`
}

// ReadsCost reports that the target's price matters: the program reads the cost of the
// sample.
func (p Program) ReadsCost() bool { return true }

// Sees returns the name of a file of the repository as the program knows it, from
// the folder that it runs in.
func (p Program) Sees(file string) string { return schema.RelativePath(p.Dir, file) }
