package definition

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// numbered matches the number at the end of an id that a copy has.
var numbered = lazyregexp.New(`_[0-9]+$`)

// Copied returns the fields of a copy of a definition, with a free id if it has an id, and
// a name that says so.
func Copied(fields Fields, isTaken func(id string) bool) Fields {
	out := maps.Clone(fields)
	if id := TextOf(out["id"]); id != "" {
		base := numbered.ReplaceAllString(id, "")
		for n := 2; isTaken(id); n++ {
			id = base + "_" + strconv.Itoa(n)
		}
		out["id"] = QuoteText(id)
	}
	if name := TextOf(out["name"]); name != "" {
		out["name"] = QuoteText(name + " (copy)")
	}
	return out
}

// Copy returns the fields of a copy of a definition of the file: an item of
// [Document.Rows], or the whole file for an empty item. ok is false if there is none.
func (d *Document) Copy(item string) (fields Fields, ok bool) {
	fields, ok = d.Fields(item)
	switch {
	case !ok || item == NewItem:
		return nil, false
	case d.format == schema.DialectPromptval: // its name and its id are the target's
		return maps.Clone(fields), true
	case d.format == schema.DialectTestcase: // its id follows from its place
		fields = maps.Clone(fields)
		delete(fields, "id")
	}
	return Copied(fields, func(id string) bool {
		return slices.ContainsFunc(d.items, func(other Fields) bool { return TextOf(other["id"]) == id })
	}), true
}

// CopyText returns the text of a copy of a file with one definition. It keeps the comments
// and the layout of YAML. ok is false for a file with a list, whose definitions are copied
// one by one.
func (d *Document) CopyText() (text []byte, ok bool) {
	if d.object == nil || len(d.items) > 0 || isLines(d.file) {
		return nil, false
	}
	fields, ok := d.Copy("")
	if !ok {
		return nil, false
	}
	changed := Fields{}
	for _, name := range []string{"id", "name"} {
		if !bytes.Equal(fields[name], d.object[name]) {
			changed[name] = fields[name]
		}
	}
	if len(changed) == 0 {
		return d.data, true
	}
	text, err := d.Change("", changed)
	return text, err == nil
}
