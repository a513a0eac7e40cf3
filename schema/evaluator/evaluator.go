// Package evaluator describes the evaluators: one type for each kind, with exactly the
// data that affects the measurement. Dialects fill them in, digests encode them, and
// package evaluate measures by them.
//
// A Spec has no path and no name for people: those may change without judging a case
// again.
package evaluator

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// Keyword looks for words in the final answer.
type Keyword struct {
	Keywords   []string `json:"keywords,omitempty"`
	Forbidden  []string `json:"forbidden,omitempty"`
	WholeWords bool     `json:"whole_words,omitempty"`
}

// Kind returns "keyword".
func (Keyword) Kind() string { return "keyword" }

// Version returns the version of the matching rule. Since 2, the model's thinking is
// ignored. Since 3, a reply that was cut off and has no forbidden word is an error.
func (k Keyword) Version() int {
	if len(k.Forbidden) > 0 {
		return 3
	}
	return 2
}

// Roles returns nil: no model is asked.
func (Keyword) Roles() []schema.Role { return nil }

// TwoPass extracts the answer from the reply with a second call, unless the reply is
// nothing but the answer, and compares it by type.
type TwoPass struct {
	// Answer is the expected answer as canonical JSON.
	Answer json.RawMessage `json:"answer"`
	// Type is numeric, string, contains, boolean, choice or json.
	Type string `json:"type"`
	// Tolerance is the largest absolute difference of numbers that are equal.
	Tolerance float64 `json:"tolerance,omitempty"`
	// Choices are the possible answers of a choice; without them, single letters.
	Choices []string `json:"choices,omitempty"`
}

// Kind returns "two_pass".
func (TwoPass) Kind() string { return "two_pass" }

// Version returns the version of the normalisation and of the extraction prompt. Since
// 2, a reply only counts as the answer if it is nothing else.
// Since 3 the model is told that an answer was cut off.
func (TwoPass) Version() int { return 3 }

// Roles returns the extractor.
func (TwoPass) Roles() []schema.Role { return []schema.Role{schema.Extractor} }

// YesOrNo reads a plain text that is nothing but yes or no, in English and
// Indonesian.
func YesOrNo(plain string) (yes, ok bool) {
	switch plain {
	case "yes", "y", "true", "correct", "right", "1", "ya", "iya", "benar", "betul":
		return true, true
	case "no", "n", "false", "incorrect", "not correct", "wrong", "0",
		"tidak", "bukan", "salah", "tidak benar", "tidak betul", "nggak", "enggak", "gak":
		return false, true
	}
	return false, false
}

// SQLExecutor takes a SQL statement from the reply and checks its form and, on a newly
// built database, its result.
type SQLExecutor struct {
	QueryType        string   `json:"query_type,omitempty"`
	Columns          []string `json:"expected_columns,omitempty"`
	ForbiddenColumns []string `json:"forbidden_columns,omitempty"`
	MinRows          *int     `json:"min_rows,omitempty"`
	MaxRows          *int     `json:"max_rows,omitempty"`
	Tables           []string `json:"table,omitempty"`
	Clauses          []string `json:"clause,omitempty"`
	Functions        []string `json:"functions,omitempty"`
	// Database is the statement's database: one .sqlite file or .sql scripts, executed
	// in order. Empty if no check needs a result. Its bytes are separate parts of J;
	// its paths are in no digest.
	Database []schema.File `json:"-"`
}

// NeedsDatabase reports whether a check looks at the columns or rows of the
// result rather than at the statement.
func (s SQLExecutor) NeedsDatabase() bool {
	return len(s.Columns) > 0 || len(s.ForbiddenColumns) > 0 || s.MinRows != nil || s.MaxRows != nil
}

// Kind returns "sql_executor".
func (SQLExecutor) Kind() string { return "sql_executor" }

// Version returns the version of the checks, of the extraction prompt, and of running a
// statement. Since 2, local time is UTC on every machine. Since 3, SUBQUERY and CTE are
// found by structure, a clause among the functions is looked up as a clause, and ILIKE
// is LIKE.
func (SQLExecutor) Version() int { return 3 }

// Roles returns the extractor.
func (SQLExecutor) Roles() []schema.Role { return []schema.Role{schema.Extractor} }

// ToolCalls compares the target's calls with the expected ones.
type ToolCalls struct {
	Expected []ExpectedCall `json:"expected"`
	// Chain asks for the calls in order, other calls between them allowed.
	Chain bool `json:"chain,omitempty"`
}

// An ExpectedCall names a tool and the arguments that a call must carry.
type ExpectedCall struct {
	Tool string `json:"tool"`
	// Args are compared deeply, listed keys only; null means any.
	Args json.RawMessage `json:"args,omitempty"`
}

// Kind returns "tool_call".
func (ToolCalls) Kind() string { return "tool_call" }

// Version returns the version of the matching.
func (ToolCalls) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (ToolCalls) Roles() []schema.Role { return nil }

// Regex compares a pattern's match in a text with an expected value.
type Regex struct {
	// Pattern is RE2 without flags; (?is) is put before it.
	Pattern string `json:"pattern"`
	// Expected is compared with group 1; null asks for presence only.
	Expected json.RawMessage `json:"expected,omitempty"`
	// Comparison is empty for folded text or exact_number.
	Comparison string `json:"comparison,omitempty"`
}

// Kind returns "regex".
func (Regex) Kind() string { return "regex" }

// Version returns the version of the comparison. Since 2, the model's thinking is
// ignored.
func (Regex) Version() int { return 2 }

// Roles returns nil: no model is asked.
func (Regex) Roles() []schema.Role { return nil }

// Prompt asks a judge for a score in [0,1].
type Prompt struct {
	// Template may hold {prompt}, {response}, {expected} and {level}.
	Template string `json:"template"`
	// Expected and Level fill the template and are set only if it uses them.
	Expected json.RawMessage `json:"expected,omitempty"`
	Level    string          `json:"level,omitempty"`
	// Pattern, when set, reads the score from the judge's reply: a hybrid.
	Pattern string `json:"pattern,omitempty"`
	// MaxScore divides the judge's number; 0 means that the judge gives 0–1 and
	// anything above is an error.
	MaxScore float64 `json:"max_score,omitempty"`
}

// Kind returns "hybrid" when a pattern reads the judge's reply, else "prompt".
func (p Prompt) Kind() string {
	if p.Pattern != "" {
		return "hybrid"
	}
	return "prompt"
}

// Version returns the version of the template's frame and of reading the reply. Since
// 2, a score out of range is asked for again.
// Since 3 the model is told that an answer was cut off.
func (Prompt) Version() int { return 3 }

// Roles returns the judge.
func (Prompt) Roles() []schema.Role { return []schema.Role{schema.Judge} }
