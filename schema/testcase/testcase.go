// Package testcase reads the testcase dialect: a model plays a user against
// the agent, and a judge scores the conversation.
//
// Most callers want [Load]. A file holds one case, a list of them, or an
// envelope {"test_cases": [...]}; a case with errors costs the others nothing.
package testcase

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// envelope is the field that holds the cases of a file with several.
const envelope = "test_cases"

// Tags are those that the format knows from the start. A case may have any others.
func Tags() []string { return []string{"normal", "red-team", "edge-case"} }

var uuid = lazyregexp.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Load compiles the cases of a file, in the order of the file. Cases with
// errors are left out; every problem has its place.
func Load(src document.Source, doc *document.Document) ([]*schema.Case, []schema.Problem) {
	return src.Bounded(doc, func(src document.Source) ([]*schema.Case, []schema.Problem) { return load(src, doc) })
}

func load(src document.Source, doc *document.Document) ([]*schema.Case, []schema.Problem) {
	l := loader{Source: src, file: doc.File, keys: map[string]schema.Position{}}
	switch {
	case doc.IsList():
		if doc.Items() == 0 {
			l.problems = append(l.problems, doc.Problem("out-of-range", "the list has no test case", "add one or remove the file"))
		}
		l.items(doc)
	case slices.Contains(doc.Keys(), envelope):
		l.problems = doc.Check("#TestcaseFile", schema.Error)
		l.items(doc, envelope)
	default:
		l.single(doc)
	}
	return l.cases, schema.SortProblems(l.problems)
}

// A loader collects the cases of one file.
type loader struct {
	document.Source
	file string
	// keys has the positions of the cases that were found so far.
	keys     map[string]schema.Position
	cases    []*schema.Case
	problems []schema.Problem
}

// single compiles a file that is one case. It belongs to the suite of its
// folder, since it has nothing else in common with other cases.
func (l *loader) single(doc *document.Document) {
	c := l.read(doc)
	if c == nil {
		return
	}
	key := l.Key(l.file, "")
	suite := path.Dir(key)
	if suite == "." {
		suite = ""
	}
	l.add(c, key, suite)
	l.problems = append(l.problems, c.Problems...)
}

// items compiles every item of the list at the path.
func (l *loader) items(doc *document.Document, at ...any) {
	suite := l.Key(l.file, "")
	l.Budget.Spend(document.Tests, doc.Items(at...))
	for i := range doc.Items(at...) {
		l.Budget.Go()
		item := doc.Part(append(slices.Clone(at), i)...)
		if !item.IsObject() {
			// The check of an envelope has reported it.
			if len(at) == 0 {
				l.problems = append(l.problems, item.Problem("wrong-type", "an item of the list is not a test case", `write an object with a "name"`))
			}
			continue
		}
		c := l.read(item)
		if c == nil {
			continue
		}
		if local, ok := c.local(); ok && l.first(c, local) {
			l.add(c, l.Key(l.file, local), suite)
		}
		l.problems = append(l.problems, c.Problems...)
	}
}

// read checks and decodes one case. nil means that it has errors.
func (l *loader) read(doc *document.Document) *compiler {
	c := &compiler{Source: l.Source, Complaints: document.Complaints{Doc: doc, Problems: doc.Check("#Testcase", schema.Error)}}
	if !schema.HasErrors(c.Problems) {
		if err := doc.Decode(&c.test); err != nil {
			c.Fail("decode", err.Error(), "see the schema of the dialect")
		}
	}
	if schema.HasErrors(c.Problems) {
		l.problems = append(l.problems, c.Problems...)
		return nil
	}
	return c
}

// add compiles a case that has a name of its own.
func (l *loader) add(c *compiler, key, suite string) {
	tc := c.build(key)
	if suite != "" {
		tc.Labels.Groups = []string{suite}
	}
	if !schema.HasErrors(c.Problems) {
		l.cases = append(l.cases, tc)
	}
}

// first refuses a second case of the same name: which of the two is meant by
// it would hang on their order.
func (l *loader) first(c *compiler, local string) bool {
	at := c.named()
	first, taken := l.keys[local]
	if taken {
		c.Problems = append(c.Problems, schema.Problem{
			Position: at, Severity: schema.Error, Rule: "duplicate-id", Message: fmt.Sprintf("two cases of the file are called %q", local),
			Hint: fmt.Sprintf("the other is in line %d; give one of them another name, or a uuid as its id", first.Line),
		})
		return false
	}
	l.keys[local] = at
	return true
}

// local identifies a case in its file: its uuid, else its name.
func (c *compiler) local() (string, bool) {
	if id := c.identity(); id != "" {
		return id, true
	}
	if s := slug(c.test.Name); s != "" {
		return s, true
	}
	c.Fail("unnamed", "the name has no letter or digit by which the case can be found", "add some, or a uuid as the id", "name")
	return "", false
}

// named is the position of the name that the case has among others.
func (c *compiler) named() schema.Position {
	if c.identity() != "" {
		return c.Doc.At("id")
	}
	return c.Doc.At("name")
}

// identity is the uuid that an export of the case carries, if any.
func (c *compiler) identity() string {
	if !uuid.MatchString(c.test.ID) {
		return ""
	}
	return strings.ToLower(c.test.ID)
}

// slug makes a name that can be typed from a name for people: letters and digits in
// lower case, with a hyphen for everything between them. Marks stay, since in many
// scripts they are part of the letters; invisible characters are removed, and all
// encodings of an accent are equal.
func slug(name string) string {
	var words strings.Builder
	gap := false
	for _, r := range strings.ToLower(norm.NFC.String(name)) {
		if unicode.Is(unicode.Cf, r) {
			continue
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			gap = true
			continue
		}
		if gap && words.Len() > 0 {
			words.WriteByte('-')
		}
		gap = false
		words.WriteRune(r)
	}
	return words.String()
}
