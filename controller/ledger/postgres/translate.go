package postgres

import (
	"strconv"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A statement is a text of the ledger in the SQL of PostgreSQL. args are the
// arguments that its $1, $2 … take, by their places in the original, from 0.
type statement struct {
	text string
	args []int
}

// statements keeps the translated statements: the texts are constants of the program.
type statements struct{ known sync.Map }

func (s *statements) translate(text string) statement {
	if found, ok := s.known.Load(text); ok {
		return found.(statement)
	}
	made := translate(text)
	s.known.Store(text, made)
	return made
}

// pick puts arguments into the order of the statement. A boolean is a number in the
// tables, as in SQLite.
func (s statement) pick(args []any) []any {
	out := make([]any, len(s.args))
	for i, from := range s.args {
		if from >= len(args) {
			continue // the server reports that there are too few
		}
		out[i] = args[from]
		if b, ok := args[from].(bool); ok {
			out[i] = 0
			if b {
				out[i] = 1
			}
		}
	}
	return out
}

// The texts of the ledger are written for SQLite, in words that most databases
// know. Names that differ in PostgreSQL are replaced, in this order.
var replacements = []struct {
	from *lazyregexp.Regexp
	to   string
}{
	// Rows that a transaction relies on are locked here; SQLite has one writer.
	{lazyregexp.New(`/\* (FOR UPDATE) \*/`), "$1"},
	{lazyregexp.New(`\bjson_each\(`), "each_of("},
	{lazyregexp.New(`\bjson_object\(`), "json_build_object("},
	// A body is bytes, and its text is JSON.
	{lazyregexp.New(`\bjson_valid\(CAST\(([\w.]+) AS TEXT\)\)`), "is_json($1)"},
	{lazyregexp.New(`\bjson\(CAST\(([\w.]+) AS TEXT\)\)`), "convert_from($1, 'UTF8')::json"},
	// PostgreSQL reads no text with the escape of NUL or of half a surrogate pair. Such fields
	// are only compared with each other, so that a text with other escapes in it will do.
	{lazyregexp.New(`\bCAST\(([\w.]+) AS TEXT\) ->>`), `replace(convert_from($1, 'UTF8'), '\u', '/u')::json ->>`},
	{lazyregexp.New(`\bjson\((\w+)\)`), "$1::json"},
	{lazyregexp.New(`\b((?:\w+\.)?value) ->>`), "$1::json ->>"},
	{
		lazyregexp.New(`\bstrftime\('%Y-%m-%dT%H:%M:%fZ', ([\w.]+) / 1000\.0, 'unixepoch'\)`),
		`to_char(to_timestamp($1 / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
	},
}

func translate(text string) statement {
	for _, r := range replacements {
		text = r.from.ReplaceAllString(text, r.to)
	}
	return number(lists(text))
}

// lists replaces json_group_array(…), which is "[]" of no rows.
func lists(text string) string {
	const name = "json_group_array("
	for {
		before, rest, found := strings.Cut(text, name)
		if !found {
			return text
		}
		depth, end := 1, 0
		for end < len(rest) && depth > 0 {
			switch rest[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
			end++
		}
		text = before + "coalesce(json_agg(" + rest[:end] + "::text, '[]')" + rest[end:]
	}
}

// number numbers the parameters: ? gets the number after the highest so far, and ?2 is
// the second, as in SQLite. Unused ones are left out, since PostgreSQL could not
// determine their types.
func number(text string) statement {
	var out strings.Builder
	var s statement
	numbers := map[int]int{} // in the statement, by place
	highest := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'':
			end := i + 1 + strings.IndexByte(text[i+1:], '\'')
			out.WriteString(text[i : end+1])
			i = end
			continue
		case '?':
		default:
			out.WriteByte(c)
			continue
		}
		end := i + 1
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		place, err := strconv.Atoi(text[i+1 : end])
		if err != nil {
			place = highest + 1
		}
		highest = max(highest, place)
		if numbers[place] == 0 {
			s.args = append(s.args, place-1)
			numbers[place] = len(s.args)
		}
		out.WriteString("$" + strconv.Itoa(numbers[place]))
		i = end - 1
	}
	s.text = out.String()
	return s
}
