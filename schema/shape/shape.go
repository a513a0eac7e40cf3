// Package shape represents a CUE schema's rules about values, so that mistakes are
// found and explained without evaluating anything, and writes them as a JSON Schema. A
// shape is stored as JSON, since reading it takes a fraction of the time of compiling
// the schema. Package cueeval derives it from the schema.
//
// Most callers want [Shape] and [Writer].
package shape

import (
	"slices"
	"strconv"
)

// A Kind is the type of a JSON value, in words for people.
type Kind string

// The kinds of JSON.
const (
	Null   Kind = "null"
	Bool   Kind = "true or false"
	Number Kind = "a number"
	String Kind = "a string"
	List   Kind = "a list"
	Object Kind = "an object"
)

// A Shape is a schema's rule for one value.
type Shape struct {
	Kinds []Kind `json:"kinds,omitempty"`
	// Whole means that a number must be an integer.
	Whole  bool              `json:"whole,omitempty"`
	Fields map[string]*Shape `json:"fields,omitzero"`
	// Names are Fields in the order of the file, Must the required ones.
	Names []string `json:"names,omitempty"`
	Must  []string `json:"must,omitempty"`
	// Open means that unlisted fields are free, or like Rest if that is not nil.
	Open bool   `json:"open,omitempty"`
	Rest *Shape `json:"rest,omitempty"`
	// Elem is the shape of a list's items; nil if they are free.
	Elem *Shape `json:"elem,omitempty"`
	// Enum are the words that a string may be; nil when it may be any.
	Enum []string `json:"enum,omitzero"`
	// Bounds are a number's, Runes those for the length of a string.
	Bounds []Bound `json:"bounds,omitempty"`
	Runes  []Bound `json:"runes,omitempty"`
	// Least is the minimum number of items in a list.
	Least int `json:"least,omitempty"`
	// Refused are fields that are unknown for a reason worth saying.
	Refused map[string]Refusal `json:"refused,omitempty"`
	// Comment is the text above the field, in one line.
	Comment string `json:"comment,omitempty"`
	// Part marks an incomplete shape: the schema has more rules.
	Part bool `json:"part,omitempty"`
}

// Complete reports whether a value that fits the shape satisfies the schema, so that
// CUE is not needed.
func (s *Shape) Complete() bool {
	return s == nil || !s.Part && s.Rest.Complete() && s.Elem.Complete() &&
		!slices.ContainsFunc(s.Names, func(name string) bool { return !s.Fields[name].Complete() })
}

// A Bound is a limit of a number, or of the length of a string.
type Bound struct {
	// Op is an operator of CUE: >=, >, <= or <.
	Op    string  `json:"op"`
	Limit float64 `json:"limit"`
}

// The operators of a Bound.
const (
	AtLeast  = ">="
	MoreThan = ">"
	AtMost   = "<="
	LessThan = "<"
)

// A Refusal is the message about a field that people write although it does not belong
// to the format. A schema declares it by an attribute of the struct: @misplaced(field,
// why="…", instead="…") or @renamed(field, to=…).
type Refusal struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// To is the intended field; empty without one.
	To string `json:"to,omitempty"`
}

// Holds reports whether a number keeps to the bound.
func (b Bound) Holds(x float64) bool {
	switch b.Op {
	case AtLeast:
		return x >= b.Limit
	case MoreThan:
		return x > b.Limit
	case AtMost:
		return x <= b.Limit
	}
	return x < b.Limit
}

// String describes the demand on a number: at least 1.
func (b Bound) String() string {
	words := map[string]string{AtLeast: "at least", MoreThan: "more than", AtMost: "at most", LessThan: "less than"}
	return words[b.Op] + " " + strconv.FormatFloat(b.Limit, 'f', -1, 64)
}
