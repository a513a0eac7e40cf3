package definition

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/schema/document"
)

// add adds a definition at the end of the list, in the style of the one before it.
func (d *Document) add(fields Fields) ([]byte, error) {
	switch {
	case isYAML(d.file):
		return d.addYAML(fields)
	case isLines(d.file):
		return d.addLine(fields), nil
	}
	return d.addJSON(fields)
}

// addLine adds a line with the spaces of the last one.
func (d *Document) addLine(fields Fields) []byte {
	text := bytes.TrimRight(d.data, " \t\r\n")
	end := d.data[len(text):]
	if i := bytes.IndexByte(end, '\n'); i < 0 {
		end = []byte("\n")
	} else {
		end = end[:i+1]
	}
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	members, _ := membersOf(last) // Open has read it
	return append(append(append(bytes.Clone(text), end...), line(last, members, d.Definition(NewItem), fields)...), end...)
}

// line returns an object with the spaces of another one.
func line(like []byte, members []member, def string, fields Fields) []byte {
	colon, comma := spaces(like, members)
	var parts []string
	for _, name := range fieldOrder(def, fields) {
		if value := fields[name]; value != nil {
			parts = append(parts, string(QuoteText(name))+colon+onOneLine(value))
		}
	}
	return []byte("{" + strings.Join(parts, comma) + "}")
}

// addJSON adds an object after the last one, on lines of its own if the last one has its
// own.
func (d *Document) addJSON(fields Fields) ([]byte, error) {
	from, to, err := d.span(fmt.Sprint(len(d.items) - 1))
	if err != nil {
		return nil, err
	}
	text, err := EncodeObject(document.Fields(d.Definition(NewItem)), fields)
	if err != nil {
		return nil, err
	}
	indent := d.data[bytes.LastIndexByte(d.data[:from], '\n')+1 : from]
	between := append([]byte(",\n"), indent...)
	if len(bytes.TrimLeft(indent, " \t")) > 0 {
		between, indent = []byte(", "), indent[:len(indent)-len(bytes.TrimLeft(indent, " \t"))]
	}
	text = bytes.ReplaceAll(bytes.TrimSpace(text), []byte("\n"), append([]byte("\n"), indent...))
	return bytes.Join([][]byte{d.data[:to], between, text, d.data[to:]}, nil), nil
}

// addYAML adds an item to a block list, with its dash below the dash of the last item.
func (d *Document) addYAML(fields Fields) ([]byte, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(d.data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", d.file, err)
	}
	list := file.Content[0] // Open has read it
	if d.object != nil {
		list = valueOf(list, d.list)
	}
	if list == nil || list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 {
		return nil, fmt.Errorf("%s has its list on one line; add the definition to the text", d.file)
	}
	lines := bytes.SplitAfter(d.data, []byte("\n"))
	last := list.Content[len(list.Content)-1]
	dash := list.Column - 1
	var text []byte
	prefix := strings.Repeat(" ", dash) + "-" + strings.Repeat(" ", max(last.Column-list.Column-1, 1))
	for _, name := range fieldOrder(d.Definition(NewItem), fields) {
		if fields[name] == nil {
			continue
		}
		next, err := field(name, fields[name], prefix, "")
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", d.file, name, err)
		}
		text, prefix = append(text, next...), strings.Repeat(" ", len(prefix))
	}
	end := itemEnd(lines, last.Line, dash)
	if before := lines[end-1]; !bytes.HasSuffix(before, []byte("\n")) {
		text = append([]byte("\n"), text...)
	}
	return joined(lines[:end], text, lines[end:]), nil
}

// itemEnd returns the number of the line after an item of a list, counted from 0. Lines to
// the right of the dash belong to the item, blank lines at its end do not.
func itemEnd(lines [][]byte, first, dash int) int {
	end := first
	for n := first; n < len(lines); n++ {
		text := bytes.TrimRight(lines[n], " \t\r\n")
		indent := len(text) - len(bytes.TrimLeft(text, " "))
		switch {
		case len(text) == 0 || text[indent] == '#' && indent <= dash:
			continue
		case indent <= dash:
			return end
		}
		end = n + 1
	}
	return end
}
