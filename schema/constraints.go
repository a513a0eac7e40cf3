package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cuelang.org/go/cue"

	"github.com/gavel-evals/gavel/schema/cuefile"
)

// maxConstraintFiles bounds the files of one definitions folder.
const maxConstraintFiles = 50

// The rules of problems that constraints give.
const (
	// RuleConstraint is of a definition that does not hold one.
	RuleConstraint = "constraint"
	// RuleConstraintFile is of a file of constraints that cannot be used.
	RuleConstraintFile = "constraint-file"
	// RuleConstraintLimit is of one that does not come to an end.
	RuleConstraintLimit = "constraint-limit"
)

// A ConstraintFile is one of the .cue files with which a team demands more of
// its definitions than their formats do: <definitions>/schema/*.cue.
type ConstraintFile struct {
	File string
	Text string
	// Unreadable says why there is no text.
	Unreadable string
}

// Root is the definitions folder that the file is about.
func (f ConstraintFile) Root() string { return path.Dir(path.Dir(f.File)) }

// ReadConstraints reads the constraint files of definitions folders.
func ReadConstraints(fsys fs.FS, definitions []string) []ConstraintFile {
	var out []ConstraintFile
	for _, root := range definitions {
		entries, err := fs.ReadDir(fsys, path.Join(root, "schema"))
		if err != nil {
			continue // a folder that need not be there
		}
		for _, e := range entries {
			if path.Ext(e.Name()) != ".cue" || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			f := ConstraintFile{File: path.Join(root, "schema", e.Name())}
			data, err := ReadFile(fsys, f.File, 0)
			if err == nil {
				f.Text = string(data)
			} else {
				f.Unreadable = reason(err)
			}
			out = append(out, f)
		}
	}
	return out
}

// Constraints are those of one definitions folder. nil demands nothing. They
// may be used by many goroutines.
type Constraints struct {
	rules *cuefile.Constraints
	// added are fields that no format has, by definition.
	added map[string][]string

	mu      sync.Mutex
	overrun []Problem // guarded by mu
}

// extensible are the definitions that constraints may add fields to: those
// that a file, or an item of it, is as a whole.
var extensible = []string{
	"#Testcase", "#Promptval", "#Evalcase", "#EvalcaseSuite", "#EvalcaseSidecar",
	"#Domain", "#Level", "#Test", "#Tool", "#Evaluator",
}

