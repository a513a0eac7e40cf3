package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/template"
)

// function reads the code of an assertion: inline code, or the file that it names.
// JavaScript that only computes needs no program.
func (c *compiler) function(t *test, a *written, language string, at schema.Position) {
	source, isText := document.ParseText(a.Value)
	isFile := strings.HasPrefix(source, "file://")
	switch {
	case !isText || strings.TrimSpace(source) == "":
		c.note(t, []schema.Problem{{
			Position: at, Severity: schema.Error, Rule: "wrong-value",
			Message: fmt.Sprintf("the value of %s is not code", a.Type), Hint: "write code as a text, or the name of a file with it: file://…",
		}})
		a.need = corrected
	case isFile:
		c.functionFile(t, a, language, at)
	case language != "javascript":
		a.program = &evaluator.Program{Argv: assertion.Runners[language], Dir: path.Dir(c.Doc.File)}
		made := command.Reader{Source: c.Source}.Code(a.program.Dir, at)
		t.inputs = append(t.inputs, made.Inputs...)
		c.note(t, made.Problems)
		a.program.Built = made.Built
	case c.scanner.use(source).foreign != "":
		a.need = "a program (javascript with " + c.scanner.use(source).foreign + ")"
	}
}

// functionFile reads the file of a function, which may be followed by the name of one.
func (c *compiler) functionFile(t *test, a *written, language string, at schema.Position) {
	name, _ := fileName(a.Value)
	function := assertion.DefaultFunctions[language]
	if i := strings.LastIndex(name, ":"); i > 0 {
		name, function = name[:i], name[i+1:]
	}
	found := c.Read(document.Reference{At: at, Path: name, Role: "program", Most: command.MaxFile})
	t.inputs = append(t.inputs, found.Inputs...)
	c.note(t, found.Problems)
	if !found.Found() {
		return
	}
	if a.code = c.scanner.file(found.File, function); a.code != "" {
		return
	}
	p := evaluator.Program{Dir: path.Dir(c.Doc.File)}
	line := command.Line{Argv: []string{p.Sees(found.File.Path)}, Dir: p.Dir, At: func(int) schema.Position { return at }}
	files := command.Reader{Source: c.Source, Lookup: c.Read}.Program(line)
	t.inputs = append(t.inputs, files.Inputs...)
	c.note(t, files.Problems)
	p.Files, p.Built, p.Argv = files.Files, files.Built, append(slices.Clone(assertion.Runners[language]), files.Argv...)
	if function != "" {
		p.Argv = append(p.Argv, function)
	}
	a.program = &p
}

// transformCode returns the code of a transform, or of the file that it names if that
// only computes.
func (c *compiler) transformCode(t *test, source string, at schema.Position) string {
	name, isFile := strings.CutPrefix(source, "file://")
	if !isFile {
		return source
	}
	name, function, _ := strings.Cut(strings.TrimPrefix(name, "./"), ":")
	found := c.Read(document.Reference{At: at, Path: name, Role: "program", Most: command.MaxFile})
	t.inputs = append(t.inputs, found.Inputs...)
	c.note(t, found.Problems)
	if !found.Found() {
		return ""
	}
	return cmp.Or(c.scanner.file(found.File, function), source)
}

// told returns the argument context of functions. The provider and the test are there
// for code that may read them, since a change of a test is one of its functions then. A
// program gets them always.
func (j *judgement) told(a written, vars template.Variables, code ...string) (json.RawMessage, error) {
	said := map[string]any{"vars": vars, "prompt": j.prompt}
	if len(a.Config) > 0 {
		said["config"] = a.Config
	}
	reads := use{provider: a.program != nil, test: a.program != nil}
	for _, one := range code {
		used := j.scanner.use(one)
		reads.provider, reads.test = reads.provider || used.provider, reads.test || used.test
	}
	if reads.provider {
		said["provider"] = map[string]any{"id": cmp.Or(j.provider.id, j.provider.target), "label": j.provider.label, "config": j.provider.config}
	}
	if reads.test {
		said["test"] = j.test.told(vars)
	}
	raw, err := json.Marshal(said)
	j.budget.Spend(document.Values, len(raw))
	return raw, err
}

// told returns the test as functions see it.
func (t *test) told(vars template.Variables) any {
	type assertion struct {
		Type      string          `json:"type"`
		Value     json.RawMessage `json:"value,omitempty"`
		Threshold *float64        `json:"threshold,omitempty"`
		Weight    *float64        `json:"weight,omitempty"`
		Metric    string          `json:"metric,omitempty"`
	}
	asserts := make([]assertion, len(t.asserts))
	for i, a := range t.asserts {
		asserts[i] = assertion{a.Type, a.Value, a.Threshold, a.Weight, a.Metric}
	}
	return struct {
		Description string             `json:"description,omitempty"`
		Vars        template.Variables `json:"vars"`
		Assert      []assertion        `json:"assert"`
		Threshold   *float64           `json:"threshold,omitempty"`
	}{t.description, vars, asserts, t.threshold}
}

// code compiles an assertion in JavaScript, or by a program.
func (j *judgement) code(a written, value json.RawMessage, vars template.Variables) (schema.Spec, error) {
	source, _ := document.ParseText(value)
	if source = cmp.Or(a.code, source); schema.HasKept(source) {
		return nil, &template.NeedError{What: "the output of another test in code (context.vars has it)"}
	}
	told, err := j.told(a, vars, source)
	if err != nil {
		return nil, err
	}
	if a.program == nil {
		return evaluator.JavaScript{Code: source, Context: told, Threshold: a.Threshold}, nil
	}
	spec := evaluator.Function{Program: *a.program, Context: told, Threshold: a.Threshold}
	if spec.Config = a.Config; len(a.program.Files) == 0 {
		spec.Code = source
	}
	return spec, nil
}

// parsing makes the value of a reply that is JSON; another one stays a text.
const parsing = `if (typeof output !== 'string') return output;
try {
	return JSON.parse(output);
} catch (e) {
	return output;
}`

// steps returns the functions that an answer passes through, and last the assertion's own.
func (j *judgement) steps(own string) ([]string, error) {
	steps := j.given.steps()
	if j.structured {
		steps = append(steps, parsing)
	}
	for _, source := range append(slices.Clip(j.transforms), own) {
		switch {
		case source == "":
			continue
		case strings.HasPrefix(source, "file://"):
			return nil, &template.NeedError{What: "a program (transform in a file)"}
		case j.scanner.use(source).foreign != "":
			return nil, &template.NeedError{What: fmt.Sprintf("a program (transform with %s)", j.scanner.use(source).foreign)}
		}
		steps = append(steps, source)
	}
	return steps, nil
}

// transformed applies the transforms of the test and of the assertion to the answer
// before an evaluator. The cost and duration of a sample are not transformed.
func (j *judgement) transformed(spec schema.Spec, a written, vars template.Variables) (schema.Spec, error) {
	steps, err := j.steps(a.Transform)
	if err != nil {
		return nil, err
	}
	switch spec.(type) {
	case evaluator.Checks, evaluator.Calls, evaluator.Finish, evaluator.MaxScore, evaluator.Composite: // of the last, each member is
		return spec, nil
	}
	if len(steps) == 0 {
		return spec, nil
	}
	told, err := j.told(written{Config: a.Config}, vars, steps...)
	return evaluator.Transformed{Steps: steps, Context: told, Spec: spec}, err
}
