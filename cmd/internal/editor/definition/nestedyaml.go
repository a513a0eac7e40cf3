package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/schema"
)

// editYAML returns a file with another value at a path, which leads from the definition to it
// by names and indexes. Parts that are equal in both values keep their text.
func (d *Document) editYAML(text []byte, item string, path []any, old, now json.RawMessage) ([]byte, error) {
	in, at, err := d.nodeAt(text, item, path)
	if err != nil {
		return nil, err
	}
	if at != nil && now != nil {
		within, err := d.editWithin(text, item, path, at, old, now)
		if err == nil {
			return within, nil
		}
	}
	if index, isItem := path[len(path)-1].(int); isItem {
		return editedItem(text, in, index, now)
	}
	return edited(text, in, path[len(path)-1].(string), now)
}

// nodeAt returns the block with the value at a path, and the value; nil for a new one.
func (d *Document) nodeAt(text []byte, item string, path []any) (in, at *yaml.Node, err error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, nil, err
	}
	at = d.mapping(&file, item)
	for _, step := range path {
		if in = at; !isBlock(in) {
			return nil, nil, errOneLine
		}
		at = nil
		switch step := step.(type) {
		case string:
			at = valueOf(in, step)
		case int:
			if in.Kind == yaml.SequenceNode && step < len(in.Content) {
				at = in.Content[step]
			}
		}
	}
	return in, at, nil
}

// isBlock reports whether a node is a mapping or a list with a line for each of its parts.
func isBlock(n *yaml.Node) bool {
	return n != nil && (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
}

// errWhole means that no part of a value can be kept.
var errWhole = errors.New("the value is written as a whole")

// editWithin changes the parts of a value in which the old and the new one differ.
func (d *Document) editWithin(text []byte, item string, path []any, at *yaml.Node, old, now json.RawMessage) ([]byte, error) {
	if at.Anchor != "" || at.Kind == yaml.AliasNode {
		return nil, errWhole
	}
	if !isBlock(at) {
		return editFlow(text, at, old, now)
	}
	if names, changed, ok := changesOf(old, now); ok && at.Kind == yaml.MappingNode {
		was, _ := Members(old) // changesOf has read it
		for _, name := range names {
			var value json.RawMessage
			if at := slices.IndexFunc(was, func(m Member) bool { return m.Name == name }); at >= 0 {
				value = was[at].Value
			}
			var err error
			if text, err = d.editYAML(text, item, append(slices.Clone(path), name), value, changed[name]); err != nil {
				return nil, err
			}
		}
		return text, nil
	}
	if was, is, from, ok := changedList(old, now); ok && at.Kind == yaml.SequenceNode && len(was) == len(at.Content) {
		return d.editItems(text, item, path, was, is, from)
	}
	return nil, errWhole
}

// editItems changes the items of a block list from the last to the first, so that the indexes
// of the others stay.
func (d *Document) editItems(text []byte, item string, path []any, was, is []json.RawMessage, from []int) ([]byte, error) {
	edit := func(index int, old, now json.RawMessage) (err error) {
		text, err = d.editYAML(text, item, append(slices.Clone(path), index), old, now)
		return err
	}
	next := len(was)
	remove := func(until int) error {
		for next--; next > until; next-- {
			if err := edit(next, was[next], nil); err != nil {
				return err
			}
		}
		return nil
	}
	for i := len(is) - 1; i >= 0; i-- {
		if from[i] < 0 {
			in, _, err := d.nodeAt(text, item, append(slices.Clone(path), 0))
			if err != nil {
				return nil, err
			}
			if text, err = addedItem(text, in, next, is[i]); err != nil {
				return nil, err
			}
			continue
		}
		if err := remove(from[i]); err != nil {
			return nil, err
		}
		if next = from[i]; EqualJSON(was[next], is[i]) {
			continue
		}
		if err := edit(next, was[next], is[i]); err != nil {
			return nil, err
		}
	}
	return text, remove(-1)
}

// dashOf returns the number of the line on which an item of a block list begins, from 0, and
// the column of its dash. ok is false if the dash is not before the item on its line, or if
// something else is before the dash.
func dashOf(lines [][]byte, list *yaml.Node, index int) (line, column int, ok bool) {
	line, column = list.Content[index].Line-1, list.Column-1
	if line >= len(lines) || column >= len(lines[line]) || lines[line][column] != '-' {
		return 0, 0, false
	}
	return line, column, strings.TrimSpace(string(lines[line][:column])) == ""
}

var errItem = errors.New("an item of this list cannot be changed by a form; change the text")

// editedItem returns a file with another item of a block list, or without it. Comments above an
// item stay.
func editedItem(text []byte, list *yaml.Node, index int, now json.RawMessage) ([]byte, error) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	from, column, ok := dashOf(lines, list, index)
	if !ok || now == nil && len(list.Content) == 1 {
		return nil, errItem
	}
	to := itemEnd(lines, from+1, column)
	if now == nil {
		return joined(lines[:from], nil, lines[to:]), nil
	}
	next, err := itemText(now, string(lines[from][:column]), list.Content[index].LineComment)
	return joined(lines[:from], next, lines[to:]), err
}

