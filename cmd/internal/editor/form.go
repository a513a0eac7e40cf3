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
	lineWidget  = "line"
	textWidget  = "text"
	listWidget  = "list" // one item a line
	jsonWidget  = "json"
	rowsWidget  = "rows"  // an object, one key a row
	groupWidget = "group" // an object with a field for each known key
	itemsWidget = "items" // a list with a field for each item
	pickWidget  = "pick"
)

// A formField is one field of a form.
type formField struct {
	// Path leads to the field from the definition: names and numbers of items, with dots
	// between them.
	Name, Path  string
	Label, Help string
	Widget      string
	Value       string
	Choices     []string
	Rows        int
	// Pairs are the rows of an object or, if Listed, of a list of objects with one key each. A
	// Keyless one may also be a list of the values.
	Pairs           []keyRow
	Listed, Keyless bool
	// Fields are the fields of a group.
	Fields []*formField
	// Items are the items of a list, and Blank is one to add. Item is the word for one.
	Items []*formField
	Blank *formField
	Item  string
	// Typed says that the other fields of the object follow from this one.
	Typed    bool
	Required bool
	// place is the place of the field among the others: the lower ones are first.
	place int
	// Folded says that the field is among the ones that the form folds.
	Folded bool
	// Texts reports whether a field of JSON, items or a group also takes a text without quotes.
	Texts bool
	// Objects reports whether a field of one item a line also takes a list in JSON.
	Objects bool
	// Problem describes an error in the value.
	Problem string

	shape *shape.Shape
	// defs are the definitions that an object of the field, or an item of its list, may have.
	defs []string
}

// Input returns the name of the field in a sent form.
func (f *formField) Input() string { return "f." + f.Path }

// hiddenFields are left out of forms: exports write them, the place of the file determines
// them, or they are lists whose definitions have forms of their own.
var hiddenFields = []string{"created_at", "updated_at", "domain_id", "level", "path", "tests", "evalcases", "eval_cases", "cases", "tools", "icd_target", "source"}

// longTexts are fields with texts of several lines.
var longTexts = []string{"initial_message", "testing_prompt", "expected_outcome", "prompt", "system_prompt", "eval_prompt", "description", "mock_response", "instructions"}

// formFields returns the fields of a schema definition, such as #Test, with values.
func formFields(name string, values definition.Fields) []*formField {
	def := document.Shapes()[name]
	left := append(aliasedFields(def, values), hiddenFields...)
	var out []*formField
	for _, field := range def.Names {
		if slices.Contains(left, field) {
			continue
		}
		f := newField(name, field, "", def, values)
		f.place = placeOf(field, def)
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b *formField) int { return a.rank() - b.rank() })
	return out
}

// newField returns a field of an object with values. path leads to the object, and ends with a
// dot unless it is empty.
func newField(def, name, path string, in *shape.Shape, values definition.Fields) *formField {
	s, known := in.Fields[name]
	if !known {
		s = &shape.Shape{} // any value
	}
	f := &formField{
		Name: name, Path: path + name, Label: strings.ReplaceAll(name, "_", " "), Help: strings.ReplaceAll(s.Comment, "#", ""),
		Required: slices.Contains(in.Must, name), Listed: name == "checks" && slices.Contains(s.Kinds, shape.List),
		shape: s, defs: document.Inner(def, name),
	}
	f.show(values[name])
	f.Folded = !hasValue(values[name]) && !f.Required && isSeldom(f)
	return f
}

