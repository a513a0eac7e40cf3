package domain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// defaultThreshold is the share of keywords, or the score of a configured
// evaluator, that passes.
const defaultThreshold = 0.7

// evaluators compiles the evaluator of the test. A reason to skip means that it does
// not exist here.
func (c *compiler) evaluators() ([]schema.Evaluator, string) {
	id := cmp.Or(c.test.EvaluatorID, c.domain.EvaluatorID)
	switch {
	case c.domain.noEvaluator && c.test.EvaluatorID == "":
		c.Fail("domain-invalid", c.domain.file+" is invalid", "fix it first; this test depends on it")
		return nil, ""
	case id == "":
		c.Fail("missing-evaluator", "neither the test nor its domain names an evaluator", `add "evaluator_id": "keyword" or another`)
		return nil, ""
	case !c.hasEvaluator(id):
		c.Problems = append(c.Problems, c.unknownEvaluator(c.Doc, id))
		return nil, ""
	}
	e := c.evaluator(id)
	if e.broken {
		c.Fail("evaluator-invalid", e.file+" is invalid", "fix it first; this test is judged by it", "evaluator_id")
		return nil, ""
	}
	if e.file != "" {
		c.input(e.file, "evaluator")
	}
	kind := c.kind(e)
	if kind == "" {
		reason := fmt.Sprintf("evaluator not available: %s has neither a prompt nor a regex", id)
		c.Warn("evaluator-not-available", reason, "give it an eval_prompt or an extraction_regex", "evaluator_id")
		return nil, reason
	}
	spec, rule := c.spec(kind, e)
	if spec == nil {
		return nil, ""
	}
	return []schema.Evaluator{{Name: id, File: e.file, Weight: 1, Spec: spec, Rule: rule}}, ""
}

// evaluator returns the file of an evaluator, or a substitute for a built-in one.
func (t *tree) evaluator(id string) *evaluatorFile {
	if e := t.evaluators[id]; e != nil {
		return e
	}
	return &evaluatorFile{ID: id, Type: "predefined"}
}

// kind returns how a configured evaluator measures: by a built-in, or by the fields of
// its file.
func (c *compiler) kind(e *evaluatorFile) string {
	switch {
	case slices.Contains(builtins, e.ID):
		return e.ID
	case e.Prompt != "":
		return "prompt"
	case e.Regex != "" || e.Config.AsPattern:
		return "regex"
	case e.ID == icdCodes:
		return icdCodes
	}
	return ""
}

func (c *compiler) spec(kind string, e *evaluatorFile) (schema.Spec, schema.Rule) {
	threshold := defaultThreshold
	if t, ok := c.Settings.Thresholds[schema.DialectDomain]; ok {
		threshold = t
	}
	if e.Config.Threshold != nil {
		threshold = *e.Config.Threshold
	}
	whole := schema.Rule{Threshold: 1}
	switch kind {
	case "keyword":
		return c.keyword(e, threshold)
	case "two_pass":
		return c.twoPass(e), whole
	case "sql_executor":
		return c.sql(e), whole
	case "tool_call":
		return c.toolCalls(), whole
	case icdCodes:
		return c.icdCodes(e)
	case "regex":
		return c.regex(e), schema.Rule{Threshold: threshold}
	}
	return c.prompt(e), schema.Rule{Threshold: threshold}
}

// expected checks and decodes the expected object. false means that there are
// problems.
func (c *compiler) expected(def string, into any) bool {
	if !c.Doc.Has("expected") {
		c.Fail("missing-field", "the field `expected` is missing", "the evaluator needs it")
		return false
	}
	found := c.Doc.CheckPart(def, schema.Warning, "expected")
	for i := range found {
		if def == "#TwoPassExpected" && found[i].Rule == "missing-field" {
			found[i].Hint = c.orAnother("two_pass", found[i].Hint)
		}
		if hint := asObject(def, c.Doc.JSON("expected")); hint != "" {
			found[i].Hint = hint
		}
	}
	c.Problems = append(c.Problems, found...)
	if schema.HasErrors(found) {
		return false
	}
	if err := json.Unmarshal(c.Doc.JSON("expected"), into); err != nil {
		c.Fail("decode", "expected: "+err.Error(), "", "expected")
		return false
	}
	return true
}

