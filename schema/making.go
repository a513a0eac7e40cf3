package schema

import (
	"context"
	"io/fs"
	"slices"
)

// A Making is a program of the repository that makes a part of a definition while it is read, such
// as its tests. It prints the part as JSON.
type Making struct {
	PromptProgram
	// FS is the state of the repository that its files are from. Definition is the file that
	// names the program, and Reads are the files that its input is from.
	FS         fs.FS
	Definition string
	Reads      []string
}

// Changed returns the first of some changed files on which the making depends, or empty.
func (m Making) Changed(changed []string) string {
	for _, name := range changed {
		if name == m.Definition || slices.Contains(m.Reads, name) || slices.Contains(m.Built.Paths(), name) {
			return name
		}
	}
	return ""
}

// A Maker makes parts of definitions.
type Maker interface {
	// Make returns the output of a program. It is stored, so that the same program with the same
	// input makes the same part at base and at head. The error is an [*UnmadeError] if the
	// program was not started.
	Make(context.Context, Making) ([]byte, error)
}

// An UnmadeError means that a program must not or cannot start.
type UnmadeError struct {
	Reason, Hint string
	// Waits means that it may start once the head is approved.
	Waits bool
}

// Error returns the reason.
func (e *UnmadeError) Error() string { return e.Reason }

// RuleNotMade is the rule of the error about a part of a definition that no program made. A
// definition with it is read again each time, since the reason may not be a file's.
const RuleNotMade = "not-made"

// RuleWaits is the rule of the error about such a part whose program may start once the head is
// approved: the definition is not known to be invalid.
const RuleWaits = "waits-for-approval"
