package document

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/shape"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// Check compares a document with a definition of the built-in schemas, such
// as #Test, and gives every problem that it finds, sorted by place. A field
// that the definition does not know is an error when it is near to one that it
// knows, or when extra is Error; else it has the severity extra. Values that
// could not be read are errors here too.
func (d *Document) Check(def string, extra schema.Severity) []schema.Problem {
	return d.CheckPart(def, extra)
}

// schemaKey names, at the top of a file of any format, the JSON Schema that an
// editor checks it with. It bears on nothing.
const schemaKey = "$schema"

// isSchemaKey reports whether a field of the whole value is only that.
func (d *Document) isSchemaKey(f field) bool {
	return d.file && f.name == schemaKey && (f.value.kind == stringNode || f.value.kind == nullNode)
}

// checked returns the document as it is compared with a definition: without fields that
// have no effect, unless the definition has them.
func (d *Document) checked(def string) *Document {
	if !slices.ContainsFunc(d.root.fields, d.isSchemaKey) || slices.Contains(Fields(def), schemaKey) {
		return d
	}
	out, root := *d, *d.root
	root.fields = slices.DeleteFunc(slices.Clone(root.fields), d.isSchemaKey)
	out.root = &root
	return &out
}

// CheckPart checks the value at a path of the document.
func (d *Document) CheckPart(def string, extra schema.Severity, path ...any) []schema.Problem {
	if len(path) == 0 {
		d = d.checked(def)
	}
	n := d.find(path)
	if n == nil {
		return nil
	}
	w := walker{extra: extra, root: n, def: def}
	if d.rules != nil {
		w.added = d.rules.Adds(def)
	}
	at := d.At(path...)
	w.value(n, shapeOf(def), name(path), at)
	if d.flawed {
		w.flaws(n.allFlaws())
	}
	if d.rules != nil && !schema.HasErrors(w.problems) {
		w.problems = append(w.problems, d.rules.Check(d, def, path)...)
	}
	return schema.SortProblems(w.problems)
}

// Fields lists the fields that a definition has, those among them that the
// team's constraints add.
func (d *Document) Fields(def string) []string {
	if d.rules == nil {
		return Fields(def)
	}
	return slices.Concat(Fields(def), d.rules.Adds(def))
}

func name(path []any) string {
	for i := len(path) - 1; i >= 0; i-- {
		if s, ok := path[i].(string); ok {
			return s
		}
	}
	return ""
}

// A walker compares nodes with shapes.
type walker struct {
	extra    schema.Severity
	root     *node
	def      string        // the definition of the root
	around   []surrounding // the objects around the present one, from outside
	added    []string      // fields that the team's constraints give the root
	problems []schema.Problem
	large    map[*node]map[string]bool // the names of the fields of large objects
}

// flaws adds the mistakes in values as they are written. A warning is omitted if there
// is already an error.
func (w *walker) flaws(found []schema.Problem) {
	wrong := w.problems
	for _, p := range found {
		isSaid := slices.ContainsFunc(wrong, func(other schema.Problem) bool { return other.Position == p.Position && other.Severity == schema.Error })
		if p.Severity == schema.Error || !isSaid {
			w.problems = append(w.problems, p)
		}
	}
}

func (w *walker) fail(pos schema.Position, rule, message, hint string) {
	w.problems = append(w.problems, errorAt(pos, rule, message, hint))
}

// value checks one value; at is the position of its key.
func (w *walker) value(n *node, s *shape.Shape, name string, at schema.Position) {
	if len(s.Kinds) > 0 && n.kind != unreadNode && !slices.Contains(s.Kinds, n.kind) {
		w.fail(n.pos, "wrong-type", fmt.Sprintf("%s must be %s, not %s", quoteName(name), oneOf(s.Kinds), n.kind), writeInstead(n, s, name))
		return
	}
	switch n.kind {
	case objectNode:
		w.object(n, s, at)
	case listNode:
		w.list(n, s, name)
	case stringNode:
		w.word(n, s, name)
	case numberNode:
		w.number(n, s, name)
	}
}

func (w *walker) list(n *node, s *shape.Shape, name string) {
	if have := len(n.items); have < s.Least {
		w.fail(n.pos, "out-of-range", fmt.Sprintf("%s has %s", quoteName(name), count(have, "item")), "it must have at least "+count(s.Least, "item"))
	}
	if s.Elem == nil {
		return
	}
	for _, item := range n.items {
		w.value(item, s.Elem, "an item of "+cmp.Or(name, "the list"), item.pos)
	}
}

