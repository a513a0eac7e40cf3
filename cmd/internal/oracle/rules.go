package oracle

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Rule is about rows that Gavel judges otherwise on purpose. R is a row with the answers
// of both tools.
type Rule[R any] struct {
	Name string
	// Page is what the page of the format says of it.
	Page string
	// fits reports whether a row that differs is one of the rule's.
	fits func(R) bool
}

// A Tally counts rows by the rule under which they differ.
type Tally[R any] struct {
	Rules []Rule[R]
	// Used are the numbers of rows by the name of the rule; equal ones are under the
	// empty name.
	Used map[string]int
}

// Add counts a row. It reports whether the row is the same for both tools or has a rule.
func (t *Tally[R]) Add(row R, isSame bool) bool {
	if t.Used == nil {
		t.Used = map[string]int{}
	}
	if isSame {
		t.Used[""]++
		return true
	}
	for _, rule := range t.Rules {
		if rule.fits(row) {
			t.Used[rule.Name]++
			return true
		}
	}
	return false
}

// Check returns what is wrong with the rules: one that no row needs, or whose sentence the
// page of the format lacks.
func (t *Tally[R]) Check(page string) []error {
	var wrong []error
	for _, rule := range t.Rules {
		if t.Used[rule.Name] == 0 {
			wrong = append(wrong, fmt.Errorf("no row differs by the rule %q: remove it", rule.Name))
		}
		if !strings.Contains(page, rule.Page) {
			wrong = append(wrong, fmt.Errorf("the format's page lacks the sentence of the rule %q: %s", rule.Name, rule.Page))
		}
	}
	return wrong
}

// A Judged is a row with what promptfoo and Gavel say of it.
type Judged struct {
	Row          Row
	Theirs, Ours string
}

// Rules are the rules about rows.
var Rules = []Rule[Judged]{
	{
		Name: "a number as text", Page: "a number, true or false where an assertion looks for one text is taken as its text",
		fits: func(j Judged) bool {
			kind := strings.TrimPrefix(j.Row.Asserts[0].Type, "not-")
			_, isText := j.Row.Asserts[0].Value.(string)
			return j.Theirs == "error" && !isText && slices.Contains([]string{"contains", "icontains", "starts-with"}, kind)
		},
	},
	{
		Name: "characters", Page: "`levenshtein` counts characters, not units of UTF-16",
		fits: func(j Judged) bool {
			return strings.HasSuffix(j.Row.Asserts[0].Type, "levenshtein") && len(utf16.Encode([]rune(j.Row.Output))) > utf8.RuneCountInString(j.Row.Output)
		},
	},
	{
		Name: "unreadable patterns", Page: "A mistake is an error with its place and the repair: an unreadable pattern",
		fits: func(j Judged) bool {
			return strings.HasSuffix(j.Row.Asserts[0].Type, "regex") && j.Theirs == "fail 0" && !strings.HasPrefix(j.Ours, "pass") && !strings.HasPrefix(j.Ours, "fail")
		},
	},
	{
		Name: "modifiers", Page: "a pattern may have `(?i:…)`, which Node.js has since 23",
		fits: func(j Judged) bool {
			return j.Row.Asserts[0].Value == "(?i:HELLO)" && j.Theirs == "fail 0"
		},
	},
	{
		Name: "return in one line", Page: "a `transform` of one line may begin with `return`, and so may `javascript`",
		fits: func(j Judged) bool {
			code, _ := j.Row.Asserts[0].Value.(string)
			return strings.HasPrefix(code, "return ") && j.Theirs == "fail 0"
		},
	},
	{
		Name: "no reason", Page: "a function that fails without a reason fails its test",
		fits: func(j Judged) bool {
			code, _ := j.Row.Asserts[0].Value.(string)
			return strings.Contains(code, "reason: ''") && j.Theirs == "pass 1" && j.Ours == "fail 1"
		},
	},
	{
		Name: "names of Node.js", Page: "is an error that names it, and no fail of the answer",
		fits: func(j Judged) bool {
			code, _ := j.Row.Asserts[0].Value.(string)
			return j.Ours == "error" && (strings.Contains(code, "Intl.") || strings.Contains(code, "toLocaleString"))
		},
	},
	{
		Name: "no result", Page: "a function that does not compile, or returns something else than true or false, a number or `{pass, …}`, is an error, not a fail",
		fits: func(j Judged) bool {
			return strings.HasSuffix(j.Row.Asserts[0].Type, "javascript") && j.Theirs == "fail 0" && j.Ours == "error"
		},
	},
	{
		Name: "scores", Page: "a score of a function above 1 counts as 1, and one below 0 as 0",
		fits: func(j Judged) bool {
			verdict, score, _ := strings.Cut(j.Theirs, " ")
			n, err := strconv.ParseFloat(score, 64)
			return strings.HasSuffix(j.Row.Asserts[0].Type, "javascript") && err == nil && n > 1 && j.Ours == verdict+" 1"
		},
	},
}

