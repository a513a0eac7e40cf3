package editor

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/shape"
)

// takes reports whether a shape takes a kind of value.
func takes(s *shape.Shape, kind shape.Kind) bool {
	return s != nil && (len(s.Kinds) == 0 || slices.Contains(s.Kinds, kind))
}

// takesAny reports whether a shape takes every value.
func takesAny(s *shape.Shape) bool {
	return s == nil || takes(s, shape.Object) && takes(s, shape.List) && takes(s, shape.String) && takes(s, shape.Number)
}

// hasKnownKeys reports whether an object of the field has known keys.
func (f *formField) hasKnownKeys() bool {
	return takes(f.shape, shape.Object) && (len(f.shape.Names) > 0 || len(f.defs) > 0 && !takesList(f.shape))
}

// takesList reports whether a shape takes lists, and not every value.
func takesList(s *shape.Shape) bool { return takes(s, shape.List) && !takesAny(s) }

// hasItems reports whether the items of a list of the field are fields: they are objects, or
// texts in a field that also takes a single text.
func (f *formField) hasItems() bool {
	e := f.shape.Elem
	if !takesList(f.shape) || f.Listed {
		return false
	}
	return len(f.defs) > 0 || !takesAny(e) && (takes(e, shape.Object) || takes(e, shape.String) && takes(f.shape, shape.String))
}

// hasLines reports whether a list of the field has one item a line.
func (f *formField) hasLines() bool {
	e := f.shape.Elem
	return takesList(f.shape) && !takes(f.shape, shape.String) && !takesAny(e) && (f.Name == "rubrics" || !takes(e, shape.Object)) && !takes(f.shape, shape.Object)
}

// show chooses the widget for a value, and fills it.
func (f *formField) show(value json.RawMessage) {
	f.Keyless = takesList(f.shape) && takes(f.shape, shape.Object) && !takes(f.shape, shape.String) && takes(f.shape.Elem, shape.String) && !takesAny(f.shape.Elem)
	f.Texts = false
	switch plain := strings.TrimSpace(string(value)); {
	case strings.HasPrefix(plain, "{"):
		f.showObject(value)
	case strings.HasPrefix(plain, "["):
		f.showList(value)
	default:
		f.showScalar(value)
	}
	if f.Widget == jsonWidget || f.Widget == textWidget || f.Widget == lineWidget || f.Widget == listWidget || f.Widget == pickWidget {
		f.fill(value)
	}
	if f.Widget == pickWidget && f.Value != "" && !slices.Contains(f.Choices, f.Value) {
		f.Choices = append(slices.Clone(f.Choices), f.Value) // a form that is sent unchanged keeps it
	}
}

// showObject shows an object as a group, as rows or as JSON.
func (f *formField) showObject(value json.RawMessage) {
	rows, ok := f.rowsOf(value)
	switch {
	case f.hasKnownKeys():
		f.fillGroup(value, "")
	case ok:
		f.fillRows(rows)
	default:
		f.asJSON()
	}
}

// showList shows a list as rows, as items, by line or as JSON.
func (f *formField) showList(value json.RawMessage) {
	_, isLines := linesOf(value)
	rows, isRows := f.rowsOf(value)
	items, _ := definition.Elements(value)
	switch {
	case isRows && (f.Listed || f.Keyless):
		f.fillRows(rows)
	case f.hasLines() && isLines:
		f.Widget, f.Rows, f.Objects = listWidget, 2, takes(f.shape.Elem, shape.Object)
	case f.hasItems() && f.fits(items):
		f.fillItems(f.itemsOf(items))
	case takesAny(f.shape) && isLines && len(items) > 0:
		f.Widget, f.Rows, f.Objects = listWidget, 2, true
	default:
		f.asJSON()
	}
}

// showScalar shows a field with a single value or none.
func (f *formField) showScalar(value json.RawMessage) {
	s, isEmpty := f.shape, !hasValue(value)
	isText := takes(s, shape.String)
	switch {
	case len(s.Enum) > 0:
		f.Widget, f.Choices = pickWidget, s.Enum
	case takes(s, shape.Bool) && !isText && !takes(s, shape.Number):
		f.Widget, f.Choices = pickWidget, []string{"true", "false"}
	case f.Listed && isEmpty, isEmpty && takes(s, shape.Object) && !isText && !f.hasKnownKeys():
		f.fillRows(nil)
	case f.hasLines():
		f.Widget, f.Rows, f.Objects = listWidget, 2, takes(s.Elem, shape.Object)
	case f.hasItems() && (isEmpty || isText):
		f.fillItems(nil)
		f.withText(value)
	case f.hasKnownKeys() && (isEmpty || isText):
		f.fillGroup(nil, "")
		f.withText(value)
	case slices.Contains(longTexts, f.Name):
		f.Widget, f.Rows = textWidget, 4
	case takes(s, shape.Object) || takes(s, shape.List):
		f.asJSON()
	default:
		f.Widget = lineWidget
	}
}

