package evaluate_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestContrast: a criterion that does not hold has the expected and the actual text, if its
// evaluator compares texts or calls.
func TestContrast(t *testing.T) {
	check := func(kind, text string) schema.Spec {
		return evaluator.Checks{Checks: []evaluator.Check{{ID: "c", Kind: kind, Text: text, Texts: []string{"Rome", "Oslo"}, Value: raw(`"FR"`)}}}
	}
	asserted := func(kind, value string) schema.Spec { return evaluator.Assertion{Type: kind, Value: raw(value)} }
	field := func(answer string) schema.Spec {
		return evaluator.FieldAccuracy{Fields: []evaluator.Field{{Path: "n", Match: "exact", Expected: raw(answer), Required: true}}}
	}
	for _, tt := range []struct {
		name             string
		spec             schema.Spec
		reply            string
		expected, actual string
	}{
		{"keyword", evaluator.Keyword{Keywords: []string{"Rome"}}, "Paris", "Rome", "Paris"},
		{"keyword that is there", evaluator.Keyword{Keywords: []string{"Paris"}}, "Paris", "", ""},
		{"forbidden word", evaluator.Keyword{Forbidden: []string{"Paris"}}, "Paris", "", ""},
		{"two_pass", evaluator.TwoPass{Type: "numeric", Answer: raw("105")}, "104", "105", "104"},
		{"two_pass, empty", evaluator.TwoPass{Type: "numeric", Answer: raw("105")}, " ", "105", ""},
		{"two_pass, equal", evaluator.TwoPass{Type: "numeric", Answer: raw("105")}, "105", "", ""},
		{"regex", evaluator.Regex{Pattern: `city: (\w+)`, Expected: raw(`"Rome"`)}, "City: Paris", "Rome", "Paris"},
		{"regex without a match", evaluator.Regex{Pattern: `city: \w+`}, "Paris", `city: \w+`, "Paris"},
		{"field", field(`5`), `{"n": "5"}`, `5`, `"5"`},
		{"field that is missing", field(`5`), `{}`, `5`, ""},
		{"check contains", check(evaluator.CheckContains, "Rome"), "Paris", "Rome", "Paris"},
		{"check not contains", check(evaluator.CheckNotContains, "Paris"), "Paris", "", ""},
		{"check any", check(evaluator.CheckAny, ""), "Paris", `"Rome", "Oslo"`, "Paris"},
		{"check all", check(evaluator.CheckAll, ""), "Rome", `"Rome", "Oslo"`, "Rome"},
		{"check equals", check(evaluator.CheckEquals, "Rome"), "Paris", "Rome", "Paris"},
		{"check regex", check(evaluator.CheckRegex, "^R"), "Paris", "^R", "Paris"},
		{"check path", check(evaluator.CheckPath, "$.code"), `{"code":"DE"}`, `"FR"`, `"DE"`},
		{"check path, missing", check(evaluator.CheckPath, "$.code"), `{}`, `"FR"`, ""},
		{"equals", asserted("equals", `"Rome"`), "Paris", "Rome", "Paris"},
		{"equals JSON", asserted("equals", `{"a":1}`), `{"a":2}`, `{"a":1}`, `{"a":2}`},
		{"icontains-any", asserted("icontains-any", `["Rome","Oslo"]`), "Paris", `"Rome", "Oslo"`, "Paris"},
		{"starts-with", asserted("starts-with", `"Rome"`), "Paris", "Rome", "Paris"},
		{"not equals", evaluator.Assertion{Type: "equals", Value: raw(`"Paris"`), Not: true}, "Paris", "", ""},
		{"overlap", evaluator.Overlap{By: evaluator.ByROUGE, Texts: []string{"Rome it is"}, Least: 0.5}, "Paris", "Rome it is", "Paris"},
		{"overlap, reached", evaluator.Overlap{By: evaluator.ByROUGE, Texts: []string{"Paris"}, Least: 0.5}, "Paris", "", ""},
		{"not overlap", evaluator.Overlap{By: evaluator.ByBLEU, Texts: []string{"Paris"}, Least: 0.5, Not: true}, "Paris", "", ""},
		{"is-json", evaluator.Assertion{Type: "is-json"}, "Paris", "", ""},
	} {
		m := measured(t.Context(), t, schema.Evaluator{Spec: tt.spec}, input("Which city?", tt.reply, &script{}))
		if m.Error != "" || len(m.Criteria) == 0 {
			t.Errorf("%s: %d criteria, error %q", tt.name, len(m.Criteria), m.Error)
			continue
		}
		if c := m.Criteria[0]; c.Expected != tt.expected || c.Actual != tt.actual {
			t.Errorf("%s: expected %q and actual %q, want %q and %q", tt.name, c.Expected, c.Actual, tt.expected, tt.actual)
		}
	}
}