// addedItem returns a file with a further item of a block list, before the item with an index
// or at the end.
func addedItem(text []byte, list *yaml.Node, before int, value json.RawMessage) ([]byte, error) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	_, column, ok := dashOf(lines, list, 0)
	if !ok {
		return nil, errItem
	}
	at := 0
	if before < len(list.Content) {
		if at, _, ok = dashOf(lines, list, before); !ok {
			return nil, errItem
		}
	} else {
		last, _, ok := dashOf(lines, list, len(list.Content)-1)
		if !ok {
			return nil, errItem
		}
		at = itemEnd(lines, last+1, column)
	}
	next, err := itemText(value, strings.Repeat(" ", column), "")
	if at > 0 && !bytes.HasSuffix(lines[at-1], []byte("\n")) {
		next = append([]byte("\n"), next...)
	}
	return joined(lines[:at], next, lines[at:]), err
}

// itemText returns the lines of an item of a list, with white space before each.
func itemText(value json.RawMessage, indent, comment string) ([]byte, error) {
	node, err := nodeOf(value)
	if err != nil {
		return nil, err
	}
	out, err := encoded(&yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{node}})
	if err != nil {
		return nil, err
	}
	return indented(out, indent, indent, comment), nil
}

// indented returns lines with white space before each, and a comment behind the first.
func indented(text []byte, first, rest, comment string) []byte {
	var b bytes.Buffer
	for i, line := range strings.SplitAfter(string(text), "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			b.WriteString(line)
			continue
		case i == 0 && comment != "":
			line = strings.TrimSuffix(line, "\n") + " " + comment + "\n"
			fallthrough
		case i == 0:
			b.WriteString(first)
		default:
			b.WriteString(rest)
		}
		b.WriteString(line)
	}
	return b.Bytes()
}

// editFlow changes a value that is not a block: a scalar on one line, or a list or mapping in
// brackets.
func editFlow(text []byte, at *yaml.Node, old, now json.RawMessage) ([]byte, error) {
	f := flow{text: text, inside: at.Kind != yaml.ScalarNode}
	from, to, err := f.span(at)
	if err != nil {
		return nil, err
	}
	var next []byte
	switch {
	case f.inside:
		next, err = f.changed(at, old, now)
	case isOneLine(text[from:to], at):
		next, err = scalarYAML(now)
	default:
		err = errWhole
	}
	if err != nil {
		return nil, err
	}
	return slices.Concat(text[:from], next, text[to:]), nil
}

// isOneLine reports whether a text on one line is all of a scalar.
func isOneLine(text []byte, at *yaml.Node) bool {
	var file yaml.Node
	return !bytes.ContainsAny(text, "\r\n") && yaml.Unmarshal(text, &file) == nil && len(file.Content) == 1 &&
		file.Content[0].Kind == yaml.ScalarNode && file.Content[0].Value == at.Value && file.Content[0].Tag == at.Tag
}