// asJSON shows the field as JSON, or as a text if it takes one.
func (f *formField) asJSON() { f.Widget, f.Rows, f.Texts = jsonWidget, 6, takes(f.shape, shape.String) }

// withText adds a text to the items or the group if the field takes one.
func (f *formField) withText(value json.RawMessage) {
	if f.Texts, f.Rows = takes(f.shape, shape.String), 2; f.Texts {
		f.fill(value)
	}
}

// linesOf returns the texts or numbers of a list that is written one item a line.
func linesOf(value json.RawMessage) (lines []string, ok bool) {
	items, ok := definition.Elements(value)
	for _, item := range items {
		line := string(item)
		if item[0] == '"' {
			line = definition.TextOf(item)
		}
		isNumber := jsonNumber.MatchString(string(item))
		if item[0] != '"' && !isNumber || line == "" || line != strings.TrimSpace(line) || strings.ContainsAny(line, "\r\n") {
			return nil, false
		}
		lines = append(lines, line)
	}
	return lines, ok
}

// fits reports whether the items of a list can be fields.
func (f *formField) fits(items []json.RawMessage) bool {
	if len(items) > mostRows {
		return false
	}
	for _, item := range items {
		switch fields, err := definition.DecodeObject(item); {
		case item[0] == '"':
			if takesAny(f.shape.Elem) || !takes(f.shape.Elem, shape.String) {
				return false
			}
		case err != nil || !takes(f.shape.Elem, shape.Object) && f.shape.Elem != nil:
			return false
		case takesAny(f.shape.Elem) && !hasAll(fields, document.Shapes()[f.defs[0]].Must):
			return false // some other object
		}
	}
	return true
}

// hasAll reports whether an object has all of some fields.
func hasAll(fields definition.Fields, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !hasValue(fields[name]) })
}

// fillItems shows a list as items, with an empty one to add.
func (f *formField) fillItems(items []*formField) {
	f.Widget, f.Items, f.Item = itemsWidget, items, f.noun()
	next := 0
	for _, item := range items {
		n, _ := strconv.Atoi(item.Name) // itemAt has made it
		next = max(next, n+1)
	}
	f.Blank = f.itemAt(next, nil, "")
}

// noun returns the word for an item of the list.
func (f *formField) noun() string {
	switch one, isPlural := strings.CutSuffix(f.Label, "s"); {
	case f.Name == "criteria":
		return "criterion"
	case len(f.defs) == 1: // its definition has a name
	case isPlural:
		return one
	case len(f.defs) > 1:
		return "part"
	default:
		return f.Label
	}
	var out strings.Builder
	name := strings.TrimPrefix(f.defs[0], "#Evalcase")
	for i, letter := range name {
		if unicode.IsUpper(letter) && i > 0 {
			out.WriteByte(' ')
		}
		out.WriteRune(unicode.ToLower(letter))
	}
	return out.String()
}

func (f *formField) itemsOf(list []json.RawMessage) []*formField {
	var out []*formField
	for n, value := range list {
		out = append(out, f.itemAt(n, value, ""))
	}
	return out
}

// itemAt returns the field of an item of the list. kind is its type if that is not the one that
// the value has.
func (f *formField) itemAt(n int, value json.RawMessage, kind string) *formField {
	s := f.shape.Elem
	if s == nil || takesAny(s) {
		s = &shape.Shape{Kinds: []shape.Kind{shape.Object}}
	}
	name := strconv.Itoa(n)
	item := &formField{Name: name, Path: f.Path + "." + name, Label: f.noun() + " " + strconv.Itoa(n+1), shape: s, defs: f.defs}
	switch {
	case !takes(s, shape.Object):
		item.Widget, item.Rows = textWidget, 2
		item.fill(value)
	case item.hasKnownKeys() && kind != "":
		if item.fillGroup(value, kind); !strings.HasPrefix(string(value), "{") {
			item.withText(value)
		}
	default:
		item.show(value)
	}
	return item
}

