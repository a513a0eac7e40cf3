package cuefile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/childpool"
)

// ErrLimit means that an evaluation took too much time or memory.
var ErrLimit = errors.New("the evaluation passed its limits")

// maxConstraints bounds the text of all constraints of a set.
const maxConstraints = 1 << 20

// A File is a .cue file of a set.
type File struct {
	Name string
	Data []byte
}

// Constraints are .cue files that demand of values more than a schema does.
// A file opens a definition of the schema again, such as #Testcase: {…}; a
// field that it names without ? must be there.
//
// The zero value demands nothing. Constraints may be used from many goroutines.
type Constraints struct {
	// Fields are the fields that the files name in definitions, and the definitions.
	Fields []ConstrainedField

	budget  *Budget
	files   []File
	request RuleRequest
	touched map[string]bool
}

// A ConstrainedField is a field of a definition that a file names; it is empty
// for the definition itself.
type ConstrainedField struct {
	Def   string `json:"def"`
	Field string `json:"field,omitempty"`
	At    FilePos
	// Used means that the files refer to the definition.
	Used bool `json:"used,omitempty"`
}

// A FilePos is a place in one of the files of a set.
type FilePos struct {
	// Index counts the files from 0. The child sends nothing else.
	Index int `json:"file"`
	Pos
	// File is its name.
	File string `json:"-"`
}

