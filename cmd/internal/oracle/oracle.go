// Package oracle has rows that other tools judged, and what they came to. A test
// compares Gavel with them.
//
// Most callers want [Rows] and [Recorded]. The program in the folder ask makes the
// answers again:
//
//	npm install promptfoo@0.123.1 agentv@4.42.4
//	go run ./cmd/internal/oracle/ask -modules node_modules
package oracle

import (
	"crypto/sha256"
	_ "embed" // for the answers
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Version is the version of promptfoo that gave the answers.
const Version = "0.123.1"

// A Row is an output with what is asked of it.
type Row struct {
	Output    string
	Asserts   []Assertion
	Threshold *float64
}

// An Assertion is one as in a promptfooconfig.yaml.
type Assertion struct {
	Type      string   `json:"type"`
	Value     any      `json:"value,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`
	Weight    *float64 `json:"weight,omitempty"`
	Config    any      `json:"config,omitempty"`
}

// outputs are answers with something special: case, white space, quotes, JSON whole and
// in parts, and letters outside of ASCII.
var outputs = []string{
	"hello", "Hello World", "HELLO", "hell", " hello ", "hello\n", "hello, world", "a,b", "say \"hello\"", "it's", "42", "3.0", "-1", "0", "true", "null", "ß", "straße STRASSE", "ΟΔΟΣ", "İstanbul",
	"é", "e\u0301", "日本語", "👍🏽", "a\u00a0b", "a\u2028b", "tab\tbed", "one two  three", "{}", "[]", "{\"a\":1}", "{\"a\": 1, \"b\": [1, 2]}", "[1,2]", "\"hello\"",
	"text {\"a\":1} more", "```json\n{\"a\":1}\n```", "{\"a\":\"x\"}", "{\"a\":1} {\"b\":2}", "[{\"a\":1}]", "{\"a\":null}", "hello hello", "hallo", "xhellox", "",
}

// texts are values of assertions that look for one text.
var texts = []any{"hello", "HELLO", "h", "hello, world", "\"hello\"", "42", 42, 3, 0, true, "ß", "ss", "οδος", "istanbul", "é", "日本", "👍", " ", "\n", "a b", "null", "{\"a\":1}", "hello world"}

// lists are values of assertions that look for several.
var lists = []any{
	[]any{"hello"}, []any{"hello", "world"}, []any{"HELLO", "zzz"}, []any{"zzz"}, []any{42, "0"}, []any{"a,b"}, "hello,world", "hello, world", "\"a,b\"", "zzz, hello", "HELLO", []any{"istanbul", "οδος"},
}

// values are of equals, of any kind.
var values = []any{
	"hello", "3.0", 3, 42, -1, 0, true, "true", "null", map[string]any{"a": 1}, map[string]any{"a": 1, "b": []any{1, 2}}, []any{1, 2}, []any{}, map[string]any{}, "{\"a\":1}", " hello ", "日本語", map[string]any{"a": nil}, map[string]any{"a": "x"},
}

// schemas are of is-json and contains-json; the first is none.
var schemas = []any{
	nil, map[string]any{"type": "object"}, map[string]any{"type": "array"}, map[string]any{"type": "object", "required": []any{"a"}}, map[string]any{"properties": map[string]any{"a": map[string]any{"type": "number"}}},
	map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{"a": map[string]any{}}}, map[string]any{"properties": map[string]any{"a": map[string]any{"const": 1}}}, "type: object\nrequired: [b]",
}

// counts are of word-count.
var counts = []any{1, 2, 3, "2", map[string]any{"min": 2}, map[string]any{"max": 1}, map[string]any{"min": 1, "max": 2}}

// patterns are of regex: many mean something else to RE2, and some are unreadable.
var patterns = []any{
	"hello", "^hello$", "(?=h)hello", "(?<!x)hello", "(?<one>l)\\k<one>", "(l)\\1", "[[:alpha:]]+", "\\Ah", "o\\z", "\\pL", "\\p{L}", "\\Qa\\E", "\\x{68}", "\\a", "^.{2}$", "^.$", "a.b", "^\\S+$", "\\s", "\\bhello\\b",
	"caf\\u00e9|\\u00e9", "[\\u4e00-\\u9fff]", "\\cI", "[]", "[^]", "\\u{1F44D}", "[à-ÿ]", "^$", "\\d+", "\\w+,\\w+", "{\"a\":", "a{,2}", "x*", "(?i:HELLO)", "(", "a**",
}

// functions are of javascript: values of each kind, what throws, and names that are not
// there.
var functions = []any{
	"output === 'hello'", "output.length > 4", "output.length", "output.length / 10", "0", "0.5", "output.includes('l') ? 0.25 : 0", "true", "!output",
	"({pass: output.length > 4, score: 0.25, reason: 'r'})", "({pass: output === 'hello', score: 1, reason: ''})", "({pass: true, score: 0.5, reason: 'x'})",
	"const n = output.length; n > 4", "let s = 'a;b'; output.length > s.length;", "return output.length > 4\n", "const n = output.length;\nreturn n > 4;", "if (output === 'hello') {\n  return 0.75;\n}\nreturn false;",
	"output.missing.member", "JSON.parse(output).a === 1", "throw new Error('no')\n", "missingName > 1", "output.nothing()", "output >", "context.vars.o === output", "context.prompt === output", "context.test.assert.length === 1",
	"context.providerResponse.output === output", "context.provider.id() === 'echo'", "console.log(output), true", "/^\\p{L}+$/u.test(output)", "/(?<=h)e/.test(output)", "[...output].length === output.length",
	"output.normalize('NFD') !== output", "atob(btoa('x')) === 'x'", "new URL('https://a.b/?q=' + encodeURIComponent(output)).searchParams.get('q') === output", "structuredClone({output}).output === output",
	"new TextEncoder().encode(output).length === output.length", "new Intl.NumberFormat('en').format(1234) === '1,234'", "(1234).toLocaleString() === '1,234'", "'text'", "undefined", "Promise.resolve(output === 'hello')",
	"output.split(' ').map((w) => w.toUpperCase()).join(' ') === output", "1 < 2 < 3", "Object.keys(Object.groupBy(output, (c) => c)).length > 3",
}

