// Package cuefile evaluates .cue files that strangers wrote and gives their
// values with the places they come from.
//
// Most callers want [Budget.Evaluate]; main and TestMain first call ServeChild of package
// cueeval, which is the child.
//
// CUE is a programming language: a file of a few lines asks for a terabyte or
// for a million years, and the evaluator cannot be told when to stop. So it
// runs in a child process of the same program, under limits of time, memory,
// nesting and output that end the child and not us. The child gets the bytes
// of one file over a pipe, an empty environment, and on Linux no right to open
// anything. It evaluates one file at a time and then waits for the next, since
// starting a process takes many times what a usual file takes.
package cuefile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/schema/childpool"
)

const (
	// MaxTime is how long one file may be evaluated.
	MaxTime = 5 * time.Second
	// MaxMemory is how many bytes the evaluation may take.
	MaxMemory = 512 << 20
	// MaxDepth is how deep values may be nested.
	MaxDepth = 64
	// MaxValues is how many values a file may come to.
	MaxValues = 100_000
	// MaxText bounds the names, strings and numbers of a file, in bytes and
	// together: a short file can repeat a long string.
	MaxText = 4 << 20
	// maxInput bounds the file itself. Callers have a lower bound of their own.
	maxInput = 1 << 20
	// MaxProblems is how many problems of a file are reported.
	MaxProblems = 100
)

// A Kind says what a Value is.
type Kind string

// The kinds of JSON.
const (
	Null   Kind = "null"
	Bool   Kind = "bool"
	Number Kind = "number"
	String Kind = "string"
	List   Kind = "list"
	Struct Kind = "struct"
)

// A Pos is a place in the file.
type Pos struct {
	// Offset counts bytes from 0. It is all that the child sends.
	Offset int `json:"offset"`
	// Line and Column count from 1, columns in code points.
	Line   int `json:"-"`
	Column int `json:"-"`
}

// A Value is what JSON can hold, with its place.
type Value struct {
	Kind Kind `json:"kind"`
	// At is the position of the value; a computed one has the position of the
	// value that it is in.
	At Pos `json:"at"`
	// Text is a string's text, a number as JSON, true or false.
	Text   string   `json:"text,omitempty"`
	Fields []Field  `json:"fields,omitempty"`
	Items  []*Value `json:"items,omitempty"`
}

// A Field is one member of a struct.
type Field struct {
	Name string `json:"name"`
	// At is the place of the key.
	At    Pos    `json:"at"`
	Value *Value `json:"value"`
}

// A Problem says why a file has no value.
type Problem struct {
	At Pos `json:"at"`
	// Rule is a stable kebab-case name.
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Problems are all that was found in a file. It is the error of a file that is
// wrong; every other error means that no evaluation came about.
type Problems []Problem

// Error returns a line for each problem.
func (p Problems) Error() string {
	var lines []string
	for _, one := range p {
		lines = append(lines, fmt.Sprintf("%d:%d: %s", one.At.Line, one.At.Column, one.Message))
	}
	return strings.Join(lines, "\n")
}

// An Answer is what the child says of one file: a value or problems.
type Answer struct {
	Value    *Value   `json:"value,omitempty"`
	Problems Problems `json:"problems,omitempty"`
}

// Evaluate returns the value of a .cue file as JSON sees it: hidden fields,
// definitions, optional fields and attributes are not part of it. The file is
// all there is: no package but CUE's own, no other file, no registry, no
// network. A problem of the file, or of the time that it took, is an
// error of type [Problems]. A nil budget has no bound but that of each file. It
// may be called from many goroutines.
func (b *Budget) Evaluate(ctx context.Context, file string, data []byte) (*Value, error) {
	if len(data) > maxInput {
		return nil, fmt.Errorf("evaluate %s: it has %d bytes, more than %d", file, len(data), maxInput)
	}
	var out Answer
	err := b.ask(ctx, Request{Source: data}, func(line []byte) (err error) {
		out, err = decode(line, data)
		return err
	})
	switch {
	case errors.Is(err, errSpent):
		return nil, exceeded(fmt.Sprintf("the .cue files took more than %v together, and this one is not evaluated any more", totalTime))
	case errors.Is(err, childpool.ErrTime):
		return nil, exceeded(fmt.Sprintf("the evaluation took longer than %v", MaxTime))
	case errors.Is(err, childpool.ErrMemory):
		return nil, exceeded(fmt.Sprintf("the evaluation needed more memory than %d MiB, or is nested too deeply", MaxMemory>>20))
	case err != nil:
		return nil, fmt.Errorf("evaluate %s: %w", file, err)
	case len(out.Problems) > 0:
		return nil, out.Problems
	}
	return out.Value, nil
}

// exceeded is the problem of a file that was given up. The position of the
// evaluator in it is unknown.
func exceeded(message string) Problems {
	return Problems{{Pos{0, 1, 1}, "cue-limit", message, "look for comprehensions, lists or strings that grow, and for definitions that refer to themselves"}}
}