// TestContrastOfCalls: an expected call is shown with the calls of its tool, or with all.
func TestContrastOfCalls(t *testing.T) {
	call := func(name, arguments string) schema.ToolCall {
		return schema.ToolCall{Function: schema.FunctionCall{Name: name, Arguments: arguments}}
	}
	made := &verdict.Transcript{Traced: true, Messages: []schema.Message{
		{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{call("find", `{"id":1}`), call("find", `{"id":2}`), call("pay", `{}`)}},
	}}
	const finds = "find({\"id\":1})\nfind({\"id\":2})"
	for _, tt := range []struct {
		name, tool, args string
		expected, actual string
	}{
		{"other arguments", "find", `{"id":3}`, `find({"id":3})`, finds},
		{"another tool", "refund", `{"id":3}`, `refund({"id":3})`, finds + "\npay({})"},
		{"made", "find", `{"id":2}`, "", ""},
	} {
		args := json.RawMessage(tt.args)
		for kind, spec := range map[string]schema.Spec{
			"tool calls":   evaluator.ToolCalls{Expected: []evaluator.ExpectedCall{{Tool: tt.tool, Args: args}}},
			"trajectory":   evaluator.Trajectory{Mode: evaluator.AnyOrder, Steps: []evaluator.Step{{Tool: tt.tool, Args: args}}},
			"conversation": evaluator.Conversation{Calls: []evaluator.CallExpectation{{ID: "c", Tool: tt.tool, Params: args}}},
		} {
			// The judge is only asked to compare calls of the tool.
			s := &script{replies: []string{judged(all("5"), `, "comparisons": [{"comparison": 1, "same": false}, {"comparison": 2, "same": false}]`), judged(all("5"), "")}}
			m := measured(t.Context(), t, schema.Evaluator{Spec: spec}, evaluate.Input{Case: &schema.Case{}, Transcript: made, Ask: s.ask})
			if m.Error != "" || len(m.Criteria) == 0 {
				t.Errorf("%s, %s: %d criteria, error %q", kind, tt.name, len(m.Criteria), m.Error)
				continue
			}
			if c := m.Criteria[len(m.Criteria)-1]; c.Expected != tt.expected || c.Actual != tt.actual {
				t.Errorf("%s, %s: expected %q and actual %q, want %q and %q", kind, tt.name, c.Expected, c.Actual, tt.expected, tt.actual)
			}
		}
	}
}

// TestContrastOfCodes: each measure of ICD codes that is below 1 has the codes, or their
// categories, that it compares.
func TestContrastOfCodes(t *testing.T) {
	spec := evaluator.ICDCodes{Expected: []string{"K29.8", "E11.9"}}
	for reply, want := range map[string][]string{
		`["K29.7", "E11.9"]`:          {"E11.9, K29.8 | E11.9, K29.7", " | ", " | ", "E11.9, K29.8 | E11.9, K29.7"},
		`["E11.9"]`:                   {"E11.9, K29.8 | E11.9", "E11, K29 | E11", "E11.9, K29.8 | E11.9", " | "},
		`["K29.8", "E11.9", "E11.9"]`: {" | ", " | ", " | ", "E11.9, K29.8 | E11.9, E11.9, K29.8"},
		"gastritis":                   {"E11.9, K29.8 | gastritis", "E11.9, K29.8 | gastritis", "E11.9, K29.8 | gastritis", "E11.9, K29.8 | gastritis"},
	} {
		var got []string
		for _, c := range measured(t.Context(), t, schema.Evaluator{Spec: spec}, input("", reply, &script{})).Criteria {
			got = append(got, c.Expected+" | "+c.Actual)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", reply, diff)
		}
	}
}

// TestContrastOfOrder: calls that only the order makes wrong are shown in both orders, once.
func TestContrastOfOrder(t *testing.T) {
	for name, spec := range map[string]schema.Spec{
		"chain":      evaluator.ToolCalls{Expected: expect("find", "pay"), Chain: true},
		"trajectory": evaluator.Trajectory{Mode: evaluator.InOrder, Steps: steps("find", "pay")},
	} {
		m := measured(t.Context(), t, schema.Evaluator{Spec: spec}, evaluate.Input{Case: &schema.Case{}, Transcript: calls("pay", "find")})
		var got []string
		for _, c := range m.Criteria {
			if c.Expected != "" {
				got = append(got, c.Expected+" | "+c.Actual)
			}
		}
		if diff := cmp.Diff([]string{"find()\npay() | pay()\nfind()"}, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	subset := evaluator.Trajectory{Mode: evaluator.Subset, Steps: steps("find")}
	m := measured(t.Context(), t, schema.Evaluator{Spec: subset}, evaluate.Input{Case: &schema.Case{}, Transcript: calls("find", "pay")})
	if a, b := m.Criteria[0], m.Criteria[1]; a.Expected != "" || b.Expected != "find()" || b.Actual != "pay()" {
		t.Errorf("subset: %+v", m.Criteria)
	}
}

// TestContrastIsShort: long texts are cut, and show their first difference.
func TestContrastIsShort(t *testing.T) {
	same := strings.Repeat("ä", 2000)
	spec := evaluator.Assertion{Type: "equals", Value: raw(`"` + same + "Rome" + same + `"`)}
	c := measured(t.Context(), t, schema.Evaluator{Spec: spec}, input("", same+"Paris"+same, &script{})).Criteria[0]
	for want, text := range map[string]string{"äRomeä": c.Expected, "äParisä": c.Actual} {
		if n := utf8.RuneCountInString(text); n > 301 || !utf8.ValidString(text) || !strings.Contains(text, want) || !strings.HasPrefix(text, "…ä") || !strings.HasSuffix(text, "ä…") {
			t.Errorf("%d characters, want about 300 around %q: %q", n, want, text)
		}
	}
}
