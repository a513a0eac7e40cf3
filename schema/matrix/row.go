package matrix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/template"
)

// A row is a test with one value for every variable.
type row struct {
	test *test
	// vars are the variables as a prompt has them, and resolved are those that assertions
	// and programs see, in which only names are replaced.
	vars, resolved template.Variables
	written        template.Variables // as the test has them; without its functions' values
	said           template.Variables // by which it is named
	name           string
	listed         string // the variables, for people
	need           string // an unsupported need of the row, apart from its test's
	// kept are the numbers of the rows whose answers it may have, by the names of these.
	kept map[string]int
}

// maxVariable bounds the text of a variable with others in it, in bytes. One that would be
// longer stays as it is written.
const maxVariable = 1 << 20

// maxNested bounds how often variables are filled into variables.
const maxNested = 5

// expand multiplies tests by the lists of texts in their variables, and fills
// variables into variables.
func (c *compiler) expand(tests []test) []row {
	var rows []row
	keeper := keepers{}
	c.makeVariations(tests)
	for i := range tests {
		t := &tests[i]
		c.vary(t)
		for _, vars := range c.values(t) {
			c.Budget.Spend(document.Rows, 1)
			c.Budget.Spend(document.Parts, len(vars))
			r := row{test: t, written: vars}
			r.kept = keeper.of(c, t)
			r.resolved, r.vars, r.need = c.nested(t, r.withKept(vars))
			if r.said = r.withoutKept(r.vars, vars); t.written != nil {
				r.said = t.said(vars)
			}
			if len(r.kept) > 0 && len(t.functions) > 0 {
				r.need = cmp.Or(r.need, "the output of another test for a variable in code (storeOutputAs)")
			}
			for _, value := range r.vars {
				c.Budget.Spend(document.Text, len(value))
			}
			if t.keeps != "" {
				keeper.add(t.keeps, len(rows))
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// values returns the variables of a test's rows, in the order of its lists that begin
// with a text.
func (c *compiler) values(t *test) []template.Variables {
	all := []template.Variables{t.vars}
	for _, name := range t.order {
		var items []json.RawMessage
		if raw := t.vars[name]; !t.expands || len(raw) == 0 || raw[0] != '[' || json.Unmarshal(t.vars[name], &items) != nil || len(items) == 0 {
			continue
		}
		if _, isText := document.ParseText(items[0]); !isText {
			continue
		}
		all = c.multiply(all, name, items)
	}
	return all
}

// multiply sets a variable to each of its values in turn.
func (c *compiler) multiply(all []template.Variables, name string, items []json.RawMessage) []template.Variables {
	c.Budget.Within(document.Rows, len(all)*len(items))
	var more []template.Variables
	for _, vars := range all {
		for _, item := range items {
			c.Budget.Spend(document.Parts, len(vars))
			one := maps.Clone(vars)
			one[name] = item
			more = append(more, one)
		}
	}
	return more
}

// nested fills variables into the texts of variables, which lose a trailing line break.
// Names alone are resolved for all that sees the variables; other templates are filled in
// for the prompt only, unless the text has a variable that the row lacks. The need is
// empty unless the row uses something that is not read.
func (c *compiler) nested(t *test, vars template.Variables) (resolved, filled template.Variables, need string) {
	resolved = maps.Clone(vars)
	for name, value := range resolved {
		if s, isText := document.ParseText(value); isText && strings.HasSuffix(s, "\n") {
			resolved[name], _ = json.Marshal(strings.TrimSuffix(s, "\n")) // a text
		}
	}
	names := t.names(resolved)
	for range maxNested {
		if !c.replaceNames(resolved, names) {
			break
		}
	}
	filled, changed := resolved, false
	for _, name := range names {
		s, isText := document.ParseText(resolved[name])
		if !isText || !strings.Contains(s, "{{") && !strings.Contains(s, "{%") && !strings.Contains(s, "{#") {
			continue
		}
		out, lacks := c.fillVariable(t, resolved, s)
		if need = cmp.Or(need, lacks); out == s {
			continue
		}
		if !changed {
			filled, changed = maps.Clone(filled), true
		}
		filled[name], _ = json.Marshal(out) // a text
	}
	return resolved, filled, need
}

// variable matches a variable without a filter or an operator.
var variable = lazyregexp.New(`\{\{\s*(\w+)\s*\}\}`)

// replaceNames replaces the first variable in each text that has one, in the order of the
// names. It reports whether any was replaced.
func (c *compiler) replaceNames(vars template.Variables, names []string) (replaced bool) {
	for _, name := range names {
		s, isText := document.ParseText(vars[name])
		if !isText {
			continue
		}
		at := variable.FindStringSubmatchIndex(s)
		if at == nil {
			continue
		}
		of := s[at[2]:at[3]]
		value, known := vars[of]
		if !known {
			continue
		}
		by, isText := document.ParseText(value)
		if string(value) == "null" {
			by = "null"
		} else if !isText {
			var err error
			if by, err = c.engine.Fill(vars, "{{"+of+"}}"); err != nil {
				continue // it is too long, and an error where it is used
			}
		}
		if len(s)+len(by)+strings.Count(by, "$")*len(s) > maxVariable {
			continue
		}
		vars[name], _ = json.Marshal(s[:at[0]] + expanded(by, s, at) + s[at[1]:]) // a text
		replaced = true
		c.Budget.Spend(document.Text, len(vars[name]))
	}
	return replaced
}

// expanded returns a replacement as JavaScript's replace takes it, which reads the signs
// $$, $&, $` and $' in it.
func expanded(by, s string, at []int) string {
	if !strings.Contains(by, "$") {
		return by
	}
	return strings.NewReplacer("$$", "$", "$&", s[at[0]:at[1]], "$`", s[:at[0]], "$'", s[at[1]:]).Replace(by)
}

// fillVariable fills in the text of a variable, and returns its need.
func (c *compiler) fillVariable(t *test, vars template.Variables, s string) (out, need string) {
	if isPartial(s) {
		return s, ""
	}
	for _, root := range usedIn(s) {
		if what := c.engine.Later[root]; what != "" {
			return s, what
		}
		if _, known := vars[root]; !known {
			return s, ""
		}
	}
	out, err := c.engine.Fill(vars, s)
	if err != nil {
		return s, c.misread(err, t.at)
	}
	return out, ""
}

var (
	partialTag  = lazyregexp.New(`(?m)(\{%[^%]*$|\{\{[^}]*$|\{#[^#]*$)`)
	rawTag      = lazyregexp.New(`\{%\s*raw\s*%\}`)
	endOfRaw    = lazyregexp.New(`\{%\s*endraw\s*%\}`)
	comment     = lazyregexp.New(`\{#[\s\S]*?#\}`)
	usedName    = lazyregexp.New(`\{\{\s*([^{}\s|]+)\s*(?:\|[^}]+)?\}\}|\{%\s*(?:if|for)\s+([^{}\s]+)\s*.*?%\}`)
	loopOver    = lazyregexp.New(`\{%\s*for\s+(\w+)\s+in\s+(\w+)\s*%\}`)
	rootOfNames = lazyregexp.New(`^[A-Za-z_]\w*`)
)

// isPartial reports whether the text of a variable has a tag that its line does not close,
// as code of other languages may have. promptfoo leaves it as it is.
func isPartial(s string) bool {
	return partialTag.MatchString(s) && !(rawTag.MatchString(s) && endOfRaw.MatchString(s))
}

// usedIn returns the variables that a text uses, as promptfoo finds them: those that are
// written alone or before a filter, and the ones that if and for name.
func usedIn(s string) []string {
	s = comment.ReplaceAllString(s, "")
	used := map[string]bool{}
	for _, m := range usedName.FindAllStringSubmatch(s, -1) {
		used[cmp.Or(m[1], m[2])] = true
	}
	for _, m := range loopOver.FindAllStringSubmatch(s, -1) {
		delete(used, m[1])
		used[m[2]] = true
	}
	var roots []string
	for name := range used {
		if root := rootOfNames.FindString(name); root != "" && root != "env" {
			roots = append(roots, root)
		}
	}
	slices.Sort(roots)
	return roots
}

// filled names the row in an error about a value with variables, since other rows may
// be right.
func (r row) filled(a written, err error) error {
	wrong, ok := errors.AsType[*template.MistakeError](err)
	if !ok || !strings.Contains(string(a.Value), "{{") && !strings.Contains(string(a.Value), "{%") {
		return err
	}
	return &template.MistakeError{Message: fmt.Sprintf("%s, for the test %s", wrong.Message, r.name), Hint: wrong.Hint}
}

// title returns the name for people: the description, or the first text among the
// variables.
func (r row) title() string {
	return cmp.Or(r.test.description, template.Clip(r.firstText()))
}

// mostListed bounds the list of a row's variables, and mostValue each of their values, in
// bytes.
const (
	mostListed = 200
	mostValue  = 80
)

// list returns the variables in one line, which may be shortened: the test's own first.
func (r row) list() string {
	var said strings.Builder
	for _, name := range r.test.ownFirst(r.test.names(r.resolved)) {
		if len(r.resolved[name]) == 0 {
			continue
		}
		value, isText := document.ParseText(r.resolved[name])
		if !isText {
			value = string(r.resolved[name])
		}
		value = clipped(schema.ShowKept(clipped(value, 4*mostValue)), mostValue)
		if said.Len() > 0 {
			said.WriteString(" · ")
		}
		said.WriteString(name + ": " + value)
		if said.Len() > mostListed {
			break
		}
	}
	return clipped(said.String(), mostListed)
}

// clipped returns a text on one line, shortened to a number of bytes.
func clipped(s string, most int) string {
	if len(s) <= most {
		return strings.Join(strings.Fields(s), " ")
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(s[:most], "")), " ") + "…"
}

// ownFirst moves the names that a test has from defaultTest behind its own.
func (t *test) ownFirst(names []string) []string {
	var own, inherited []string
	for _, name := range names {
		if from, known := t.inherited[name]; known && bytes.Equal(from, t.vars[name]) {
			inherited = append(inherited, name)
			continue
		}
		own = append(own, name)
	}
	return append(own, inherited...)
}

// names lists variables in the order of the file, then the others by their names.
func (t *test) names(vars template.Variables) []string {
	others := maps.Clone(vars)
	for _, name := range t.order {
		delete(others, name)
	}
	return slices.Concat(t.order, slices.Sorted(maps.Keys(others)))
}

func (r row) firstText() string {
	for _, name := range r.test.order {
		if s, ok := document.ParseText(r.said[name]); ok && strings.TrimSpace(s) != "" {
			return strings.Join(strings.Fields(s), " ")
		}
	}
	return ""
}

// content returns everything that distinguishes rows, variables first.
func (r row) content() string {
	raw, _ := json.Marshal(r.said) // of JSON values; keys are sorted
	return string(raw)
}

// name names every row by its content, never by its position: the description if it is
// unique in the file, else the first text with a hash of all variables. Rows with equal
// variables are distinguished by their assertions, and completely equal rows by a
// number.
func (c *compiler) name(rows []row) []row {
	names := map[string]int{}
	for i := range rows {
		c.Budget.Go()
		rows[i].name = slug(rows[i].test.description)
		names[rows[i].name]++
	}
	names[""] = 2
	c.rename(rows, names, func(r row) string {
		return strings.TrimPrefix(slug(cmp.Or(r.test.description, r.firstText()))+"-"+shortHash(r.content()), "-")
	})
	c.rename(rows, count(rows), func(r row) string {
		raw, _ := json.Marshal(r.test.asserts) // as they were read
		if r.test.given != nil {
			raw = append(raw, r.test.given.text...)
		}
		return r.name + "-" + shortHash(string(raw))
	})
	same := count(rows)
	seen := map[string]int{}
	for i := range rows {
		name := rows[i].name
		if seen[name]++; same[name] > 1 && seen[name] > 1 {
			rows[i].name += "-" + strconv.Itoa(seen[name])
		}
	}
	return rows
}

// rename renames the rows whose name is not unique.
func (c *compiler) rename(rows []row, names map[string]int, of func(row) string) {
	for i := range rows {
		c.Budget.Go()
		if names[rows[i].name] > 1 {
			rows[i].name = of(rows[i])
		}
	}
}

func count(rows []row) map[string]int {
	names := map[string]int{}
	for _, r := range rows {
		names[r.name]++
	}
	return names
}

// maxSlug bounds the readable part of a name.
const maxSlug = 48

// slug writes a text as part of a key: small letters and digits, with hyphens
// between.
func slug(s string) string {
	var out []rune
	for _, r := range strings.ToLower(s) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			out = append(out, r)
		case len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, '-')
		}
		if len(out) == maxSlug {
			break
		}
	}
	return strings.Trim(string(out), "-")
}

