package setup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A Case describes a test to write.
type Case struct {
	Format string
	// Key is the path below the definitions folder without an extension.
	Key string
	// Input is the user's first message. The answer has to contain Contains.
	Input, Contains string
	// Outcome describes a good answer in words.
	Outcome string
	// Target is the target that the test names; empty for the default.
	Target string
	// Agent is the target for formats that require one.
	Agent string
	// Editor reports whether the schemas for editors exist.
	Editor bool
}

// levelKey matches the key of a test of the domain format.
var levelKey = lazyregexp.New(`^([^/]+)/level_[1-9][0-9]*/[^/]+$`)

// keyed matches a key that is a path of plain names.
var keyed = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$`)

// Mistake describes an error in the key or the format and its repair; empty for none.
func (c Case) Mistake() string {
	switch {
	case !keyed.MatchString(c.Key):
		return fmt.Sprintf("%q is not a name of a case; write a path without an extension, of letters from a to z, digits, _, - and ., such as refunds/window", c.Key)
	case c.Format == schema.DialectDomain && !levelKey.MatchString(c.Key):
		return fmt.Sprintf("a test of the domain format is in a level of a domain; write support/level_1/%s", path.Base(c.Key))
	case c.Format != schema.DialectDomain && levelKey.MatchString(c.Key):
		return fmt.Sprintf("%s is the place of a test of the domain format; write --format domain, or another name", c.Key)
	}
	return ""
}

// Files returns the definition and the files that it needs.
func (c Case) Files(definitions string) []File {
	c.Input = cmp.Or(c.Input, "How long do I have to return a helmet?")
	file := path.Join(definitions, c.Key)
	id := path.Base(c.Key)
	about := "a test of your agent"
	switch c.Format {
	case schema.DialectDomain:
		domain := path.Dir(path.Dir(c.Key))
		return []File{
			{path.Join(definitions, domain, "domain.json"), domainText(domain), "the domain that the test is in"},
			{file + ".json", c.testText(id), about},
		}
	case schema.DialectTestcase:
		return []File{{file + ".yaml", c.head(file) + c.testcaseText(id), about}}
	case schema.DialectPromptval:
		return []File{{file + ".yaml", c.head(file) + c.promptvalText(), about}}
	}
	return []File{{file + ".yaml", c.head(file) + c.evalcaseText(id), about}}
}

// head returns the modeline of a file.
func (c Case) head(file string) string {
	if !c.Editor {
		return ""
	}
	return modeline(c.Format, path.Dir(file)) + "\n"
}

// outcome describes a good answer, for formats that need it.
func (c Case) outcome() string {
	return cmp.Or(c.Outcome, "The answer is friendly and to the point.")
}

// check returns the line with the check of the answer.
func (c Case) check() string {
	if c.Contains == "" {
		return `regex: '\S' # any answer; write what yours must say: contains: 30 days`
	}
	return "contains: " + quoted(c.Contains)
}

func (c Case) evalcaseText(id string) string {
	target, outcome := "", ""
	if c.Outcome != "" {
		outcome = "    # What a good answer is, in words.\n    expected_outcome: " + quoted(c.Outcome) + "\n"
	}
	if c.Target != "" {
		target = "    execution: {target: " + quoted(c.Target) + "}\n"
	}
	return fmt.Sprintf(`# gavel run %s
evalcases:
  - id: %s
%s    input: %s
%s    # All of these must hold. They are cheap: no model is asked.
    checks:
      - %s
    # With a judge in gavel.yaml you can also write
    # expected_outcome: The answer names the deadline.
    # rubrics: [Names the deadline, Is polite]
`, c.Key, quoted(id), outcome, quoted(c.Input), target, c.check())
}

// mockCase returns a case that passes with the answer of the mock in gavel.yaml.
func mockCase(a Answers) []File {
	c := Case{
		Format: schema.DialectEvalcase, Key: "mock", Input: "How long do I have to return a helmet?", Contains: "30 days",
		Target: mockName, Editor: a.Editor,
	}
	files := c.Files(a.Definitions)
	files[0].About = "a test that passes without a network; delete it when you like"
	return files
}

func (c Case) testcaseText(id string) string {
	return fmt.Sprintf(`# gavel run %s
name: %s
# The simulator plays this user.
persona:
  type: customer
  description: A customer of the shop
  instructions: Ask until you have a clear answer, then say goodbye.
initial_message: %s
max_turns: 3
# What the judge must find at the end.
expected_outcomes:
  answered: %s
`, c.Key, quoted(id), quoted(c.Input), quoted(c.outcome()))
}

func (c Case) promptvalText() string {
	return fmt.Sprintf(`# gavel run %s
test_type: agent
# The target of gavel.yaml that is tested.
name: %s
user_input: %s
testing_prompt: %s
evaluation_type: numeric
threshold: 7
rubric:
  criteria:
    - name: helpful
      description: The answer helps the user on.
      weight: 1
`, c.Key, quoted(cmp.Or(c.Target, c.Agent)), quoted(c.Input), quoted(c.outcome()))
}

// ordered writes fields as a JSON object in the order given.
func ordered(fields ...[2]any) string {
	var b strings.Builder
	b.WriteString("{\n")
	for i, f := range fields {
		raw, err := json.Marshal(f[1])
		if err != nil {
			continue // texts and lists of texts can always be encoded
		}
		comma := ","
		if i == len(fields)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "  %q: %s%s\n", f[0], raw, comma)
	}
	b.WriteString("}\n")
	return b.String()
}

func domainText(domain string) string {
	return ordered([2]any{"id", domain}, [2]any{"name", domain}, [2]any{"evaluator_id", "keyword"})
}

// testText returns a test of the domain format whose answer has a keyword.
func (c Case) testText(id string) string {
	fields := [][2]any{{"id", strings.ReplaceAll(c.Key, "/", "_")}, {"name", id}, {"prompt", c.Input}}
	expected := map[string]any{"keywords": []string{cmp.Or(c.Contains, "help")}}
	if c.Contains == "" {
		expected = map[string]any{"keywords": []string{"help", "can", "you", "I"}, "match": "any"}
	}
	return ordered(append(fields, [2]any{"expected", expected})...)
}
