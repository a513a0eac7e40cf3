package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// changeYAML replaces, adds and removes fields of a definition in a YAML file.
func (d *Document) changeYAML(item string, changed Fields) ([]byte, error) {
	text := d.data
	old, _ := d.Fields(item) // Change has read it
	for _, name := range fieldOrder(d.Definition(item), changed) {
		var err error
		text, err = d.editYAML(text, item, []any{name}, old[name], changed[name])
		switch {
		case errors.Is(err, errOneLine):
			return nil, fmt.Errorf("%s has %w; change its text", d.file, err)
		case err != nil:
			return nil, fmt.Errorf("%s: %s: %w", d.file, name, err)
		}
	}
	return text, nil
}

// errOneLine means that the fields of a definition have no lines of their own.
var errOneLine = errors.New("this definition on one line")

// fieldOrder returns the names of fields in the order of a schema.
func fieldOrder(def string, fields Fields) []string {
	var out, rest []string
	for _, name := range document.Fields(def) {
		if _, ok := fields[name]; ok {
			out = append(out, name)
		}
	}
	for name := range fields {
		if !slices.Contains(out, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(out, rest...)
}

// mapping returns the node of a definition, or nil if it is not a mapping.
func (d *Document) mapping(file *yaml.Node, item string) *yaml.Node {
	if len(file.Content) != 1 {
		return nil
	}
	at := file.Content[0]
	if item != "" && d.object != nil {
		if at = valueOf(at, d.list); at == nil {
			return nil
		}
	}
	if item != "" {
		n, err := strconv.Atoi(item)
		if err != nil || at.Kind != yaml.SequenceNode || n >= len(at.Content) {
			return nil
		}
		at = at.Content[n]
	}
	if at.Kind != yaml.MappingNode {
		return nil
	}
	return at
}

// valueOf returns the value of a field of a mapping, or nil.
func valueOf(m *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i+1]
		}
	}
	return nil
}

// edited returns a file with another value of a field of a mapping.
func edited(text []byte, m *yaml.Node, name string, value json.RawMessage) ([]byte, error) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	column := m.Content[0].Column - 1
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, old := m.Content[i], m.Content[i+1]
		if key.Value != name {
			continue
		}
		from, to := key.Line-1, fieldEnd(lines, key, old)
		prefix := string(lines[from][:min(column, len(lines[from]))]) // may have the dash of a list
		if value == nil {
			if strings.TrimSpace(prefix) != "" {
				return withoutFirst(lines, m, to, prefix)
			}
			return joined(lines[:from], nil, lines[to:]), nil
		}
		next, err := field(name, value, prefix, old.LineComment)
		if err != nil {
			return nil, err
		}
		return joined(lines[:from], next, lines[to:]), nil
	}
	if value == nil {
		return text, nil
	}
	count := len(m.Content)
	last := fieldEnd(lines, m.Content[count-2], m.Content[count-1])
	next, err := field(name, value, strings.Repeat(" ", column), "")
	if before := lines[last-1]; !bytes.HasSuffix(before, []byte("\n")) {
		next = append([]byte("\n"), next...)
	}
	return joined(lines[:last], next, lines[last:]), err
}

// withoutFirst returns a file without the first field of an item of a list, whose dash comes
// before the second one then. to is the number of the line after the field.
func withoutFirst(lines [][]byte, m *yaml.Node, to int, prefix string) ([]byte, error) {
	if len(m.Content) == 2 {
		return nil, errors.New("the only field of a list's item cannot be removed by a form; change the text")
	}
	first, second := m.Content[0].Line-1, m.Content[2].Line-1
	if second < to || strings.TrimSpace(string(lines[second][:min(len(prefix), len(lines[second]))])) != "" {
		return nil, errors.New("the first field of a list's item cannot be removed by a form; change the text")
	}
	now := slices.Concat([]byte(prefix), lines[second][len(prefix):])
	return joined(lines[:first], slices.Concat(bytes.Join(lines[to:second], nil), now), lines[second+1:]), nil
}

func joined(before [][]byte, between []byte, after [][]byte) []byte {
	return slices.Concat(bytes.Join(before, nil), between, bytes.Join(after, nil))
}

// fieldEnd returns the number of the line after a field, counted from 0. Lines further to
// the right belong to the field, and so does a list below its name. Comments and blank
// lines at its end do not.
func fieldEnd(lines [][]byte, key, value *yaml.Node) int {
	column, end := key.Column-1, key.Line
	for n := key.Line; n < len(lines); n++ {
		line := bytes.TrimRight(lines[n], " \t\r\n")
		trimmed := bytes.TrimLeft(line, " ")
		indent := len(line) - len(trimmed)
		isItem := value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0 && indent == column &&
			(bytes.HasPrefix(trimmed, []byte("- ")) || len(trimmed) == 1 && trimmed[0] == '-')
		switch {
		case len(trimmed) == 0 || trimmed[0] == '#' && indent <= column:
			continue
		case indent <= column && !isItem:
			return end
		}
		end = n + 1
	}
	return end
}

