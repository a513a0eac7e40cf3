// Package form has the fields of a form for a definition, as its schema describes them.
package form

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/shape"
)

// The ways in which a field of a form is written.
const (
	lineWidget = "line"
	textWidget = "text"
	listWidget = "list" // one item a line
	jsonWidget = "json"
	pickWidget = "pick"
)

// A Field is one of a form.
type Field struct {
	Name, Label, Help string
	Widget            string
	Value             string
	Choices           []string
	Rows              int
	Required          bool
	// Texts says that a field of JSON takes a text, too, which needs no quotes.
	Texts bool
	// Problem says what is wrong with the value.
	Problem string
}

// Input is the name that a form sends it under.
func (f *Field) Input() string { return "f." + f.Name }

// unformed are fields that no form has: exports write them, and the place says them.
var unformed = []string{"created_at", "updated_at", "domain_id", "level", "path", "tests", "tools", "icd_target", "source"}

// long are texts of several lines.
var long = []string{"initial_message", "testing_prompt", "expected_outcome", "prompt", "system_prompt", "eval_prompt", "description", "mock_response"}

// Fields are the fields of a definition of the schema, such as #Test, with values.
func Fields(name string, values definition.Fields) []*Field {
	def := document.Shapes()[name]
	left := aliases(def, values)
	var out []*Field
	for _, name := range def.Names {
		if slices.Contains(unformed, name) || slices.Contains(left, name) {
			continue
		}
		s := def.Fields[name]
		f := &Field{Name: name, Label: strings.ReplaceAll(name, "_", " "), Help: strings.ReplaceAll(s.Comment, "#", ""), Required: slices.Contains(def.Must, name)}
		f.widget(s)
		f.fill(values[name])
		out = append(out, f)
	}
	return out
}

// alias is what the schema says of a field that is another name for one.
var alias = lazyregexp.New(`^Another name for ([a-z_]+)`)

// aliases are the fields that a form leaves out, since of a field and its other names
// one is written: the one that has a value, or the first of them.
func aliases(def *shape.Shape, values definition.Fields) []string {
	var out []string
	for _, name := range def.Names {
		found := alias.FindStringSubmatch(def.Fields[name].Comment)
		switch {
		case found == nil:
		case values[name] == nil:
			out = append(out, name)
		case values[found[1]] == nil:
			out = append(out, found[1])
		}
	}
	return out
}

// widget chooses the way from what the schema says.
func (f *Field) widget(s *shape.Shape) {
	takes := func(kind shape.Kind) bool { return slices.Contains(s.Kinds, kind) }
	switch {
	case len(s.Enum) > 0:
		f.Widget, f.Choices = pickWidget, s.Enum
	case takes(shape.Bool) && !takes(shape.String):
		f.Widget, f.Choices = pickWidget, []string{"true", "false"}
	case slices.Contains(long, f.Name):
		f.Widget, f.Rows = textWidget, 4
	case takes(shape.List) && !takes(shape.String) && s.Elem != nil && slices.Contains(s.Elem.Kinds, shape.String) && !slices.Contains(s.Elem.Kinds, shape.Object):
		f.Widget, f.Rows = listWidget, 2
	case takes(shape.Object) || len(s.Kinds) == 0 || takes(shape.List):
		f.Widget, f.Rows, f.Texts = jsonWidget, 6, takes(shape.String)
	default:
		f.Widget = lineWidget
	}
}

// isText reports whether what was typed is a text in a field that takes JSON, too.
func (f *Field) isText(typed string) bool {
	typed = strings.TrimSpace(typed)
	return f.Texts && typed != "" && !strings.ContainsAny(typed[:1], "{[\"") && !json.Valid([]byte(typed))
}

// fill writes a value into the field.
func (f *Field) fill(value json.RawMessage) {
	plain := string(bytes.TrimSpace(value))
	var list []string
	if composite := strings.HasPrefix(plain, "{") || strings.HasPrefix(plain, "["); composite && (f.Widget != listWidget || json.Unmarshal(value, &list) != nil) {
		f.Widget = jsonWidget // a line would make a text of it
	}
	switch {
	case plain == "" || plain == "null":
	case f.isText(definition.TextOf(value)):
		f.Value = definition.TextOf(value)
	case f.Widget == jsonWidget:
		var b bytes.Buffer
		_ = json.Indent(&b, value, "", "  ") // what cannot be indented is empty and replaced
		f.Value = b.String()
	case f.Widget == listWidget && json.Unmarshal(value, &list) == nil:
		f.Value = strings.Join(list, "\n")
	case strings.HasPrefix(plain, `"`):
		f.Value = definition.TextOf(value)
	default:
		f.Value = plain
	}
	f.Rows = min(max(f.Rows, strings.Count(f.Value, "\n")+2), 30)
}