func (w *walker) object(n *node, s *shape.Shape, at schema.Position) {
	if s.Fields == nil {
		return
	}
	var meant []string // required fields that are misspelt
	for _, f := range n.fields {
		if known, ok := s.Fields[f.name]; ok {
			w.around = append(w.around, surrounding{n, s, f.name})
			w.value(f.value, known, f.name, f.pos)
			w.around = w.around[:len(w.around)-1]
			continue
		}
		if n == w.root && slices.Contains(w.added, f.name) {
			continue
		}
		near := cmp.Or(s.Refused[f.name].To, w.meant(f.name, s, n))
		if slices.Contains(s.Must, near) {
			meant = append(meant, near)
		}
		w.unknown(f, n, s, near)
		if s.Rest != nil {
			w.value(f.value, s.Rest, f.name, f.pos)
		}
	}
	for _, must := range s.Must {
		if !slices.Contains(meant, must) && !w.has(n, must) {
			w.fail(at, "missing-field", fmt.Sprintf("the field `%s` is missing", must), fmt.Sprintf("add %q: %s", must, expected(s.Fields[must])))
		}
	}
}

// expected returns what to write for a value of a shape: the only value, or … and the words
// among which to choose.
func expected(s *shape.Shape) string {
	switch limit, is := only(s); {
	case is:
		return strconv.FormatFloat(limit, 'g', -1, 64)
	case len(s.Enum) == 1:
		return strconv.Quote(s.Enum[0])
	case len(s.Enum) > 0:
		return "…, " + choice(s.Enum)
	}
	return "…"
}

// unknown returns the problem of a field that the shape does not name: near is the
// probable meaning.
func (w *walker) unknown(f field, n *node, s *shape.Shape, near string) {
	message := fmt.Sprintf("unknown field `%s`", f.name)
	refused, isRefused := s.Refused[f.name]
	misplaced, move := w.otherLevel(f.name, n, s)
	switch {
	case isRefused:
		w.fail(f.pos, refused.Rule, refused.Message, refused.Hint)
	case near != "" && (!s.Open || slices.Contains(s.Must, near)):
		w.fail(f.pos, "unknown-field", message, suggest.Question(near))
	case near != "":
		w.problems = append(w.problems, schema.Problem{Position: f.pos, Severity: schema.Warning, Rule: "unknown-field", Message: fmt.Sprintf("the field `%s` means nothing here", f.name), Hint: suggest.Question(near)})
	case s.Open:
	case misplaced != "":
		w.fail(f.pos, "misplaced-field", misplaced, move)
	case w.extra == schema.Error:
		w.fail(f.pos, "unknown-field", message, "known are "+strings.Join(s.Names, ", "))
	default:
		w.problems = append(w.problems, schema.Problem{Position: f.pos, Severity: w.extra, Rule: "unknown-field", Message: message, Hint: "it is ignored; remove it"})
	}
}

// meant returns the field with a similar name to an unknown one, unless it exists
// itself; empty without one.
func (w *walker) meant(name string, s *shape.Shape, n *node) string {
	known := s.Names
	if n == w.root {
		known = slices.Concat(known, w.added)
	}
	return suggest.Nearest(name, slices.DeleteFunc(slices.Clone(known), func(name string) bool {
		return w.has(n, name)
	}))
}

// has reports whether an object has a field.
func (w *walker) has(n *node, name string) bool {
	if len(n.fields) <= largeObject {
		return slices.ContainsFunc(n.fields, func(f field) bool { return f.name == name })
	}
	names := w.large[n]
	if names == nil {
		names = make(map[string]bool, len(n.fields))
		for _, f := range n.fields {
			names[f.name] = true
		}
		if w.large == nil {
			w.large = map[*node]map[string]bool{}
		}
		w.large[n] = names
	}
	return names[name]
}

func (w *walker) word(n *node, s *shape.Shape, name string) {
	text, err := strconv.Unquote(n.scalar)
	if err != nil {
		text = strings.Trim(n.scalar, `"`)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
		hint := "write " + choice(s.Enum)
		if slices.Contains(s.Kinds, numberNode) {
			hint += ", or a number"
		}
		if near := suggest.DidYouMean(text, s.Enum); near != "" && len(s.Enum) > 1 {
			hint = near + " " + hint
		}
		w.fail(n.pos, "wrong-value", fmt.Sprintf("%s is %q", quoteName(name), clip(text)), hint)
	}
	w.length(n, s, name)
}

// length checks how long a string is, in code points.
func (w *walker) length(n *node, s *shape.Shape, name string) {
	if len(s.Runes) == 0 {
		return
	}
	var text string
	if json.Unmarshal([]byte(n.scalar), &text) != nil {
		return
	}
	have := utf8.RuneCountInString(text)
	for _, b := range s.Runes {
		if b.Holds(float64(have)) {
			continue
		}
		w.fail(n.pos, "out-of-range", fmt.Sprintf("%s has %s", quoteName(name), count(have, "character")), fmt.Sprintf("it must have %s", b))
	}
}

