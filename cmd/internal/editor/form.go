package editor

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
	rowsWidget = "rows" // an object, one key a row
	pickWidget = "pick"
)

// A formField is one field of a form.
type formField struct {
	Name, Label, Help string
	Widget            string
	Value             string
	Choices           []string
	Rows              int
	// Pairs are the rows of an object or, if Listed, of a list of objects with one key each.
	Pairs    []keyRow
	Listed   bool
	Required bool
	// place is the place of the field among the others: the lower ones are first.
	place int
	// Folded says that the field is among the ones that the form folds.
	Folded bool
	// Texts reports whether a field of JSON also takes a text without quotes.
	Texts bool
	// Objects reports whether a field of one item a line also takes a list in JSON.
	Objects bool
	// Problem describes an error in the value.
	Problem string
}

// Input returns the name of the field in a sent form.
func (f *formField) Input() string { return "f." + f.Name }

// hiddenFields are left out of forms: exports write them, and the place of the file
// determines them.
var hiddenFields = []string{"created_at", "updated_at", "domain_id", "level", "path", "tests", "tools", "icd_target", "source"}

// longTexts are fields with texts of several lines.
var longTexts = []string{"initial_message", "testing_prompt", "expected_outcome", "prompt", "system_prompt", "eval_prompt", "description", "mock_response"}

// formFields returns the fields of a schema definition, such as #Test, with values.
func formFields(name string, values definition.Fields) []*formField {
	def := document.Shapes()[name]
	left := aliasedFields(def, values)
	var out []*formField
	for _, name := range def.Names {
		if slices.Contains(hiddenFields, name) || slices.Contains(left, name) {
			continue
		}
		s := def.Fields[name]
		f := &formField{Name: name, Label: strings.ReplaceAll(name, "_", " "), Help: strings.ReplaceAll(s.Comment, "#", ""), Required: slices.Contains(def.Must, name)}
		f.widget(s)
		f.fill(values[name])
		if f.Widget == pickWidget && f.Value != "" && !slices.Contains(f.Choices, f.Value) {
			f.Choices = append(slices.Clone(f.Choices), f.Value) // a form that is sent unchanged keeps it
		}
		f.Listed = name == "checks" && slices.Contains(s.Kinds, shape.List)
		if rows, ok := f.rowsOf(values[name]); ok {
			f.fillRows(rows)
		} else if f.Widget == jsonWidget && f.Value == "" && (f.Listed || takesRows(s)) {
			f.fillRows(nil)
		}
		f.place = placeOf(name, def)
		f.Folded = f.Value == "" && !f.Required && isSeldom(f)
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b *formField) int { return a.rank() - b.rank() })
	return out
}

// leadingFields are the first fields of a case of the evalcase format: the order in which people
// think, and not the one of the schema.
var leadingFields = []string{"id", "input", "expected_outcome", "criteria", "checks"}

// placeOf returns the place of a field of a schema in a form. A name is before an id.
func placeOf(name string, def *shape.Shape) int {
	at := slices.Index(leadingFields, name)
	switch {
	case name == "name" && def.Names[0] == "id":
		return -1
	case at >= 0 && def.Names[0] == "id" && def.Fields["input"] != nil:
		return at
	}
	return len(leadingFields)
}

// seldom matches the comments on fields that few definitions have.
var seldom = lazyregexp.New(`^(Later versions|Extensions?|Of AgentV|Not read|Another name)|changes nothing|bear on nothing|is not looked at|The order is not kept`)

// isSeldom reports whether few definitions have a field. Nothing but its comment says so.
func isSeldom(f *formField) bool {
	return f.Name != "description" && f.Name != "checks" && seldom.MatchString(f.Help) || slices.Contains(seldomFields, f.Name)
}

// seldomFields are further fields that few definitions have.
var seldomFields = []string{
	"evaluation_criteria_override", "editor_model", "new_prompt", "system_prompt_mode", "timeout_ms",
	"aggregation", "window_size", "on_turn_failure", "mode", "workspace", "environment", "preprocessors", "conversation_id", "note", "source_call_id",
}

// rank sorts folded fields last.
func (f *formField) rank() int {
	if f.Folded {
		return len(leadingFields) + 1
	}
	return f.place
}

