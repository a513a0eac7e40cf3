package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// isLines reports whether each line of a file is a definition.
func isLines(file string) bool { return strings.HasSuffix(file, ".jsonl") }

// changeLine changes fields of the definition on a line and keeps all other lines.
func (d *Document) changeLine(item string, changed Fields) ([]byte, error) {
	lines := bytes.SplitAfter(d.data, []byte("\n"))
	at := lineOf(lines, item)
	if at < 0 {
		return nil, fmt.Errorf("%s does not have definition %s any more; load it again", d.file, item)
	}
	line := bytes.TrimSpace(lines[at])
	now, err := changeObject(line, "", fieldOrder(d.Definition(item), changed), changed)
	if err != nil {
		return nil, fmt.Errorf("%s: line %d: %w", d.file, at+1, err)
	}
	before, after, _ := bytes.Cut(lines[at], line)
	lines[at] = slices.Concat(before, now, after)
	return bytes.Join(lines, nil), nil
}

// lineOf returns the index of the line with an item, or -1. Items are counted without
// blank lines.
func lineOf(lines [][]byte, item string) int {
	n, err := strconv.Atoi(item)
	for i, line := range lines {
		switch {
		case err != nil:
			return -1
		case len(bytes.TrimSpace(line)) == 0:
		case n == 0:
			return i
		default:
			n--
		}
	}
	return -1
}

// A member is the text of a field of an object.
type member struct {
	name string
	// key is the name with its quotes, and value the text of the value.
	key, value []byte
	// from and colon are the begin and end of the key, and to is the end of the value.
	from, colon, to int
}

// membersOf reads the fields of an object in their order.
func membersOf(line []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var out []member
	for dec.More() {
		begin := int(dec.InputOffset())
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{colon: int(dec.InputOffset())}
		m.name, _ = name.(string) // the name of a field is a string
		m.from = begin + bytes.IndexByte(line[begin:], '"')
		if err := dec.Decode((*json.RawMessage)(&m.value)); err != nil {
			return nil, err
		}
		m.key, m.to = line[m.from:m.colon], int(dec.InputOffset())
		out = append(out, m)
	}
	return out, nil
}

// spaces returns the first colon and the first comma of a line, with the spaces after
// them.
func spaces(line []byte, members []member) (colon, comma string) {
	colon, comma = ": ", ", "
	if len(members) > 0 {
		first := members[0]
		if colon = string(line[first.colon : first.to-len(first.value)]); colon == ":" {
			comma = ","
		}
		if len(members) > 1 {
			comma = string(line[first.to:members[1].from])
		}
	}
	return colon, comma
}

// onOneLine returns a value without the white space between its parts.
func onOneLine(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value) // Change reports it
	}
	return b.String()
}

// locateLine returns the locator of an item in a file of lines.
func locateLine(item string, data []byte) locator {
	lines := bytes.SplitAfter(data, []byte("\n"))
	at := lineOf(lines, item)
	if item == "" {
		at = lineOf(lines, "0") // the file is new
	}
	return func(p schema.Position) (path []string, begins int) {
		if at < 0 || p.Line != at+1 {
			return nil, -1
		}
		return locateWithin(lines[at], offsetOf(lines[at], schema.Position{Line: 1, Column: p.Column}))
	}
}