// A Graded is a row whose assertions ask a model, with what promptfoo and Gavel say of it.
type Graded struct {
	Row          GradedRow
	Theirs, Ours string
}

// GradedRules are the rules about rows that ask a model.
var GradedRules = []Rule[Graded]{
	{
		Name: "score out of range", Page: "a score out of range is asked for again",
		fits: func(g Graded) bool {
			return g.Ours == "error" && (strings.Contains(g.Row.Theirs, `"score": 8,`) || strings.Contains(g.Row.Theirs, `"score": -1`))
		},
	},
	{
		Name: "unclear reply", Page: "a judge's reply without `pass`, with text around its JSON or with another `pass` than true or false is asked for again, and an error in the end",
		fits: func(g Graded) bool {
			reply := strings.TrimSpace(strings.Trim(strings.TrimPrefix(g.Row.Ours, "```json"), "`"))
			isWhole := strings.HasPrefix(reply, "{") && strings.HasSuffix(reply, "}")
			says := strings.Contains(reply, `"pass": true`) || strings.Contains(reply, `"pass": false`) || strings.Contains(reply, `"pass": "true"`) || strings.Contains(reply, `"pass": "false"`)
			return strings.HasSuffix(g.Row.Asserts[0].Type, "llm-rubric") && g.Ours == "error" && !(isWhole && says)
		},
	},
	{
		Name: "similarity", Page: "a score of a function above 1 counts as 1, and one below 0 as 0, and so does a similarity",
		fits: func(g Graded) bool {
			theirs, score, _ := strings.Cut(g.Theirs, " ")
			n, err := strconv.ParseFloat(score, 64)
			return strings.Contains(g.Row.Asserts[0].Type, "similar") && err == nil && (n < 0 || n > 1) && g.Ours == theirs+" "+strconv.Itoa(int(min(1, max(0, n))))
		},
	},
	{
		Name: "best of several", Page: "the best of several texts counts for `similar`, not the first that is near enough",
		fits: func(g Graded) bool {
			_, isList := g.Row.Asserts[0].Value.(list)
			return isList && strings.HasPrefix(g.Row.Asserts[0].Type, "similar") && strings.HasPrefix(g.Theirs, "pass") && strings.HasPrefix(g.Ours, "pass")
		},
	},
	{
		Name: "nearly JSON", Page: "`contains-json` looks for JSON, where promptfoo also finds what is nearly JSON, such as `{'a': 1,}` or an object without its end",
		fits: func(g Graded) bool {
			return strings.HasSuffix(g.Row.Asserts[0].Type, "contains-json") && (g.Theirs == "pass 1" && g.Ours == "fail 0" || g.Theirs == "fail 0" && g.Ours == "pass 1")
		},
	},
	{
		Name: "no result", Page: "a function that does not compile, or returns something else than true or false, a number or `{pass, …}`, is an error, not a fail",
		fits: func(g Graded) bool {
			return strings.HasSuffix(g.Row.Asserts[0].Type, "javascript") && g.Theirs == "fail 0" && g.Ours == "error"
		},
	},
	{
		Name: "left out", Page: "`score` and `reason` may be left out",
		fits: func(g Graded) bool {
			return g.Row.Asserts[0].Value == "({pass: true, reason: 'r'})" && g.Theirs == "fail 0" && g.Ours == "pass 1"
		},
	},
	{
		Name: "no finite number", Page: "so is one that returns `NaN` or `Infinity`",
		fits: func(g Graded) bool {
			return slices.Contains([]any{"NaN", "Infinity"}, g.Row.Asserts[0].Value) && g.Ours == "error"
		},
	},
	{
		Name: "no reason to end", Page: "a target that does not report why its reply ended is an error for `finish-reason`, not a fail",
		fits: func(g Graded) bool {
			return strings.HasSuffix(g.Row.Asserts[0].Type, "finish-reason") && g.Ours == "error"
		},
	},
	{
		Name: "not- of judges", Page: "`not-` inverts `model-graded-closedqa` and `factuality`, where promptfoo ignores it",
		fits: func(g Graded) bool {
			kind, not := strings.CutPrefix(g.Row.Asserts[0].Type, "not-")
			return not && slices.Contains([]string{"model-graded-closedqa", "factuality", "model-graded-factuality"}, kind) &&
				(g.Theirs == "pass 1" && g.Ours == "fail 0" || g.Theirs == "fail 0" && g.Ours == "pass 1")
		},
	},
}

