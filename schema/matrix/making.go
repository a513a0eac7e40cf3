package matrix

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/template"
)

// maxMakings bounds the programs that make parts of one definition.
const maxMakings = 32

// A madeValue is what a function of a program returned for one call, or its error.
type madeValue struct {
	Value json.RawMessage `json:"value"`
	Error string          `json:"error"`
}

// makes reports whether a program in the language of a file can make what a function does
// not.
func (c *compiler) makes(file string) bool { return c.Make != nil && languages[path.Ext(file)] != "" }

// A makingCall is a function of a file, whose program makes a part of the definition.
type makingCall struct {
	file, function string
	at             schema.Position // where it is named
	reads          []string        // the files that its arguments are from
	what           string          // for messages
}

// make calls the function with arguments. The problem is nil if there is a value or an error for
// each of them; else nothing was made.
func (c *compiler) make(m makingCall, calls []json.RawMessage) ([]madeValue, *schema.Problem) {
	language := languages[path.Ext(m.file)]
	fail := func(message, hint string) ([]madeValue, *schema.Problem) {
		return nil, &schema.Problem{Position: m.at, Severity: schema.Error, Rule: schema.RuleNotMade, Message: fmt.Sprintf("%s of %s: %s", m.what, m.file, message), Hint: hint}
	}
	if c.makings++; c.makings > maxMakings {
		return fail(fmt.Sprintf("the file has more than %d programs that make parts of it", maxMakings), "have one program make several of them, or write them into a file")
	}
	p, inputs := c.programOfFile(m.file, makeRunners[language], m.at)
	c.inputs = append(c.inputs, inputs...)
	p.Argv = append(p.Argv, m.function)
	p.Stdin, _ = json.Marshal(map[string]any{"calls": calls}) // JSON values
	c.Budget.Spend(document.Text, len(p.Stdin))
	reads := append(slices.Clip(m.reads), m.file)
	if m.at.File != c.base {
		reads = append(reads, m.at.File) // it chooses the function
	}
	printed, err := c.Make(schema.Making{PromptProgram: p, Definition: c.base, Reads: reads})
	if unmade, ok := errors.AsType[*schema.UnmadeError](err); ok {
		values, problem := fail(unmade.Reason, unmade.Hint)
		if unmade.Waits {
			problem.Rule = schema.RuleWaits
		}
		return values, problem
	}
	if err != nil {
		return fail(err.Error(), "correct the program; it is started while the file is read")
	}
	var values []madeValue
	if err := json.Unmarshal(printed, &values); err != nil || len(values) != len(calls) {
		return fail("it prints something else than the values of its function", "print on stderr, and return the values")
	}
	return values, nil
}

// programOfFile finds the source files of a program that a runner starts, and returns it without
// its input.
func (c *compiler) programOfFile(file string, runner []string, at schema.Position) (schema.PromptProgram, []schema.Input) {
	s := promptSource{name: file, at: at}
	c.findProgram(&s, runner)
	return *s.program, s.inputs
}

// madeTests returns the tests that a program makes, as JSON; nil with a problem of the
// definition.
func (c *compiler) madeTests(m makingCall, config json.RawMessage) json.RawMessage {
	if path.Ext(m.file) == ".py" {
		m.function = cmp.Or(m.function, "generate_tests")
	}
	args := []json.RawMessage{}
	if len(config) > 0 {
		args = append(args, config)
	}
	call, _ := json.Marshal(args) // JSON values
	values, problem := c.make(m, []json.RawMessage{call})
	if problem == nil && values[0].Error != "" {
		problem = &schema.Problem{Position: m.at, Severity: schema.Error, Rule: schema.RuleNotMade, Message: fmt.Sprintf("the tests of %s are not made: %s", m.file, template.Clip(values[0].Error)), Hint: "correct the function; it is called while the file is read"}
	}
	if problem != nil {
		c.Problems = append(c.Problems, *problem)
		return nil
	}
	return values[0].Value
}

// A madeKey is one call of the function of a variable.
type madeKey struct{ file, args string }

// madeVariables are the values of variables that programs make.
type madeVariables struct {
	values map[madeKey]madeValue
	// failed are the files whose programs were not run, and due are calls to be made, by file.
	// due is nil except while they are collected.
	failed map[string]bool
	due    map[string]*variableCalls
}

// A variableCalls has the calls that a file's function is still to be called with, and where
// the first of them is named.
type variableCalls struct {
	makingCall
	calls []json.RawMessage
	known map[string]bool
}

// makeVariables has programs make the values of variables: all of a file with one start,
// those that a function before them makes first.
func (c *compiler) makeVariables(rows []row) {
	if c.Make == nil || !slices.ContainsFunc(rows, func(r row) bool { return len(r.test.functions) > 0 }) {
		return
	}
	reads := c.argumentFiles(testsOf(rows))
	c.made.values, c.made.failed = map[madeKey]madeValue{}, map[string]bool{}
	for {
		c.made.due = map[string]*variableCalls{}
		for _, r := range rows {
			c.collectCalls(r)
		}
		due := c.made.due
		if c.made.due = nil; len(due) == 0 {
			return
		}
		for _, file := range slices.Sorted(maps.Keys(due)) {
			due[file].reads = reads
			c.makeValues(due[file])
		}
	}
}

