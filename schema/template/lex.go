package template

import (
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A piece is a part of a template: a text, an {{ output }} or a {% tag %}.
type piece struct {
	kind   byte // 't', '{' or '%'
	text   string
	at     int // the offset of its first byte
	end    int // the offset behind it
	tokens []token
}

// A token is a word, a number, a string or an operator of an expression.
type token struct {
	kind byte   // 'a' name, 'w' one of constants, '1' number, '"' string, '+' operator, 0 the end
	text string // the content of a string
	at   int
}

// rawTags begin a text that is taken as it is, up to its end tag.
var rawTags = lazyregexp.New(`^\{%-?\s*(raw|verbatim)\s*(-?)%\}`)

// rawParts begin another such text within, or end it. An end has no sign for white space.
var rawParts = map[string]*lazyregexp.Regexp{
	"raw":      lazyregexp.New(`\{%\s*(end)?raw\s*%\}`),
	"verbatim": lazyregexp.New(`\{%\s*(end)?verbatim\s*%\}`),
}

// blank is the white space between tokens.
const blank = " \t\r\n\u00a0"

// A splitter cuts a text into pieces.
type splitter struct {
	source string
	at     int
	pieces []piece
	trim   bool // the white space at the start of the next text
}

// split cuts a text into pieces. The error is an [*Error].
func split(source string) ([]piece, error) {
	s := &splitter{source: source}
	for s.at < len(source) {
		rest := source[s.at:]
		next := nextOpening(rest)
		if next < 0 {
			return s.pieces, s.text(rest)
		}
		before := rest[:next]
		if strings.HasPrefix(rest[next+2:], "-") {
			before = strings.TrimRightFunc(before, isSpace)
		}
		if err := s.text(before); err != nil {
			return nil, err
		}
		s.at += next
		if err := s.readTag(); err != nil {
			return nil, err
		}
	}
	return s.pieces, nil
}

// nextOpening returns the position of the next {{, {% or {#, or -1.
func nextOpening(text string) int {
	for i := 0; ; i++ {
		n := strings.IndexByte(text[i:], '{')
		if n < 0 || i+n+1 >= len(text) {
			return -1
		}
		i += n
		if strings.IndexByte("{%#", text[i+1]) >= 0 {
			return i
		}
	}
}

// text adds a text, which must not end a comment.
func (s *splitter) text(text string) error {
	if end := strings.Index(text, "#}"); end >= 0 {
		return mistakeAt(s.source, s.at+end, "#} ends a comment that has no beginning", "write {{ '#}' }} for the characters")
	}
	s.add(text)
	return nil
}

func (s *splitter) add(text string) {
	if s.trim {
		text = strings.TrimLeftFunc(text, isSpace)
	}
	s.trim = false
	if text != "" {
		s.pieces = append(s.pieces, piece{kind: 't', text: text, at: s.at})
	}
}

// readTag reads the comment, tag or output at the splitter's position.
func (s *splitter) readTag() error {
	rest := s.source[s.at:]
	if rest[1] == '#' {
		end := strings.Index(rest[2:], "#}")
		if end < 0 {
			return mistakeAt(s.source, s.at, "the comment {# is never closed", "close it with #}")
		}
		s.trim = end > 0 && rest[end+1] == '-'
		s.at += end + 4
		return nil
	}
	if m := rawTags.FindStringSubmatch(rest); m != nil {
		return s.raw(m)
	}
	tokens, end, trim, err := tokenize(s.source, s.at)
	if err != nil {
		return err
	}
	s.pieces = append(s.pieces, piece{kind: rest[1], at: s.at, end: end, tokens: tokens})
	s.at, s.trim = end, trim
	return nil
}

// raw copies a text unchanged. The sign for white space at its beginning is about the
// text behind it, as in Nunjucks.
func (s *splitter) raw(m []string) error {
	start, depth := s.at+len(m[0]), 1
	for at := start; ; {
		part := rawParts[m[1]].FindStringSubmatchIndex(s.source[at:])
		if part == nil {
			return mistakeAt(s.source, s.at, "{% "+m[1]+" %} is never closed", "close it with {% end"+m[1]+" %}")
		}
		if part[2] < 0 {
			depth++
		} else {
			depth--
		}
		if depth == 0 {
			s.trim = false
			s.add(s.source[start : at+part[0]])
			s.at, s.trim = at+part[1], m[2] != ""
			return nil
		}
		at += part[1]
	}
}

// operators of expressions, longer ones first.
var operators = []string{"===", "!==", "==", "!=", "<=", ">=", "//", "**"}

// delimiters are the characters that end a word.
const delimiters = "()[]{}%*-+~/#,:|.<>=!"

// closings end a tag or an output.
var closings = []string{"%}", "-%}", "}}", "-}}"}

// tokenize reads the tag or output that begins at an offset: its tokens, the offset
// behind it, and whether the white space after it is left out.
func tokenize(source string, start int) (tokens []token, end int, trim bool, err error) {
	closing := map[byte]string{'{': "}}", '%': "%}"}[source[start+1]]
	at := start + 2
	if strings.HasPrefix(source[at:], "-") {
		at++
	}
	for {
		at += len(source[at:]) - len(strings.TrimLeft(source[at:], blank))
		rest := source[at:]
		if rest == "" {
			return nil, 0, false, mistakeAt(source, start, Clip(source[start:])+" is never closed", "close it with "+closing)
		}
		for _, c := range closings {
			switch {
			case !strings.HasPrefix(rest, c):
			case !strings.HasSuffix(c, closing):
				return nil, 0, false, mistakeAt(source, at, "the template has "+c+" where "+closing+" is expected", "close it with "+closing+", and write a space between two }")
			default:
				return append(tokens, token{at: at}), at + len(c), c[0] == '-', nil
			}
		}
		tok, size, err := oneToken(source, at)
		if err != nil {
			return nil, 0, false, err
		}
		tokens, at = append(tokens, tok), at+size
	}
}

// constants are the words that are values.
var constants = map[string]any{"true": true, "false": false, "none": nil, "null": nil}

// oneToken reads the token at an offset, and returns its length in bytes.
func oneToken(source string, at int) (token, int, error) {
	rest := source[at:]
	switch {
	case rest[0] == '"' || rest[0] == '\'':
		return quoted(source, at)
	case strings.HasPrefix(rest, "r/"):
		return token{}, 0, errorAt(source, at, "a regular expression of a template is not read", "write a text in its place")
	case strings.IndexByte(delimiters, rest[0]) >= 0:
		for _, op := range operators {
			if strings.HasPrefix(rest, op) {
				return token{kind: '+', text: op, at: at}, len(op), nil
			}
		}
		return token{kind: '+', text: rest[:1], at: at}, 1, nil
	}
	size := strings.IndexAny(rest, blank+delimiters)
	if size < 0 {
		size = len(rest)
	}
	word := rest[:size]
	switch {
	case strings.Trim(word, "0123456789") == "":
		if strings.HasPrefix(rest[size:], ".") {
			size++
			size += len(rest[size:]) - len(strings.TrimLeft(rest[size:], "0123456789"))
		}
		return token{kind: '1', text: strings.TrimSuffix(rest[:size], "."), at: at}, size, nil
	case strings.ContainsAny(word, `"'\`+"`;?&@^$") || !utf8.ValidString(word):
		return token{}, 0, mistakeAt(source, at, "the template has "+Clip(word)+" where Nunjucks has nothing like it", "put texts into quotes, or write {% raw %}…{% endraw %} around text that is not a template")
	}
	if _, isConstant := constants[word]; isConstant {
		return token{kind: 'w', text: word, at: at}, size, nil
	}
	return token{kind: 'a', text: word, at: at}, size, nil
}

// quoted reads a string with its escapes.
func quoted(source string, at int) (token, int, error) {
	var out strings.Builder
	quote := source[at]
	for i := at + 1; i < len(source); i++ {
		switch c := source[i]; {
		case c == quote:
			return token{kind: '"', text: out.String(), at: at}, i + 1 - at, nil
		case c == '\\' && i+1 < len(source):
			i++
			switch source[i] {
			case 'n':
				out.WriteByte('\n')
			case 't':
				out.WriteByte('\t')
			case 'r':
				out.WriteByte('\r')
			default:
				out.WriteByte(source[i])
			}
		default:
			out.WriteByte(c)
		}
	}
	return token{}, 0, mistakeAt(source, at, "a text in a template has no closing "+string(quote), "close it")
}
