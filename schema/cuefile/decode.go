package cuefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// decode reads the child's answer about a file. The child ran a stranger's code, so
// nothing in its answer is trusted: neither the form nor the limits nor the positions.
func decode(line, data []byte) (Answer, error) {
	var out Answer
	if err := json.Unmarshal(line, &out); err != nil {
		return Answer{}, fmt.Errorf("read the child's answer: %w", err)
	}
	if (out.Value == nil) == (len(out.Problems) == 0) {
		return Answer{}, errors.New("read the child's answer: it is neither a value nor problems")
	}
	r := reader{lineIndex: newPlaces(data)}
	for i := range out.Problems {
		r.setPosition(&out.Problems[i].At)
	}
	if len(out.Problems) > MaxProblems {
		r.wrong("it has more than %d problems", MaxProblems)
	}
	if out.Value != nil {
		r.value(out.Value, 0)
	}
	if r.err != nil {
		return Answer{}, fmt.Errorf("read the child's answer: %w", r.err)
	}
	return out, nil
}

// A reader holds an answer against the file.
type reader struct {
	lineIndex
	values, text int
	err          error // the first that is wrong
}

func (r *reader) wrong(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) setPosition(p *Pos) {
	if p.Offset < 0 || p.Offset >= len(r.before) {
		r.wrong("the file has no byte %d", p.Offset)
		return
	}
	p.Line, p.Column = r.lineColumn(p.Offset)
}

func (r *reader) value(v *Value, depth int) {
	if v == nil {
		r.wrong("a value is missing")
		return
	}
	r.values++
	r.text += len(v.Text)
	if r.values > MaxValues || r.text > MaxText || depth > MaxDepth {
		r.wrong("it is larger than allowed")
	}
	if r.err != nil {
		return
	}
	r.setPosition(&v.At)
	if v.Kind != Struct && v.Fields != nil || v.Kind != List && v.Items != nil || !fits(v.Kind, v.Text) {
		r.wrong("no value is %q with the text %.20q", v.Kind, v.Text)
	}
	for _, item := range v.Items {
		r.value(item, depth+1)
	}
	names := make(map[string]bool, len(v.Fields))
	for i := range v.Fields {
		f := &v.Fields[i]
		if names[f.Name] {
			r.wrong("duplicate field")
		}
		names[f.Name] = true
		r.text += len(f.Name)
		r.setPosition(&f.At)
		r.value(f.Value, depth+1)
	}
}

// fits reports whether a value of a kind may have a text.
func fits(k Kind, text string) bool {
	switch k {
	case Null, List, Struct:
		return text == ""
	case Bool:
		return text == "true" || text == "false"
	case Number:
		// Spaces around it would be valid JSON.
		return json.Valid([]byte(text)) && slices.Contains([]byte("-0123456789"), text[0]) && text[len(text)-1] > ' '
	}
	return k == String
}

// A lineIndex knows the line and column of every byte. Counting them out from the
// beginning of the line each time would be quadratic in a file of one line.
type lineIndex struct {
	starts []int   // the offsets at which lines begin
	before []int32 // how many code points begin before each byte, and in all
}

func newPlaces(data []byte) lineIndex {
	p := lineIndex{starts: []int{0}, before: make([]int32, len(data)+1)}
	for i, b := range data {
		p.before[i+1] = p.before[i]
		if b&0xC0 != 0x80 { // no continuation of a code point
			p.before[i+1]++
		}
		if b == '\n' {
			p.starts = append(p.starts, i+1)
		}
	}
	return p
}

func (p lineIndex) lineColumn(offset int) (line, column int) {
	line = sort.SearchInts(p.starts, offset+1)
	return line, 1 + int(p.before[offset]-p.before[p.starts[line-1]])
}
