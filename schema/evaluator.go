package schema

import "encoding/json"

// A Role is a task that a model has in a run besides being the target.
type Role string

// The roles of models.
const (
	Judge     Role = "judge"
	Simulator Role = "simulator"
	Extractor Role = "extractor"
)

// An Evaluator turns a transcript into a measurement by its Spec, and a
// measurement into a score and a pass by its Rule.
type Evaluator struct {
	// Name is shown in reports; it is unique within the case.
	Name string
	// File is where the evaluator is configured; it is in no digest.
	File string
	// Weight is the share of the evaluator in the score of the case, ≥ 0.
	Weight float64
	// Spec is what is measured. It belongs to the judgement digest J.
	Spec Spec
	// Rule decides what the measurement means. It belongs to the decision
	// digest D: changing it needs no call.
	Rule Rule
}

// A Spec says what an evaluator measures. All fields that bear on the
// measurement are exported and encode as JSON.
type Spec interface {
	// Kind is the evaluator's type, such as keyword.
	Kind() string
	// Version counts up whenever the evaluator's code or template changes what
	// it measures or asks.
	Version() int
	// Roles names the models that the evaluator may call.
	Roles() []Role
}

// A Rule turns the criteria of a measurement into a score in [0,1] and a pass.
//
// A measurement's score is the mean of its criteria's scores; when Need is
// set, min(1, Σ scores / Need). A violated veto makes it 0 and fails it. The
// evaluator passes when the mean over the samples reaches Threshold, compared
// after rounding to 1e-9.
type Rule struct {
	// Need is how many criteria must be met for the full score; 0 means all.
	Need int `json:"need,omitempty"`
	// Threshold is the least score that passes, in [0,1].
	Threshold float64 `json:"threshold"`
	// Weights of criteria by id; a criterion that is not listed weighs 1.
	Weights map[string]float64 `json:"weights,omitempty"`
	// Required lists the criteria whose failure fails the evaluator.
	Required []string `json:"required,omitempty"`
}

// Keyword looks for words in the final answer.
type Keyword struct {
	Keywords   []string `json:"keywords,omitempty"`
	Forbidden  []string `json:"forbidden,omitempty"`
	WholeWords bool     `json:"whole_words,omitempty"`
}

// Kind returns "keyword".
func (Keyword) Kind() string { return "keyword" }

// Version is the version of the matching rule.
func (Keyword) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (Keyword) Roles() []Role { return nil }

// TwoPass extracts the answer from the reply with a second call where the
// reply is not the answer already, and compares it by type.
type TwoPass struct {
	// Answer is the expected answer as canonical JSON.
	Answer json.RawMessage `json:"answer"`
	// Type is numeric, string, contains, boolean, choice or json.
	Type string `json:"type"`
	// Tolerance is the largest absolute difference of numbers that are equal.
	Tolerance float64 `json:"tolerance,omitempty"`
}

// Kind returns "two_pass".
func (TwoPass) Kind() string { return "two_pass" }

// Version is the version of the normalisation and of the extraction prompt.
func (TwoPass) Version() int { return 1 }

// Roles returns the extractor.
func (TwoPass) Roles() []Role { return []Role{Extractor} }

// SQLExecutor takes a SQL statement from the reply and checks its form and,
// on a database built fresh for it, its result.
type SQLExecutor struct {
	QueryType        string   `json:"query_type,omitempty"`
	Columns          []string `json:"expected_columns,omitempty"`
	ForbiddenColumns []string `json:"forbidden_columns,omitempty"`
	MinRows          *int     `json:"min_rows,omitempty"`
	MaxRows          *int     `json:"max_rows,omitempty"`
	Tables           []string `json:"table,omitempty"`
	Clauses          []string `json:"clause,omitempty"`
	Functions        []string `json:"functions,omitempty"`
	// Database is what the statement runs on: one .sqlite file or .sql
	// scripts, executed in order. Empty when no check looks at a result. Its
	// bytes are parts of J of their own; its paths count nowhere.
	Database []File `json:"-"`
}

// NeedsDatabase reports whether a check looks at the columns or rows of the
// result rather than at the statement.
func (s SQLExecutor) NeedsDatabase() bool {
	return len(s.Columns) > 0 || len(s.ForbiddenColumns) > 0 || s.MinRows != nil || s.MaxRows != nil
}

// Kind returns "sql_executor".
func (SQLExecutor) Kind() string { return "sql_executor" }

// Version is the version of the checks and of the extraction prompt.
func (SQLExecutor) Version() int { return 1 }

// Roles returns the extractor.
func (SQLExecutor) Roles() []Role { return []Role{Extractor} }

// ToolCalls compares the calls that the target made with those expected.
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

// Version is the version of the matching.
func (ToolCalls) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (ToolCalls) Roles() []Role { return nil }

// Regex compares what a pattern finds in a text with an expected value.
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

// Version is the version of the comparison.
func (Regex) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (Regex) Roles() []Role { return nil }

// Prompt asks a judge for a score in [0,1].
type Prompt struct {
	// Template may hold {prompt}, {response}, {expected} and {level}.
	Template string `json:"template"`
	// Expected and Level fill the template and are set only if it uses them.
	Expected json.RawMessage `json:"expected,omitempty"`
	Level    string          `json:"level,omitempty"`
	// Pattern, when set, reads the score from the judge's reply: a hybrid.
	Pattern string `json:"pattern,omitempty"`
	// MaxScore divides the number that the judge gives; 0 means that the judge
	// gives 0–1 and anything above is an error.
	MaxScore float64 `json:"max_score,omitempty"`
}

// Kind returns "hybrid" when a pattern reads the judge's reply, else "prompt".
func (p Prompt) Kind() string {
	if p.Pattern != "" {
		return "hybrid"
	}
	return "prompt"
}

// Version is the version of the template's frame and of the reply's reading.
func (Prompt) Version() int { return 1 }

// Roles returns the judge.
func (Prompt) Roles() []Role { return []Role{Judge} }
