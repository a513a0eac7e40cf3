package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
)

// readJSON only passes JSON of limited depth to the CUE parser, which accepts far more
// than JSON, and recurses as deep as the text.
func readJSON(file string, data []byte) (ast.Expr, *mistake) {
	if at := tooDeep(data); at >= 0 {
		return nil, placed(data, at, mistake{Rule: "too-deep", Message: fmt.Sprintf("values are nested more than %d deep", maxDepth), Hint: "flatten the file"})
	}
	var syntax *json.SyntaxError
	if !json.Valid(data) && errors.As(json.Unmarshal(data, new(json.RawMessage)), &syntax) {
		m := jsonMistake(data, syntax)
		if path.Ext(file) == ".jsonl" {
			m.Hint = cmp.Or(hintsOfLines[m.Message], m.Hint)
		}
		return nil, m
	}
	// A text of JSON may have a byte order mark, which CUE refuses.
	if mark := []byte("\ufeff"); bytes.Contains(data, mark) {
		data = bytes.ReplaceAll(data, mark, []byte(`\ufeff`))
	}
	expr, err := parser.ParseExpr(file, data)
	if err != nil {
		return nil, parserMistake(file, err)
	}
	return expr, nil
}

// tooDeep returns the offset of the bracket that nests JSON too deeply, or -1.
func tooDeep(data []byte) int {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth+1 {
				return i
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return -1
}

// placed returns a mistake the place of a byte.
func placed(data []byte, offset int, m mistake) *mistake {
	before := data[:min(max(offset, 0), len(data))]
	m.Line = 1 + bytes.Count(before, []byte("\n"))
	m.Column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return &m
}
