// Package promptval reads the promptval dialect: a file is one configuration, which
// runs one named agent or workflow and scores its output.
//
// Most callers want [Load].
package promptval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
)

const (
	// defaultTimeout bounds a sample if neither the target nor gavel.yaml does.
	defaultTimeout = 120 * time.Second
	// maxToolRounds ends the tool loop of a model.
	maxToolRounds = 16
	// maxSamples bounds all samples of one case: inputs, iterations and attempts
	// multiply, and all samples are kept until the case is decided.
	maxSamples = 10_000
)

// The kinds of judgement that evaluation_type names.
const (
	numeric  = "numeric"
	semantic = "default"
)

// Load compiles the configuration of a file. A file with errors
// compiles to none.
func Load(src document.Source, doc *document.Document) ([]*schema.Case, []schema.Problem) {
	return src.Bounded(doc, func(src document.Source) ([]*schema.Case, []schema.Problem) { return load(src, doc) })
}

func load(src document.Source, doc *document.Document) ([]*schema.Case, []schema.Problem) {
	if doc.IsList() {
		// A key must not depend on a position in a list.
		if n := doc.Items(); n != 1 {
			return nil, []schema.Problem{doc.Problem("several-configurations",
				fmt.Sprintf("the file holds %d configurations; it may hold one", n), "write each into a file of its own", 1)}
		}
		doc = doc.Part(0)
	}
	c := &compiler{Source: src, Complaints: document.Complaints{Doc: doc, Problems: doc.Check("#Promptval", schema.Error)}}
	if doc.IsObject() {
		c.names()
	}
	if known := c.Problems; schema.HasErrors(known) {
		if name := doc.Text(c.name); name != "" {
			c.target(name)
		}
		return nil, schema.SortProblems(append(known, schema.LeadingNowhere(c.Problems)...))
	}
	tc := c.build()
	c.Problems = schema.SortProblems(c.Problems)
	if schema.HasErrors(c.Problems) {
		return nil, c.Problems
	}
	return []*schema.Case{tc}, c.Problems
}

// A compiler compiles a configuration to a case.
type compiler struct {
	document.Source
	document.Complaints
	// kind, name and input are the fields that name the tested target, in one of two
	// forms.
	kind, name, input string
}

// names finds out which form of each required field is written.
func (c *compiler) names() {
	keys, known := c.Doc.Keys(), c.Doc.Fields("#Promptval")
	strange := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(known, k) })
	pick := func(field, later string) string {
		switch hasLater := slices.Contains(keys, later); {
		case slices.Contains(keys, field) && hasLater:
			c.Fail("both-forms", fmt.Sprintf("`%s` says the same as `%s`", later, field), "remove one of them", later)
		case hasLater:
			return later
		case !slices.Contains(keys, field) && !slices.ContainsFunc(strange, func(k string) bool { return suggest.Nearest(k, []string{field}) != "" }):
			c.Fail("missing-field", fmt.Sprintf("the field `%s` is missing", field), fmt.Sprintf(`add "%s": …`, field))
		}
		return field
	}
	c.kind, c.name, c.input = pick("test_type", "type"), pick("name", "id"), pick("user_input", "input")
}

// field reads a field that passed the check; nil if it is absent or null.
func field[T any](c *compiler, path ...any) *T {
	if !c.Doc.Has(path...) {
		return nil
	}
	var v T
	if err := json.Unmarshal(c.Doc.JSON(path...), &v); err != nil {
		c.Fail("decode", err.Error(), "write another value", path...)
		return nil
	}
	return &v
}

// orElse returns a field, or the fallback if the field is absent.
func orElse[T any](v *T, fallback T) T {
	if v == nil {
		return fallback
	}
	return *v
}

func (c *compiler) build() *schema.Case {
	name := c.Doc.Text(c.name)
	tc := &schema.Case{
		CaseInfo: schema.CaseInfo{
			Key: c.Key(c.Doc.File, ""), Dialect: schema.DialectPromptval, Origin: c.Doc.At(),
			Labels: schema.Labels{Name: name}, Weight: 1,
			Inputs: []schema.Input{{File: c.Doc.File, Role: "definition"}},
		},
		Drive: c.drive(),
	}
	target, known := c.target(name)
	tc.Target = target
	tc.Evaluators = c.evaluators()
	tc.Alternative = c.alternative(tc.Evaluators)
	tc.Policy = c.policy(c.Settings.Targets[target])
	if known {
		c.checkPrompt(target, tc)
	}
	c.checkRetry(tc)
	c.checkSamples(tc)
	return tc
}

// Ungated returns the evaluators of a case without an analysis, expected_tools and
// checks: it passes, and reports mention that nothing was demanded.
func Ungated() []schema.Evaluator {
	spec := evaluator.ToolCounts{}
	return []schema.Evaluator{{Name: spec.Kind(), Weight: 1, Spec: spec, Rule: schema.Rule{Ungated: true}}}
}

// target finds the tested target. known means that its settings are known.
func (c *compiler) target(name string) (target string, known bool) {
	target, known, problem := c.Settings.FindTarget(name)
	if problem != nil {
		problem.Position = cmp.Or(problem.Position, c.Doc.At(c.name))
		c.Problems = append(c.Problems, *problem)
		return "", false
	}
	target = cmp.Or(c.Settings.Against, target)
	// A model may be anything: its prompt decides.
	want, is := c.Doc.Text(c.kind), c.Settings.Targets[target].Kind
	if known && is != "" && is != "model" && is != want {
		c.Fail("wrong-kind", fmt.Sprintf("%s is of the kind %s, and %s is %s", target, is, c.kind, want),
			fmt.Sprintf("write %q, or kind: %s for the target in gavel.yaml", is, want), c.kind)
	}
	return target, known
}

// drive returns the openings of the conversations. A list of one input is the
// same as the input.
func (c *compiler) drive() schema.Drive {
	if c.Doc.IsObject(c.input) {
		if c.Doc.Text(c.kind) != "custom_workflow" {
			c.Fail("wrong-type", "`"+c.input+"` may be an object for a custom_workflow only", "write a string or a list of strings", c.input)
		}
		return schema.Drive{Messages: opening(string(c.Doc.JSON(c.input)))}
	}
	n := c.Doc.Items(c.input)
	c.Budget.Spend(document.Tests, n)
	switch n {
	case 0:
		return schema.Drive{Messages: opening(c.Doc.Text(c.input))}
	case 1:
		return schema.Drive{Messages: opening(c.Doc.Text(c.input, 0))}
	}
	openings := make([][]schema.Message, n)
	for i := range openings {
		openings[i] = opening(c.Doc.Text(c.input, i))
	}
	return schema.Drive{Openings: openings}
}

func opening(text string) []schema.Message {
	return []schema.Message{{Role: schema.RoleUser, Content: text}}
}