// numeric is a number as JSON writes it.
var numeric = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// read is the value that was typed; empty for one that is not there. A text that is
// not what the field takes is kept as a text, so that the schema says what is wrong.
func (f *Field) read(s *shape.Shape) json.RawMessage {
	typed := f.Value
	takes := func(kind shape.Kind) bool { return slices.Contains(s.Kinds, kind) }
	switch {
	case strings.TrimSpace(typed) == "":
		return nil
	case f.Widget == listWidget:
		var list []string
		for line := range strings.Lines(typed) {
			if item := strings.TrimSpace(line); item != "" {
				list = append(list, item)
			}
		}
		out, err := json.Marshal(list)
		if err != nil {
			panic(err) // texts are always encoded
		}
		return out
	case f.Widget == jsonWidget && json.Valid([]byte(typed)):
		return json.RawMessage(typed)
	case takes(shape.Bool) && (typed == "true" || typed == "false"), takes(shape.Number) && numeric.MatchString(strings.TrimSpace(typed)):
		return json.RawMessage(strings.TrimSpace(typed))
	}
	return definition.QuoteText(typed)
}

// Typed reads what a form sends into the fields, and returns what changes of a
// definition. A field that was emptied is there without a value.
func Typed(name string, old definition.Fields, sent url.Values) ([]*Field, definition.Fields) {
	def := document.Shapes()[name]
	form, out := Fields(name, old), definition.Fields{}
	for _, f := range form {
		if !sent.Has(f.Input()) {
			continue
		}
		value := strings.ReplaceAll(sent.Get(f.Input()), "\r\n", "\n")
		if value == f.Value {
			continue // what nobody touched stays as it is written
		}
		f.Value = value
		if f.Widget == jsonWidget && strings.TrimSpace(value) != "" && !json.Valid([]byte(value)) && !f.isText(value) {
			f.Problem = "the value is not JSON; write an object such as {\"answer\": \"105\"}, or a text in double quotes"
		}
		if read := f.read(def.Fields[f.Name]); !definition.EqualJSON(read, old[f.Name]) {
			out[f.Name] = read
		}
	}
	return form, out
}

// Wrong reports whether a field has a problem.
func Wrong(fields []*Field) bool {
	return slices.ContainsFunc(fields, func(f *Field) bool { return f.Problem != "" })
}

// quotedName is a name of a field in a message.
var quotedName = lazyregexp.New("[`']([A-Za-z_][A-Za-z0-9_]*)")

// AttachProblems adds each problem to the field that it is about, and returns those that are
// about none. fieldAt is the field at a place, and whether the definition begins there:
// what is missing is reported at that place.
func AttachProblems(form []*Field, problems []schema.Problem, fieldAt func(schema.Position) (name string, isFirst bool)) []string {
	var rest []string
	for _, p := range problems {
		said := Sentence(p)
		name, isFirst := fieldAt(p.Position)
		if found := quotedName.FindStringSubmatch(said); isFirst && found != nil && slices.ContainsFunc(form, func(f *Field) bool { return f.Name == found[1] }) {
			name = found[1]
		}
		at := slices.IndexFunc(form, func(f *Field) bool { return f.Name == name })
		if at < 0 {
			rest = append(rest, said)
			continue
		}
		if form[at].Problem != "" {
			said = form[at].Problem + "\n" + said
		}
		form[at].Problem = said
	}
	return rest
}

// Messages are the problems of the fields by their names, and the errors that are about
// no field, as a script reads them.
func Messages(fields []*Field, errors []string) any {
	out := struct {
		Fields map[string]string `json:"fields"`
		Errors []string          `json:"errors"`
	}{map[string]string{}, append([]string{}, errors...)}
	for _, f := range fields {
		if f.Problem != "" {
			out.Fields[f.Name] = f.Problem
		}
	}
	return out
}

// Sentence has the problems in one text.
func Sentence(problems ...schema.Problem) string {
	var said []string
	for _, p := range problems {
		line := p.Message
		if p.Hint != "" {
			line += "; " + p.Hint
		}
		said = append(said, line)
	}
	return strings.Join(said, "\n")
}