// scalarYAML returns a scalar on one line.
func scalarYAML(value json.RawMessage) ([]byte, error) {
	node, err := nodeOf(value)
	if err != nil {
		return nil, err
	}
	if node.Kind != yaml.ScalarNode || strings.Contains(node.Value, "\n") {
		return nil, errWhole
	}
	out, err := encoded(node)
	if out = bytes.TrimSpace(out); bytes.ContainsAny(out, "\n") {
		return nil, errWhole
	}
	return out, err
}

// A flow is the text of a YAML file whose lists and mappings in brackets change.
type flow struct {
	text []byte
	// inside says that the nodes are within brackets.
	inside bool
}

// changed returns the text of a node with a new value. Its parts that stay keep their text.
func (f flow) changed(at *yaml.Node, old, now json.RawMessage) ([]byte, error) {
	from, to, err := f.span(at)
	if err != nil {
		return nil, err
	}
	if at.Anchor == "" && len(at.Content) > 0 {
		if names, changed, ok := changesOf(old, now); ok && at.Kind == yaml.MappingNode {
			return f.changedMapping(at, from, to, old, names, changed)
		}
		if was, is, order, ok := changedList(old, now); ok && at.Kind == yaml.SequenceNode && len(was) == len(at.Content) {
			return f.changedItems(at, from, to, was, is, order)
		}
	}
	return flowYAML(now)
}

// changedMapping returns the text of a mapping with other values of some fields.
func (f flow) changedMapping(at *yaml.Node, from, to int, old json.RawMessage, names []string, changed Fields) ([]byte, error) {
	var parts []member
	var pieces []piece
	was, _ := Members(old) // changesOf has read it
	for i := 0; i+1 < len(at.Content); i += 2 {
		key, value := at.Content[i], at.Content[i+1]
		keyFrom, keyTo, err := f.span(key)
		if err != nil {
			return nil, err
		}
		valueFrom, valueTo, err := f.span(value)
		if err != nil || valueFrom < keyTo {
			return nil, errWhole // such as {a}, whose value is nowhere
		}
		parts = append(parts, member{from: keyFrom - from, to: valueTo - from})
		now, isChanged := changed[key.Value]
		isOld := slices.IndexFunc(was, func(m Member) bool { return m.Name == key.Value })
		switch {
		case !isChanged:
			pieces = append(pieces, piece{i / 2, f.text[keyFrom:valueTo]})
		case isOld < 0:
			return nil, errWhole
		case now != nil:
			text, err := f.changed(value, was[isOld].Value, now)
			if err != nil {
				return nil, err
			}
			pieces = append(pieces, piece{i / 2, slices.Concat(f.text[keyFrom:valueFrom], text)})
		}
	}
	for _, name := range names {
		if changed[name] == nil || slices.ContainsFunc(was, func(m Member) bool { return m.Name == name }) {
			continue
		}
		text, err := flowYAML(Object([]Member{{name, changed[name]}}))
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece{-1, text[1 : len(text)-1]})
	}
	return spliced(f.text[from:to], parts, pieces, ", "), nil
}

// changedItems returns the text of a list with new items.
func (f flow) changedItems(at *yaml.Node, from, to int, was, is []json.RawMessage, order []int) ([]byte, error) {
	var parts []member
	for _, item := range at.Content {
		begin, end, err := f.span(item)
		if err != nil {
			return nil, err
		}
		parts = append(parts, member{from: begin - from, to: end - from})
	}
	var pieces []piece
	for i, item := range is {
		var text []byte
		var err error
		switch n := order[i]; {
		case n < 0:
			text, err = flowYAML(item)
		case EqualJSON(was[n], item):
			text = f.text[from+parts[n].from : from+parts[n].to]
		default:
			text, err = f.changed(at.Content[n], was[n], item)
		}
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece{order[i], text})
	}
	return spliced(f.text[from:to], parts, pieces, ", "), nil
}