// hasValue reports whether a field has a value.
func hasValue(value json.RawMessage) bool {
	plain := bytes.TrimSpace(value)
	return len(plain) > 0 && !bytes.Equal(plain, []byte("null"))
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
	"aggregation", "window_size", "on_turn_failure", "mode", "workspace", "execution", "environment", "preprocessors", "conversation_id", "note", "source_call_id",
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

// isText reports whether the typed value is a text in a field that also takes JSON.
func (f *formField) isText(typed string) bool {
	typed = strings.TrimSpace(typed)
	return f.Texts && typed != "" && !strings.ContainsAny(typed[:1], "{[\"") && !json.Valid([]byte(typed))
}

// fill writes a value into the field.
func (f *formField) fill(value json.RawMessage) {
	plain := string(bytes.TrimSpace(value))
	switch lines, isList := linesOf(value); {
	case plain == "" || plain == "null":
	case f.isText(definition.TextOf(value)):
		f.Value = definition.TextOf(value)
	case f.Widget == listWidget && isList:
		f.Value = strings.Join(lines, "\n")
	case f.Widget == jsonWidget || f.Texts:
		var b bytes.Buffer
		_ = json.Indent(&b, value, "", "  ") // text that cannot be indented is empty and replaced
		f.Value = b.String()
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
func (f *formField) read() json.RawMessage {
	typed := f.Value
	switch {
	case strings.TrimSpace(typed) == "":
		return nil
	case f.Widget == listWidget && f.Objects && strings.HasPrefix(strings.TrimSpace(typed), "[") && json.Valid([]byte(typed)):
		return json.RawMessage(typed)
	case f.Widget == listWidget:
		return f.readLines()
	case f.isJSON() && json.Valid([]byte(typed)):
		return json.RawMessage(typed)
	case takes(f.shape, shape.Bool) && (typed == "true" || typed == "false"), takes(f.shape, shape.Number) && jsonNumber.MatchString(strings.TrimSpace(typed)):
		return json.RawMessage(strings.TrimSpace(typed))
	}
	return definition.QuoteText(typed)
}

// isJSON reports whether the text of the field is JSON, or may be.
func (f *formField) isJSON() bool { return f.Widget == jsonWidget || f.Texts }

// readLines returns a list with the lines of the typed text.
func (f *formField) readLines() json.RawMessage {
	isNumbers := takes(f.shape.Elem, shape.Number) && !takes(f.shape.Elem, shape.String)
	var list []json.RawMessage
	for line := range strings.Lines(f.Value) {
		switch item := strings.TrimSpace(line); {
		case item == "":
		case isNumbers && jsonNumber.MatchString(item):
			list = append(list, json.RawMessage(item))
		default:
			list = append(list, definition.QuoteText(item))
		}
	}
	return listOf(list)
}

// readForm reads a sent form into the fields, and returns the changed fields of a
// definition. An emptied field is among them without a value.
func readForm(name string, old definition.Fields, sent url.Values) ([]*formField, definition.Fields) {
	form := formFields(name, old)
	return form, takeFields(form, old, sent)
}

// takeFields reads sent texts into the fields of an object, and returns the changed ones.
func takeFields(fields []*formField, old definition.Fields, sent url.Values) definition.Fields {
	out := definition.Fields{}
	for _, f := range fields {
		if value, isTyped := f.take(sent, old[f.Name]); isTyped && (f.hasProblem() || !definition.EqualJSON(value, old[f.Name])) {
			out[f.Name] = value
		}
	}
	return out
}

// take reads sent texts into the field. It returns the value, and reports whether anything was
// typed.
func (f *formField) take(sent url.Values, old json.RawMessage) (value json.RawMessage, isTyped bool) {
	hasText := sent.Has(f.Input())
	switch {
	case f.Widget == itemsWidget && (!hasText || f.Texts):
		return f.takeItems(sent, old)
	case f.Widget == groupWidget && (!hasText || f.Texts):
		return f.takeGroup(sent, old)
	case f.Widget == rowsWidget && !hasText:
		if rows, ok := f.sentRows(sent); ok {
			return f.readRows(rows, old)
		}
		return nil, false
	}
	return f.takeText(sent, old)
}

// takeText reads the text of the field.
func (f *formField) takeText(sent url.Values, old json.RawMessage) (value json.RawMessage, isTyped bool) {
	if !sent.Has(f.Input()) {
		return nil, false
	}
	if !f.Texts && slices.Contains([]string{rowsWidget, groupWidget, itemsWidget}, f.Widget) {
		f.asJSON() // it was sent in place of rows
		f.Fields, f.Items = nil, nil
	}
	typed := lineFeeds.Replace(sent.Get(f.Input()))
	if typed == lineFeeds.Replace(f.Value) {
		return nil, false // an untouched field keeps its text
	}
	f.Value = typed
	if f.isJSON() && strings.TrimSpace(typed) != "" && !json.Valid([]byte(typed)) && !f.isText(typed) {
		f.Problem = "the value is not JSON: " + jsonProblem(typed) + "; write " + f.example(f.shape)
	}
	return f.read(), true
}

// lineFeeds writes each end of a line as a line feed.
var lineFeeds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// example returns JSON that fits the field, in words of a repair.
func (f *formField) example(s *shape.Shape) string {
	hasObject := slices.Contains(s.Kinds, shape.Object) || len(s.Kinds) == 0
	isList := slices.Contains(s.Kinds, shape.List) && (s.Elem == nil || slices.Contains(s.Elem.Kinds, shape.Object) || len(s.Elem.Kinds) == 0)
	out := "a list such as [\"one\", \"two\"]"
	switch {
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
	return slices.ContainsFunc(fields, (*formField).hasProblem)
}

// quotedFieldName matches the name of a field in a message.
var quotedFieldName = lazyregexp.New("[`'\"]([A-Za-z_][A-Za-z0-9_]*)")

// attachProblems adds each problem to its field, and returns the problems without one.
// fieldAt returns the path to a place, and the length of the path to the object that begins
// there, where missing fields are reported.
func attachProblems(form []*formField, problems []schema.Problem, fieldAt locator) []string {
	var rest []string
	for _, p := range problems {
		said := problemText(p)
		if len(form) == 0 {
			rest = append(rest, placed(p))
			continue
		}
		at, begins := fieldAt(p.Position)
		f, _ := fieldOn(form, at)
		if found := quotedFieldName.FindStringSubmatch(said); begins >= 0 && found != nil {
			named := append(slices.Clone(at[:begins]), found[1])
			if field, isWhole := fieldOn(form, named); isWhole {
				f = field
			}
		}
		if f == nil {
			rest = append(rest, placed(p))
			continue
		}
		if f.Problem != "" {
			said = f.Problem + "\n" + said
		}
		f.Problem = said
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
	walk(fields, func(f *formField) {
		if f.Problem != "" {
			out.Fields[f.Path] = f.Problem
		}
	})
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

// Part returns a field of a group, or an item of a list, for its template.
func (v fieldView) Part(f *formField) fieldView { return fieldView{formField: f} }

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
func (v *sheet) Folds() *foldView { return foldsOf(v.Fields) }

// Folds returns the folded fields of a group; nil for none.
func (v fieldView) Folds() *foldView { return foldsOf(v.Fields) }

func foldsOf(fields []*formField) *foldView {
	out := &foldView{}
	var names []string
	for _, f := range fields {
		if f.Folded {
			out.Fields, names = append(out.Fields, f), append(names, f.Label)
			out.Open = out.Open || f.hasProblem() || f.isFilled()
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
