package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
)

// parseItems reads a large list of JSON or YAML item by item, each bounded like a value of
// its own. It reports false for another text.
func parseItems(file string, data []byte) (doc *Document, problems []schema.Problem, isList bool) {
	switch ext := path.Ext(file); {
	case len(data) <= schema.MaxFile || isUTF16(data):
		return nil, nil, false
	case ext == ".json":
		return parseList(file, data)
	case ext == ".yaml" || ext == ".yml":
		return parseYAMLList(file, data)
	}
	return nil, nil, false
}

// parseList reads the items of a list in JSON one by one. An unreadable item is skipped and
// does not affect the others.
func parseList(file string, data []byte) (*Document, []schema.Problem, bool) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	doc := &Document{File: file, root: &node{pos: startOf(file), kind: listNode}}
	from := json.NewDecoder(bytes.NewReader(data))
	if open, err := from.Token(); err != nil || open != json.Delim('[') {
		return nil, nil, false
	}
	place := textIndex{file: file}
	read := 0
	var problems []schema.Problem
	for from.More() {
		var raw json.RawMessage
		if err := from.Decode(&raw); err != nil {
			end, err := wrongAt(data, int(from.InputOffset()), err)
			return nil, []schema.Problem{listMistake(place.after(data[read:max(read, end)]), err)}, true
		}
		begun := int(from.InputOffset()) - len(raw)
		place, read = place.after(data[read:begun]), begun
		item, found := place.item(raw)
		problems = append(problems, found...)
		if over := doc.add(item, place.start()); over != nil {
			return nil, over, true
		}
	}
	if _, err := from.Token(); err != nil {
		return nil, []schema.Problem{listMistake(place.after(data[read:]), err)}, true
	}
	if rest := bytes.TrimSpace(data[from.InputOffset():]); len(rest) > 0 {
		return nil, []schema.Problem{listMistake(place.after(data[read:from.InputOffset()]), errors.New("text behind the end of the list"))}, true
	}
	return doc, schema.SortProblems(problems), true
}

// parseYAMLList reads the items of a list in YAML one by one: each begins with a hyphen in the
// column of the first. An unreadable item is skipped and does not affect the others.
func parseYAMLList(file string, data []byte) (*Document, []schema.Problem, bool) {
	doc := &Document{File: file, root: &node{pos: startOf(file), kind: listNode}}
	var problems []schema.Problem
	item := yamlItem{file: file}
	end := func() (over []schema.Problem) {
		if item.text == nil {
			return nil
		}
		read, found := item.parse()
		problems = append(problems, found...)
		return doc.add(read, item.start())
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		column, begins := hyphen(line)
		switch {
		case item.text == nil && isBlank(line):
			continue
		case item.text == nil && !begins:
			return nil, nil, false
		case item.text != nil && (!begins || column != item.column):
			item.text = append(item.text, line...)
			continue
		}
		if over := end(); over != nil {
			return nil, over, true
		}
		item = yamlItem{file: file, first: number, column: column, text: slices.Clone(line)}
		item.text[column] = ' ' // the rest keeps its places
	}
	if over := end(); over != nil {
		return nil, over, true
	}
	return doc, schema.SortProblems(problems), item.text != nil
}

// isBlank reports whether a line before a list in YAML has nothing of it.
func isBlank(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#' || string(line) == "---"
}

// hyphen returns the column of the hyphen with which a line begins an item of a list.
func hyphen(line []byte) (column int, ok bool) {
	rest := bytes.TrimLeft(line, " ")
	return len(line) - len(rest), len(rest) > 0 && rest[0] == '-' && (len(rest) == 1 || bytes.IndexByte([]byte(" \t\r\n"), rest[1]) >= 0)
}

// A yamlItem is the text of an item of a list, whose hyphen is replaced with a space.
type yamlItem struct {
	file          string
	first, column int
	text          []byte
}

func (i yamlItem) start() schema.Position {
	return schema.Position{File: i.file, Line: i.first, Column: i.column + 1}
}

// parse reads the item.
func (i yamlItem) parse() (*Document, []schema.Problem) {
	if len(i.text) > schema.MaxFile {
		return nil, []schema.Problem{tooLarge(i.start(), "the item", int64(len(i.text)), schema.MaxFile)}
	}
	if len(bytes.TrimSpace(i.text)) == 0 {
		return nil, []schema.Problem{errorAt(i.start(), "empty-item", "the item has no value", "write it behind the hyphen, or remove the hyphen")}
	}
	doc, problems := parse(i.text, textIndex{file: i.file, lines: strings.Split(string(i.text), "\n"), first: i.first - 1}, nil)
	for k, p := range problems {
		if strings.Contains(p.Message, "unknown anchor") {
			problems[k].Hint = fmt.Sprintf("write the value out: the items of a list of more than %d KiB are read one by one, and know no anchor of another", schema.MaxFile>>10)
		}
	}
	return doc, problems
}

// item reads one item of a list at its place.
func (s textIndex) item(raw json.RawMessage) (*Document, []schema.Problem) {
	if len(raw) > schema.MaxFile {
		return nil, []schema.Problem{tooLarge(s.start(), "the item", int64(len(raw)), schema.MaxFile)}
	}
	s.lines = strings.Split(string(raw), "\n")
	return parse(raw, s, nil)
}

// start returns the place at which the text begins.
func (s textIndex) start() schema.Position {
	return schema.Position{File: s.file, Line: s.first + 1, Column: s.before + 1}
}

// after returns the place behind a text that begins at one.
func (s textIndex) after(text []byte) textIndex {
	if n := bytes.Count(text, []byte("\n")); n > 0 {
		s.first, s.before = s.first+n, 0
		text = text[bytes.LastIndexByte(text, '\n')+1:]
	}
	s.before += utf8.RuneCount(text)
	return s
}

// wrongAt returns the offset of the mistake in the first item behind an offset, and the
// mistake. A decoder knows it by the bytes of its items alone.
func wrongAt(data []byte, from int, err error) (int, error) {
	from += len(data[from:]) - len(bytes.TrimLeft(data[from:], " \t\r\n,"))
	var item json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data[from:], &item)); ok {
		return min(from+max(0, int(syntax.Offset)-1), len(data)), syntax
	}
	return from, err
}

// listMistake is the problem of a list that cannot be read to its end.
func listMistake(at textIndex, err error) schema.Problem {
	return errorAt(at.start(), "syntax", "not valid JSON: "+strings.TrimPrefix(err.Error(), "json: "), "correct it at this place, or write each test into a line of its own and name the file .jsonl")
}