// fillGroup shows an object as a group. kind is its type if that is not the one that the value
// has.
func (f *formField) fillGroup(value json.RawMessage, kind string) {
	values, _ := definition.DecodeObject(value) // none for an empty field
	if kind == "" {
		kind = definition.TextOf(values["type"])
	}
	def, s := f.defOf(values, kind)
	left := aliasedFields(s, values)
	f.Widget, f.Fields = groupWidget, nil
	add := func(name string) {
		comment := ""
		if known := s.Fields[name]; known != nil {
			comment = known.Comment
		}
		of := kindsOf(comment)
		isOther := len(of) > 0 && !slices.Contains(of, kind)
		if isOther && !hasValue(values[name]) && (kind == "" || isNamed(s, kind) && !slices.Contains(of, "comparisons")) {
			return // no object of this type has it
		}
		part := newField(def, name, f.Path+".", s, values)
		if part.Typed = name == "type" && len(f.defs) > 0; part.Typed {
			part.choose(f.defs)
		}
		isOptional := optional.MatchString(comment) || isOther && !slices.Contains(of, "comparisons")
		part.Folded = part.Folded || isOptional && !part.Required && !hasValue(values[name])
		f.Fields = append(f.Fields, part)
	}
	for _, name := range s.Names {
		if !slices.Contains(left, name) {
			add(name)
		}
	}
	members, _ := definition.Members(value)
	for _, m := range members {
		if s.Fields[m.Name] == nil {
			add(m.Name)
		}
	}
}

// choose adds the types of definitions to the choices of a type.
func (f *formField) choose(defs []string) {
	for _, def := range defs {
		for _, kind := range typesOf(def) {
			if f.Widget == pickWidget && !slices.Contains(f.Choices, kind) {
				f.Choices = append(slices.Clone(f.Choices), kind)
			}
		}
	}
}

// defOf returns the definition of an object of the field, and its shape.
func (f *formField) defOf(values definition.Fields, kind string) (string, *shape.Shape) {
	if len(f.defs) == 0 {
		return "", f.shape
	}
	of := slices.IndexFunc(f.defs, func(def string) bool { return slices.Contains(typesOf(def), kind) })
	if of < 0 {
		of = slices.IndexFunc(f.defs, func(def string) bool { return hasAll(values, document.Shapes()[def].Must) })
	}
	def := document.OfType(f.defs[max(of, 0)], kind)
	return def, document.Shapes()[def]
}

// typesOf returns the types of a definition; none if it has no types or takes every text.
func typesOf(def string) []string {
	if kind := document.Shapes()[def].Fields["type"]; kind != nil {
		return kind.Enum
	}
	return nil
}

// optional matches the comments on fields that few objects have.
var optional = lazyregexp.New(`Defaults to|^(In [a-z]+ messages|Extension)`)

// forTypes matches the types in the comment on a field of objects with types.
var forTypes = lazyregexp.New(`For ([a-z][a-z-]*(?:(?:, | and )[a-z][a-z-]*)*):`)

