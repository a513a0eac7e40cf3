package document

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile"
	"github.com/gavel-evals/gavel/schema/shape"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// maxConstraintFiles bounds the files of one definitions folder.
const maxConstraintFiles = 50

// The rules of problems that constraints give.
const (
	// ruleConstraint is the rule of a definition that violates a constraint.
	ruleConstraint = "constraint"
	// RuleConstraintFile is the rule of a file of constraints that cannot be used.
	RuleConstraintFile = "constraint-file"
	// RuleConstraintLimit is the rule of constraints whose evaluation exceeds its bounds.
	RuleConstraintLimit = "constraint-limit"
)

// ReadConstraints reads the constraint files of these definitions folders. It also lists a file
// or folder that cannot be read, with the reason. The error is a fault, see [schema.IsFault].
func ReadConstraints(fsys fs.FS, definitions []string) ([]schema.ConstraintFile, error) {
	var out []schema.ConstraintFile
	for _, root := range definitions {
		folder := path.Join(root, "schema")
		entries, err := fs.ReadDir(fsys, folder)
		if err != nil {
			info, unseen := fs.Stat(fsys, folder)
			switch {
			case schema.IsFault(err):
				return nil, fmt.Errorf("read the constraints in %s: %w", folder, err)
			case errors.Is(unseen, fs.ErrNotExist) || unseen == nil && info.Mode().IsRegular():
			default:
				out = append(out, schema.ConstraintFile{File: folder, Unreadable: reason(err)})
			}
			continue // it need not be there
		}
		for _, e := range entries {
			if path.Ext(e.Name()) != ".cue" || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			f := schema.ConstraintFile{File: path.Join(folder, e.Name())}
			data, err := schema.ReadFile(fsys, f.File, 0)
			switch {
			case err == nil:
				f.Text = string(data)
			case schema.IsFault(err):
				return nil, fmt.Errorf("read the constraints in %s: %w", f.File, err)
			default:
				f.Unreadable = err.Error()
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// Constraints are a team's own demands on the definitions in one folder; nil demands
// nothing. <definitions>/schema/*.cue open definitions of the built-in schemas again:
//
//	#Testcase: tags: list.MatchN(>0, =~"^owner:") | error("who owns this?")
//
// A field named without ? must exist, and one that the format lacks is added to it. The
// message for a definition that fails is the text of the error("…"), or the comment
// above the field. The files are code of strangers; the child of package cuefile
// evaluates them.
//
// Constraints are safe for concurrent use.
type Constraints struct {
	rules *cuefile.Constraints
	// added are fields that no format has, by definition.
	added map[string][]string

	mu      sync.Mutex
	overrun []schema.Problem // guarded by mu
}

// extensible are the definitions that fields may be added to: those that a
// file, or an item of it, is as a whole.
var extensible = []string{
	"#Testcase", "#Promptval", "#Evalcase", "#EvalcaseSuite", "#EvalcaseSidecar",
	"#Domain", "#Level", "#Test", "#Tool", "#Evaluator",
}

// NewConstraints compiles the files of one definitions folder. For unusable files it
// only returns problems. The budget bounds compiling them and checking definitions.
func NewConstraints(files []schema.ConstraintFile, budget *cuefile.Budget) (*Constraints, []schema.Problem) {
	if len(files) > maxConstraintFiles {
		return nil, []schema.Problem{constraintProblem(files[maxConstraintFiles].File, fmt.Sprintf("there are more than %d files of constraints", maxConstraintFiles), "put several into one")}
	}
	var given []cuefile.File
	var problems []schema.Problem
	for _, f := range files {
		if f.Unreadable != "" {
			problems = append(problems, constraintProblem(f.File, "the file cannot be read: "+f.Unreadable, "make it a plain file of the repository"))
		}
		given = append(given, cuefile.File{Name: f.File, Data: []byte(f.Text)})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	var own []cuefile.File
	sources := schema.Sources()
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		own = append(own, cuefile.File{Name: name, Data: []byte(sources[name])})
	}
	rules, err := budget.Compile(context.Background(), own, given)
	if err != nil {
		return nil, explainConstraints(files[0].File, err)
	}
	c := &Constraints{rules: rules, added: map[string][]string{}}
	if problems := c.vet(); len(problems) > 0 {
		return nil, problems
	}
	return c, nil
}

func constraintProblem(file, message, hint string) schema.Problem {
	at := schema.Position{File: file, Line: 1, Column: 1}
	return schema.Problem{Position: at, Severity: schema.Error, Rule: RuleConstraintFile, Message: message, Hint: hint}
}

// explainConstraints returns the problems of an evaluation.
func explainConstraints(file string, err error) []schema.Problem {
	var wrong cuefile.FileProblems
	if !errors.As(err, &wrong) {
		return []schema.Problem{constraintProblem(file, "the constraints cannot be checked: "+err.Error(), "try again")}
	}
	var out []schema.Problem
	for _, w := range wrong {
		p := constraintProblem(w.At.File, w.Message, w.Hint)
		p.Line, p.Column = w.At.Line, w.At.Column
		if w.Rule == "cue-limit" {
			p.Rule = RuleConstraintLimit
		}
		out = append(out, p)
	}
	return schema.SortProblems(out)
}

// vet finds names that are likely misspelt, and the fields that are new.
func (c *Constraints) vet() []schema.Problem {
	shapes := Shapes()
	var out []schema.Problem
	for _, f := range c.rules.Fields {
		message, hint := "", ""
		switch s := shapes[f.Def]; {
		case s == nil: // a name of their own, or a misspelt one
			message, hint = fmt.Sprintf("unknown definition `%s`", f.Def), suggest.DidYouMean(f.Def, slices.Collect(maps.Keys(shapes)))
			if hint == "" && f.Used {
				continue
			}
			if hint == "" {
				message += ", and nothing refers to it: it constrains nothing"
				hint = "open one of " + strings.Join(extensible, ", ") + ", or another of those that gavel schema prints"
			}
		case f.Field == "" || s.Open || slices.Contains(s.Names, f.Field):
			continue
		default:
			if message, hint = unknownField(f, s); message == "" {
				c.added[f.Def] = append(c.added[f.Def], f.Field)
				continue
			}
		}
		p := constraintProblem(f.At.File, message, hint)
		p.Line, p.Column = f.At.Line, f.At.Column
		out = append(out, p)
	}
	return out
}

// unknownField returns the problem of a field that the format does not have; nothing if
// the team may add it.
func unknownField(f cuefile.ConstrainedField, s *shape.Shape) (message, hint string) {
	message = fmt.Sprintf("`%s` has no field `%s`", f.Def, f.Field)
	if near := suggest.DidYouMean(f.Field, s.Names); near != "" {
		return message, near
	}
	if r, ok := s.Refused[f.Field]; ok {
		return r.Message, r.Hint
	}
	if slices.Contains(extensible, f.Def) {
		return "", ""
	}
	return message, "known are " + strings.Join(s.Names, ", ")
}

// Overrun returns why checking was given up, or nil if it was not. The problems found before are
// incomplete then.
func (c *Constraints) Overrun() []schema.Problem {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.overrun
}

// Adds lists the fields that a definition has in addition to the format's.
func (c *Constraints) Adds(def string) []string {
	if c == nil {
		return nil
	}
	return c.added[def]
}

// Check checks the value at a path, which its format accepts, against the constraints of a definition.
func (c *Constraints) Check(doc *Document, def string, at []any) []schema.Problem {
	if c == nil || !c.rules.Touches(def) || c.Overrun() != nil {
		return nil
	}
	// Checking has no context, and needs none: an evaluation has an end.
	found, err := c.rules.Check(context.Background(), def, doc.JSON(at...))
	var wrong cuefile.FileProblems
	switch {
	case errors.As(err, &wrong):
		c.mu.Lock()
		defer c.mu.Unlock()
		c.overrun = explainConstraints("", err)
		for i := range c.overrun {
			c.overrun[i].Rule = RuleConstraintLimit
		}
		return nil
	case err != nil:
		return []schema.Problem{doc.Problem("unreadable", "the constraints cannot be checked: "+err.Error(), "try again", at...)}
	}
	var out []schema.Problem
	for _, v := range found {
		out = append(out, violation(doc, v, at))
	}
	return out
}

func violation(doc *Document, v cuefile.Violation, at []any) schema.Problem {
	full, name := slices.Clone(at), "the value"
	for _, step := range v.Path {
		if i, err := strconv.Atoi(step); err == nil && doc.IsList(full...) {
			full = append(full, i)
			continue
		}
		full, name = append(full, step), step
	}
	by := "the team's constraints"
	if v.By.File != "" {
		by = v.By.String()
	}
	p := doc.Problem(ruleConstraint, v.Message, "see "+by, full...)
	if v.Missing {
		p.Hint = fmt.Sprintf("add %q: …, which %s demands", name, by)
	}
	switch {
	case v.Own:
	case v.Missing:
		p.Message = fmt.Sprintf("the field `%s` is missing", name)
	default:
		p.Message = fmt.Sprintf("`%s`: %s", name, v.Message)
	}
	return p
}
