package template

import (
	"strings"

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
	kind byte   // 'a' name, '1' number, '"' string, '+' operator, 0 the end
	text string // the content of a string
	at   int
}

// rawTags begin a text that is taken as it is, up to its end tag.
var rawTags = lazyregexp.New(`^\{%-?\s*(raw|verbatim)\s*(-?)%\}`)

// rawEnds are their end tags.
var rawEnds = map[string]*lazyregexp.Regexp{
	"raw":      lazyregexp.New(`\{%(-?)\s*endraw\s*(-?)%\}`),
	"verbatim": lazyregexp.New(`\{%(-?)\s*endverbatim\s*(-?)%\}`),
}

const space = " \t\r\n"

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
			s.text(rest)
			break
		}
		before := rest[:next]
		if strings.HasPrefix(rest[next+2:], "-") {
			before = strings.TrimRight(before, space)
		}
		s.text(before)
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

func (s *splitter) text(text string) {
	if s.trim {
		text = strings.TrimLeft(text, space)
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
		end := strings.Index(rest, "#}")
		if end < 0 {
			return mistakeAt(s.source, s.at, "the comment {# is never closed", "close it with #}")
		}
		s.trim = end > 2 && rest[end-1] == '-'
		s.at += end + 2
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

// raw copies a text unchanged.
func (s *splitter) raw(m []string) error {
	from := s.at + len(m[0])
	end := rawEnds[m[1]].FindStringSubmatchIndex(s.source[from:])
	if end == nil {
		return mistakeAt(s.source, s.at, "{% "+m[1]+" %} is never closed", "close it with {% end"+m[1]+" %}")
	}
	text := s.source[from : from+end[0]]
	if m[2] != "" {
		text = strings.TrimLeft(text, space)
	}
	if end[2] < end[3] {
		text = strings.TrimRight(text, space)
	}
	s.text(text)
	s.at, s.trim = from+end[1], end[4] < end[5]
	return nil
}

// operators of expressions, longer ones first.
var operators = []string{
	"===", "!==", "==", "!=", "<=", ">=", "//", "**",
	"<", ">", "+", "-", "*", "/", "%", "~", "|", ".", ",", ":", "=", "(", ")", "[", "]", "{", "}",
}

var (
	nameToken   = lazyregexp.New(`^[\p{L}_$][\p{L}\p{N}_$]*`)
	numberToken = lazyregexp.New(`^\d+(\.\d+)?`)
)

// tokenize reads the tag or output that begins at an offset: its tokens, the offset
// behind it, and whether the white space after it is left out.
func tokenize(source string, start int) (tokens []token, end int, trim bool, err error) {
	closing := map[byte]string{'{': "}}", '%': "%}"}[source[start+1]]
	at, depth := start+2, 0
	if strings.HasPrefix(source[at:], "-") {
		at++
	}
	for {
		at += len(source[at:]) - len(strings.TrimLeft(source[at:], space))
		rest := source[at:]
		switch {
		case rest == "":
			return nil, 0, false, mistakeAt(source, start, Clip(source[start:])+" is never closed", "close it with "+closing)
		case depth == 0 && strings.HasPrefix(rest, closing):
			return append(tokens, token{at: at}), at + 2, false, nil
		case depth == 0 && strings.HasPrefix(rest, "-"+closing):
			return append(tokens, token{at: at}), at + 3, true, nil
		}
		tok, size, err := oneToken(source, at)
		if err != nil {
			return nil, 0, false, err
		}
		switch tok.text {
		case "{", "[", "(":
			depth += isOperator(tok)
		case "}", "]", ")":
			depth = max(0, depth-isOperator(tok))
		}
		tokens, at = append(tokens, tok), at+size
	}
}

// isOperator returns 1 for an operator, else 0.
func isOperator(t token) int {
	if t.kind == '+' {
		return 1
	}
	return 0
}

// oneToken reads the token at an offset, and returns its length in bytes.
func oneToken(source string, at int) (token, int, error) {
	rest := source[at:]
	if name := nameToken.FindString(rest); name != "" {
		return token{kind: 'a', text: name, at: at}, len(name), nil
	}
	if n := numberToken.FindString(rest); n != "" {
		return token{kind: '1', text: n, at: at}, len(n), nil
	}
	if rest[0] == '"' || rest[0] == '\'' {
		return quoted(source, at)
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			return token{kind: '+', text: op, at: at}, len(op), nil
		}
	}
	first := string([]rune(rest)[:1])
	return token{}, 0, mistakeAt(source, at, "the template has "+first+" where Nunjucks has nothing like it", "put texts into quotes, or write {% raw %}…{% endraw %} around text that is not a template")
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
