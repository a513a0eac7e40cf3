package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
)

// ParseTests is [Parse] for a file of tests. A list in JSON may be as large as [TableLimit]
// says; each of its items is bounded like a definition of its own.
func ParseTests(file string, data []byte) (*Document, []schema.Problem) {
	if path.Ext(file) != ".json" || len(data) <= schema.MaxFile || int64(len(data)) > TableLimit(file) || isUTF16(data) {
		return Parse(file, data)
	}
	return parseList(file, data)
}

// parseList reads the items of a list in JSON one by one. An unreadable item is skipped and
// does not affect the others.
func parseList(file string, data []byte) (*Document, []schema.Problem) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	doc := &Document{File: file, root: &node{pos: startOf(file), kind: listNode}}
	from := json.NewDecoder(bytes.NewReader(data))
	if open, err := from.Token(); err != nil || open != json.Delim('[') {
		return Parse(file, data) // which names its size, or the mistake
	}
	place := textIndex{file: file}
	read := 0
	var problems []schema.Problem
	for from.More() {
		var raw json.RawMessage
		if err := from.Decode(&raw); err != nil {
			end, err := wrongAt(data, int(from.InputOffset()), err)
			return nil, []schema.Problem{listMistake(place.after(data[read:max(read, end)]), err)}
		}
		begun := int(from.InputOffset()) - len(raw)
		place, read = place.after(data[read:begun]), begun
		item, found := place.item(raw)
		if problems = append(problems, found...); item != nil {
			doc.lines, doc.flawed = append(doc.lines, item), doc.flawed || item.flawed
			doc.root.items = append(doc.root.items, item.root)
		}
	}
	if _, err := from.Token(); err != nil {
		return nil, []schema.Problem{listMistake(place.after(data[read:]), err)}
	}
	if rest := bytes.TrimSpace(data[from.InputOffset():]); len(rest) > 0 {
		return nil, []schema.Problem{listMistake(place.after(data[read:from.InputOffset()]), errors.New("text behind the end of the list"))}
	}
	return doc, schema.SortProblems(problems)
}

// item reads one item of a list at its place.
func (s textIndex) item(raw json.RawMessage) (*Document, []schema.Problem) {
	if len(raw) > schema.MaxFile {
		return nil, []schema.Problem{tooLarge(schema.Position{File: s.file, Line: s.first + 1, Column: s.before + 1}, "the item", int64(len(raw)), schema.MaxFile)}
	}
	s.lines = strings.Split(string(raw), "\n")
	return parse(raw, s, nil)
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
	place := schema.Position{File: at.file, Line: at.first + 1, Column: at.before + 1}
	return errorAt(place, "syntax", "not valid JSON: "+strings.TrimPrefix(err.Error(), "json: "), "correct it at this place, or write each test into a line of its own and name the file .jsonl")
}
