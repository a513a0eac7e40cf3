// Package cuefile evaluates strangers' .cue files and returns their values with
// positions.
//
// Most callers want [Budget.Evaluate]; main and TestMain first call ServeChild of
// package cueeval, which is the child.
//
// CUE is a programming language: a file of a few lines can need a terabyte or a million
// years, and the evaluator cannot be interrupted. So it runs in a child process of the
// same program, under limits of time, memory, nesting and output that end the child and
// not us. The child gets the bytes of one file over a pipe, an empty environment, and
// on Linux no right to open anything. It evaluates one file at a time and then waits
// for the next, since starting a process takes many times as long as a usual file.
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
	// MaxTime is the processor time that the evaluation of one file may take.
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
	// maxInput bounds the file itself. Callers have their own lower bound.
	maxInput = 1 << 20
	// MaxProblems is how many problems of a file are reported.
	MaxProblems = 100
)

// A Kind is the type of a Value.
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
	// Offset counts bytes from 0. The child sends nothing else.
	Offset int `json:"offset"`
	// Line and Column count from 1, columns in code points.
	Line   int `json:"-"`
	Column int `json:"-"`
}

// A Value is a JSON value with its position.
type Value struct {
	Kind Kind `json:"kind"`
	// At is the position of the value; a computed one has its parent's position.
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

// A Problem is the reason why a file has no value.
type Problem struct {
	At Pos `json:"at"`
	// Rule is a stable kebab-case name.
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Problems are all problems of a file. They are the error of an invalid file; every
// other error means that the evaluation failed.
type Problems []Problem

// Error returns a line for each problem.
func (p Problems) Error() string {
	var lines []string
	for _, one := range p {
		lines = append(lines, fmt.Sprintf("%d:%d: %s", one.At.Line, one.At.Column, one.Message))
	}
	return strings.Join(lines, "\n")
}

// An Answer is the child's answer about one file: a value or problems.
type Answer struct {
	Value    *Value   `json:"value,omitempty"`
	Problems Problems `json:"problems,omitempty"`
}

// Evaluate returns the value of a .cue file as JSON sees it, without hidden fields,
// definitions, optional fields and attributes. The file must be self-contained: no
// package except CUE's own, no other file, no registry, no network. A problem of the
// file, or of its time, is an error of type [Problems]. A nil budget only bounds each
// file. It is safe for concurrent use.
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

// exceeded returns the problem of a file whose evaluation was ended. The evaluator's
// position in it is unknown.
func exceeded(message string) Problems {
	return Problems{{Pos{0, 1, 1}, "cue-limit", message, "look for comprehensions, lists or strings that grow, and for definitions that refer to themselves"}}
}