// kindsOf returns the types that have a field, by its comment; none for a field of every type.
func kindsOf(comment string) []string {
	found := forTypes.FindAllStringSubmatch(comment, -1)
	if len(found) == 0 || !strings.HasPrefix(comment, found[0][0]) {
		return nil
	}
	var out []string
	for _, types := range found {
		out = append(out, strings.FieldsFunc(types[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return out
}

// isNamed reports whether the comment on a field of a shape names a type, as the comment on the
// type does with the ones of comparisons.
func isNamed(s *shape.Shape, kind string) bool {
	if of := s.Fields["type"]; of != nil && slices.Contains(strings.FieldsFunc(of.Comment, func(r rune) bool { return r == ',' || r == ' ' }), kind) {
		return true
	}
	return slices.ContainsFunc(s.Names, func(name string) bool { return slices.Contains(kindsOf(s.Fields[name].Comment), kind) })
}

// takeGroup reads the sent fields of an object, or the text in its place.
func (f *formField) takeGroup(sent url.Values, old json.RawMessage) (value json.RawMessage, isTyped bool) {
	values, _ := definition.DecodeObject(old) // none for a text
	changed := takeFields(f.Fields, values, sent)
	f.oneOfBoth(sent, slices.ContainsFunc(f.Fields, (*formField).isFilled))
	switch text, isText := f.takeText(sent, old); {
	case f.Problem != "":
		return old, true
	case len(changed) == 0:
		return text, isText
	}
	if len(values) == 0 {
		old = json.RawMessage("{}")
	}
	return merged(old, f.Fields, changed), true
}

// oneOfBoth reports a text that was sent with fields or items.
func (f *formField) oneOfBoth(sent url.Values, hasParts bool) {
	if f.Texts && hasParts && strings.TrimSpace(sent.Get(f.Input())) != "" {
		f.Problem = "there is a text as well as fields; empty one of them"
	}
}

// merged returns an object with changed fields, and nil if nothing is left of it.
func merged(old json.RawMessage, fields []*formField, changed definition.Fields) json.RawMessage {
	var out []definition.Member
	members, _ := definition.Members(old) // takeGroup has read it
	for _, m := range members {
		value, isChanged := changed[m.Name]
		if isChanged {
			m.Value = value
		}
		if !isChanged || value != nil {
			out = append(out, m)
		}
	}
	for _, f := range fields {
		isOld := slices.ContainsFunc(members, func(m definition.Member) bool { return m.Name == f.Name })
		if value := changed[f.Name]; value != nil && !isOld {
			out = append(out, definition.Member{Name: f.Name, Value: value})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return definition.Object(out)
}

// takeItems reads the sent items of a list, or the text in its place. An item without anything
// is left out.
func (f *formField) takeItems(sent url.Values, old json.RawMessage) (value json.RawMessage, isTyped bool) {
	was, _ := definition.Elements(old)
	numbers := f.sentItems(sent)
	var list []json.RawMessage
	var items []*formField
	for _, n := range numbers {
		var raw json.RawMessage
		if n < len(was) {
			raw = was[n]
		}
		item := f.itemAt(n, raw, sent.Get(f.Input()+"."+strconv.Itoa(n)+".type"))
		now, isChanged := item.take(sent, raw)
		if !isChanged {
			now = raw
		}
		if now != nil || item.hasProblem() {
			list, items = append(list, now), append(items, item)
		}
		isTyped = isTyped || isChanged
	}
	if len(numbers) > 0 {
		isTyped = isTyped || len(list) != len(was)
		f.fillItems(items)
	}
	f.oneOfBoth(sent, len(items) > 0)
	switch text, isText := f.takeText(sent, old); {
	case f.Problem != "":
		return old, true
	case len(list) == 0 && sent.Has(f.Input()):
		return text, isText
	case len(list) == 0:
		return nil, isTyped
	}
	if slices.ContainsFunc(items, (*formField).hasProblem) {
		return old, isTyped
	}
	return listOf(list), isTyped
}

// sentItems returns the numbers of the items that were sent, in their order.
func (f *formField) sentItems(sent url.Values) []int {
	var out []int
	for name := range sent {
		rest, isPart := strings.CutPrefix(name, f.Input()+".")
		number, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(number); isPart && err == nil && n >= 0 && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), 2*mostRows)]
}

// walk calls a function with each field, and then with its parts.
func walk(fields []*formField, do func(*formField)) {
	for _, f := range fields {
		do(f)
		walk(f.Fields, do)
		walk(f.Items, do)
	}
}

// hasProblem reports whether the field or a part of it has a problem.
func (f *formField) hasProblem() bool {
	return f.Problem != "" || hasFieldProblem(f.Fields) || hasFieldProblem(f.Items)
}

// isFilled reports whether the field has anything.
func (f *formField) isFilled() bool {
	return f.Value != "" || len(f.Pairs) > 1 || len(f.Items) > 0 || slices.ContainsFunc(f.Fields, (*formField).isFilled)
}

// fieldOn returns the last field on a path of names and indexes, and whether that is all of the
// path; nil for none.
func fieldOn(fields []*formField, path []string) (out *formField, isWhole bool) {
	for _, step := range path {
		at := slices.IndexFunc(fields, func(f *formField) bool { return f.Name == step })
		if out != nil && out.Widget == itemsWidget { // the number of an item stays when one before it is removed
			at = -1
			if n, err := strconv.Atoi(step); err == nil && n < len(fields) {
				at = n
			}
		}
		if at < 0 {
			return out, false
		}
		out = fields[at]
		fields = slices.Concat(out.Fields, out.Items)
	}
	return out, out != nil
}

// title returns the label of the field with its place.
func (f *formField) title() string {
	steps := strings.Split(strings.ReplaceAll(f.Path, "_", " "), ".")
	for i, step := range steps {
		if n, err := strconv.Atoi(step); err == nil {
			steps[i] = strconv.Itoa(n + 1)
		}
	}
	return strings.Join(steps, " › ")
}

// HasParts reports whether a field of a group, or an item of a list, has anything.
func (f *formField) HasParts() bool {
	return len(f.Items) > 0 || slices.ContainsFunc(f.Fields, func(part *formField) bool { return part.isFilled() || part.hasProblem() })
}
