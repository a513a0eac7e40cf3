package oracle

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Rule is about rows that Gavel judges otherwise on purpose.
type Rule struct {
	Name string
	// Page is what the page of the format says of it.
	Page string
	// fits reports whether a row that differs is one of the rule's.
	fits func(row Row, theirs, ours string) bool
}

// Rules are all rules.
var Rules = []Rule{
	{
		Name: "a number as text", Page: "a number, true or false where an assertion looks for one text is taken as its text",
		fits: func(row Row, theirs, _ string) bool {
			kind := strings.TrimPrefix(row.Asserts[0].Type, "not-")
			_, isText := row.Asserts[0].Value.(string)
			return theirs == "error" && !isText && slices.Contains([]string{"contains", "icontains", "starts-with"}, kind)
		},
	},
	{
		Name: "characters", Page: "`levenshtein` counts characters, not units of UTF-16",
		fits: func(row Row, _, _ string) bool {
			return strings.HasSuffix(row.Asserts[0].Type, "levenshtein") && len(utf16.Encode([]rune(row.Output))) > utf8.RuneCountInString(row.Output)
		},
	},
	{
		Name: "unreadable patterns", Page: "A mistake is an error with its place and the repair: an unreadable pattern",
		fits: func(row Row, theirs, ours string) bool {
			return strings.HasSuffix(row.Asserts[0].Type, "regex") && theirs == "fail 0" && !strings.HasPrefix(ours, "pass") && !strings.HasPrefix(ours, "fail")
		},
	},
	{
		Name: "modifiers", Page: "a pattern may have `(?i:…)`, which Node.js has since 23",
		fits: func(row Row, theirs, _ string) bool {
			return row.Asserts[0].Value == "(?i:HELLO)" && theirs == "fail 0"
		},
	},
	{
		Name: "return in one line", Page: "a `transform` of one line may begin with `return`, and so may `javascript`",
		fits: func(row Row, theirs, _ string) bool {
			code, _ := row.Asserts[0].Value.(string)
			return strings.HasPrefix(code, "return ") && theirs == "fail 0"
		},
	},
	{
		Name: "no reason", Page: "a function that fails without a reason fails its test",
		fits: func(row Row, theirs, ours string) bool {
			code, _ := row.Asserts[0].Value.(string)
			return strings.Contains(code, "reason: ''") && theirs == "pass 1" && ours == "fail 1"
		},
	},
	{
		Name: "names of Node.js", Page: "is an error that names it, and no fail of the answer",
		fits: func(row Row, _, ours string) bool {
			code, _ := row.Asserts[0].Value.(string)
			return ours == "error" && (strings.Contains(code, "Intl.") || strings.Contains(code, "toLocaleString"))
		},
	},
	{
		Name: "no result", Page: "a function that does not compile, or returns something else than true or false, a number or `{pass, …}`, is an error, not a fail",
		fits: func(row Row, theirs, ours string) bool {
			return strings.HasSuffix(row.Asserts[0].Type, "javascript") && theirs == "fail 0" && ours == "error"
		},
	},
	{
		Name: "scores", Page: "a score of a function above 1 counts as 1, and one below 0 as 0",
		fits: func(row Row, theirs, ours string) bool {
			verdict, score, _ := strings.Cut(theirs, " ")
			n, err := strconv.ParseFloat(score, 64)
			return strings.HasSuffix(row.Asserts[0].Type, "javascript") && err == nil && n > 1 && ours == verdict+" 1"
		},
	},
}

// RuleOf returns the name of the first rule of a row that differs; empty for a row that
// does not, and for one without a rule.
func RuleOf(row Row, theirs, ours string) string {
	if theirs == ours {
		return ""
	}
	for _, rule := range Rules {
		if rule.fits(row, theirs, ours) {
			return rule.Name
		}
	}
	return ""
}

// A TemplateRule is about templates that Gavel fills in otherwise on purpose.
type TemplateRule struct {
	Name string
	// Page is what the page of the format says of it.
	Page string
	// fits reports whether a template that differs is one of the rule's. Refused is
	// whether Gavel names what it does not read.
	fits func(text string, theirs, ours Filled, refused bool) bool
}

