package sqlexec

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Statement is the static analysis of SQL. Names are in lower case and without
// quotes.
type Statement struct {
	// Count is the number of statements in the text; the other fields describe the
	// first.
	Count int
	// Type is the verb in upper case; after WITH, the main statement's verb.
	Type string
	// Tables are the tables read or written, in order, without the names of common
	// table expressions.
	Tables []string
	// Functions are the names before an opening bracket.
	Functions []string

	words []string // unquoted words in upper case, "" for anything else
	// subquery and cte mean that the statement has them, which no word shows.
	subquery, cte bool
}

// HasClause reports whether the words of a clause, such as GROUP BY or LEFT
// JOIN, are next to each other; OUTER makes no difference, and ILIKE is LIKE.
// SUBQUERY and CTE are found by the structure of the statement.
func (s Statement) HasClause(clause string) bool {
	want := slices.DeleteFunc(clauseWords(clause), isOuter)
	switch {
	case len(want) == 0:
		return false
	case slices.Equal(want, []string{"SUBQUERY"}):
		return s.subquery
	case slices.Equal(want, []string{"CTE"}):
		return s.cte
	}
	have := slices.DeleteFunc(slices.Clone(s.words), isOuter)
	for i := 0; i+len(want) <= len(have); i++ {
		if slices.Equal(have[i:i+len(want)], want) {
			return true
		}
	}
	return false
}

// HasFunction reports whether a function is called. A clause's name, such as GROUP BY,
// is looked up as a clause.
func (s Statement) HasFunction(name string) bool {
	name, _, _ = strings.Cut(name, "(")
	name = strings.ToLower(strings.TrimSpace(name))
	return slices.Contains(s.Functions, name) || isClause(name) && s.HasClause(name)
}

// isClause reports whether a name can only be a clause's, or can be one, too.
func isClause(name string) bool {
	words := clauseWords(name)
	return len(words) > 1 || len(words) == 1 && (reserved(words[0]) || words[0] == "SUBQUERY" || words[0] == "CTE")
}

func clauseWords(clause string) []string {
	words := strings.Fields(strings.ToUpper(clause))
	for i, w := range words {
		words[i] = like(w)
	}
	return words
}

// like reads ILIKE, which not every database has, as LIKE.
func like(upper string) string {
	if upper == "ILIKE" {
		return "LIKE"
	}
	return upper
}

// readable replaces ILIKE by LIKE. SQLite has no ILIKE, and its LIKE ignores the case
// of ASCII letters, too.
func readable(text string) string {
	tokens := scan(text)
	for i := len(tokens) - 1; i >= 0; i-- {
		if t := tokens[i]; t.keyword() == "ILIKE" && (i == 0 || !tokens[i-1].is(".")) {
			text = text[:t.at] + "LIKE" + text[t.at+len(t.text):]
		}
	}
	return text
}

// hasSubquery reports whether a query is in brackets that are neither the body of
// WITH or CREATE … AS nor a part of a union on the outermost level.
func hasSubquery(tokens []token) bool {
	depth := 0
	before := func(i int) string { // the word before i
		if i < 1 {
			return ""
		}
		return tokens[i-1].keyword()
	}
	joins := func(word string) bool { return word == "UNION" || word == "EXCEPT" || word == "INTERSECT" }
	for i, t := range tokens {
		switch {
		case t.is(")"):
			depth--
		case t.is("("):
			depth++
			opens := i+1 < len(tokens) && (tokens[i+1].keyword() == "SELECT" || tokens[i+1].keyword() == "WITH")
			body := before(i) == "AS" || before(i) == "MATERIALIZED"
			part := depth == 1 && (i == 0 || joins(before(i)) || before(i) == "ALL" && joins(before(i-1)))
			if opens && !body && !part {
				return true
			}
		}
	}
	return false
}

// hasCTE reports whether WITH defines a table, in the statement or in a subquery.
func hasCTE(tokens []token) bool {
	for i, t := range tokens {
		if t.keyword() == "WITH" && len(commonTables(tokens[i:])) > 0 {
			return true
		}
	}
	return false
}

