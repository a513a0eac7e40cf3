// Package shape is what a CUE schema says of every value, so that mistakes are found and
// explained without evaluating anything, and writes it as a JSON Schema. A shape is stored
// as JSON, since reading it takes a fraction of the time that compiling the schema takes.
// Package cueshape reads it off the schema.
//
// Most callers want [Shape] and [Writer].
package shape

import (
	"slices"
	"strconv"
)

// A Kind is what a value of JSON is, in words for people.
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

// A Shape is what a schema says of one value.
type Shape struct {
	Kinds []Kind `json:"kinds,omitempty"`
	// Whole says that a number must be an integer.
	Whole  bool              `json:"whole,omitempty"`
	Fields map[string]*Shape `json:"fields,omitzero"`
	// Names are those of Fields in the order of the file, Must those that are
	// required.
	Names []string `json:"names,omitempty"`
	Must  []string `json:"must,omitempty"`
	// Open says that fields that are not listed are free, or like Rest where
	// that is not nil.
	Open bool   `json:"open,omitempty"`
	Rest *Shape `json:"rest,omitempty"`
	// Elem is what the items of a list are; nil when they are free.
	Elem *Shape `json:"elem,omitempty"`
	// Enum are the words that a string may be; nil when it may be any.
	Enum []string `json:"enum,omitzero"`
	// Bounds are those of a number, Runes those of the length of a string.
	Bounds []Bound `json:"bounds,omitempty"`
	Runes  []Bound `json:"runes,omitempty"`
	// Least is how many items a list must have.
	Least int `json:"least,omitempty"`
	// Refused are fields that are unknown for a reason worth saying.
	Refused map[string]Refusal `json:"refused,omitempty"`
	// Comment is the text above the field, in one line.
	Comment string `json:"comment,omitempty"`
	// Part marks a shape that does not say all that the schema says.
	Part bool `json:"part,omitempty"`
}

// Complete reports whether a value that fits the shape satisfies the schema, so that CUE
// need not be asked.
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

// A Refusal is what is said of a field that people write although it is not
// part of the format. A schema declares it by an attribute of the struct:
// @misplaced(field, why="…", instead="…") or @renamed(field, to=…).
type Refusal struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// To is the field that is meant; empty where there is none.
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

// String says what a number must be: at least 1.
func (b Bound) String() string {
	words := map[string]string{AtLeast: "at least", MoreThan: "more than", AtMost: "at most", LessThan: "less than"}
	return words[b.Op] + " " + strconv.FormatFloat(b.Limit, 'f', -1, 64)
}
