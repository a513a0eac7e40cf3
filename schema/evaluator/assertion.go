package evaluator

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// Assertion compares the answer of the target with one rule that needs no model (the
// assertions of the matrix dialect). It is one criterion with the score 1 or 0.
type Assertion struct {
	// Type is the name of the rule without not-, such as icontains-any.
	Type string `json:"type"`
	// Not inverts the result.
	Not bool `json:"not,omitempty"`
	// Value is the wanted value: a string, a list of strings, a JSON Schema, or any
	// value to be equal to, depending on the Type. nil if the Type needs none.
	Value json.RawMessage `json:"value,omitempty"`
	// Most is the largest edit distance of levenshtein.
	Most int `json:"most,omitempty"`
	// Trim leaves out the white space around the answer and the value.
	Trim bool `json:"trim,omitempty"`
	// Flags are the flags of a pattern in JavaScript, such as i.
	Flags string `json:"flags,omitempty"`
}

// Kind returns "assertion".
func (Assertion) Kind() string { return "assertion" }

// Version returns the version of the comparison. Since 2 contains-json looks for an
// object and not for a list, as promptfoo does; since 3 an answer that is too long to
// be searched completely is an error. Since 2 icontains has the lower case of
// JavaScript. Since 2 a pattern of regex is JavaScript's, whether RE2 has it or not.
// Since 2 a DOCTYPE in XML and the end of a tag of body are read as promptfoo does, and
// names such as toString as they are written.
// One more since an answer that was cut off is an error of an inverted one that holds.
func (a Assertion) Version() int {
	version := 1
	switch a.Type {
	case "contains-json":
		version = 3
	case "icontains", "icontains-any", "icontains-all", "regex", "is-xml", "contains-xml", "is-html":
		version = 2
	}
	if a.Not {
		version++
	}
	return version
}

// Roles returns nil: no model is asked.
func (Assertion) Roles() []schema.Role { return nil }

// Graded asks a judge to grade the answer by a rubric in words (llm-rubric of the
// matrix dialect). The measurement has two criteria: [GradedPass], 1 or 0, and
// [GradedScore].
type Graded struct {
	Rubric string `json:"rubric"`
	// Template replaces Gavel's question to the judge, with {{output}} and {{rubric}};
	// empty for Gavel's.
	Template string `json:"template,omitempty"`
	// Not inverts both criteria.
	Not bool `json:"not,omitempty"`
	// Least is the score that the answer must not reach together with the judge's pass;
	// only with Not, and nil for none.
	Least *float64 `json:"least,omitempty"`
	// ByScore leaves the judge's pass out of what Least decides.
	ByScore bool `json:"by_score,omitempty"`
	// Target is the judging model; empty means the judge. Its identity is a separate
	// part of J.
	Target string `json:"-"`
	// Type is the assertion as it is written, without not-, for people; empty if only
	// one asks like this.
	Type string `json:"-"`
}

// JavaScript runs a function on the answer. The measurement has the criteria of
// [Graded].
type JavaScript struct {
	// Code is an expression, or the body of a function with return.
	Code string `json:"code"`
	// Context is the function's argument context.
	Context json.RawMessage `json:"context,omitempty"`
	// Threshold is the least number that passes; with nil every number above 0 passes.
	Threshold *float64 `json:"threshold,omitempty"`
	// Not inverts the pass, and a score that follows from it.
	Not bool `json:"not,omitempty"`
}

// Kind returns "javascript".
func (JavaScript) Kind() string { return "javascript" }

// Version returns the version of the engine and of reading results. Since 2 a function
// that throws fails with Not, too. Since 3 the engine is QuickJS, with console, URL,
// base64 and UTF-8, and a name that only Node.js has is an error. Since 4 a score that a
// function gives is the same with Not. Since 5 an answer that was cut off is an error of an
// inverted one that holds. One more since a score that is not a number is an
// error.
func (s JavaScript) Version() int {
	if s.Not {
		return 6
	}
	return 4
}

// Roles returns nil: no model is asked.
func (JavaScript) Roles() []schema.Role { return nil }

// Transformed applies functions to the answer before another evaluator measures it.
type Transformed struct {
	// Steps are functions as in [JavaScript], each applied to the previous result.
	Steps   []string
	Context json.RawMessage
	Spec    schema.Spec
}

// Kind returns the other evaluator's kind.
func (t Transformed) Kind() string { return t.Spec.Kind() }

// Version returns the version of the engine and of the other evaluator's input.
// The other evaluator's version is in the encoded form. Since 2 a function gets the
// value that a transform returned, not its text, and a transform that returns nothing
// is an error. Since 3 the engine is the one of version 3 of [JavaScript].
func (Transformed) Version() int { return 3 }

// Roles returns the other evaluator's roles.
func (t Transformed) Roles() []schema.Role { return t.Spec.Roles() }

// Targets names the models that the other evaluator asks in place of others.
func (t Transformed) Targets() []string {
	if s, ok := t.Spec.(interface{ Targets() []string }); ok {
		return s.Targets()
	}
	return nil
}

// MarshalJSON encodes everything that affects the measurement.
func (t Transformed) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"transform": t.Steps, "context": t.Context, "version": t.Spec.Version(), "spec": t.Spec})
}

// The criteria of a [Graded] measurement.
const (
	GradedPass  = "pass"
	GradedScore = "score"
)

// Kind returns "llm-rubric".
func (Graded) Kind() string { return "llm-rubric" }

// Version returns the version of the judge's prompt and of reading its reply. Since 2 a
// reply without a pass is asked for again; before, it passed.
// Since 3 the judge is told that an answer was cut off, and one of which the opposite
// holds is an error.
func (Graded) Version() int { return 3 }

// Roles returns the judge unless another model is asked.
func (g Graded) Roles() []schema.Role { return judgeUnless(g.Target) }

// Targets returns the name of the model that replaces the judge.
func (g Graded) Targets() []string { return named(g.Target) }