// A FilledTemplate is a template with what Nunjucks and Gavel make of it.
type FilledTemplate struct {
	Text         string
	Theirs, Ours Filled
	// Refused means that Gavel names something that it does not read.
	Refused bool
}

// TemplateRules are the rules about templates.
var TemplateRules = []Rule[FilledTemplate]{
	{
		Name: "refused by name", Page: "a row with one of these or with an `{{ env.X }}` that `env` of the file does not set is skipped, and a warning names the line",
		fits: func(f FilledTemplate) bool { return f.Refused },
	},
	{
		Name: "objects are JSON", Page: "an object, and a list that has one, is filled in as compact JSON, not as `[object Object]`",
		fits: func(f FilledTemplate) bool {
			return !f.Ours.Failed && (strings.Contains(f.Theirs.Text, "[object Object]") || strings.Contains(f.Theirs.Text, "%5Bobject%20Object%5D"))
		},
	},
	{
		Name: "typing errors", Page: "a tag or a `raw` that is never closed, a name with a quote or a sign such as `@`, and a comparison behind a test (`is odd == true`)",
		fits: func(f FilledTemplate) bool {
			return f.Ours.Failed && !f.Refused && slices.Contains([]string{"{% raw %}x", "{{ `x` }}", "{{ @ }}", "{{ n is odd == true }}"}, f.Text)
		},
	},
	{
		Name: "vars", Page: "`{{ vars }}` has all variables, unless one of them has that name",
		fits: func(f FilledTemplate) bool {
			return strings.HasPrefix(f.Text, "{{ vars") && f.Theirs.Text == "" && !f.Ours.Failed
		},
	},
	{
		Name: "powers", Page: "the last digits of a power (`**`) may differ",
		fits: func(f FilledTemplate) bool {
			a, err := strconv.ParseFloat(f.Theirs.Text, 64)
			b, wrong := strconv.ParseFloat(f.Ours.Text, 64)
			return strings.Contains(f.Text, "**") && err == nil && wrong == nil && math.Abs(a-b) <= 1e-14*math.Abs(a)
		},
	},
}

// A JudgedTest is a test of a structure, as JSON, with what promptfoo and Gavel say of its
// rows.
type JudgedTest struct {
	Test         string
	Theirs, Ours []string
}