// flowYAML returns a value as YAML within brackets.
func flowYAML(value json.RawMessage) ([]byte, error) {
	node, err := nodeOf(value)
	if err != nil {
		return nil, err
	}
	inBrackets(node)
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, Content: []*yaml.Node{node}}
	out, err := encoded(list)
	if err != nil {
		return nil, err
	}
	out = bytes.TrimSpace(out)
	if bytes.ContainsAny(out, "\n") || len(out) < 2 {
		return nil, errWhole
	}
	return out[1 : len(out)-1], nil
}

// inBrackets gives a node and its parts the style of a flow.
func inBrackets(n *yaml.Node) {
	switch {
	case n.Kind != yaml.ScalarNode:
		n.Style = yaml.FlowStyle
	case n.Style == yaml.LiteralStyle:
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		inBrackets(child)
	}
}

// span returns the place of a node that is not a block.
func (f flow) span(at *yaml.Node) (from, to int, err error) {
	from = runeOffset(f.text, at.Line, at.Column)
	to = from
	for to < len(f.text) && (f.text[to] == '&' || f.text[to] == '!') { // an anchor or a tag
		for to < len(f.text) && !bytes.ContainsRune([]byte(" \t\r\n,"), rune(f.text[to])) {
			to++
		}
		for to < len(f.text) && (f.text[to] == ' ' || f.text[to] == '\t') {
			to++
		}
	}
	if to >= len(f.text) {
		return 0, 0, errWhole
	}
	end, err := f.end(to)
	return from, end, err
}

// end returns the end of the value that begins at an offset.
func (f flow) end(from int) (int, error) {
	switch f.text[from] {
	case '"', '\'':
		return f.quoteEnd(from)
	case '[', '{':
		return f.bracketEnd(from)
	}
	return f.plainEnd(from), nil
}

// quoteEnd returns the end of a text in quotes.
func (f flow) quoteEnd(from int) (int, error) {
	quote := f.text[from]
	for at := from + 1; at < len(f.text); at++ {
		switch {
		case f.text[at] == '\\' && quote == '"':
			at++
		case f.text[at] == quote && quote == '\'' && at+1 < len(f.text) && f.text[at+1] == quote:
			at++
		case f.text[at] == quote:
			return at + 1, nil
		}
	}
	return 0, errWhole
}

// bracketEnd returns the end of a list or mapping in brackets.
func (f flow) bracketEnd(from int) (int, error) {
	depth, isStart := 0, true // whether a value or a key may begin
	for at := from; at < len(f.text); at++ {
		switch c := f.text[at]; {
		case c == '[' || c == '{':
			depth, isStart = depth+1, true
		case c == ']' || c == '}':
			if depth, isStart = depth-1, false; depth == 0 {
				return at + 1, nil
			}
		case (c == '"' || c == '\'') && isStart:
			end, err := f.quoteEnd(at)
			if err != nil {
				return 0, err
			}
			at, isStart = end-1, false
		case c == '#' && isSpace(f.text[at-1]):
			for at+1 < len(f.text) && f.text[at+1] != '\n' {
				at++
			}
		case c == ',' || c == ':':
			isStart = true
		case !isSpace(c):
			isStart = false
		}
	}
	return 0, errWhole
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// plainEnd returns the end of a text without quotes, on its line.
func (f flow) plainEnd(from int) int {
	end := from
	for at := from; at < len(f.text) && f.text[at] != '\n' && f.text[at] != '\r'; at++ {
		c, next := f.text[at], byte('\n')
		if at+1 < len(f.text) {
			next = f.text[at+1]
		}
		if f.inside && bytes.IndexByte([]byte(",[]{}"), c) >= 0 ||
			c == ':' && (isSpace(next) || f.inside && bytes.IndexByte([]byte(",[]{}"), next) >= 0) ||
			c == '#' && at > from && isSpace(f.text[at-1]) {
			break
		}
		if !isSpace(c) {
			end = at + 1
		}
	}
	return end
}

// runeOffset returns the offset of a line and a column, which counts characters.
func runeOffset(text []byte, line, column int) int {
	return offsetOf(text, schema.Position{Line: line, Column: column})
}
