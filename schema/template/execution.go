package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/suggest"
)

// An execution fills in one text.
type execution struct {
	engine  *Engine
	vars    Variables
	source  string
	frames  []map[string]any // of set and for, the innermost last
	decoded map[string]any   // variables that were used
	unknown bool             // a missing variable was used
	out     strings.Builder
	steps   int
	made    int
	depth   int // of lists in a list that becomes a text
	// inserts is set while a name alone is written, and captures while what is written becomes
	// a value.
	inserts, captures bool
}

// A node writes a part of a template.
type node func(*execution) error

// An expr computes a value.
type expr func(*execution) (any, error)

// step counts the computed steps.
func (x *execution) step(at int) error {
	x.steps++
	x.engine.steps++
	switch {
	case x.steps > maxSteps:
		return tooMuch(x.source, at, "steps", maxSteps)
	case x.engine.steps > maxAllSteps:
		return tooMuch(x.source, at, "steps together with those before it", maxAllSteps)
	}
	return nil
}

// make counts bytes and items that are made on the way.
func (x *execution) make(at, n int) error {
	if n < 0 || n > maxMade || x.made+n > maxMade {
		return tooMuch(x.source, at, "bytes of texts and lists", maxMade)
	}
	x.made += n
	if x.engine.made += n; x.engine.made > maxAllMade {
		return tooMuch(x.source, at, "bytes of texts and lists together with those before it", maxAllMade)
	}
	return nil
}

// write appends to the text.
func (x *execution) write(at int, s string) error {
	if x.out.Len()+len(s) > maxFilled {
		return tooMuch(x.source, at, "bytes", maxFilled)
	}
	x.out.WriteString(s)
	return nil
}

// lookup returns the value of a name: set by set or for, else the variable.
func (x *execution) lookup(name string) (any, error) {
	for i := len(x.frames) - 1; i >= 0; i-- {
		v, known := x.frames[i][name]
		if p, isPass := v.(pass); isPass {
			return p.object(), nil
		}
		if known && !isUndefined(v) {
			return v, nil
		}
	}
	return x.variable(name)
}

// shortest is the minimum length of names for which a misspelling is suggested.
const shortest = 3

// environment returns the object env, if the definition has the requested variable.
func (x *execution) environment(name EnvironmentError) (any, error) {
	if _, known := x.engine.Environment[string(name)]; !known {
		near := suggest.Nearest(string(name), slices.Collect(maps.Keys(x.engine.Environment)))
		if len(name) >= shortest && near != "" {
			return nil, &MistakeError{Message: fmt.Sprintf("the variable %s is not among those of `env`", Clip(string(name))), Hint: suggest.Question(near)}
		}
		return nil, name
	}
	raw, err := json.Marshal(x.engine.Environment)
	return decode(raw), err
}

// variable returns the value of a variable. vars has all of them, unless a variable has
// that name.
func (x *execution) variable(name string) (any, error) {
	if v, known := x.decoded[name]; known && (x.inserts || !x.isKept(x.vars[name])) {
		return v, nil
	}
	raw, known := x.vars[name]
	if !known && name == "vars" {
		for of, value := range x.vars {
			if x.isKept(value) {
				return nil, errComputed(of)
			}
		}
		return x.vars, nil
	}
	if !x.inserts && x.isKept(raw) {
		return nil, errComputed(name)
	}
	if what := x.engine.Later[name]; !known && what != "" {
		return nil, &NeedError{What: what}
	}
	if !known {
		x.unknown = true
		if x.engine.missing == nil {
			x.engine.missing = map[string]bool{}
		}
		x.engine.missing[name] = true
	}
	if x.decoded == nil {
		x.decoded = map[string]any{}
	}
	v := decode(raw)
	x.decoded[name] = v
	return v, nil
}

// isKept reports whether a variable has a part that is known later.
func (x *execution) isKept(value json.RawMessage) bool {
	return x.engine.Kept != nil && x.engine.Kept(string(value))
}

// errComputed is the error about an expression with a variable that is known later.
func errComputed(name string) error {
	return &NeedError{What: "the output of another test in an expression ({{ " + name + " }} alone is read)"}
}