// StructureRules are the rules about structures.
var StructureRules = []Rule[JudgedTest]{
	{
		Name: "repeats are samples", Page: "`repeat` takes several samples of a case, and makes no further rows",
		fits: func(j JudgedTest) bool {
			return strings.Contains(j.Test, `"repeat":2`) && slices.Equal(j.Theirs, slices.Sorted(slices.Values(slices.Concat(j.Ours, j.Ours))))
		},
	},
	{
		Name: "return in one line", Page: "a `transform` of one line may begin with `return`",
		fits: func(j JudgedTest) bool {
			return strings.Contains(j.Test, `"transform":"return output`) && slices.Equal(j.Theirs, []string{"error"})
		},
	},
	{
		Name: "objects are JSON", Page: "an object, and a list that has one, is filled in as compact JSON, not as `[object Object]`",
		fits: func(j JudgedTest) bool {
			return strings.Contains(j.Test, `{"k":`) && slices.Equal(j.Theirs, []string{"fail 0"}) && slices.Equal(j.Ours, []string{"pass 1"})
		},
	},
	{
		Name: "results of another form", Page: "a scoring function whose result lacks a true or false `pass`, a `score` or a `reason` is an error, not a fail",
		fits: func(j JudgedTest) bool {
			return strings.Contains(j.Test, `"assertScoringFunction"`) && slices.Equal(j.Theirs, []string{"fail 0"}) && slices.Equal(j.Ours, []string{"error"})
		},
	},
	{
		Name: "scores above 1", Page: "a score that a scoring function gives counts as 1 above that, and as 0 below 0",
		fits: func(j JudgedTest) bool {
			return strings.Contains(j.Test, `"assertScoringFunction"`) && slices.Equal(j.Theirs, []string{"pass 3"}) && slices.Equal(j.Ours, []string{"pass 1"})
		},
	},
	{
		Name: "signs in answers", Page: "an answer that a later test has is inserted as it is; in a variable, promptfoo reads `$&` and its kin in it",
		fits: func(j JudgedTest) bool {
			return strings.Contains(j.Test, "{{odd}}") && slices.Equal(j.Ours, []string{"pass 1"})
		},
	},
}

// A SuiteTest is a test of AgentV, as JSON, with the answer that it is about and what
// AgentV and Gavel say of it.
type SuiteTest struct{ Answer, Test, Theirs, Ours string }

// isTrajectory reports whether a test compares tool calls in a mode; "" is any.
func (s SuiteTest) isTrajectory(mode string) bool {
	return strings.Contains(s.Test, `"type":"tool-trajectory"`) && (mode == "" || strings.Contains(s.Test, `"mode":"`+mode+`"`))
}

// SuiteRules are the rules about suites of AgentV.
var SuiteRules = []Rule[SuiteTest]{
	{
		Name: "white space alone", Page: "A text of `starts-with` or `ends-with` that is white space alone is an error",
		fits: func(s SuiteTest) bool {
			return strings.Contains(s.Test, `s-with","value":" "`) && s.Ours == "error"
		},
	},
	{
		Name: "fields without match", Page: "A field of `field-accuracy` without `match` is compared exactly",
		fits: func(s SuiteTest) bool {
			return strings.Contains(s.Test, `"field-accuracy"`) && !strings.Contains(s.Test, `"match"`) && s.Theirs == "fail 0"
		},
	},
	{
		Name: "durations of calls", Page: "A duration of a call is a part of its step, and an error if the target does not report it; AgentV counts it apart, or not at all",
		fits: func(s SuiteTest) bool { return strings.Contains(s.Test, `"max_duration_ms"`) && s.isTrajectory("") },
	},
	{
		Name: "a call too many", Page: "Under `exact` a call too many costs its share, which AgentV does not count",
		fits: func(s SuiteTest) bool { return s.isTrajectory("exact") && strings.HasPrefix(s.Ours, "fail") },
	},
	{
		Name: "longest chain", Page: "Under `in_order` the longest chain of steps counts, where AgentV looks for each step behind the one before",
		fits: func(s SuiteTest) bool {
			return s.isTrajectory("in_order") && strings.HasPrefix(s.Theirs, "fail") && strings.HasPrefix(s.Ours, "fail")
		},
	},
	{
		Name: "expected under any_order", Page: "Under `any_order`, `expected` is also compared; AgentV only counts `minimums`",
		fits: func(s SuiteTest) bool {
			return s.isTrajectory("any_order") && strings.Contains(s.Test, `"expected":`)
		},
	},
	{
		Name: "failing graders", Page: "A program that judges is an error, not a fail, if it ends with another status than 0 and prints JSON or says something on stderr, and if it prints broken JSON or a score that is not a number from 0 to 1",
		fits: func(s SuiteTest) bool { return strings.Contains(s.Test, `"code-grader"`) && s.Ours == "error" },
	},
	{
		Name: "assertions without text", Page: "An assertion of a `code-grader` counts without its `text`, too",
		fits: func(s SuiteTest) bool {
			return strings.Contains(s.Test, `{\"assertions\": [{\"passed\"`)
		},
	},
	{
		Name: "weights of members", Page: "A member of a `composite` may have its own `weight`",
		fits: func(s SuiteTest) bool {
			return strings.Contains(s.Test, `"composite"`) && strings.Contains(s.Test, `"weight":`) && s.Theirs == "fail 0.5"
		},
	},
}