// distances are the thresholds of levenshtein; the first is none.
var distances = []*float64{nil, number(0), number(1), number(2.5), number(8)}

func number(n float64) *float64 { return &n }

// kinds are the assertions with their values.
var kinds = []struct {
	types  []string
	values []any
}{
	{[]string{"contains", "icontains", "starts-with"}, texts},
	{[]string{"contains-any", "contains-all", "icontains-any", "icontains-all"}, lists},
	{[]string{"equals"}, values},
	{[]string{"is-json", "contains-json"}, schemas},
	{[]string{"word-count"}, counts},
	{[]string{"regex"}, patterns},
	{[]string{"javascript"}, functions},
}

// Rows returns all rows: each assertion on each output, plain and with not-, and
// combinations of weights and thresholds.
func Rows() []Row {
	var rows []Row
	asked := single()
	for _, output := range outputs {
		for _, a := range asked {
			rows = append(rows, Row{Output: output, Asserts: []Assertion{a}})
		}
	}
	return append(rows, weighted()...)
}

// single returns the assertions that are asked alone, plain and with not-.
func single() []Assertion {
	var all []Assertion
	both := func(a Assertion) {
		all = append(all, a)
		a.Type = "not-" + a.Type
		all = append(all, a)
	}
	for _, kind := range kinds {
		for i := range len(kind.types) * len(kind.values) {
			both(Assertion{Type: kind.types[i/len(kind.values)], Value: kind.values[i%len(kind.values)]})
		}
	}
	for _, text := range []any{"hello", "日本語", "42"} {
		for _, most := range distances {
			both(Assertion{Type: "levenshtein", Value: text, Threshold: most})
		}
	}
	return all
}

// weighted returns rows of two assertions with weights, of which none, one or both hold.
func weighted() []Row {
	var rows []Row
	weights := []*float64{nil, number(0), number(0.5), number(3)}
	thresholds := []*float64{nil, number(0), number(0.25), number(0.5), number(0.75), number(1)}
	first, second := []string{"hello", "zzz"}, []string{"hell", "yyy"}
	for i := range 2 * 2 * 4 * 4 * 6 {
		rows = append(rows, Row{Output: "hello", Threshold: thresholds[i%6], Asserts: []Assertion{
			{Type: "contains", Value: first[i/192], Weight: weights[i/24%4]}, {Type: "equals", Value: second[i/96%2], Weight: weights[i/6%4]},
		}})
	}
	return rows
}

// Config returns the rows as a promptfooconfig.json whose provider repeats the output.
// The description of a test is r and the index of its row.
func Config(rows []Row) ([]byte, error) {
	type test struct {
		Description string            `json:"description"`
		Vars        map[string]string `json:"vars"`
		Assert      []Assertion       `json:"assert"`
		Threshold   *float64          `json:"threshold,omitempty"`
	}
	var tests []test
	for i, row := range rows {
		tests = append(tests, test{fmt.Sprintf("r%d", i), map[string]string{"o": row.Output}, row.Asserts, row.Threshold})
	}
	return json.Marshal(map[string]any{"prompts": []string{"{{o}}"}, "providers": []string{"echo"}, "tests": tests})
}

//go:embed answers/promptfoo.txt
var recorded string

// Recorded returns promptfoo's answer to each row: pass or fail with the score, or
// error. The error says that the rows are other ones than promptfoo judged.
func Recorded(rows []Row) ([]string, error) {
	config, err := Config(rows)
	if err != nil {
		return nil, err
	}
	return lines(recorded, Head(config), len(rows))
}

// Head returns the first line of the answers to the rows of a config.
func Head(config []byte) string { return head("promptfoo "+Version, string(config)) }

// head returns the first line of a file of answers: the tool, and a digest of what it was
// asked.
func head(tool, asked string) string {
	sum := sha256.Sum256([]byte(asked))
	return tool + " " + hex.EncodeToString(sum[:8])
}

// lines returns the answers of a file, which has one in each line after its head. The
// error says that they are answers to something else.
func lines(file, want string, n int) ([]string, error) {
	head, answers, _ := strings.Cut(file, "\n")
	if head != want {
		return nil, fmt.Errorf("the answers begin with %q, and what is asked now with %q: run the program in the folder ask", head, want)
	}
	list := strings.Split(strings.TrimSuffix(answers, "\n"), "\n")
	if len(list) != n {
		return nil, fmt.Errorf("there are %d answers, want %d", len(list), n)
	}
	return list, nil
}

// decoded is lines of JSON.
func decoded[T any](file, want string, n int) ([]T, error) {
	list, err := lines(file, want, n)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(list))
	for i, line := range list {
		if err := json.Unmarshal([]byte(line), &all[i]); err != nil {
			return nil, fmt.Errorf("the answer %d: %w", i+1, err)
		}
	}
	return all, nil
}

// Answer writes the result of a row.
func Answer(pass, failed bool, score float64) string {
	switch {
	case failed:
		return "error"
	case pass:
		return fmt.Sprintf("pass %.3g", score)
	}
	return fmt.Sprintf("fail %.3g", score)
}
