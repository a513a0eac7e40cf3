package verdict

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// A JSONReader reads one text after the other. The zero JSONReader is ready for use, by
// one goroutine at a time.
type JSONReader struct {
	text []byte
	at   int
	// first says that the object that is read has had no field yet.
	first bool
	bad   bool
	// evaluators and criteria hold lists until they end.
	evaluators []EvaluatorResult
	criteria   []Criterion
	// shared are short texts that were read, since many results have the same.
	shared map[string]string
}

// Texts of at most sharedBytes are shared, and at most sharedTexts of them.
const sharedBytes, sharedTexts = 64, 1024

// open begins an object.
func (r *JSONReader) open() {
	r.expect('{')
	r.first = true
}

// close ends an object that has no further fields.
func (r *JSONReader) close() {
	r.expect('}')
	r.first = false
}

// field reports whether the next field has this name. Its value is next then.
func (r *JSONReader) field(name string) bool {
	rest := r.text[r.at:]
	if !r.first {
		if len(rest) == 0 || rest[0] != ',' {
			return false
		}
		rest = rest[1:]
	}
	n := len(name)
	if len(rest) < n+3 || rest[0] != '"' || string(rest[1:n+1]) != name || rest[n+1] != '"' || rest[n+2] != ':' {
		return false
	}
	r.at, r.first = len(r.text)-len(rest)+n+3, false
	return true
}

// expect reads one byte.
func (r *JSONReader) expect(c byte) {
	if !r.next(c) {
		r.bad = true
	}
}

// next reads one byte where it is c.
func (r *JSONReader) next(c byte) bool {
	if r.at == len(r.text) || r.text[r.at] != c {
		return false
	}
	r.at++
	return true
}

// word reads a word where it is next.
func (r *JSONReader) word(word string) bool {
	if len(r.text)-r.at < len(word) || string(r.text[r.at:r.at+len(word)]) != word {
		return false
	}
	r.at += len(word)
	return true
}

// list reads elements until the list ends.
func (r *JSONReader) list(element func()) {
	r.expect('[')
	if r.next(']') {
		return
	}
	for !r.bad {
		element()
		if r.next(']') {
			return
		}
		r.expect(',')
	}
}

// quoted reads a string.
func (r *JSONReader) quoted() string {
	r.expect('"')
	start, ascii := r.at, true
	for ; r.at < len(r.text) && !r.bad; r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			text := r.text[start:r.at]
			r.at++
			r.bad = !ascii && !utf8.Valid(text)
			return r.share(text)
		case c == '\\':
			return r.escaped(start - 1)
		case c < ' ':
			r.bad = true
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	r.bad = true
	return ""
}

// share returns a text, which is the same string where it was read before.
func (r *JSONReader) share(text []byte) string {
	if known, ok := r.shared[string(text)]; ok {
		return known
	}
	s := string(text)
	if len(s) <= sharedBytes && len(r.shared) < sharedTexts {
		r.shared[s] = s
	}
	return s
}

// escaped reads a string that begins at start and has an escape at the cursor.
func (r *JSONReader) escaped(start int) string {
	for ; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case '\\':
			r.at++
		case '"':
			r.at++
			var text string
			r.bad = json.Unmarshal(r.text[start:r.at], &text) != nil
			return text
		}
	}
	r.at, r.bad = len(r.text), true
	return ""
}

// digits reads digits and returns them.
func (r *JSONReader) digits() []byte {
	start := r.at
	for r.at < len(r.text) && '0' <= r.text[r.at] && r.text[r.at] <= '9' {
		r.at++
	}
	return r.text[start:r.at]
}

// whole reads the part of a number that is before its point, and returns where it
// began.
func (r *JSONReader) whole() int {
	start := r.at
	r.next('-')
	if digits := r.digits(); len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		r.bad = true
	}
	return start
}

// integer reads a whole number.
func (r *JSONReader) integer() int64 {
	start := r.whole()
	n, err := strconv.ParseInt(string(r.text[start:r.at]), 10, 64)
	r.bad = r.bad || err != nil
	return n
}

// number reads a number.
func (r *JSONReader) number() float64 {
	start := r.whole()
	if r.next('.') && len(r.digits()) == 0 {
		r.bad = true
	}
	if r.next('e') || r.next('E') {
		_ = r.next('+') || r.next('-')
		if len(r.digits()) == 0 {
			r.bad = true
		}
	}
	x, err := strconv.ParseFloat(string(r.text[start:r.at]), 64)
	r.bad = r.bad || err != nil
	return x
}

// optional reads a number or null.
func (r *JSONReader) optional() *float64 {
	if r.word("null") {
		return nil
	}
	x := r.number()
	return &x
}

// bool reads true or false.
func (r *JSONReader) bool() bool {
	if r.word("true") {
		return true
	}
	r.bad = r.bad || !r.word("false")
	return false
}

// texts reads a list of strings.
func (r *JSONReader) texts() []string {
	out := []string{}
	r.list(func() { out = append(out, r.quoted()) })
	return out
}

// integers reads a list of whole numbers.
func (r *JSONReader) integers() []int {
	out := []int{}
	r.list(func() { out = append(out, int(r.integer())) })
	return out
}

// cut returns a copy of what a list has from an index on, which is not nil, and
// shortens the list to the index.
func cut[T any](list *[]T, from int) []T {
	out := append(make([]T, 0, len(*list)-from), (*list)[from:]...)
	*list = (*list)[:from]
	return out
}
