// Package definition changes fields of one definition in a JSON, JSONL or YAML file and
// keeps the rest of the text: other definitions, comments and order.
//
// Most callers want [Open] and [Document.Change].
package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// lists has the fields with the definitions of a file, by format.
var lists = map[string][]string{
	schema.DialectTestcase: {"test_cases", "testcases"},
	schema.DialectEvalcase: {"evalcases", "eval_cases", "cases", "tests"},
}

// A Document is the text of a file with an object or a list of objects.
type Document struct {
	file   string
	data   []byte
	format string
	// object is the whole file; nil if the file is a list.
	object Fields
	// list is the field with the definitions; empty for none, or if the file is a list.
	list  string
	items []Fields
	isNew bool
}

// New returns the document of a new file.
func New(file, format string) *Document {
	d := &Document{file: file, format: format, object: Fields{}, isNew: true}
	if format == schema.DialectEvalcase && !isLines(file) {
		d.list = lists[format][0] // a case is never alone in its file
	}
	return d
}

// First returns the item of the only definition of a new file.
func (d *Document) First() string {
	if d.list != "" {
		return NewItem
	}
	return ""
}

// Formed reports whether a file with this name can have a form.
func Formed(file string) bool {
	return isYAML(file) || isLines(file) || strings.HasSuffix(file, ".json")
}

// CheckPath refuses a file that is not below the folders of definitions.
func CheckPath(file string, folders []string) error {
	isBelow := slices.ContainsFunc(folders, func(folder string) bool {
		return file == folder || strings.HasPrefix(file, strings.TrimSuffix(folder, "/")+"/")
	})
	if !fs.ValidPath(file) || !isBelow || !Formed(file) && !Computed(file) {
		return fmt.Errorf("%s is not a file of definitions; write a path such as %s/greeting.yaml", file, folders[0])
	}
	for part := range strings.SplitSeq(below(file, folders), "/") {
		if strings.HasPrefix(part, ".") {
			return fmt.Errorf("%s would be hidden: no definition is read from a name that begins with a dot; write a path such as %s/greeting.yaml", file, folders[0])
		}
	}
	return nil
}

// below returns the path of a file relative to its folder of definitions.
func below(file string, folders []string) string {
	for _, folder := range folders {
		if rest, is := strings.CutPrefix(file, strings.TrimSuffix(folder, "/")+"/"); is {
			return rest
		}
	}
	return ""
}

// Computed reports whether a file computes its values, which a form cannot change.
func Computed(file string) bool { return strings.HasSuffix(file, ".cue") }

// needed has the fields by which a definition of each schema is known.
var needed = map[string][]string{
	"#Testcase": {"name", "initial_message"}, "#Promptval": {"test_type", "name", "user_input", "testing_prompt", "evaluation_type"},
	"#Evalcase": {"id", "input", "expected_outcome"}, "#EvalcaseTest": {"id", "criteria", "input"},
	"#EvalcaseSuite": {"evalcases"}, "#EvalcaseTests": {"tests"},
}

// Needs says which fields an item, or the whole file, lacks to become a definition of the
// format. fields are its fields after the change.
func (d *Document) Needs(item string, fields Fields) string {
	all := needed[d.Definition(item)]
	lacks := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return fields[name] != nil })
	if len(lacks) == 0 { // another field makes it a definition of another format
		lacks = all
	}
	names := lacks[len(lacks)-1]
	if before := lacks[:len(lacks)-1]; len(before) > 0 {
		names = strings.Join(before, ", ") + " and " + names
	}
	return "this would not be a definition of the format " + d.format + " yet; fill in " + names
}

func isYAML(file string) bool {
	return strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")
}

// Open reads a file of a format. ok is false if it is neither an object nor a list of
// objects.
func Open(file, format string, data []byte) (d *Document, ok bool) {
	doc, problems := document.Parse(file, data)
	if doc == nil || schema.HasErrors(problems) || !Formed(file) {
		return nil, false
	}
	d = &Document{file: file, data: bytes.TrimPrefix(data, []byte("\ufeff")), format: format}
	if doc.IsList() {
		return d, json.Unmarshal(doc.Written(), &d.items) == nil && !slices.ContainsFunc(d.items, isMissing)
	}
	if json.Unmarshal(doc.Written(), &d.object) != nil || d.object == nil {
		return nil, false
	}
	for _, name := range lists[format] {
		var items []Fields
		if json.Unmarshal(d.object[name], &items) == nil && len(items) > 0 && !slices.ContainsFunc(items, isMissing) {
			d.list, d.items = name, items
			break
		}
	}
	return d, true
}