// assign sets a name where set or for defined it, else in the innermost frame.
func (x *execution) assign(name string, value any) {
	for i := len(x.frames) - 1; i >= 0; i-- {
		if _, known := x.frames[i][name]; known {
			x.frames[i][name] = value
			return
		}
	}
	x.frames[len(x.frames)-1][name] = value
}

// text formats a value for insertion: null and undefined as nothing.
func (x *execution) text(at int, value any) (string, error) {
	if absent(value) {
		return "", nil
	}
	return x.string(at, value)
}

// string converts a value to text as JavaScript does, but for an object, and a list that
// has one: these are JSON.
func (x *execution) string(at int, value any) (string, error) {
	return x.converted(at, value, func(v any) (string, error) { return x.json(at, v, "") })
}

// compared converts a value to text as JavaScript does, as for a comparison.
func (x *execution) compared(at int, value any) (string, error) {
	return x.converted(at, value, nil)
}

// converted converts a value to text. Objects, and lists that have one, are what the
// function returns of them, or without one as in JavaScript.
func (x *execution) converted(at int, value any, object func(v any) (string, error)) (string, error) {
	switch v := value.(type) {
	case nil:
		return "null", nil
	case undefined:
		return "undefined", nil
	case []any:
		has, err := x.hasObject(at, v)
		if err != nil {
			return "", err
		}
		if object == nil || !has {
			return x.joined(at, v, ",", object)
		}
	}
	if s, ok := Text(value); ok {
		return s, nil
	}
	if object == nil {
		return "[object Object]", nil
	}
	return object(value)
}

// hasObject reports whether a list has an object anywhere.
func (x *execution) hasObject(at int, list []any) (bool, error) {
	if err := x.make(at, len(list)); err != nil {
		return false, err
	}
	for _, item := range list {
		switch v := item.(type) {
		case *Object:
			return true, nil
		case []any:
			if err := x.step(at); err != nil {
				return false, err
			}
			if has, err := x.hasObject(at, v); has || err != nil {
				return has, err
			}
		}
	}
	return false, nil
}

// insert joins items as they are inserted.
func (x *execution) insert(at int, list []any, by string) (string, error) {
	return x.joined(at, list, by, func(v any) (string, error) { return x.json(at, v, "") })
}

// joined returns the items of a list with a text between, as [execution.converted]
// converts each; null and undefined are nothing.
func (x *execution) joined(at int, list []any, by string, object func(v any) (string, error)) (string, error) {
	if x.depth++; x.depth > maxDepth {
		return "", tooMuch(x.source, at, "lists within lists", maxDepth)
	}
	defer func() { x.depth-- }()
	var out strings.Builder
	for i, item := range list {
		var s string
		if !absent(item) {
			var err error
			if s, err = x.converted(at, item, object); err != nil {
				return "", err
			}
		}
		if i > 0 {
			out.WriteString(by)
		}
		if out.WriteString(s); out.Len() > maxFilled {
			return "", tooMuch(x.source, at, "bytes", maxFilled)
		}
	}
	return out.String(), x.make(at, out.Len())
}

// json writes a value as JSON.
func (x *execution) json(at int, value any, indent string) (string, error) {
	if all, ok := value.(Variables); ok {
		value = allOf(all)
	}
	s, ok := Dump(value, indent, maxFilled)
	if !ok {
		return "", tooMuch(x.source, at, "bytes", maxFilled)
	}
	return s, x.make(at, len(s))
}

// run writes nodes, within their own frame if they have one.
func (x *execution) run(nodes []node) error {
	for _, n := range nodes {
		if err := n(x); err != nil {
			return err
		}
	}
	return nil
}

// capture returns the nodes' output instead of writing it.
func (x *execution) capture(at int, nodes []node) (string, error) {
	outer, captured := x.out, x.captures
	x.out, x.captures = strings.Builder{}, true
	err := x.run(nodes)
	s := x.out.String()
	x.out, x.captures = outer, captured
	if err != nil {
		return "", err
	}
	return s, x.make(at, len(s))
}
