package matrix

import (
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
	vars template.Variables
	said template.Variables // by which it is named
	name string
	need string // an unsupported need of the row, apart from its test's
}

// maxNested bounds how often variables are filled into variables.
const maxNested = 5

// expand multiplies tests by the lists of texts in their variables, and fills
// variables into variables.
func (c *compiler) expand(tests []test) []row {
	var rows []row
	for i := range tests {
		t := &tests[i]
		c.vary(t)
		for _, vars := range c.values(t) {
			c.Budget.Spend(document.Rows, 1)
			c.Budget.Spend(document.Parts, len(vars))
			r := row{test: t}
			r.vars, r.need = c.nested(vars)
			if r.said = r.vars; t.written != nil {
				r.said = t.said(vars)
			}
			for _, value := range r.vars {
				c.Budget.Spend(document.Text, len(value))
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// values returns the variables of a test's rows, in the order of its lists.
func (c *compiler) values(t *test) []template.Variables {
	all := []template.Variables{t.vars}
	for _, name := range t.order {
		var items []json.RawMessage
		if raw := t.vars[name]; !t.expands || len(raw) == 0 || raw[0] != '[' || json.Unmarshal(t.vars[name], &items) != nil || len(items) == 0 ||
			slices.ContainsFunc(items, func(item json.RawMessage) bool { _, isText := document.ParseText(item); return !isText }) {
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
// A text with a variable that the row lacks stays as it is written. The need is empty
// unless the row uses the environment.
func (c *compiler) nested(vars template.Variables) (_ template.Variables, need string) {
	vars = maps.Clone(vars)
	for name, value := range vars {
		if s, isText := document.ParseText(value); isText && strings.HasSuffix(s, "\n") {
			vars[name], _ = json.Marshal(strings.TrimSuffix(s, "\n")) // a text
		}
	}
	for range maxNested {
		changed := false
		var filled template.Variables // a copy, once there is something to fill in
		for name, value := range vars {
			s, isText := document.ParseText(value)
			if !isText || !strings.Contains(s, "{{") {
				continue
			}
			if filled == nil {
				filled = maps.Clone(vars)
			}
			written := s
			s = withNulls(s, vars)
			out, known, err := c.engine.FillKnown(vars, s)
			var env template.EnvironmentError
			var later *template.NeedError
			switch {
			case errors.As(err, &env):
				need = env.Error()
			case errors.As(err, &later):
				need = later.Error()
			case err == nil && known && out != written:
				filled[name], _ = json.Marshal(out) // a text
				changed = true
			}
		}
		if !changed {
			break
		}
		vars = filled
	}
	return vars, need
}

// variable matches a variable without a filter or an operator.
var variable = lazyregexp.New(`\{\{\s*(\w+)\s*\}\}`)

// withNulls writes null in place of the variables of that value.
func withNulls(s string, vars template.Variables) string {
	return variable.ReplaceAllStringFunc(s, func(written string) string {
		if name := strings.Trim(written, "{} \t\r\n\f\v"); string(vars[name]) == "null" {
			return "null"
		}
		return written
	})
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