func isMissing(fields Fields) bool { return fields == nil }

// A Row is one definition of a list, or a link to a page with more of them.
type Row struct{ Item, Name, Page string }

// perPage bounds the rows of a page.
const perPage = 200

// Rows returns the definitions of a page of the list, counted from 1, then a link to the
// next page if there is one, and a row that adds a definition. With an item it returns
// that definition alone. A file of one definition has no rows.
func (d *Document) Rows(item, page string) []Row {
	if item != "" {
		fields, ok := d.Fields(item)
		if !ok {
			return nil
		}
		if item == NewItem {
			return []Row{{Item: item, Name: "a further definition"}}
		}
		n, _ := strconv.Atoi(item) // Fields has read it
		return []Row{{Item: item, Name: nameOf(fields, n)}}
	}
	if len(d.items) == 0 {
		return nil
	}
	number := PageNumber(page, 1, 1+len(d.items)/perPage)
	from, to := min((number-1)*perPage, len(d.items)), min(number*perPage, len(d.items))
	var out []Row
	for n := from; n < to; n++ {
		out = append(out, Row{Item: strconv.Itoa(n), Name: nameOf(d.items[n], n)})
	}
	if more := len(d.items) - to; more > 0 {
		out = append(out, Row{Name: fmt.Sprintf("%d more", more), Page: strconv.Itoa(number + 1)})
	}
	return append(out, Row{Item: NewItem, Name: "+ Add a definition to this file"})
}

// Name returns the name of an item for people; empty for a whole file and for an item that
// does not exist.
func (d *Document) Name(item string) string {
	n, err := strconv.Atoi(item)
	if err != nil || n < 0 || n >= len(d.items) {
		return ""
	}
	return nameOf(d.items[n], n)
}

// ItemAt returns the item of the list at a place in the file; empty for a file without a list
// and for a place before it.
func (d *Document) ItemAt(p schema.Position) string {
	var until int // how many items begin at the place or before it
	if isYAML(d.file) {
		until = d.itemsUntil(p)
	} else {
		until = sort.Search(len(d.items), func(n int) bool { return d.isAfter(n, p) })
	}
	if until == 0 {
		return ""
	}
	return strconv.Itoa(until - 1)
}

// isAfter reports whether an item of a list in JSON or JSONL begins after a place.
func (d *Document) isAfter(n int, p schema.Position) bool {
	if isLines(d.file) {
		return lineOf(bytes.SplitAfter(d.data, []byte("\n")), strconv.Itoa(n))+1 > p.Line
	}
	from, _, err := d.span(strconv.Itoa(n))
	return err != nil || from > offsetOf(d.data, p)
}

// itemsUntil counts the items of a list in YAML that begin at a place or before it.
func (d *Document) itemsUntil(p schema.Position) int {
	var file yaml.Node
	if yaml.Unmarshal(d.data, &file) != nil || len(file.Content) == 0 {
		return 0
	}
	list := file.Content[0]
	if d.object != nil {
		list = valueOf(list, d.list)
	}
	if list == nil || list.Kind != yaml.SequenceNode {
		return 0
	}
	return sort.Search(len(list.Content), func(n int) bool {
		at := list.Content[n]
		return at.Line > p.Line || at.Line == p.Line && at.Column > p.Column
	})
}

// nameOf returns the name of a definition for people.
func nameOf(fields Fields, n int) string {
	for _, field := range []string{"name", "id", "description"} {
		if name := TextOf(fields[field]); name != "" {
			return name
		}
	}
	return "number " + strconv.Itoa(n+1)
}

// NewItem is the item of a definition to add at the end of the list.
const NewItem = "new"

// Number returns the item after the file is written: a new one is the last.
func (d *Document) Number(item string) string {
	if d != nil && item == NewItem {
		return strconv.Itoa(len(d.items))
	}
	return item
}

// Fields returns the fields of an item of [Document.Rows], or of the whole file for an
// empty item. A new item has none. ok is false if there is no such definition: a file
// around a list of testcases is not one.
func (d *Document) Fields(item string) (fields Fields, ok bool) {
	if item == NewItem {
		return Fields{}, len(d.items) > 0 || d.isNew && d.list != ""
	}
	if item == "" {
		return d.object, d.object != nil && (d.list == "" || d.format != schema.DialectTestcase)
	}
	n, err := strconv.Atoi(item)
	if err != nil || n < 0 || n >= len(d.items) {
		return nil, false
	}
	return d.items[n], true
}

// Definition returns the name of the schema of an item, such as #Testcase, or of the whole
// file for an empty item.
func (d *Document) Definition(item string) string {
	if isLines(d.file) {
		item = "0" // each line is one
	}
	return definition(d.format, d.object, d.list, item)
}