// NewConstraints compiles constraints. Of files that cannot be used it gives
// problems and nothing else.
func NewConstraints(files []ConstraintFile) (*Constraints, []Problem) {
	if len(files) > maxConstraintFiles {
		return nil, []Problem{fileProblem(files[maxConstraintFiles].File, fmt.Sprintf("there are more than %d files of constraints", maxConstraintFiles), "put several into one")}
	}
	var given, own []cuefile.File
	var problems []Problem
	for _, f := range files {
		if f.Unreadable != "" {
			problems = append(problems, fileProblem(f.File, "the file cannot be read: "+f.Unreadable, "make it a plain file of the repository"))
		}
		given = append(given, cuefile.File{Name: f.File, Data: []byte(f.Text)})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	names, err := fs.Glob(sources, "*.cue")
	if err != nil {
		return nil, []Problem{fileProblem(files[0].File, err.Error(), "")}
	}
	for _, name := range names {
		text, err := CUE(name)
		if err != nil {
			return nil, []Problem{fileProblem(files[0].File, err.Error(), "")}
		}
		own = append(own, cuefile.File{Name: name, Data: []byte(text)})
	}
	rules, err := cuefile.NewConstraints(context.Background(), own, given)
	if err != nil {
		return nil, constraintProblems(files[0].File, err)
	}
	c := &Constraints{rules: rules, added: map[string][]string{}}
	if problems := c.vet(); len(problems) > 0 {
		return nil, problems
	}
	return c, nil
}

func fileProblem(file, message, hint string) Problem {
	return Problem{Position{file, 1, 1}, Error, RuleConstraintFile, message, hint}
}

// constraintProblems are those of an error of the evaluation.
func constraintProblems(file string, err error) []Problem {
	var wrong cuefile.FileProblems
	if !errors.As(err, &wrong) {
		return []Problem{fileProblem(file, "the constraints cannot be checked: "+err.Error(), "try again")}
	}
	var out []Problem
	for _, p := range wrong {
		rule := RuleConstraintFile
		if p.Rule == "cue-limit" {
			rule = RuleConstraintLimit
		}
		out = append(out, Problem{Position{p.At.File, p.At.Line, p.At.Column}, Error, rule, p.Message, p.Hint})
	}
	return SortProblems(out)
}

// vet finds names that are likely misspelt, and the fields that are new.
func (c *Constraints) vet() []Problem {
	k := checkers.Get().(*Checker)
	defer checkers.Put(k)
	defs := k.definitions()
	var out []Problem
	for _, f := range c.rules.Fields {
		at := Position{f.At.File, f.At.Line, f.At.Column}
		fail := func(message, hint string) {
			out = append(out, Problem{at, Error, RuleConstraintFile, message, hint})
		}
		if !slices.Contains(defs, f.Def) {
			if near := DidYouMean(f.Def, defs); near != "" {
				fail(fmt.Sprintf("there is no definition `%s`", f.Def), near)
			}
			continue // a name of their own
		}
		s := k.shape(f.Def)
		if f.Field == "" || s.open || slices.Contains(s.names, f.Field) {
			continue
		}
		message := fmt.Sprintf("`%s` has no field `%s`", f.Def, f.Field)
		switch near := DidYouMean(f.Field, s.names); {
		case near != "":
			fail(message, near)
		case s.refused[f.Field] != refusal{}:
			fail(s.refused[f.Field].message, s.refused[f.Field].hint)
		case !slices.Contains(extensible, f.Def):
			fail(message, "known are "+strings.Join(s.names, ", "))
		default:
			c.added[f.Def] = append(c.added[f.Def], f.Field)
		}
	}
	return out
}

// definitions lists those of the built-in schemas.
func (c *Checker) definitions() []string {
	iter, err := c.root.Fields(cue.Definitions(true))
	if err != nil {
		return nil
	}
	var names []string
	for iter.Next() {
		names = append(names, iter.Selector().String())
	}
	return names
}

// Overrun says why the constraints were given up while definitions were
// checked; nil when they were not. What was found before is then by chance.
func (c *Constraints) Overrun() []Problem {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.overrun
}

// adds lists the fields that the constraints add to a definition.
func (c *Constraints) adds(def string) []string {
	if c == nil {
		return nil
	}
	return c.added[def]
}

// check holds a value of a document, which is valid without them, against the
// constraints of a definition.
func (c *Constraints) check(d *Document, def string, path []any) []Problem {
	if c == nil || !c.rules.Touches(def) || c.Overrun() != nil {
		return nil
	}
	found, err := c.rules.Check(context.Background(), def, d.JSON(path...))
	var wrong cuefile.FileProblems
	switch {
	case errors.As(err, &wrong):
		c.mu.Lock()
		defer c.mu.Unlock()
		c.overrun = constraintProblems("", err)
		return nil
	case err != nil:
		return []Problem{d.Problem("unreadable", "the constraints cannot be checked: "+err.Error(), "try again", path...)}
	}
	var out []Problem
	for _, v := range found {
		out = append(out, d.violation(v, path))
	}
	return out
}

func (d *Document) violation(v cuefile.Violation, path []any) Problem {
	full := slices.Clone(path)
	name := ""
	for _, step := range v.Path {
		if i, err := strconv.Atoi(step); err == nil && d.IsList(full...) {
			full = append(full, i)
			continue
		}
		full, name = append(full, step), step
	}
	by := "the team's constraints"
	if v.By.File != "" {
		by = v.By.String()
	}
	p := d.Problem(RuleConstraint, v.Message, "see "+by, full...)
	if v.Missing {
		p.Hint = fmt.Sprintf("add %q: …, which %s demands", name, by)
	}
	switch {
	case v.Own:
	case v.Missing:
		p.Message = fmt.Sprintf("the field `%s` is missing", name)
	default:
		p.Message = quoteName(name) + ": " + v.Message
	}
	return p
}
