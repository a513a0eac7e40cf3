package definition

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Elements returns the items of a JSON list as they are written; ok is false for any other
// value.
func Elements(list json.RawMessage) (items []json.RawMessage, ok bool) {
	list = bytes.TrimSpace(list)
	if len(list) == 0 || list[0] != '[' || !json.Valid(list) {
		return nil, false
	}
	for _, m := range elementsOf(list) {
		items = append(items, m.value)
	}
	return items, true
}

// elementsOf reads the items of a list up to the first mistake.
func elementsOf(text []byte) []member {
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('[') {
		return nil
	}
	var out []member
	for dec.More() {
		var m member
		if dec.Decode((*json.RawMessage)(&m.value)) != nil {
			return out
		}
		m.to = int(dec.InputOffset())
		m.from = m.to - len(m.value)
		out = append(out, m)
	}
	return out
}

// changedList returns the items of an old and a new list, and for each new item the index of the
// old one that it continues; -1 for an added one. ok is false if one of both is not a list, or
// is empty.
func changedList(old, now json.RawMessage) (was, is []json.RawMessage, from []int, ok bool) {
	was, isList := Elements(old)
	is, areLists := Elements(now)
	if !isList || !areLists || len(was) == 0 || len(is) == 0 {
		return nil, nil, nil, false
	}
	return was, is, aligned(was, is), true
}

// mostAligned bounds the comparisons of two lists.
const mostAligned = 1 << 20

// aligned returns for each item of a new list the index of the old item that it continues, or
// -1. The indexes rise. Equal items belong together; the ones between them do by their order.
func aligned(was, is []json.RawMessage) []int {
	out := slices.Repeat([]int{-1}, len(is))
	if len(was)*len(is) <= mostAligned {
		alignEqual(was, is, out)
	}
	next := 0 // of the old items
	for at := 0; at < len(is); at++ {
		if out[at] >= 0 {
			next = out[at] + 1
			continue
		}
		limit := len(was)
		if later := slices.IndexFunc(out[at:], func(n int) bool { return n >= 0 }); later >= 0 {
			limit = out[at+later]
		}
		if next < limit {
			out[at] = next
			next++
		}
	}
	return out
}

// alignEqual sets the indexes of a longest common subsequence of equal items.
func alignEqual(was, is []json.RawMessage, out []int) {
	lengths := make([][]int, len(was)+1)
	isEqual := make([][]bool, len(was))
	for i := range lengths {
		lengths[i] = make([]int, len(is)+1)
	}
	for i := len(was) - 1; i >= 0; i-- {
		isEqual[i] = make([]bool, len(is))
		for j := len(is) - 1; j >= 0; j-- {
			isEqual[i][j] = EqualJSON(was[i], is[j])
			lengths[i][j] = max(lengths[i+1][j], lengths[i][j+1])
			if isEqual[i][j] {
				lengths[i][j] = lengths[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(was) && j < len(is); {
		switch {
		case isEqual[i][j]:
			out[j] = i
			i, j = i+1, j+1
		case lengths[i+1][j] >= lengths[i][j+1]:
			i++
		default:
			j++
		}
	}
}

// A piece is the new text of a part of an object or list, or of an added one.
type piece struct {
	// part is the index of the part that it replaces; -1 for an added piece.
	part int
	text []byte
}

// spliced returns a text with pieces in place of its parts, which rise. A piece keeps what is
// before its part, unless it becomes the first; an added one comes after comma.
func spliced(text []byte, parts []member, pieces []piece, comma string) []byte {
	var b bytes.Buffer
	b.Write(text[:parts[0].from])
	for i, p := range pieces {
		switch {
		case i == 0:
		case p.part > 0:
			b.Write(text[parts[p.part-1].to:parts[p.part].from])
		default:
			b.WriteString(comma)
		}
		b.Write(p.text)
	}
	b.Write(text[parts[len(parts)-1].to:])
	return b.Bytes()
}

// changeList returns the text of a JSON list with new items, and every byte of the items that
// stay as it is. indent is the white space before the line on which the list begins.
func changeList(text []byte, indent string, is []json.RawMessage, from []int) ([]byte, error) {
	parts := elementsOf(text)
	inner, hasLines := indentOf(text, parts, indent)
	comma := ", "
	if hasLines {
		comma = ",\n" + inner
	}
	if len(parts) > 1 {
		comma = string(text[parts[0].to:parts[1].from])
	}
	var pieces []piece
	for i, item := range is {
		was := json.RawMessage(parts[0].value) // an added item has the layout of the first
		if from[i] >= 0 {
			was = parts[from[i]].value
		}
		switch {
		case from[i] < 0:
			item = layoutOf(item, was, inner, hasLines)
		case EqualJSON(was, item):
			item = was
		default:
			changed, err := changeValue(was, item, inner, hasLines)
			if err != nil {
				return nil, err
			}
			item = changed
		}
		pieces = append(pieces, piece{from[i], item})
	}
	return spliced(text, parts, pieces, comma), nil
}

// layoutOf returns a value with lines of its own if another one has lines.
func layoutOf(value, like json.RawMessage, indent string, hasLines bool) json.RawMessage {
	var b bytes.Buffer
	if !hasLines || !bytes.Contains(like, []byte("\n")) || json.Indent(&b, value, indent, "  ") != nil {
		return bytes.TrimSpace(value)
	}
	return b.Bytes()
}
