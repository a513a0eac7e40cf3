package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/template"
)

// RuleAsksNothing is the rule of the warning about tests that pass whatever the answer
// is.
const RuleAsksNothing = "asks-nothing"

// reportSilent warns about each file of tests without any demand: most often its
// assertions are in a place where nobody reads them. A single test with an empty list
// is named, too.
func (c *compiler) reportSilent(tests []test) {
	type count struct{ all, silent int }
	counts, first := map[string]*count{}, map[string]schema.Position{}
	var files []string
	for _, t := range tests {
		of := counts[t.at.File]
		if of == nil {
			of = &count{}
			counts[t.at.File], first[t.at.File] = of, t.at
			files = append(files, t.at.File)
		}
		of.all++
		if len(t.asserts) == 0 && t.need == "" {
			of.silent++
		}
	}
	for _, file := range files {
		of := counts[file]
		if of.silent < of.all {
			continue
		}
		what := fmt.Sprintf("none of the %d tests of the file asks anything of the answer", of.all)
		if of.all == 1 {
			what = "the test asks nothing of the answer"
		}
		hint := "add assert: to the tests, or to defaultTest"
		if strings.HasSuffix(file, ".csv") {
			hint = "name the column of the assertions __expected"
		}
		c.Problems = append(c.Problems, schema.Problem{Position: first[file], Severity: schema.Warning, Rule: RuleAsksNothing, Message: what + ", so that it passes whatever that is", Hint: hint})
	}
	for _, t := range tests {
		if of := counts[t.at.File]; t.emptied.Line > 0 && len(t.asserts) == 0 && of.silent < of.all {
			c.Problems = append(c.Problems, schema.Problem{Position: t.emptied, Severity: schema.Warning, Rule: RuleAsksNothing, Message: "`assert` is empty, so that the test passes whatever is answered", Hint: "write what the answer has to have"})
		}
	}
}

// countMissing counts the variables that the prompt of a row used and the row lacks.
func (c *compiler) countMissing(p prompt) {
	if c.missing == nil {
		c.missing, c.sent = map[string]map[string]int{}, map[string]int{}
	}
	key := p.key()
	c.sent[key]++
	for name := range c.engine.Missing() {
		if c.missing[key] == nil {
			c.missing[key] = map[string]int{}
		}
		c.missing[key][name]++
	}
}

// A lack is an assertion whose template used variables that rows lack.
type lack struct {
	written written
	asks    string // a judge's prompt
	names   map[string]bool
}

// noteLacking notes the variables that an assertion of a row used and the row lacks.
func (c *compiler) noteLacking(a written, t *test) {
	missing := c.engine.Missing()
	if len(missing) == 0 {
		return
	}
	if c.lacking == nil {
		c.lacking = map[schema.Position]*lack{}
	}
	of := c.lacking[a.valueAt]
	if of == nil {
		of = &lack{a, cmp.Or(a.rubricPrompt, t.rubricPrompt), map[string]bool{}}
		c.lacking[a.valueAt] = of
	}
	maps.Copy(of.names, missing)
}

// reportLacking warns about variables of assertions that no row has, since the assertion
// asks for less than is written.
func (c *compiler) reportLacking(rows []row) {
	known := map[string]bool{}
	for _, r := range rows {
		for name := range r.vars {
			known[name] = true
		}
	}
	for at, of := range c.lacking {
		for _, name := range slices.Sorted(maps.Keys(of.names)) {
			c.Budget.Go()
			if known[name] || (prompt{text: template.Written(of.written.Value) + "\n" + of.asks}).shows(name) == "" {
				continue
			}
			hint := cmp.Or(suggest.DidYouMean(name, slices.Sorted(maps.Keys(known))), "add it to the vars of the tests, or remove it from the assertion")
			if name == "prompt" {
				hint = "promptfoo does not have it here either; write type: javascript with context.prompt"
			}
			c.Problems = append(c.Problems, schema.Problem{Position: at, Severity: schema.Warning, Rule: "unknown-variable", Message: fmt.Sprintf("the assertion %s has the variable %s, which no test has; it is filled in empty", of.written.Type, name), Hint: hint})
		}
	}
}

// key identifies a prompt among the file's.
func (p prompt) key() string { return p.id + "\x00" + p.at.String() }

// reportMissing warns about variables of prompts that no row has: the model would get a
// gap.
func (c *compiler) reportMissing(rows []row) {
	known := map[string]bool{}
	for _, r := range rows {
		for name := range r.vars {
			known[name] = true
		}
	}
	for _, p := range c.prompts {
		for _, name := range slices.Sorted(maps.Keys(c.missing[p.key()])) {
			c.Budget.Go()
			shown := p.shows(name)
			if shown != "" && known[name] {
				c.reportMisspelt(rows, p, name)
			}
			if shown == "" || c.missing[p.key()][name] < c.sent[p.key()] {
				continue
			}
			hint := cmp.Or(suggest.DidYouMean(name, slices.Collect(maps.Keys(known))), "add it to the vars of the tests, or remove it from the prompt")
			c.Problems = append(c.Problems, schema.Problem{Position: c.locate(p.at, shown), Severity: schema.Warning, Rule: "unknown-variable", Message: fmt.Sprintf("the prompt has the variable %s, which no test has; it is sent empty", name), Hint: hint})
		}
	}
}

// reportMisspelt warns about tests that lack a variable of a prompt, which other tests
// have, and have one with a similar name.
func (c *compiler) reportMisspelt(rows []row, p prompt, name string) {
	for _, r := range rows {
		if _, has := r.vars[name]; has {
			continue
		}
		for _, own := range slices.Sorted(maps.Keys(r.vars)) {
			c.Budget.Go()
			if suggest.Nearest(own, []string{name}) == "" || p.shows(own) != "" {
				continue
			}
			found := schema.Problem{
				Position: r.test.at, Severity: schema.Warning, Rule: "unknown-variable",
				Message: fmt.Sprintf("the test %s has the variable %s, and the prompt needs %s, which is sent empty", cmp.Or(template.Clip(r.test.description), r.name), own, name), Hint: suggest.Question(name),
			}
			if !slices.Contains(c.Problems, found) {
				c.Problems = append(c.Problems, found)
			}
		}
	}
}

// shows returns how a template outputs a variable; empty if it only tests one that may
// be missing.
func (p prompt) shows(name string) string {
	text, quoted := p.template(), regexp.QuoteMeta(name)
	if optional := regexp.MustCompile(`\{%[^%]*\b` + quoted + `\b|\b` + quoted + `\s*\|\s*(?:default|d)\b|\b` + quoted + `\s+(?:or|is)\b`); optional.MatchString(text) {
		return ""
	}
	return regexp.MustCompile(`\{\{-?\s*` + quoted + `\b`).FindString(text)
}