func isOuter(word string) bool { return word == "OUTER" }

// Parse analyses SQL. It reads strings, quoted names and comments as SQLite does and
// accepts any text; a text that is not SQL gives an odd Type.
func Parse(text string) Statement {
	var s Statement
	var first []token
	tokens := scan(text)
	for len(tokens) > 0 {
		end := slices.IndexFunc(tokens, func(t token) bool { return t.is(";") })
		if end < 0 {
			end = len(tokens)
		}
		if end > 0 {
			if s.Count++; s.Count == 1 {
				first = tokens[:end]
			}
		}
		tokens = tokens[min(end+1, len(tokens)):]
	}
	for _, t := range first {
		s.words = append(s.words, like(t.keyword()))
	}
	s.Type = mainVerb(first)
	s.Tables = tables(first)
	s.Functions = functions(first)
	s.subquery, s.cte = hasSubquery(first), hasCTE(first)
	return s
}

// A token is a word, a quoted name, or anything else.
type token struct {
	kind tokenKind
	text string
	at   int // its first byte in the text
}

type tokenKind int

const (
	word tokenKind = iota
	quotedName
	other
)

func (t token) is(symbol string) bool { return t.kind == other && t.text == symbol }

func (t token) keyword() string {
	if t.kind == word {
		return strings.ToUpper(t.text)
	}
	return ""
}

// name returns the token as a name; "" if it cannot be one.
func (t token) name() string {
	switch t.kind {
	case word:
		if reserved(strings.ToUpper(t.text)) {
			return ""
		}
		return strings.ToLower(t.text)
	case quotedName:
		return strings.ToLower(t.text)
	}
	return ""
}

// reserved words end a list of tables and are not functions.
func reserved(upper string) bool {
	switch upper {
	case "SELECT", "FROM", "WHERE", "GROUP", "ORDER", "BY", "HAVING", "LIMIT", "OFFSET", "UNION", "EXCEPT",
		"INTERSECT", "ALL", "DISTINCT", "AS", "ON", "USING", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "OUTER",
		"CROSS", "NATURAL", "AND", "OR", "NOT", "IN", "EXISTS", "BETWEEN", "LIKE", "GLOB", "CASE", "WHEN", "THEN",
		"ELSE", "END", "VALUES", "SET", "INTO", "WITH", "RECURSIVE", "OVER", "PARTITION", "FILTER", "WINDOW",
		"RETURNING", "IS", "NULL", "MATERIALIZED", "INDEXED", "IF", "TABLE", "ONLY":
		return true
	}
	return false
}

func scan(text string) []token {
	var tokens []token
	for at, whole := 0, len(text); text != ""; at = whole - len(text) {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case unicode.IsSpace(r) || r == '\ufeff':
		case strings.HasPrefix(text, "--"):
			size = upTo(text, 2, "\n")
		case strings.HasPrefix(text, "/*"):
			size = upTo(text, 2, "*/")
		case r == '\'':
			size = quoted(text, '\'')
			tokens = append(tokens, token{other, "'", at})
		case r == '"' || r == '`':
			size = quoted(text, byte(r))
			q := string(r)
			inner := strings.TrimSuffix(text[1:size], q)
			tokens = append(tokens, token{quotedName, strings.ReplaceAll(inner, q+q, q), at})
		case r == '[':
			size = upTo(text, 1, "]")
			tokens = append(tokens, token{quotedName, strings.TrimSuffix(text[1:size], "]"), at})
		case wordRune(r):
			size = strings.IndexFunc(text, func(r rune) bool { return !wordRune(r) })
			if size < 0 {
				size = len(text)
			}
			kind := word
			if unicode.IsDigit(r) {
				kind = other
			}
			tokens = append(tokens, token{kind, text[:size], at})
		default:
			tokens = append(tokens, token{other, text[:size], at})
		}
		text = text[size:]
	}
	return tokens
}