// String renders the place as file:line:column.
func (p FilePos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// A FileProblem is a mistake in a file of a set.
type FileProblem struct {
	At                  FilePos
	Rule, Message, Hint string
}

// FileProblems is the error of constraints that cannot be used.
type FileProblems []FileProblem

// Error returns a line for each problem.
func (p FileProblems) Error() string {
	var lines []string
	for _, one := range p {
		lines = append(lines, one.At.String()+": "+one.Message)
	}
	return strings.Join(lines, "\n")
}

// A Violation is a value that violates a constraint.
type Violation struct {
	// Path leads to the value; the indices of lists are written in digits.
	Path []string `json:"path"`
	// Missing marks a field that is not there.
	Missing bool `json:"missing,omitempty"`
	// Message is the constraint's own: the text of its error("…"), or a comment above
	// the field. Own is false without one.
	Message string `json:"message"`
	Own     bool   `json:"own,omitempty"`
	// By is the constraint. It has no name if CUE does not report it.
	By FilePos `json:"by"`
}

// A RuleRequest asks the child to compile constraints, and to hold a value
// against one of their definitions.
type RuleRequest struct {
	ID     string          `json:"id"`
	Schema [][]byte        `json:"schema,omitempty"` // omitted if the child has the set
	Files  [][]byte        `json:"files,omitempty"`
	Def    string          `json:"def,omitempty"` // empty only compiles
	Value  json.RawMessage `json:"value,omitempty"`
}

// A RuleAnswer is the child's answer to a RuleRequest.
type RuleAnswer struct {
	Problems   []FileProblem      `json:"problems,omitempty"`
	Fields     []ConstrainedField `json:"fields,omitempty"`
	Touched    []string           `json:"touched,omitempty"`
	Violations []Violation        `json:"violations,omitempty"`
}

// Compile returns the constraints of files with the schema that they build on.
// Compiling and checking take their time from the budget. Files that cannot be
// used are an error of type [FileProblems].
func (b *Budget) Compile(ctx context.Context, schema, files []File) (*Constraints, error) {
	c := &Constraints{budget: b, files: files, touched: map[string]bool{}}
	hash, size := sha256.New(), 0
	for _, f := range schema {
		c.request.Schema = append(c.request.Schema, f.Data)
	}
	for _, f := range files {
		c.request.Files = append(c.request.Files, f.Data)
		size += len(f.Data)
	}
	for _, data := range slices.Concat(c.request.Schema, c.request.Files) {
		fmt.Fprintf(hash, "%d\n%s", len(data), data)
	}
	if size > maxConstraints {
		return nil, c.whole(0, "too-large", fmt.Sprintf("the constraints have %d bytes; %d are allowed", size, maxConstraints), "say it shorter")
	}
	c.request.ID = hex.EncodeToString(hash.Sum(nil))
	out, err := c.ask(ctx, c.request)
	switch {
	case errors.Is(err, ErrLimit):
		return nil, c.overrun(ctx, c.request, err)
	case err != nil:
		return nil, fmt.Errorf("compile the constraints: %w", err)
	case len(out.Problems) > 0:
		return nil, FileProblems(out.Problems)
	}
	c.Fields = out.Fields
	for _, def := range out.Touched {
		c.touched[def] = true
	}
	return c, nil
}

// Touches reports whether the files constrain a definition, or a part of one.
func (c *Constraints) Touches(def string) bool { return c != nil && c.touched[def] }

// Check holds a JSON value that the schema accepts against the constraints of
// a definition. If they pass the limits of an evaluation or end it,
// the error is of type [FileProblems] and names the file.
func (c *Constraints) Check(ctx context.Context, def string, value []byte) ([]Violation, error) {
	r := c.request
	r.Def, r.Value = def, value
	out, err := c.ask(ctx, r)
	switch {
	case errors.Is(err, ErrLimit):
		return nil, c.overrun(ctx, r, err)
	case err != nil:
		return nil, fmt.Errorf("check the constraints of %s: %w", def, err)
	}
	if len(out.Problems) > 0 { // the evaluator broke off
		return nil, FileProblems(out.Problems)
	}
	return out.Violations, nil
}

// overrun finds the file that does not come to an end: of several the first
// that does not do so by itself.
func (c *Constraints) overrun(ctx context.Context, r RuleRequest, err error) FileProblems {
	guilty := 0
	for i := range c.files {
		if len(c.files) == 1 {
			break
		}
		one := Constraints{budget: c.budget, files: c.files[i : i+1]}
		alone := r
		alone.ID, alone.Files = fmt.Sprint(r.ID, " ", i), r.Files[i:i+1]
		if _, aloneErr := one.ask(ctx, alone); errors.Is(aloneErr, ErrLimit) {
			guilty = i
			break
		}
	}
	return c.whole(guilty, "cue-limit", "the constraints are not checked: "+strings.TrimPrefix(err.Error(), ErrLimit.Error()+": "),
		"look for comprehensions, lists or strings that grow, and for definitions that refer to themselves")
}

// whole returns a problem of a file as a whole.
func (c *Constraints) whole(i int, rule, message, hint string) FileProblems {
	return FileProblems{{FilePos{i, Pos{0, 1, 1}, c.files[i].Name}, rule, message, hint}}
}

func (c *Constraints) ask(ctx context.Context, r RuleRequest) (RuleAnswer, error) {
	var out RuleAnswer
	err := c.budget.ask(ctx, Request{Rules: &r}, func(line []byte) (err error) {
		out, err = c.decode(line)
		return err
	})
	switch {
	case errors.Is(err, errSpent):
		return out, fmt.Errorf("%w: they and the .cue files took more than %v together", ErrLimit, totalTime)
	case errors.Is(err, childpool.ErrTime):
		return out, fmt.Errorf("%w: the evaluation took longer than %v", ErrLimit, MaxTime)
	case errors.Is(err, childpool.ErrMemory):
		return out, fmt.Errorf("%w: the evaluation needed more memory than %d MiB, or is nested too deeply", ErrLimit, MaxMemory>>20)
	}
	return out, err
}

// decode trusts the answer as little as a file's answer.
func (c *Constraints) decode(line []byte) (RuleAnswer, error) {
	var out RuleAnswer
	if err := json.Unmarshal(line, &out); err != nil {
		return RuleAnswer{}, fmt.Errorf("read the child's answer: %w", err)
	}
	if len(out.Problems) > MaxProblems || len(out.Violations) > MaxProblems {
		return RuleAnswer{}, fmt.Errorf("read the child's answer: it has more than %d problems", MaxProblems)
	}
	var places []*FilePos
	for i := range out.Problems {
		places = append(places, &out.Problems[i].At)
	}
	for i := range out.Fields {
		places = append(places, &out.Fields[i].At)
	}
	for i := range out.Violations {
		if out.Violations[i].By.Index >= 0 {
			places = append(places, &out.Violations[i].By)
		}
	}
	lines := make([]*reader, len(c.files))
	for _, p := range places {
		if p.Index < 0 || p.Index >= len(c.files) {
			return RuleAnswer{}, fmt.Errorf("read the child's answer: it names the file with index %d of %d files", p.Index, len(c.files))
		}
		if lines[p.Index] == nil {
			lines[p.Index] = &reader{lineIndex: newPlaces(c.files[p.Index].Data)}
		}
		p.File = c.files[p.Index].Name
		if lines[p.Index].setPosition(&p.Pos); lines[p.Index].err != nil {
			return RuleAnswer{}, fmt.Errorf("read the child's answer: %w", lines[p.Index].err)
		}
	}
	return out, nil
}