func definition(format string, whole Fields, list, item string) string {
	isTests := whole["tests"] != nil
	switch {
	case format == schema.DialectTestcase:
		return "#Testcase"
	case format == schema.DialectPromptval:
		return "#Promptval"
	case item != "" && (list == "tests" || isTests):
		return "#EvalcaseTest"
	case item != "":
		return "#Evalcase"
	case isTests:
		return "#EvalcaseTests"
	}
	return "#EvalcaseSuite"
}

// Change returns the file with other values of some fields of a definition; a field
// without a value is removed. The error says what cannot be written this way.
func (d *Document) Change(item string, changed Fields) ([]byte, error) {
	old, ok := d.Fields(item)
	if !ok {
		return nil, fmt.Errorf("%s does not have definition %s any more; load it again", d.file, item)
	}
	var out []byte
	var err error
	switch {
	case d.isNew && isLines(d.file):
		return append(line(nil, nil, d.Definition(item), mergeFields(old, changed)), '\n'), nil
	case d.isNew:
		return d.created(mergeFields(old, changed))
	case item == NewItem:
		out, err = d.add(changed)
	case isYAML(d.file):
		out, err = d.changeYAML(item, changed)
	case isLines(d.file):
		out, err = d.changeLine(item, changed)
	default:
		out, err = d.changeJSON(item, changed)
	}
	if err != nil {
		return nil, err
	}
	// The file has to have the requested change and no other.
	after, ok := Open(d.file, d.format, out)
	if !ok || !after.equals(d, item, mergeFields(old, changed)) {
		return nil, fmt.Errorf("%s is written in a way that a form cannot change; change its text", d.file)
	}
	return out, nil
}

// equals reports whether two documents differ only in the fields of one definition.
func (d *Document) equals(other *Document, item string, fields Fields) bool {
	if item == "" {
		return SameJSON(d.object, fields)
	}
	want := slices.Clone(other.items)
	if item == NewItem {
		want = append(want, fields)
	} else {
		n, _ := strconv.Atoi(item) // Fields has read it
		want[n] = fields
	}
	return SameJSON(d.items, want) && (d.object == nil) == (other.object == nil) && SameJSON(d.around(), other.around())
}

// around returns the fields of the file without its list.
func (d *Document) around() Fields {
	if d.object == nil {
		return Fields{}
	}
	return mergeFields(d.object, Fields{d.list: nil})
}

// created returns the file with its only definition.
func (d *Document) created(fields Fields) ([]byte, error) {
	text, err := EncodeObject(document.Fields(d.Definition(d.First())), fields)
	if err == nil && d.list != "" {
		text, err = EncodeObject(nil, Fields{d.list: slices.Concat([]byte("["), bytes.TrimSpace(text), []byte("]"))})
	}
	if err != nil || !isYAML(d.file) {
		return text, err
	}
	node, err := nodeOf(text)
	if err != nil {
		return nil, err
	}
	return encoded(node)
}

// changeJSON changes fields of the file, or of an item of its list, in a JSON file.
func (d *Document) changeJSON(item string, changed Fields) ([]byte, error) {
	from, to := bytes.IndexByte(d.data, '{'), bytes.LastIndexByte(d.data, '}')+1
	if item != "" {
		var err error
		if from, to, err = d.span(item); err != nil {
			return nil, err
		}
	}
	line := d.data[bytes.LastIndexByte(d.data[:from], '\n')+1 : from]
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	text, err := changeObject(d.data[from:to], string(indent), fieldOrder(d.Definition(item), changed), changed)
	return slices.Concat(d.data[:from], text, d.data[to:]), err
}

// span returns the place of an item of a list in a JSON file.
func (d *Document) span(item string) (from, to int, err error) {
	dec := json.NewDecoder(bytes.NewReader(d.data))
	if _, err := dec.Token(); err != nil {
		return 0, 0, err
	}
	for found := d.object == nil; !found && dec.More(); {
		name, err := dec.Token()
		if err != nil {
			return 0, 0, err
		}
		var skipped json.RawMessage
		if found = name == d.list; found {
			_, err = dec.Token()
		} else {
			err = dec.Decode(&skipped)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	for n := 0; dec.More(); n++ {
		var one json.RawMessage
		if err := dec.Decode(&one); err != nil {
			return 0, 0, err
		}
		if to = int(dec.InputOffset()); strconv.Itoa(n) == item {
			return to - len(one), to, nil
		}
	}
	return 0, 0, fmt.Errorf("%s does not have definition %s any more; load it again", d.file, item)
}
