package editor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
)

// A keyRow is a key of an object with its value, as a form shows them.
type keyRow struct {
	Number     int
	Key, Value string
	// Lines is the number of lines of the value.
	Lines int
	// raw is the value as it is written; nil for a row that was typed.
	raw json.RawMessage
}

// mostRows bounds the keys of an object that is shown in rows.
const mostRows = 100

// entriesIn returns the keys and values of a list of objects with one key each. ok is false for
// any other value.
func entriesIn(value json.RawMessage) (members []definition.Member, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil || len(list) == 0 {
		return nil, false
	}
	for _, object := range list {
		one, ok := definition.Members(object)
		if !ok || len(one) != 1 {
			return nil, false
		}
		members = append(members, one[0])
	}
	return members, true
}

// rowsOf returns the rows of a value. ok is false for a value that rows cannot show: one
// that is not an object, or a list of objects with one key, or, if the field is keyless, a list
// of single values.
func (f *formField) rowsOf(value json.RawMessage) (rows []keyRow, ok bool) {
	members, ok := f.membersOf(value)
	if !ok || len(members) > mostRows {
		return nil, false
	}
	for i, m := range members {
		isTaken := !f.Listed && m.Name != "" && slices.ContainsFunc(rows, func(r keyRow) bool { return r.Key == m.Name })
		if isTaken || m.Name != strings.TrimSpace(m.Name) || strings.ContainsAny(m.Name, "\r\n") {
			return nil, false
		}
		row := keyRow{Number: i, Key: m.Name, Value: valueText(m.Value), raw: m.Value}
		if strings.Contains(row.Value, "\r") { // which browsers send for every end of a line
			return nil, false
		}
		row.Lines = 1 + strings.Count(row.Value, "\n")
		rows = append(rows, row)
	}
	return rows, true
}

// membersOf returns the keys and values that rows show; a list of single values has no keys.
func (f *formField) membersOf(value json.RawMessage) (members []definition.Member, ok bool) {
	items, isList := definition.Elements(value)
	switch {
	case f.Listed:
		return entriesIn(value)
	case f.Keyless && isList:
		for _, item := range items {
			if item[0] == '{' || item[0] == '[' {
				return nil, false
			}
			members = append(members, definition.Member{Value: item})
		}
		return members, true
	}
	members, ok = definition.Members(value)
	return members, ok && !slices.ContainsFunc(members, func(m definition.Member) bool { return m.Name == "" })
}

// isPlainText reports whether a typed value is a text without quotes.
func isPlainText(typed string) bool {
	trimmed := strings.TrimSpace(typed)
	return trimmed == "" || !strings.ContainsAny(trimmed[:1], "{[\"") && !json.Valid([]byte(trimmed))
}

// valueText returns a value as it is typed: a text without quotes, unless it would be read
// as something else, and a list or object on one line, or on several if it is long.
func valueText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && value[0] == '"' && isPlainText(text) {
		return text
	}
	if isNested := value[0] == '{' || value[0] == '['; isNested && (len(value) > 60 || bytes.Contains(value, []byte("\n"))) {
		var b bytes.Buffer
		_ = json.Indent(&b, value, "", "  ") // it was read from JSON
		return b.String()
	}
	return string(value)
}

// fillRows shows an object in rows, with an empty one to add a key.
func (f *formField) fillRows(rows []keyRow) {
	f.Widget, f.Pairs = rowsWidget, rows
	next := 0
	for _, r := range rows {
		next = max(next, r.Number+1)
	}
	f.Pairs = append(slices.Clone(rows), keyRow{Number: next, Lines: 1})
}

// The names of the inputs of a row.
func (f *formField) keyInput(n int) string   { return f.Input() + ".key." + strconv.Itoa(n) }
func (f *formField) valueInput(n int) string { return f.Input() + ".value." + strconv.Itoa(n) }