// otherTests is the role of files with tests of other rows. A change of one compiles
// the file again, and does not change the row.
const otherTests = "other tests"

// An inputKey distinguishes rows that are built from different files.
type inputKey struct{ test, prompt string }

// rowInputs returns the source files of a row's case, sorted. Rows with the same files
// share the list.
func (c *compiler) rowInputs(r row, p prompt) []schema.Input {
	key := inputKey{r.test.at.File, p.file}
	if known, ok := c.inputsOf[key]; ok && len(r.test.inputs) == 0 {
		return known
	}
	c.Budget.Spend(document.Parts, len(c.inputs)+len(r.test.inputs))
	all := append(slices.Clone(c.inputs), r.test.inputs...)
	for i, in := range c.inputs {
		if in.Role == "tests" && c.tables[in.File] && in.File != r.test.at.File && !slices.ContainsFunc(r.test.inputs, func(own schema.Input) bool { return own.File == in.File }) {
			all[i].Role = otherTests
		}
	}
	all = slices.DeleteFunc(all, func(in schema.Input) bool { return in.Role == "prompt" && in.File != p.file && !in.Absent })
	all = slices.Clip(sorted(all))
	if len(r.test.inputs) == 0 {
		c.inputsOf[key] = all
	}
	return all
}

// sorted sorts inputs by their files, each once: a file with tests of other rows counts
// by its other role in the row.
func sorted(all []schema.Input) []schema.Input {
	role := func(in schema.Input) string {
		if in.Role == otherTests {
			return "~" // behind all others
		}
		return in.Role
	}
	slices.SortFunc(all, func(a, b schema.Input) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(role(a), role(b))) })
	return slices.CompactFunc(all, func(a, b schema.Input) bool { return a.File == b.File })
}