// field returns the lines of a field, the first after a prefix and the others indented
// like it.
func field(name string, value json.RawMessage, prefix, comment string) ([]byte, error) {
	node, err := nodeOf(value)
	if err != nil {
		return nil, err
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
	out, err := encoded(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{key, node}})
	if err != nil {
		return nil, err
	}
	return indented(out, prefix, strings.Repeat(" ", len(prefix)), comment), nil
}

// nodeOf returns a JSON value in the usual style of YAML.
func nodeOf(value []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(value, &doc); err != nil || len(doc.Content) != 1 {
		return nil, fmt.Errorf("the value cannot be written as YAML: %w", err)
	}
	plain(doc.Content[0])
	return doc.Content[0], nil
}

// oldBooleans lists texts that readers of YAML 1.1 take for true or false.
var oldBooleans = []string{"y", "n", "yes", "no", "on", "off"}

// plain removes the quotes and braces of JSON; the encoder adds the necessary ones.
func plain(n *yaml.Node) {
	isText := n.Kind == yaml.ScalarNode && n.Style&yaml.DoubleQuotedStyle != 0
	n.Style = 0
	if isText {
		n.Tag = "!!str"
		switch {
		case strings.Contains(n.Value, "\n"):
			n.Style = yaml.LiteralStyle
		case slices.Contains(oldBooleans, strings.ToLower(n.Value)):
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	for _, child := range n.Content {
		plain(child)
	}
}

// encoded returns a file with a node.
func encoded(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// A locator returns the path from a definition to a place, by names and numbers, and the length
// of the path to the object that begins there, where missing fields are reported; -1 for none.
// The path is empty for a place in another definition.
type locator = func(schema.Position) (path []string, begins int)

// Locate returns the locator of a definition in a file from [Document.Change]. A nil document
// means a whole file.
func Locate(d *Document, item string, data []byte) func(schema.Position) (path []string, begins int) {
	if d == nil {
		d = &Document{object: Fields{}}
	}
	item = d.Number(item)
	if isLines(d.file) {
		return locateLine(item, data)
	}
	if !isYAML(d.file) {
		return d.locateJSON(item, data)
	}
	var file yaml.Node
	var found *yaml.Node
	if yaml.Unmarshal(data, &file) == nil {
		found = d.mapping(&file, item)
	}
	return func(p schema.Position) (path []string, begins int) {
		if found == nil || len(found.Content) == 0 {
			return nil, beginsIf(p.Line <= 1)
		}
		if p.Line > lastLine(found)+1 {
			return nil, -1
		}
		path, begins = pathTo(found, p)
		if begins < 0 {
			begins = beginsIf(p.Line <= found.Content[0].Line && (item == "" || p.Line >= found.Line) && len(path) < 2)
		}
		return path, begins
	}
}

// beginsIf returns the length of the path to the definition if a place is its begin.
func beginsIf(isFirst bool) int {
	if isFirst {
		return 0
	}
	return -1
}

// pathTo returns the path from a node to the last part that begins at a place or before it.
func pathTo(n *yaml.Node, p schema.Position) (path []string, begins int) {
	begins = -1
	for {
		if n.Kind == yaml.MappingNode && n.Line == p.Line && n.Column == p.Column {
			begins = len(path)
		}
		name, next := partBefore(n, p)
		if next == nil {
			return path, begins
		}
		path = append(path, name)
		if n = next; !isBefore(n, p) {
			return path, begins // at a key
		}
	}
}

// partBefore returns the last part of a node that begins at a place or before it; nil for none.
func partBefore(n *yaml.Node, p schema.Position) (name string, part *yaml.Node) {
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2 // a key and its value
	}
	if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode {
		return "", nil
	}
	for i := 0; i+step <= len(n.Content) && isBefore(n.Content[i], p); i += step {
		if name, part = strconv.Itoa(i), n.Content[i]; step == 2 {
			name, part = part.Value, n.Content[i+1]
		}
	}
	return name, part
}

// isBefore reports whether a node begins at a place or before it.
func isBefore(n *yaml.Node, p schema.Position) bool {
	return n.Line < p.Line || n.Line == p.Line && n.Column <= p.Column
}

// lastLine returns the last line on which a node of a tree begins.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, child := range n.Content {
		last = max(last, lastLine(child))
	}
	return last
}