// asObject returns a hint that writes an expected value, which is not an object, as the
// object of its evaluator; empty for an object.
func asObject(def string, value json.RawMessage) string {
	var text string
	var list []string
	var number json.Number
	switch {
	case json.Unmarshal(value, &text) == nil && string(value) != "null":
		list = []string{text}
	case json.Unmarshal(value, &number) == nil && number != "":
		text, list = number.String(), []string{number.String()}
	case json.Unmarshal(value, &list) == nil && len(list) > 0:
	default:
		return ""
	}
	field := map[string]string{"#TwoPassExpected": "answer", "#SQLExpected": "query_type", "#KeywordExpected": "keywords", "#ToolCallExpected": "tools"}[def]
	isList := field == "keywords" || field == "tools"
	if field == "" || !isList && len(list) > 1 {
		return ""
	}
	for i := range list {
		list[i] = strconv.Quote(list[i])
	}
	written := strings.Join(list, ", ")
	if isList {
		written = "[" + written + "]"
	}
	if len(written) > 300 {
		return ""
	}
	return fmt.Sprintf("write {%q: %s}", field, written)
}

// marks are the fields that only built-in evaluators expect.
var marks = map[string][]string{
	"keyword": {"keywords", "forbidden"}, "two_pass": {"answer"}, "tool_call": {"tools", "tool", "chain"},
	"sql_executor": {"query_type", "expected_columns", "required_columns", "min_rows", "max_rows"},
}

// orAnother adds to a hint that the expected value belongs to another evaluator than
// the test's.
func (c *compiler) orAnother(evaluator, hint string) string {
	for _, other := range slices.Sorted(maps.Keys(marks)) {
		for _, field := range marks[other] {
			if other != evaluator && c.Doc.Has("expected", field) {
				return fmt.Sprintf("%s, or write %q into evaluator_id, which looks at `%s`", hint, other, field)
			}
		}
	}
	return hint
}

func (c *compiler) keyword(e *evaluatorFile, threshold float64) (schema.Spec, schema.Rule) {
	var x struct {
		Keywords, Forbidden []string
		Match               json.RawMessage
	}
	if !c.expected("#KeywordExpected", &x) {
		return nil, schema.Rule{}
	}
	if len(x.Keywords)+len(x.Forbidden) == 0 {
		c.Fail("no-check", "expected has neither keywords nor forbidden", c.orAnother("keyword", `add "keywords": ["…"]`), "expected")
		return nil, schema.Rule{}
	}
	for i, word := range x.Keywords {
		if slices.ContainsFunc(x.Forbidden, func(f string) bool { return sameWord(f, word) }) {
			c.Fail("contradiction", fmt.Sprintf("the keyword %q is forbidden, too", word), "remove it from one of the two lists", "expected", "keywords", i)
		}
	}
	rule := schema.Rule{Threshold: threshold}
	match := x.Match
	if len(match) == 0 || string(match) == "null" {
		match = e.Config.Match
	}
	switch word := strings.Trim(string(match), `"`); word {
	case "", "null":
		c.noteAlternatives(x.Keywords)
	case "all":
		rule = schema.Rule{Threshold: 1}
	case "any":
		rule = schema.Rule{Need: 1, Threshold: 1}
	default:
		rule.Threshold = 1
		if _, err := fmt.Sscan(word, &rule.Need); err != nil || rule.Need > len(x.Keywords) && len(x.Keywords) > 0 {
			c.Fail("out-of-range", fmt.Sprintf("match asks for %s of %d keywords", word, len(x.Keywords)), "write a number that can be reached, all or any", "expected", "match")
		}
	}
	return evaluator.Keyword{Keywords: x.Keywords, Forbidden: x.Forbidden, WholeWords: e.Config.WholeWords}, rule
}

// icdThreshold is the least score of codes of the ICD that passes.
const icdThreshold = 0.85

// icdCodes compares codes of the ICD; its own threshold wins over the format's.
func (c *compiler) icdCodes(e *evaluatorFile) (schema.Spec, schema.Rule) {
	codes := evaluator.ICDCodesIn(string(c.Doc.JSON("expected")))
	if len(codes) == 0 {
		c.Fail("no-check", "expected has no codes", `add "codes": [{"code": "K29.8"}]`, "expected")
		return nil, schema.Rule{}
	}
	rule := schema.Rule{Threshold: icdThreshold, Weights: map[string]float64{
		evaluator.ICDAccuracy: 0.4, evaluator.ICDCompleteness: 0.25, evaluator.ICDSpecificity: 0.1, evaluator.ICDPrecision: 0.25,
	}}
	if e.Config.Threshold != nil {
		rule.Threshold = *e.Config.Threshold
	}
	return evaluator.ICDCodes{Expected: codes}, rule
}

func sameWord(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }

// noteAlternatives notes a list that looks like alternative phrasings.
func (c *compiler) noteAlternatives(keywords []string) {
	const many, long = 4, 20
	short := func(word string) bool { return utf8.RuneCountInString(word) <= long && len(strings.Fields(word)) <= 2 }
	if len(keywords) <= many || slices.ContainsFunc(keywords, func(w string) bool { return !short(w) }) {
		return
	}
	p := c.Doc.Problem("keywords-without-match", fmt.Sprintf("%d short keywords are listed without `match`, so that 0.7 of them must be there", len(keywords)),
		`add "match": "any" if they are alternatives, or "match": "all"`, "expected", "keywords")
	p.Severity = schema.Note
	c.Problems = append(c.Problems, p)
}

func (c *compiler) twoPass(e *evaluatorFile) schema.Spec {
	var x struct {
		Answer    json.RawMessage
		Type      string
		Tolerance *float64
		Choices   []string
	}
	if !c.expected("#TwoPassExpected", &x) {
		return nil
	}
	if string(x.Answer) == "null" && x.Type != "json" {
		c.Fail("missing-field", "`answer` is null", "write the answer that is expected; null is one of type json alone", "expected", "answer")
		return nil
	}
	spec := evaluator.TwoPass{Answer: x.Answer, Type: x.Type}
	switch spec.Type {
	case "":
		spec.Type = inferType(x.Answer)
	case "text", "exact_match":
		spec.Type = "string"
	}
	if !c.canMatch(spec) {
		return nil
	}
	if spec.Type == "choice" && len(x.Choices) > 0 {
		spec.Choices = x.Choices
		if !c.isChoice(spec) {
			return nil
		}
	}
	if spec.Type == "numeric" {
		spec.Tolerance = 0.01
		if e.Config.Tolerance != nil {
			spec.Tolerance = *e.Config.Tolerance
		}
		if x.Tolerance != nil {
			spec.Tolerance = *x.Tolerance
		}
	}
	return spec
}

// canMatch refuses an answer that nothing of its type equals.
func (c *compiler) canMatch(spec evaluator.TwoPass) bool {
	text := string(spec.Answer)
	var s string
	isText := json.Unmarshal(spec.Answer, &s) == nil
	if isText {
		text = s
	}
	why := ""
	switch {
	case spec.Type == "numeric" && !strings.ContainsFunc(text, unicode.IsNumber):
		why = "is not a number"
	case spec.Type == "boolean" && isText && !mayMeanYesOrNo(text):
		why = "is neither yes nor no"
	case spec.Type == "contains" && strings.TrimSpace(text) == "":
		why = "is empty, and every reply contains it"
	default:
		return true
	}
	c.Fail("wrong-value", fmt.Sprintf("the answer %s %s, and type is %s", spec.Answer, why, spec.Type), "correct the answer, or write another type, such as string", "expected", "answer")
	return false
}

// isChoice refuses an answer that is not among the choices, by its text or its label.
func (c *compiler) isChoice(spec evaluator.TwoPass) bool {
	answer := string(spec.Answer)
	_ = json.Unmarshal(spec.Answer, &answer) // a number is as it is written
	answer = strings.TrimSpace(answer)
	for _, choice := range spec.Choices {
		text := strings.ToLower(strings.TrimSpace(choice))
		rest, begins := strings.CutPrefix(text, strings.ToLower(answer))
		labeled := begins && rest != "" && strings.ContainsRune(".):", rune(rest[0]))
		if sameWord(choice, answer) || labeled {
			return true
		}
	}
	c.Fail("wrong-value", fmt.Sprintf("the answer %s is not one of the choices", spec.Answer), "write one of "+strings.Join(spec.Choices, ", "), "expected", "answer")
	return false
}

// mayMeanYesOrNo reports whether a text may mean yes or no. Letters outside of ASCII
// may be variants that only a judgement folds.
func mayMeanYesOrNo(text string) bool {
	if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		return true
	}
	_, ok := evaluator.YesOrNo(strings.Join(strings.Fields(strings.ToLower(strings.Trim(text, " \t\n.!\"'`*_()"))), " "))
	return ok
}

// identifier is a text of digits that names something: more than a number keeps apart, or
// with a 0 in front.
var identifier = lazyregexp.New(`^"(0[0-9]+|[0-9]{16,})"$`)

// numeric is a number, plain or with groups of three digits.
var numeric = lazyregexp.New(`^"?[-+]?([0-9]+([.,][0-9]+)?|[0-9]{1,3}([.,][0-9]{3})+([.,][0-9]+)?)([eE][-+]?[0-9]+)?"?$`)