// count puts a number before a word in the singular or plural.
func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// only returns the number that alone has a shape, if one has.
func only(s *shape.Shape) (limit float64, is bool) {
	if len(s.Bounds) != 2 || s.Bounds[0].Limit != s.Bounds[1].Limit {
		return 0, false
	}
	return s.Bounds[0].Limit, true
}

func (w *walker) number(n *node, s *shape.Shape, name string) {
	x, err := strconv.ParseFloat(n.scalar, 64)
	if err != nil {
		return
	}
	if s.Whole && !w.whole(n, s, name, x) {
		return
	}
	if limit, is := only(s); is && x != limit {
		w.fail(n.pos, "wrong-value", fmt.Sprintf("%s is %s", quoteName(name), n.scalar), "write "+strconv.FormatFloat(limit, 'g', -1, 64))
		return
	}
	for _, b := range s.Bounds {
		if !b.Holds(x) {
			hint := fmt.Sprintf("it must be %s", b)
			if x <= 0 && !b.Holds(0) && slices.Contains(s.Kinds, nullNode) {
				hint += ", or null" // who writes 0 or -1 often means none
			}
			w.fail(n.pos, "out-of-range", fmt.Sprintf("%s is %s", quoteName(name), n.scalar), hint)
		}
	}
}

// whole demands a number that a variable holds.
func (w *walker) whole(n *node, s *shape.Shape, name string, x float64) bool {
	if strings.ContainsAny(n.scalar, ".eE") {
		hint := "write it without a fraction"
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			hint = "write " + strconv.FormatFloat(x, 'f', -1, 64)
		}
		w.fail(n.pos, "wrong-type", fmt.Sprintf("%s must be a whole number, not %s", quoteName(name), n.scalar), hint)
		return false
	}
	if _, err := strconv.ParseInt(n.scalar, 10, 64); err != nil {
		hint := "write a number that can be meant"
		if slices.Contains(s.Kinds, nullNode) {
			hint += ", or null"
		}
		w.fail(n.pos, "out-of-range", fmt.Sprintf("%s is more than can be counted", quoteName(name)), hint)
		return false
	}
	return true
}

func quoteName(name string) string {
	switch {
	case name == "":
		return "the file"
	case strings.HasPrefix(name, "an item of "):
		return name
	}
	return "`" + name + "`"
}

func oneOf(kinds []nodeKind) string {
	var words []string
	for _, k := range kinds {
		if k != nullNode || len(kinds) == 1 {
			words = append(words, string(k))
		}
	}
	return strings.Join(words, " or ")
}

// writeInstead shows the corrected value if it can be derived.
func writeInstead(n *node, s *shape.Shape, name string) string {
	first := s.Kinds[0]
	switch {
	case len(s.Enum) > 0:
		return "write " + choice(s.Enum)
	case first == stringNode && (n.kind == numberNode || n.kind == boolNode):
		return fmt.Sprintf("write %q", cmp.Or(n.written, n.scalar))
	case n.kind == stringNode && s.Elem != nil && slices.Contains(commandLines, name):
		return "write " + commandLine(n)
	case first == listNode && (n.kind == stringNode || n.kind == numberNode):
		return fmt.Sprintf("write [%s]", clip(n.scalar))
	case first == numberNode && n.kind == stringNode:
		if text := strings.Trim(n.scalar, `"`); isNumber(text) {
			if whole := strings.TrimLeft(text, "0"); whole != text && isNumber(whole) && whole[0] != '.' {
				return "write " + whole // 08 is a text, too
			}
			return "write " + text + " without quotes"
		}
	case first == boolNode:
		return writeBool(n, s)
	}
	return "write " + oneOf(s.Kinds)
}

// commandLines are the lists that are a program and its arguments.
var commandLines = []string{"argv", "command", "script"}

// commandLine returns the list that a command line in one text means: its words, of which
// quotes keep several together.
func commandLine(n *node) string {
	text, err := strconv.Unquote(n.scalar)
	if err != nil {
		text = strings.Trim(n.scalar, `"`)
	}
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case quote == 0 && unicode.IsSpace(r):
			if inWord {
				words = append(words, strconv.Quote(word.String()))
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, strconv.Quote(word.String()))
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// writeBool returns the replacement for common spellings of true and false.
func writeBool(n *node, s *shape.Shape) string {
	switch strings.ToLower(n.scalar) {
	case `"true"`, `"false"`:
		return "write " + strings.ToLower(strings.Trim(n.scalar, `"`)) + " without quotes"
	case `"yes"`, `"on"`, `"y"`, "1":
		return "write true"
	case `"no"`, `"off"`, `"n"`, "0":
		return "write false"
	}
	return "write " + oneOf(s.Kinds)
}

// choice names the words that may be written.
func choice(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

func clip(s string) string {
	if utf8.RuneCountInString(s) <= 40 {
		return s
	}
	return string([]rune(s)[:39]) + "…"
}
