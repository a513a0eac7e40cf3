package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile"
)

const (
	// maxDepth is how deep values may be nested.
	maxDepth = 64
	// maxValues bounds the values of a file with its aliases expanded.
	maxValues = 100_000
)

// A mistake says why a text cannot be read.
type mistake struct {
	// Line and Column count from 1, columns in code points. They are 0 for the whole
	// file.
	Line, Column int
	// Rule is a stable kebab-case name; Hint is the repair.
	Rule, Message, Hint string
}

// readTree returns the value of a .json, .yaml, .yml or .cue file, or of a line of a .jsonl file. It
// refuses input that takes long, grows beyond bounds or reaches outside of the file before the
// parsers see it, since they have no limits of their own. Places in the tree count bytes. Evaluating
// a .cue file counts toward the budget; without one, each file has its own bound.
func readTree(file string, data []byte, budget *cuefile.Budget) (ast.Expr, []mistake) {
	if found := checkText(data); len(found) > 0 {
		return nil, found
	}
	var expr ast.Expr
	var m *mistake
	switch path.Ext(file) {
	case ".json", ".jsonl":
		expr, m = survive(readJSON, file, data)
	case ".yaml", ".yml":
		expr, m = survive(readYAML, file, data)
		if tabs := checkTabs(data); m != nil && m.Rule == "syntax" && len(tabs) > 0 {
			return nil, tabs
		}
	case ".cue":
		return readCUE(file, data, budget)
	default:
		m = &mistake{0, 0, "file-type", "files of this type are not read", "use .json, .yaml, .yml, .jsonl or .cue"}
	}
	if m != nil {
		return nil, []mistake{*m}
	}
	return expr, nil
}

// survive makes a mistake of a parser that panics: the text is a stranger's, and
// may be one that its authors did not think of.
func survive(read func(string, []byte) (ast.Expr, *mistake), file string, data []byte) (expr ast.Expr, m *mistake) {
	defer func() {
		if r := recover(); r != nil {
			expr, m = nil, &mistake{1, 1, "syntax", fmt.Sprintf("the parser broke off: %v", r), "write it another way"}
		}
	}()
	return read(file, data)
}

// maxMistakes bounds the reported mistakes of one text.
const maxMistakes = 20

func checkText(data []byte) []mistake {
	if len(bytes.TrimSpace(data)) == 0 {
		return []mistake{{1, 1, "empty-file", "the file is empty", "fill it, or remove it"}}
	}
	return encodingMistakes(data)
}

// ruleConflict is the rule of a text, such as a prompt, that looks like an unresolved merge.
// Its author may mean it: prompts of coding agents explain such marks.
const ruleConflict = "merge-conflict"

const keepOneSide = "keep one of its sides, and remove the lines with the marks"

// InConflict returns the warning about a text file that looks like an unresolved merge from a
// line on. The position is the one that names the file.
func InConflict(at schema.Position, file string, line int) schema.Problem {
	return schema.Problem{
		Position: at, Severity: schema.Warning, Rule: ruleConflict,
		Message: fmt.Sprintf("%s has a merge conflict that is not resolved, from line %d on", file, line), Hint: keepOneSide,
	}
}

// conflict returns the line, from 1, at which a merge conflict begins that git left in a
// text, or 0: its three marks have a line each.
func conflict(data []byte) int {
	if !bytes.Contains(data, []byte("<<<<<<< ")) {
		return 0
	}
	begin, marks := 0, [][]byte{[]byte("<<<<<<< "), []byte("======="), []byte(">>>>>>> ")}
	for n, line := range bytes.Split(data, []byte("\n")) {
		if !bytes.HasPrefix(line, marks[0]) {
			continue
		}
		if marks = marks[1:]; begin == 0 {
			begin = n + 1
		}
		if len(marks) == 0 {
			return begin
		}
	}
	return 0
}

// encodingMistakes returns the mistakes of a text that is not UTF-8: one if it is
// UTF-16, else one per line.
func encodingMistakes(data []byte) []mistake {
	switch {
	case isUTF16(data):
		return []mistake{{1, 1, "invalid-utf8", "the file is not UTF-8 but UTF-16", "save it as UTF-8"}}
	case utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		return nil
	}
	var found []mistake
	for n, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) {
			found = append(found, mistake{n + 1, 1 + validPrefix(line), "invalid-utf8", "the line is not valid UTF-8", "save the file as UTF-8"})
		}
		if i := bytes.IndexByte(line, 0); i >= 0 {
			found = append(found, mistake{n + 1, 1 + utf8.RuneCount(line[:i]), "nul", "the line holds a NUL character", "remove it"})
		}
	}
	return found[:min(len(found), maxMistakes)]
}

// isUTF16 reports whether a text is written in UTF-16, as some editors save it.
// Every line of it would be wrong.
func isUTF16(data []byte) bool {
	marked := bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
	return marked || len(data) > 3 && bytes.Count(data, []byte{0}) > len(data)/3
}

// validPrefix counts the code points before the first invalid byte.
func validPrefix(line []byte) int {
	n := 0
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		if r == utf8.RuneError && size == 1 {
			break
		}
		line = line[size:]
		n++
	}
	return n
}

// readCUE evaluates a .cue file and takes its value as if it had been written
// out at the positions of its parts.
func readCUE(file string, data []byte, budget *cuefile.Budget) (ast.Expr, []mistake) {
	// Parsing has no context, and needs none: an evaluation has an end.
	value, err := budget.Evaluate(context.Background(), file, data)
	var wrong cuefile.Problems
	switch {
	case errors.As(err, &wrong):
		var mistakes []mistake
		for _, p := range wrong {
			mistakes = append(mistakes, mistake{p.At.Line, p.At.Column, p.Rule, p.Message, p.Hint})
		}
		return nil, mistakes
	case err != nil:
		return nil, []mistake{{1, 1, "unreadable", "the file cannot be evaluated: " + err.Error(), "try again, or write it as JSON or YAML"}}
	}
	return writeOut(value, file, data), nil
}

// parserMistake returns the message of a CUE parser, with its position.
func parserMistake(file string, err error) *mistake {
	m := mistake{Line: 1, Column: 1, Rule: "syntax", Message: err.Error()}
	var cueErr cueerrors.Error
	if errors.As(err, &cueErr) {
		if pos := cueErr.Position(); pos.IsValid() {
			m.Line, m.Column = pos.Line(), max(pos.Column(), 1)
		}
		format, args := cueErr.Msg()
		m.Message = fmt.Sprintf(format, args...)
	}
	m.Message = strings.TrimPrefix(m.Message, file+":")
	return &m
}

// CheckEncoding returns errors about the bytes of a text that are not UTF-8, or that are
// UTF-16. A text in another encoding would be sent and compared as other signs than were
// written.
func CheckEncoding(file schema.File) []schema.Problem {
	var problems []schema.Problem
	for _, m := range encodingMistakes(file.Data) {
		problems = append(problems, errorAt(schema.Position{File: file.Path, Line: m.Line, Column: m.Column}, m.Rule, m.Message, m.Hint))
	}
	return problems
}