// inferType infers the type of the expected answer from its form.
func inferType(answer json.RawMessage) string {
	text := string(answer)
	switch {
	case identifier.MatchString(text):
		return "string"
	case numeric.MatchString(text):
		return "numeric"
	case text == "true" || text == "false":
		return "boolean"
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		return "json"
	}
	return "string"
}

func (c *compiler) toolCalls() schema.Spec {
	var x struct {
		Tools []string
		Tool  string
		Args  json.RawMessage
		Chain json.RawMessage
	}
	if !c.expected("#ToolCallExpected", &x) {
		return nil
	}
	var spec evaluator.ToolCalls
	var chain []string
	if json.Unmarshal(x.Chain, &chain) == nil && len(chain) > 0 {
		x.Tools, spec.Chain = chain, true
	}
	spec.Chain = spec.Chain || string(x.Chain) == "true"
	for _, name := range x.Tools {
		spec.Expected = append(spec.Expected, evaluator.ExpectedCall{Tool: name})
	}
	args := x.Args
	if string(args) == "null" {
		args = nil
	}
	if strings.HasPrefix(string(args), "[") {
		c.Warn("ignored", "`args` is a list, which is not compared; Evonic compares none either", "write {name: value} to compare arguments by name", "expected", "args")
		args = nil
	}
	if x.Tool != "" {
		i := slices.IndexFunc(spec.Expected, func(e evaluator.ExpectedCall) bool { return e.Tool == x.Tool })
		if i < 0 {
			spec.Expected = append(spec.Expected, evaluator.ExpectedCall{Tool: x.Tool})
			i = len(spec.Expected) - 1
		}
		spec.Expected[i].Args = args
	}
	if len(spec.Expected) == 0 {
		c.Fail("no-check", "expected names no tool", c.orAnother("tool_call", `add "tools": ["…"]`), "expected")
		return nil
	}
	for _, e := range spec.Expected {
		offered := slices.ContainsFunc(c.offers, func(t schema.Tool) bool { return t.Name == e.Tool })
		if !offered && slices.Contains(c.lacking, e.Tool) {
			c.Fail("unknown-tool", fmt.Sprintf("the tool %q is expected, and it cannot be offered", e.Tool), "fix the error at the `tool_ids` that list it, or in its file", "expected")
			return nil
		}
	}
	return spec
}

func (c *compiler) regex(e *evaluatorFile) schema.Spec {
	spec := evaluator.Regex{Pattern: e.Regex, Comparison: e.Config.Comparison}
	if spec.Comparison == "text" {
		spec.Comparison = ""
	}
	expected := c.compared()
	if e.Config.AsPattern {
		if spec.Pattern = ""; json.Unmarshal(expected, &spec.Pattern) != nil || spec.Pattern == "" {
			c.Fail("wrong-type", "`expected` must be a pattern, since the evaluator has use_expected_as_pattern", "write a string", "expected")
			return nil
		}
		if err := checkPattern(spec.Pattern); err != nil {
			c.Fail("regex", err.Error(), "write an RE2 pattern", "expected")
			return nil
		}
		return spec
	}
	if c.Doc.Has("expected") {
		spec.Expected = expected
	}
	return spec
}

// compared returns the value that a pattern's match is compared with: the expected one
// or, of an object, its answer.
func (c *compiler) compared() json.RawMessage {
	for _, field := range []string{"answer", "expected", "value"} {
		if c.Doc.IsObject("expected") && c.Doc.Has("expected", field) {
			return c.Doc.JSON("expected", field)
		}
	}
	return c.Doc.JSON("expected")
}

// maxPattern bounds a pattern, whose compiled form grows with it.
const maxPattern = 4096

func checkPattern(pattern string) error {
	if len(pattern) > maxPattern {
		return fmt.Errorf("the pattern has %d bytes; %d are allowed", len(pattern), maxPattern)
	}
	if _, err := regexp.Compile("(?is)" + pattern); err != nil {
		return fmt.Errorf("the pattern does not compile: %w", err)
	}
	return nil
}

// prompt keeps only the parts of the test that the template shows, so that nothing else
// affects the judgement.
func (c *compiler) prompt(e *evaluatorFile) schema.Spec {
	spec := evaluator.Prompt{Template: e.Prompt, Pattern: e.Regex, MaxScore: e.Config.MaxScore}
	if strings.Contains(e.Prompt, "{expected}") {
		spec.Expected = c.Doc.JSON("expected")
	}
	if strings.Contains(e.Prompt, "{level}") {
		spec.Level = c.number
	}
	return spec
}
