package definition

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
)

// A Member is a field of an object, with its value as it is written.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members returns the fields of a JSON object in their order; ok is false for any other
// value.
func Members(object json.RawMessage) (members []Member, ok bool) {
	object = bytes.TrimSpace(object)
	if len(object) == 0 || object[0] != '{' || !json.Valid(object) {
		return nil, false
	}
	found, err := membersOf(object)
	for _, m := range found {
		members = append(members, Member{m.name, m.value})
	}
	return members, err == nil
}

// Object returns a JSON object with fields in their order.
func Object(members []Member) json.RawMessage {
	var parts []string
	for _, m := range members {
		parts = append(parts, string(QuoteText(m.Name))+": "+string(m.Value))
	}
	return json.RawMessage("{" + strings.Join(parts, ", ") + "}")
}

// changesOf returns the fields in which a new object differs from an old one; a removed one
// has no value. ok is false if one of both is not an object, if nothing of the old one is
// left, or if the fields that are left have another order.
func changesOf(old, now json.RawMessage) (names []string, changed Fields, ok bool) {
	was, isObject := Members(old)
	is, areObjects := Members(now)
	if !isObject || !areObjects {
		return nil, nil, false
	}
	changed = Fields{}
	next := 0 // of the fields that are left
	for _, m := range was {
		at := slices.IndexFunc(is, func(n Member) bool { return n.Name == m.Name })
		switch {
		case at < 0:
			names, changed[m.Name] = append(names, m.Name), nil
			continue
		case at != next:
			return nil, nil, false
		case !EqualJSON(m.Value, is[at].Value):
			names, changed[m.Name] = append(names, m.Name), is[at].Value
		}
		next++
	}
	for _, m := range is[next:] {
		names, changed[m.Name] = append(names, m.Name), m.Value
	}
	return names, changed, next > 0
}

// changeObject returns the text of a JSON object with other values of some fields, and
// every other byte as it is. New fields are added in the order of names. indent is the white
// space before the line on which the object begins.
func changeObject(text []byte, indent string, names []string, changed Fields) ([]byte, error) {
	members, err := membersOf(text)
	if err != nil {
		return nil, err
	}
	inner, hasLines := indentOf(text, members, indent)
	colon, comma := ": ", ", "
	if hasLines {
		comma = ",\n" + inner
	}
	if len(members) > 0 {
		colon = string(text[members[0].colon : members[0].to-len(members[0].value)])
	}
	if len(members) > 1 {
		comma = string(text[members[0].to:members[1].from])
	}
	var pieces []piece
	for i, m := range members {
		value, isChanged := changed[m.name]
		switch {
		case !isChanged:
			value = m.value
		case value == nil:
			continue
		default:
			if value, err = changeValue(m.value, value, inner, hasLines); err != nil {
				return nil, err
			}
		}
		pieces = append(pieces, piece{i, slices.Concat(text[m.from:m.to-len(m.value)], value)})
	}
	for _, name := range names {
		isOld := slices.ContainsFunc(members, func(m member) bool { return m.name == name })
		if isOld || changed[name] == nil {
			continue
		}
		value, err := changeValue(nil, changed[name], inner, hasLines)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece{-1, slices.Concat(QuoteText(name), []byte(colon), value)})
	}
	if len(members) == 0 {
		members = []member{{from: 1, to: len(text) - 1}} // the inside of an object without fields
	}
	return spliced(text, members, pieces, comma), nil
}

// indentOf returns the white space before the first field of an object, and whether its
// fields have lines of their own.
func indentOf(text []byte, members []member, indent string) (inner string, hasLines bool) {
	if len(members) == 0 {
		return indent, false
	}
	before := text[:members[0].from]
	if at := bytes.LastIndexByte(before, '\n'); at >= 0 {
		return string(before[at+1:]), true
	}
	return indent, false
}

// changeValue returns the text of a new value in place of an old one: an object with the
// text of its fields that stay, a value of several lines with their indent, or a value on
// one line in an object on one line.
func changeValue(old, now json.RawMessage, indent string, hasLines bool) (json.RawMessage, error) {
	if names, changed, ok := changesOf(old, now); ok {
		return changeObject(old, indent, names, changed)
	}
	if _, items, from, ok := changedList(old, now); ok {
		return changeList(old, indent, items, from)
	}
	now = bytes.TrimSpace(now)
	if !bytes.ContainsAny(now, "\n") && !bytes.ContainsAny(old, "\n") {
		return now, nil
	}
	if !hasLines {
		return json.RawMessage(onOneLine(now)), nil
	}
	var b bytes.Buffer
	err := json.Indent(&b, now, indent, "  ")
	return b.Bytes(), err
}

// locateJSON returns the locator of an item in a JSON file.
func (d *Document) locateJSON(item string, data []byte) locator {
	now := &Document{data: data, object: d.object, list: d.list}
	from, to, err := bytes.IndexByte(data, '{'), len(data), error(nil)
	if item != "" {
		from, to, err = now.span(item)
	}
	if err != nil || from < 0 {
		from, to = 0, 0
	}
	return func(p schema.Position) (path []string, begins int) {
		at := offsetOf(data, p)
		if item != "" && (at < from || at >= to) {
			return nil, -1
		}
		return locateWithin(data[from:to], at-from)
	}
}

// locateWithin returns the path to an offset of a text with an object, and the length of the
// path to the object that begins there. It reads the members before a mistake.
func locateWithin(text []byte, at int) (path []string, begins int) {
	begins = -1
	for {
		white := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
		if at -= white; len(text) == white {
			return path, begins
		}
		text = text[white:]
		if text[0] == '{' && at <= 0 {
			return path, len(path)
		}
		parts := elementsOf(text)
		if text[0] == '{' {
			parts, _ = membersOf(text)
		}
		last := -1
		for i, m := range parts {
			if m.from <= at {
				last = i
			}
		}
		if last < 0 {
			return path, begins
		}
		m := parts[last]
		if text[0] == '{' {
			path = append(path, m.name)
		} else {
			path = append(path, strconv.Itoa(last))
		}
		begin := m.to - len(m.value)
		if at < begin {
			return path, begins // at a key
		}
		text, at = m.value, at-begin
	}
}

// offsetOf returns the index of a place in a text.
func offsetOf(text []byte, p schema.Position) int {
	at := 0
	for range p.Line - 1 {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			return len(text)
		}
		at += end + 1
	}
	for range p.Column - 1 {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}