// aliasComment matches the schema's comment on a field that is another name for a field.
var aliasComment = lazyregexp.New(`^Another name for ([a-z_]+)`)

// aliasedFields returns the fields that a form leaves out. It keeps one of a field and its
// other names: the one with a value, or the first.
func aliasedFields(def *shape.Shape, values definition.Fields) []string {
	var out []string
	for _, name := range def.Names {
		found := aliasComment.FindStringSubmatch(def.Fields[name].Comment)
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

// widget chooses the widget from the shape in the schema.
func (f *formField) widget(s *shape.Shape) {
	takes := func(kind shape.Kind) bool { return slices.Contains(s.Kinds, kind) }
	switch {
	case len(s.Enum) > 0:
		f.Widget, f.Choices = pickWidget, s.Enum
	case takes(shape.Bool) && !takes(shape.String):
		f.Widget, f.Choices = pickWidget, []string{"true", "false"}
	case slices.Contains(longTexts, f.Name):
		f.Widget, f.Rows = textWidget, 4
	case takes(shape.List) && !takes(shape.String) && s.Elem != nil && slices.Contains(s.Elem.Kinds, shape.String) && (f.Name == "rubrics" || !slices.Contains(s.Elem.Kinds, shape.Object)):
		f.Widget, f.Rows, f.Objects = listWidget, 2, slices.Contains(s.Elem.Kinds, shape.Object)
	case takes(shape.Object) || len(s.Kinds) == 0 || takes(shape.List):
		f.Widget, f.Rows, f.Texts = jsonWidget, 6, takes(shape.String)
	default:
		f.Widget = lineWidget
	}
}

// isText reports whether the typed value is a text in a field that also takes JSON.
func (f *formField) isText(typed string) bool {
	typed = strings.TrimSpace(typed)
	return f.Texts && typed != "" && !strings.ContainsAny(typed[:1], "{[\"") && !json.Valid([]byte(typed))
}

// fill writes a value into the field.
func (f *formField) fill(value json.RawMessage) {
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
		_ = json.Indent(&b, value, "", "  ") // text that cannot be indented is empty and replaced
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

// jsonNumber matches a number of JSON.
var jsonNumber = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// read returns the typed value, or nil if the field is empty. A text that the field does
// not take stays a text, so that the schema reports the error.
func (f *formField) read(s *shape.Shape) json.RawMessage {
	typed := f.Value
	takes := func(kind shape.Kind) bool { return slices.Contains(s.Kinds, kind) }
	switch {
	case strings.TrimSpace(typed) == "":
		return nil
	case f.Widget == listWidget && f.Objects && strings.HasPrefix(strings.TrimSpace(typed), "[") && json.Valid([]byte(typed)):
		return json.RawMessage(typed)
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
	case takes(shape.Bool) && (typed == "true" || typed == "false"), takes(shape.Number) && jsonNumber.MatchString(strings.TrimSpace(typed)):
		return json.RawMessage(strings.TrimSpace(typed))
	}
	return definition.QuoteText(typed)
}

// readForm reads a sent form into the fields, and returns the changed fields of a
// definition. An emptied field is among them without a value.
func readForm(name string, old definition.Fields, sent url.Values) ([]*formField, definition.Fields) {
	def := document.Shapes()[name]
	form, out := formFields(name, old), definition.Fields{}
	for _, f := range form {
		if rows, ok := f.sentRows(sent); ok && !sent.Has(f.Input()) {
			value, isTyped := f.readRows(rows, old[f.Name])
			if isTyped && (f.Problem != "" || !definition.EqualJSON(value, old[f.Name])) {
				out[f.Name] = value
			}
			continue
		}
		if !sent.Has(f.Input()) {
			continue
		}
		if f.Widget == rowsWidget { // JSON was sent in place of rows
			f.Widget = jsonWidget
		}
		value := strings.ReplaceAll(sent.Get(f.Input()), "\r\n", "\n")
		if value == f.Value {
			continue // an untouched field keeps its text
		}
		f.Value = value
		if f.Widget == jsonWidget && strings.TrimSpace(value) != "" && !json.Valid([]byte(value)) && !f.isText(value) {
			f.Problem = "the value is not JSON: " + jsonProblem(value) + "; write " + f.example(def.Fields[f.Name])
		}
		if read := f.read(def.Fields[f.Name]); !definition.EqualJSON(read, old[f.Name]) {
			out[f.Name] = read
		}
	}
	return form, out
}

// example returns JSON that fits the field, in words of a repair.
func (f *formField) example(s *shape.Shape) string {
	hasObject := slices.Contains(s.Kinds, shape.Object) || len(s.Kinds) == 0
	isList := slices.Contains(s.Kinds, shape.List) && (s.Elem == nil || slices.Contains(s.Elem.Kinds, shape.Object) || len(s.Elem.Kinds) == 0)
	out := "a list such as [\"one\", \"two\"]"
	switch {
	case slices.Contains([]string{"evalcases", "eval_cases", "cases"}, f.Name):
		return `a list such as [{"id": "greets", "input": "Hi", "expected_outcome": "It greets."}]`
	case f.Name == "tests":
		return `a list such as [{"id": "greets", "input": "Hi", "criteria": "It greets."}]`
	case strings.HasPrefix(f.Name, "expected") && hasObject:
		out = `an object such as {"answer": "105"}`
	case f.Name == "input" || f.Name == "user_input" || f.Name == "input_messages":
		out = `a list such as [{"role": "user", "content": "Hi"}]`
	case hasObject:
		out = `an object such as {"key": "value"}`
	case isList:
		out = `a list of objects such as [{"key": "value"}]`
	}
	if f.Texts {
		out += ", or a text in double quotes"
	}
	return out
}

// hasFieldProblem reports whether a field has a problem.
func hasFieldProblem(fields []*formField) bool {
	return slices.ContainsFunc(fields, func(f *formField) bool { return f.Problem != "" })
}

// quotedFieldName matches the name of a field in a message.
var quotedFieldName = lazyregexp.New("[`'\"]([A-Za-z_][A-Za-z0-9_]*)")

// attachProblems adds each problem to its field, and returns the problems without one.
// fieldAt returns the field at a place, and whether the definition begins there, where
// missing fields are reported.
func attachProblems(form []*formField, problems []schema.Problem, fieldAt locator) []string {
	var rest []string
	for _, p := range problems {
		said := problemText(p)
		if len(form) == 0 {
			rest = append(rest, placed(p))
			continue
		}
		name, isFirst := fieldAt(p.Position)
		if found := quotedFieldName.FindStringSubmatch(said); isFirst && found != nil && slices.ContainsFunc(form, func(f *formField) bool { return f.Name == found[1] }) {
			name = found[1]
		}
		at := slices.IndexFunc(form, func(f *formField) bool { return f.Name == name })
		if at < 0 {
			rest = append(rest, placed(p))
			continue
		}
		if form[at].Problem != "" {
			said = form[at].Problem + "\n" + said
		}
		form[at].Problem = said
	}
	return rest
}

// formMessages returns the problems by field and the errors without a field, for the
// script of the page.
func formMessages(fields []*formField, errors []string) any {
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

// problemText joins the problems into one text.
func problemText(problems ...schema.Problem) string {
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

// A fieldView is a field with what its form knows.
type fieldView struct {
	*formField
	Known map[string][]string
	// New says that an empty id is made from the name.
	New bool
}

// Field returns a field for its template.
func (v *sheet) Field(f *formField) fieldView { return fieldView{f, v.Known, v.New && v.Format == ""} }

// A foldView has the fields that a form folds.
type foldView struct {
	Fields []*formField
	Number int
	// Names are the labels of some of them.
	Names string
	// Open says that one of them has a problem or a typed value.
	Open bool
}

// Folds returns the folded fields; nil for none.
func (v *sheet) Folds() *foldView {
	out := &foldView{}
	var names []string
	for _, f := range v.Fields {
		if f.Folded {
			out.Fields, names = append(out.Fields, f), append(names, f.Label)
			out.Open = out.Open || f.Problem != "" || f.Value != "" || len(f.Pairs) > 1
		}
	}
	if out.Number = len(out.Fields); out.Number == 0 {
		return nil
	}
	if len(names) > 4 {
		names = append(names[:3], "…")
	}
	out.Names = strings.Join(names, ", ")
	return out
}