func wordRune(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// upTo returns the length of the text to the end of closing, or to its end.
func upTo(text string, from int, closing string) int {
	if i := strings.Index(text[from:], closing); i >= 0 {
		return from + i + len(closing)
	}
	return len(text)
}

// quoted returns the length of a quoted piece, in which quotes are doubled.
func quoted(text string, q byte) int {
	for i := 1; i < len(text); i++ {
		if text[i] != q {
			continue
		}
		if i+1 == len(text) || text[i+1] != q {
			return i + 1
		}
		i++
	}
	return len(text)
}

// mainVerb returns the first word or, after WITH, the first verb outside brackets.
func mainVerb(tokens []token) string {
	depth := 0
	for i, t := range tokens {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case i == 0 && t.keyword() != "WITH":
			return t.keyword()
		case depth == 0:
			switch verb := t.keyword(); verb {
			case "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "VALUES":
				return verb
			}
		}
	}
	if len(tokens) > 0 {
		return tokens[0].keyword()
	}
	return ""
}

// tables collects the names after FROM, JOIN, INTO, UPDATE and TABLE, and the
// further ones of a list with commas.
func tables(tokens []token) []string {
	defined := commonTables(tokens)
	var names []string
	for i := 0; i < len(tokens); i++ {
		switch tokens[i].keyword() {
		case "FROM", "JOIN", "INTO", "UPDATE", "TABLE":
		default:
			continue
		}
		for at := i + 1; ; {
			name, next := tableAt(tokens, at)
			if name != "" && !slices.Contains(defined, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
			next = skipAlias(tokens, next)
			if name == "" || next >= len(tokens) || !tokens[next].is(",") {
				break
			}
			at = next + 1
		}
	}
	return names
}

// tableAt reads [schema.]name and returns it with the next index.
func tableAt(tokens []token, i int) (string, int) {
	for i < len(tokens) && slices.Contains([]string{"IF", "NOT", "EXISTS"}, tokens[i].keyword()) {
		i++
	}
	if i >= len(tokens) || tokens[i].name() == "" {
		return "", i
	}
	name := tokens[i].name()
	for i+2 < len(tokens) && tokens[i+1].is(".") && tokens[i+2].name() != "" {
		i += 2
		name = tokens[i].name()
	}
	return name, i + 1
}

func skipAlias(tokens []token, i int) int {
	if i < len(tokens) && tokens[i].keyword() == "AS" {
		i++
	}
	if i < len(tokens) && tokens[i].name() != "" {
		i++
	}
	return i
}

// commonTables returns the names before AS ( in a WITH.
func commonTables(tokens []token) []string {
	var names []string
	if len(tokens) == 0 || tokens[0].keyword() != "WITH" {
		return nil
	}
	for i, t := range tokens {
		if t.keyword() != "AS" || i == 0 || i+1 >= len(tokens) || !(tokens[i+1].is("(") || tokens[i+1].keyword() != "" && tokens[i+1].name() == "") {
			continue
		}
		if name := nameBefore(tokens, i); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// nameBefore returns the name before i, past a list of columns in brackets.
func nameBefore(tokens []token, i int) string {
	i--
	if i >= 0 && tokens[i].is(")") {
		for i >= 0 && !tokens[i].is("(") {
			i--
		}
		i--
	}
	if i < 0 {
		return ""
	}
	return tokens[i].name()
}

// functions returns the unquoted names before a bracket, except tables with a list of
// columns.
func functions(tokens []token) []string {
	defined := commonTables(tokens)
	var names []string
	for i := 0; i+1 < len(tokens); i++ {
		name := tokens[i].name()
		if name == "" || tokens[i].kind != word || !tokens[i+1].is("(") || slices.Contains(defined, name) {
			continue
		}
		if i > 0 && (tokens[i-1].is(".") || beforeTable(tokens[i-1].keyword())) {
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func beforeTable(keyword string) bool {
	switch keyword {
	case "INTO", "TABLE", "EXISTS", "REFERENCES":
		return true
	}
	return false
}