// sentRows returns the rows that were typed; ok is false if the form has none.
func (f *formField) sentRows(sent url.Values) (rows []keyRow, ok bool) {
	prefix := f.Input() + ".key."
	var numbers []int
	for name := range sent {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, prefix)); err == nil && strings.HasPrefix(name, prefix) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		value := lineFeeds.Replace(sent.Get(f.valueInput(n)))
		row := keyRow{Number: n, Key: strings.TrimSpace(sent.Get(f.keyInput(n))), Value: value, Lines: 1 + strings.Count(value, "\n")}
		if row.Key != "" || row.Value != "" {
			rows = append(rows, row)
		}
	}
	return rows, len(numbers) > 0
}

// readRows takes typed rows into the field. It returns the object that they are, or nil for
// no rows, and reports whether anything was typed.
func (f *formField) readRows(rows []keyRow, old json.RawMessage) (value json.RawMessage, isTyped bool) {
	was, _ := f.rowsOf(old)
	isTyped = !slices.EqualFunc(rows, was, func(a, b keyRow) bool { return a.Key == b.Key && a.Value == b.Value })
	var members []definition.Member
	isList := f.Keyless && len(rows) > 0 && !slices.ContainsFunc(rows, func(r keyRow) bool { return r.Key != "" })
	for _, r := range rows {
		isTaken := !f.Listed && !isList && slices.ContainsFunc(members, func(m definition.Member) bool { return m.Name == r.Key })
		switch {
		case r.Key == "" && isList:
		case r.Key == "":
			f.Problem = "a value has no key; name it, or remove the value"
		case isTaken:
			f.Problem = fmt.Sprintf("the key %q is there twice; an object has each key once", r.Key)
		}
		raw := definition.QuoteText(r.Value)
		if !isPlainText(r.Value) {
			raw = json.RawMessage(strings.TrimSpace(r.Value))
			if wrong := jsonProblem(r.Value); wrong != "" {
				f.Problem = fmt.Sprintf("%s: the value is not JSON: %s; a text that begins like this needs double quotes around it", r.Key, wrong)
			}
		}
		if at := slices.IndexFunc(was, func(w keyRow) bool { return w.Key == r.Key && w.Value == r.Value }); at >= 0 {
			raw = was[at].raw
		}
		members = append(members, definition.Member{Name: r.Key, Value: raw})
	}
	f.fillRows(rows)
	if len(members) == 0 {
		return nil, isTyped
	}
	if !f.Listed && !isList {
		return definition.Object(members), isTyped
	}
	var items []json.RawMessage
	for _, m := range members {
		if f.Listed {
			m.Value = definition.Object([]definition.Member{m})
		}
		items = append(items, m.Value)
	}
	return listOf(items), isTyped
}

// listOf returns a list in JSON.
func listOf(items []json.RawMessage) json.RawMessage {
	return slices.Concat([]byte("["), bytes.Join(asBytes(items), []byte(", ")), []byte("]"))
}

func asBytes(items []json.RawMessage) [][]byte {
	var out [][]byte
	for _, item := range items {
		out = append(out, item)
	}
	return out
}

// jsonProblem returns the reason why a text is not JSON, with its place; empty for JSON.
func jsonProblem(text string) string {
	var value any
	err := json.Unmarshal([]byte(text), &value)
	if err == nil {
		return ""
	}
	wrong, at := strings.TrimPrefix(err.Error(), "json: "), len(text)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = min(max(int(syntax.Offset)-1, 0), len(text))
	}
	if strings.Contains(wrong, "unexpected end") {
		at, wrong = len(strings.TrimRight(text, " \t\n")), "it ends too early"
	}
	before := text[:at]
	line, column := 1+strings.Count(before, "\n"), 1+len([]rune(before[bytes.LastIndexByte([]byte(before), '\n')+1:]))
	return fmt.Sprintf("line %d, column %d: %s", line, column, wrong)
}