// collectCalls collects the calls that a row needs next.
func (c *compiler) collectCalls(r row) {
	for _, p := range c.prompts {
		for _, by := range c.asked(r) {
			c.Budget.Go()
			c.called(r, p, by)
		}
	}
}

// testsOf returns the tests of rows.
func testsOf(rows []row) (tests []*test) {
	for _, r := range rows {
		tests = append(tests, r.test)
	}
	return tests
}

// argumentFiles returns the files that may be in the arguments of a function of tests.
func (c *compiler) argumentFiles(tests []*test) []string {
	files := map[string]bool{}
	for _, in := range c.inputs {
		files[in.File] = true
	}
	for _, t := range tests {
		for _, in := range t.inputs {
			files[in.File] = true
		}
	}
	return slices.Sorted(maps.Keys(files))
}

// makeValues calls the function of a file.
func (c *compiler) makeValues(due *variableCalls) {
	values, problem := c.make(due.makingCall, due.calls)
	if problem != nil {
		c.wrong = append(c.wrong, *problem)
		c.made.failed[due.file] = true
		return
	}
	for i, call := range due.calls {
		c.made.values[madeKey{due.file, string(call)}] = values[i]
	}
}

// errLater means that a value is not made yet, or that its program was not run.
var errLater = errors.New("the value is not made")

// A programError is the error of a function that a program called.
type programError struct{ message string }

// Error returns the message.
func (e *programError) Error() string { return e.message }

// ruleOf returns the rule of an error about a value: the reason of a program's may be the
// machine's.
func ruleOf(err error) string {
	if _, ok := errors.AsType[*programError](err); ok {
		return schema.RuleNotMade
	}
	return ""
}

// madeByProgram returns the object that the program of a variable returns for one call.
func (c *compiler) madeByProgram(f computation, name string, args ...any) (template.Variables, error) {
	call, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	got, known := c.made.values[madeKey{f.file, string(call)}]
	switch {
	case !known:
		if c.made.due != nil && !c.made.failed[f.file] {
			c.made.await(f, name, call)
		}
		return nil, errLater
	}
	return got.object()
}

// object returns the object that a function returned.
func (v madeValue) object() (out template.Variables, err error) {
	if v.Error != "" {
		return nil, &programError{v.Error}
	}
	if len(v.Value) == 0 || v.Value[0] != '{' || json.Unmarshal(v.Value, &out) != nil {
		return nil, fmt.Errorf("the function must return an object, and returns %s", template.Clip(string(v.Value)))
	}
	return out, nil
}

// makeVariations has programs call the functions that add to the variables of tests: all of a
// function with one start.
func (c *compiler) makeVariations(tests []test) {
	type function struct{ file, name string }
	due := map[function][]*test{}
	for i := range tests {
		t := &tests[i]
		if t.need != "" || t.variation.file == "" || !c.makes(t.variation.file) {
			continue
		}
		if _, err := c.variationOf(t); needsProgram(err) {
			f := function{t.variation.file, t.variation.function}
			due[f] = append(due[f], t)
		}
	}
	for _, f := range slices.SortedFunc(maps.Keys(due), func(a, b function) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.name, b.name)) }) {
		c.makeVariation(due[f])
	}
}

// makeVariation has a program call the function of several tests.
func (c *compiler) makeVariation(tests []*test) {
	of := tests[0].variation
	m := makingCall{file: of.file, function: of.function, at: of.at, reads: c.argumentFiles(tests), what: transformVars}
	if path.Ext(m.file) == ".py" {
		m.function = cmp.Or(m.function, "get_transform")
	}
	calls := make([]json.RawMessage, len(tests))
	for i, t := range tests {
		calls[i], _ = json.Marshal([]any{t.vars, emptyPrompt}) // JSON values
	}
	values, problem := c.make(m, calls)
	if problem != nil {
		c.wrong = append(c.wrong, *problem)
	}
	for i, t := range tests {
		if problem != nil {
			t.require(corrected)
		} else {
			t.varied = &values[i]
		}
	}
}

// needsProgram reports whether an error is about something that only a program has.
func needsProgram(err error) bool {
	_, needs := errors.AsType[*template.NeedError](err)
	return needs
}

// await adds a call of the function of a variable to those that its program is to make.
func (m *madeVariables) await(f computation, name string, call json.RawMessage) {
	due := m.due[f.file]
	if due == nil {
		due = &variableCalls{makingCall: makingCall{file: f.file, at: f.at, what: "the variable " + template.Clip(name)}, known: map[string]bool{}}
		if path.Ext(f.file) == ".py" {
			due.function = "get_var"
		}
		m.due[f.file] = due
	}
	if !due.known[string(call)] {
		due.calls, due.known[string(call)] = append(due.calls, call), true
	}
}

// trimmed returns the output of a program in Python, which must be a text, without the white space
// around it.
func trimmed(out json.RawMessage) (json.RawMessage, error) {
	s, isText := document.ParseText(out)
	if !isText {
		return nil, fmt.Errorf("its output must be a text, and is %s", template.Clip(string(out)))
	}
	raw, _ := json.Marshal(strings.TrimSpace(s)) // a text
	return raw, nil
}