// A ReadCell is a cell of a table with what promptfoo and Gavel read in it.
type ReadCell struct {
	Text         string
	Theirs, Ours Cell
}

// CellRules are the rules about cells.
var CellRules = []Rule[ReadCell]{
	{
		Name: "white space", Page: "white space around the value of a cell is dropped",
		fits: func(c ReadCell) bool {
			value, isText := c.Theirs.Value.(string)
			c.Theirs.Value = strings.TrimSpace(value)
			return isText && c.Theirs.String() == c.Ours.String()
		},
	},
	{
		Name: "no value", Page: "a cell without the value that its assertion needs is an error",
		fits: func(c ReadCell) bool {
			texts, isList := c.Theirs.Value.([]any)
			return c.Ours.Failed && !strings.Contains(c.Text, "(") && (c.Theirs.Value == nil || c.Theirs.Value == "" || isList && len(texts) == 0)
		},
	},
	{
		Name: "objects", Page: "`trajectory:step-count` and `trajectory:tool-args-match` need an object as their value, which no cell has",
		fits: func(c ReadCell) bool {
			return c.Ours.Failed && (strings.Contains(c.Text, "trajectory:step-count") || strings.Contains(c.Text, "trajectory:tool-args-match"))
		},
	},
	{
		Name: "no number", Page: "brackets without a number such as 1 or 0.5 are an error",
		fits: func(c ReadCell) bool {
			return c.Ours.Failed && c.Theirs.Value == c.Text && strings.Contains(c.Text, "(")
		},
	},
	{
		Name: "brackets", Page: "a number in brackets is the threshold of every type",
		fits: func(c ReadCell) bool {
			c.Ours.Threshold = c.Theirs.Threshold
			return c.Theirs.Threshold == nil && strings.Contains(c.Text, "(") && (c.Ours.String() == c.Theirs.String() || strings.TrimSpace(fmt.Sprint(c.Theirs.Value)) == c.Ours.Value)
		},
	},
	{
		Name: "types", Page: "a cell may also have `ends-with`, `select-best`, `max-score`, `human`, `similar:cosine`, `similar:dot` and `similar:euclidean`",
		fits: func(c ReadCell) bool {
			kind := strings.TrimPrefix(c.Text, "not-")
			return slices.ContainsFunc([]string{"ends-with", "select-best", "max-score", "human", "assert-set", "similar:"}, func(name string) bool { return strings.HasPrefix(kind, name) })
		},
	},
	{
		Name: "names of files", Page: "`file://check.py` and `file://check.js:name` are the assertions of these files",
		fits: func(c ReadCell) bool { return strings.HasPrefix(c.Text, "file://check.") && !c.Ours.Failed },
	},
}
