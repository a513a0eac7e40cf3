package evaluator

import (
	"encoding/json"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/program"
)

// A Subject is what a judge sees of a case in addition to its conversation, which
// is the input and what the target answered.
type Subject struct {
	ExpectedOutcome string `json:"expected_outcome,omitempty"`
	// ExpectedMessages are the answer to compare with, Reference is its text.
	ExpectedMessages []schema.Message `json:"expected_messages,omitempty"`
	Reference        string           `json:"reference_answer,omitempty"`
	// Note is what the case says of itself. Every judge is told.
	Note string `json:"note,omitempty"`
}

// A Program is a command of the repository that judges, or writes what a judge
// is asked.
type Program struct {
	// Argv is the program with its arguments, as it is started in Dir.
	Argv []string `json:"argv"`
	// Config is handed to it, as canonical JSON.
	Config json.RawMessage `json:"config,omitempty"`
	// Files are those that Argv names, relative to the repository root.
	Files []string `json:"-"`
	// Built is what it is made of and shown. Its files are parts of J of their own, by the
	// names that the program knows them by.
	Built *program.Build `json:"-"`
	// Dir is relative to the repository root. Moving a program together with
	// its suite changes nothing, so it is in no digest.
	Dir string `json:"-"`
	// Timeout ends it; 0 leaves that to what runs it.
	Timeout time.Duration `json:"-"`
}

// ReadsCost reports that the price of the target matters: the program is told
// what the sample cost.
func (p Program) ReadsCost() bool { return true }

// Sees returns the name of a file of the repository as the program knows it, from
// the folder that it runs in.
func (p Program) Sees(file string) string { return program.Sees(p.Dir, file) }
