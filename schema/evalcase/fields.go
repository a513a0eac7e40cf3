package evalcase

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// maxPattern bounds a pattern, whose compiled form grows with it.
const maxPattern = 4096

// fieldFile is the content of a field's definition.
type fieldFile struct {
	Path      string   `json:"path"`
	Match     string   `json:"match"`
	Required  bool     `json:"required"`
	Weight    *float64 `json:"weight"`
	Tolerance float64  `json:"tolerance"`
	Relative  bool     `json:"relative"`
	Formats   []string `json:"formats"`
}

// fields reads the compared fields of the answer, and takes their expected values from
// the expected answer.
func (c *compiler) fields(p document.Place, threshold float64) (schema.Spec, schema.Rule) {
	var spec evaluator.FieldAccuracy
	rule := schema.Rule{Threshold: threshold}
	if how := p.Text("aggregation"); how != "weighted_average" {
		rule.Aggregate = schema.Aggregate(how)
	}
	if c.answer.isBroken {
		return spec, rule // missing fields in it would only be consequences
	}
	switch text := strings.TrimSpace(c.answer.reference); {
	case c.answer.value == nil && (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")):
		c.fail(c.answer.from.Problem("wrong-value", "the expected answer begins as JSON and is none, so that no field can be compared with it", "correct it, or write it as an object"))
	case c.answer.value == nil:
		c.warn(c.tc.Problem("no-check", "the case has no expected answer that is JSON, so field_accuracy only looks whether the fields are there", "write the expected object as `expected_output`", "expected_output"))
	}
	seen, sum := map[string]bool{}, 0.0
	for _, item := range p.List("fields") {
		// In AgentV's own form a field is required unless it says otherwise.
		f := fieldFile{Match: "exact", Required: c.isTests}
		if err := item.Decode(&f); err != nil {
			c.fail(item.Problem("decode", err.Error(), ""))
			continue
		}
		if seen[f.Path] {
			c.fail(item.Problem("duplicate-id", fmt.Sprintf("the field %q is compared twice", f.Path), "remove one of them", "path"))
		}
		seen[f.Path] = true
		spec.Fields = append(spec.Fields, c.field(item, f))
		weight := 1.0
		if f.Weight != nil {
			weight = *f.Weight
			rule.Weights = putNumber(rule.Weights, f.Path, weight)
		}
		sum += weight
		if f.Required && !c.isTests { // where a field that is wrong costs its share
			rule.Required = append(rule.Required, f.Path)
		}
	}
	if sum == 0 {
		c.weightless(p.Sub("fields"), "fields", &rule)
	}
	return spec, rule
}

func (c *compiler) field(item document.Place, f fieldFile) evaluator.Field {
	out := evaluator.Field{Path: f.Path, Match: f.Match, Required: f.Required}
	way, ok := evaluator.ParsePath(f.Path)
	if !ok {
		c.fail(item.Problem("wrong-value", fmt.Sprintf("the path %q leads nowhere", f.Path), "write it as name.list[0].name", "path"))
		return out
	}
	out.Expected = way.Find(c.answer.value)
	if out.Expected == nil { // it only has to be there
		if near := way.Nearest(c.answer.value); near != "" {
			c.fail(item.Problem("unknown-field", fmt.Sprintf("the expected answer has no value at %s", f.Path), suggest.Question(near), "path"))
			return out
		}
		if out.Unexpected = c.isTests && c.answer.value != nil; out.Unexpected {
			c.warn(item.Problem("no-check", fmt.Sprintf("the expected answer has no value at %s, so that the field counts as right", f.Path), "add the value, or remove the field", "path"))
		}
		if c.answer.value != nil && item.Has("match") && !c.isTests {
			c.warn(item.Problem("ignored", fmt.Sprintf("`match` is ignored, since the expected answer has no value at %s", f.Path), "add the value, or remove `match`", "match"))
		}
		out.Match = ""
		return out
	}
	c.unused(item, f)
	switch f.Match {
	case "contains", "regex":
		c.text(f, out.Expected)
	case "numeric_tolerance":
		out.Tolerance, out.Relative = f.Tolerance, f.Relative
		if _, err := strconv.ParseFloat(strings.Trim(string(out.Expected), `"`), 64); err != nil {
			c.fail(c.answer.from.Problem("wrong-type", fmt.Sprintf("the expected value at %s is not a number", f.Path), "write a number, or compare it by exact"))
		}
	case "date":
		c.text(f, out.Expected)
		out.Formats = f.Formats
	}
	return out
}

// unused warns about settings of a comparison that its match ignores.
func (c *compiler) unused(item document.Place, f fieldFile) {
	owners := map[string]string{"tolerance": "numeric_tolerance", "relative": "numeric_tolerance", "formats": "date"}
	for _, key := range []string{"tolerance", "relative", "formats"} {
		if item.Has(key) && f.Match != owners[key] {
			c.warn(item.Problem("ignored", fmt.Sprintf("`%s` means nothing to %s", key, f.Match), fmt.Sprintf("write match: %s, or remove it", owners[key]), key))
		}
	}
}

// text checks a field that is compared as a text.
func (c *compiler) text(f fieldFile, expected json.RawMessage) {
	var text string
	if string(expected) == "null" || json.Unmarshal(expected, &text) != nil {
		c.fail(c.answer.from.Problem("wrong-type", fmt.Sprintf("the expected value at %s must be a string for %s", f.Path, f.Match), "write a string, or compare it by exact"))
		return
	}
	if text == "" && f.Match != "date" {
		c.fail(c.answer.from.Problem("wrong-value", fmt.Sprintf("the expected value at %s is empty, and every answer has that", f.Path), "write the text to look for, or compare it by exact"))
		return
	}
	if f.Match != "regex" {
		return
	}
	if len(text) > maxPattern {
		c.fail(c.answer.from.Problem("regex", fmt.Sprintf("the pattern at %s has %d bytes", f.Path, len(text)), fmt.Sprintf("it may have %d", maxPattern)))
		return
	}
	if _, err := regexp.Compile(text); err != nil {
		c.fail(c.answer.from.Problem("regex", fmt.Sprintf("the pattern at %s does not compile: %v", f.Path, err), "write an RE2 pattern"))
	}
}