// TemplateRules are all rules about templates.
var TemplateRules = []TemplateRule{
	{
		Name: "refused by name", Page: "a row with one of these or with an `{{ env.X }}` that `env` of the file does not set is skipped, and a warning names the line",
		fits: func(_ string, _, _ Filled, refused bool) bool { return refused },
	},
	{
		Name: "objects are JSON", Page: "an object, and a list that has one, is filled in as compact JSON, not as `[object Object]`",
		fits: func(_ string, theirs, ours Filled, _ bool) bool {
			return !ours.Failed && (strings.Contains(theirs.Text, "[object Object]") || strings.Contains(theirs.Text, "%5Bobject%20Object%5D"))
		},
	},
	{
		Name: "typing errors", Page: "a tag or a `raw` that is never closed, a name with a quote or a sign such as `@`, and a comparison behind a test (`is odd == true`)",
		fits: func(text string, _, ours Filled, refused bool) bool {
			return ours.Failed && !refused && slices.Contains([]string{"{% raw %}x", "{{ `x` }}", "{{ @ }}", "{{ n is odd == true }}"}, text)
		},
	},
	{
		Name: "vars", Page: "`{{ vars }}` has all variables, unless one of them has that name",
		fits: func(text string, theirs, ours Filled, _ bool) bool {
			return strings.HasPrefix(text, "{{ vars") && theirs.Text == "" && !ours.Failed
		},
	},
	{
		Name: "powers", Page: "the last digits of a power (`**`) may differ",
		fits: func(text string, theirs, ours Filled, _ bool) bool {
			a, err := strconv.ParseFloat(theirs.Text, 64)
			b, wrong := strconv.ParseFloat(ours.Text, 64)
			return strings.Contains(text, "**") && err == nil && wrong == nil && math.Abs(a-b) <= 1e-14*math.Abs(a)
		},
	},
}

// TemplateRuleOf returns the name of the first rule of a template that differs; empty
// for one that does not, and for one without a rule.
func TemplateRuleOf(text string, theirs, ours Filled, refused bool) string {
	if theirs == ours || theirs.Failed && ours.Failed {
		return ""
	}
	for _, rule := range TemplateRules {
		if rule.fits(text, theirs, ours, refused) {
			return rule.Name
		}
	}
	return ""
}

// A StructureRule is about tests of structures whose rows Gavel judges otherwise on
// purpose.
type StructureRule struct {
	Name string
	// Page is what the page of the format says of it.
	Page string
	// fits reports whether a test that differs is one of the rule's, by its JSON.
	fits func(test string, theirs, ours []string) bool
}

// StructureRules are all rules about structures.
var StructureRules = []StructureRule{
	{
		Name: "repeats are samples", Page: "`repeat` takes several samples of a case, and makes no further rows",
		fits: func(test string, theirs, ours []string) bool {
			return strings.Contains(test, `"repeat":2`) && slices.Equal(theirs, slices.Sorted(slices.Values(slices.Concat(ours, ours))))
		},
	},
	{
		Name: "return in one line", Page: "a `transform` of one line may begin with `return`",
		fits: func(test string, theirs, _ []string) bool {
			return strings.Contains(test, `"transform":"return output`) && slices.Equal(theirs, []string{"error"})
		},
	},
	{
		Name: "objects are JSON", Page: "an object, and a list that has one, is filled in as compact JSON, not as `[object Object]`",
		fits: func(test string, theirs, ours []string) bool {
			return strings.Contains(test, `{"k":`) && slices.Equal(theirs, []string{"fail 0"}) && slices.Equal(ours, []string{"pass 1"})
		},
	},
}

// StructureRuleOf returns the name of the first rule of a test that differs; empty for one
// that does not, and for one without a rule.
func StructureRuleOf(test string, theirs, ours []string) string {
	if slices.Equal(theirs, ours) {
		return ""
	}
	for _, rule := range StructureRules {
		if rule.fits(test, theirs, ours) {
			return rule.Name
		}
	}
	return ""
}

// A SuiteRule is about tests of AgentV that Gavel judges otherwise on purpose.
type SuiteRule struct {
	Name string
	// Page is what the page of the format says of it.
	Page string
	// fits reports whether a test that differs is one of the rule's, by the answer and
	// its JSON.
	fits func(answer, test, theirs, ours string) bool
}

// SuiteRules are all rules about suites of AgentV.
var SuiteRules = []SuiteRule{
	{
		Name: "white space alone", Page: "A text of `starts-with` or `ends-with` that is white space alone is an error",
		fits: func(_, test, _, ours string) bool {
			return strings.Contains(test, `s-with","value":" "`) && ours == "error"
		},
	},
	{
		Name: "fields without match", Page: "A field of `field-accuracy` without `match` is compared exactly",
		fits: func(_, test, theirs, _ string) bool {
			return strings.Contains(test, `"field-accuracy"`) && !strings.Contains(test, `"match"`) && theirs == "fail 0"
		},
	},
	{
		Name: "weights of members", Page: "A member of a `composite` may have its own `weight`",
		fits: func(_, test, theirs, _ string) bool {
			return strings.Contains(test, `"composite"`) && strings.Contains(test, `"weight":`) && theirs == "fail 0.5"
		},
	},
}

// SuiteRuleOf returns the name of the first rule of a test that differs; empty for one that
// does not, and for one without a rule.
func SuiteRuleOf(answer, test, theirs, ours string) string {
	if theirs == ours {
		return ""
	}
	for _, rule := range SuiteRules {
		if rule.fits(answer, test, theirs, ours) {
			return rule.Name
		}
	}
	return ""
}
