package evaluate_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

func TestChecks(t *testing.T) {
	for _, tt := range []struct {
		kind, text, form, answer string
		holds                    bool
	}{
		{"contains", "30 days", "", "within 30 days.", true},
		{"contains", "30 Days", "", "within 30 days.", false},
		{"contains", "x", "", "", false},
		{"not_contains", "sorry", "", "Sorry!", true},
		{"not_contains", "sorry", "", "So sorry.", false},
		{"not_contains", "sorry", "", "", true},
		{"equals", "4", "", " 4\n", true},
		{"equals", "4", "", "It is 4", false},
		{"equals", "", "", "", true},
		{"regex", `\bA-\d+\b`, "", "order A-12 is here", true},
		{"regex", "^order$", "", "order A-12", false},
		{"regex", strings.Repeat("(a*)*", 20) + "b", "", strings.Repeat("a", 5000), false},
		{"is_json", "", "", `{"a": 1}`, true},
		{"is_json", "", "", "```json\n{\"a\": 1}\n```", false},
		{"is_json", "", "", `{"a": 1} and more`, false},
		{"is_json", "", "", "", false},
		{"is_json", "", "", strings.Repeat("[", 100_000), false},
		{"is_json", "", `{"type":"object","required":["a"]}`, `{"a": 1}`, true},
		{"is_json", "", `{"type":"object","required":["a"]}`, `{"b": 1}`, false},
		{"is_json", "", `{"$ref":"#/$defs/a","$defs":{"a":{"if":{"required":["b"]},"then":{"required":["c"]}}}}`, `{"b": 1, "c": 1}`, true},
		{"is_json", "", `{"$ref":"#/$defs/a","$defs":{"a":{"if":{"required":["b"]},"then":{"required":["c"]}}}}`, `{"b": 1}`, false},
		{"is_json", "", `{"properties":{"on":{"format":"date"}}}`, `{"on": "tomorrow"}`, false},
		{"is_json", "", `{"items":{"$ref":"#"}}`, strings.Repeat("[", 300) + strings.Repeat("]", 300), false},
	} {
		check := evaluator.Check{ID: "it", Kind: tt.kind, Text: tt.text}
		if tt.form != "" {
			check.Form = raw(tt.form)
		}
		m := measure(t, evaluator.Checks{Checks: []evaluator.Check{check}}, tt.answer, &script{})
		if m.Error != "" || m.Criteria[0].Score != map[bool]float64{true: 1}[tt.holds] || (m.Criteria[0].Note == "") != tt.holds {
			t.Errorf("%s %.30q of %.30q: %+v, want %v", tt.kind, tt.text+tt.form, tt.answer, m, tt.holds)
		}
	}
	for _, tt := range []struct {
		check  evaluator.Check
		answer string
		note   string // empty if it holds
	}{
		{evaluator.Check{Kind: "icontains", Text: "30 DAYS"}, "within 30 days.", ""},
		{evaluator.Check{Kind: "icontains", Text: "30 DAYS"}, "within 14 days.", `the answer does not contain "30 DAYS" in any case`},
		{evaluator.Check{Kind: "any_of", Texts: []string{"refund", "money back"}}, "Your money back.", ""},
		{evaluator.Check{Kind: "any_of", Texts: []string{"refund", "money back"}}, "Refund.", `the answer contains none of "refund", "money back"`},
		{evaluator.Check{Kind: "all_of", Texts: []string{"30", "days"}}, "30 days", ""},
		{evaluator.Check{Kind: "all_of", Texts: []string{"30", "days", "refund"}}, "30 weeks", `the answer does not contain "days", "refund"`},
		{evaluator.Check{Kind: "json_path", Text: "$.items[1].n", Value: raw("2.0")}, `{"items": [{}, {"n": 2}]}`, ""},
		{evaluator.Check{Kind: "json_path", Text: "a", Value: raw("null")}, `{"a": null}`, ""},
		{evaluator.Check{Kind: "json_path", Text: "a", Value: raw(`{"x":1,"y":2}`)}, `{"a": {"y": 2, "x": 1}}`, ""},
		{evaluator.Check{Kind: "json_path", Text: "a", Value: raw("null")}, `{}`, "the answer has nothing at a"},
		{evaluator.Check{Kind: "json_path", Text: "a", Value: raw(`"2"`)}, `{"a": 2}`, `the answer has 2 at a, not "2"`},
		{evaluator.Check{Kind: "json_path", Text: "a", Value: raw("1")}, "a is 1", `the answer is not JSON: "a is 1"`},
	} {
		m := measure(t, evaluator.Checks{Checks: []evaluator.Check{tt.check}}, tt.answer, &script{})
		if m.Error != "" || (m.Criteria[0].Score == 1) != (tt.note == "") || m.Criteria[0].Note != tt.note {
			t.Errorf("%+v of %q: %+v, want the note %q", tt.check, tt.answer, m, tt.note)
		}
	}
	nested := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, tt := range []struct {
		want  string
		check evaluator.Check
	}{
		{"there is no check", evaluator.Check{Kind: "likes"}}, {"missing closing", evaluator.Check{Kind: "regex", Text: "("}}, {"is not part of the schema", evaluator.Check{Kind: "is_json", Form: raw(`{"$ref":"x"}`)}},
		{"too complex", evaluator.Check{Kind: "is_json", Form: raw(`{"allOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`)}},
		{"how long the target took is not known", evaluator.Check{Kind: "latency_ms"}}, {"does not report its tokens", evaluator.Check{Kind: "cost_usd"}},
	} {
		fails(t, measure(t, evaluator.Checks{Checks: []evaluator.Check{tt.check}}, nested, &script{}), tt.want)
	}
	fails(t, measure(t, evaluator.Checks{}, "x", &script{}), "there are no checks")
}

// TestChecksLookAtTheAnswer and not at earlier messages.
func TestChecksLookAtTheAnswer(t *testing.T) {
	in := input("What is it?", "", &script{})
	history := schema.Message{Role: schema.RoleAssistant, Content: "42"}
	in.Case.Drive.Messages = append([]schema.Message{history}, in.Case.Drive.Messages...)
	in.Transcript.Messages = append([]schema.Message{history}, in.Transcript.Messages...)
	if m := run(t, evaluator.Checks{Checks: []evaluator.Check{{ID: "a", Kind: "contains", Text: "42"}}}, in, nil); m.Criteria[0].Score != 0 {
		t.Errorf("the measurement is %+v, want a score of 0", m)
	}
}

// TestChecksAlone give the share that holds as the score, and pass or fail.
func TestChecksAlone(t *testing.T) {
	spec := evaluator.Checks{Checks: []evaluator.Check{{ID: "contains", Kind: "contains", Text: "days"}, {ID: "contains 2", Kind: "contains", Text: "30"}}}
	c := &schema.Case{Evaluators: []schema.Evaluator{{Name: "checks", Weight: 1, Spec: spec, Rule: spec.Rule(nil)}}}
	answers := func(list ...string) []verdict.Sample {
		var out []verdict.Sample
		for _, answer := range list {
			out = append(out, verdict.Sample{Measurements: []verdict.Measurement{run(t, spec, input("When?", answer, &script{}), nil)}})
		}
		return out
	}
	for _, tt := range []struct {
		samples []verdict.Sample
		want    verdict.Verdict
		score   float64
	}{
		{answers("30 days"), verdict.Pass, 1},
		{answers("9 days"), verdict.Fail, 0.5},
		{answers("30 days", "30 days", "never"), verdict.Pass, 2. / 3}, // each holds in most
	} {
		got := verdict.DecideCase(c, tt.samples)
		if got.Verdict != tt.want || math.Abs(*got.Score-tt.score) > 1e-9 {
			t.Errorf("%d samples: %s with %v, want %s with %v", len(tt.samples), got.Verdict, *got.Score, tt.want, tt.score)
		}
	}
}

// TestChecksBesideAVerdict fail the case whatever its score, in any dialect.
func TestChecksBesideAVerdict(t *testing.T) {
	spec := evaluator.Checks{Checks: []evaluator.Check{{ID: "contains", Kind: "contains", Text: "days"}, {ID: "latency_ms", Kind: "latency_ms"}}}
	rule := spec.Rule(map[string]float64{"latency_ms": 100})
	for _, tt := range []struct {
		answer string
		took   time.Duration
		want   verdict.Verdict
		reason string
	}{
		{"30 days", 100 * time.Millisecond, verdict.Pass, "good"},
		{"a month", 100 * time.Millisecond, verdict.Fail, `does not contain "days"`},
		{"30 days", 101 * time.Millisecond, verdict.Fail, "allowed: latency_ms at most 100"},
	} {
		for _, bands := range []*schema.Bands{nil, {Pass: 0.8, Borderline: 0.6}} {
			in := input("When?", tt.answer, &script{})
			in.Transcript.Latency = tt.took
			c := &schema.Case{Policy: schema.Policy{Bands: bands}, Evaluators: []schema.Evaluator{{Name: "judge", Weight: 1}, {Name: "checks", Spec: spec, Rule: rule}}}
			res := verdict.DecideCase(c, []verdict.Sample{{Measurements: []verdict.Measurement{
				{Evaluator: "judge", Reason: "good", Criteria: []verdict.Criterion{{ID: "score", Score: 1}}}, run(t, spec, in, nil),
			}}})
			if res.Verdict != tt.want || *res.Score != 1 || !strings.Contains(res.Reason, tt.reason) {
				t.Errorf("%s after %s: %+v, want %s", tt.answer, tt.took, res, tt.want)
			}
		}
	}
}

// TestMeasuredChecks: the reason has what was measured, since the bound is compared later.
func TestMeasuredChecks(t *testing.T) {
	cost := evaluator.Check{ID: "cost_usd", Kind: evaluator.CheckCost}
	there := evaluator.Check{ID: "contains", Kind: evaluator.CheckContains, Text: "there"}
	gone := evaluator.Check{ID: "gone", Kind: evaluator.CheckContains, Text: "gone"}
	for _, tt := range []struct {
		checks []evaluator.Check
		want   string
	}{
		{[]evaluator.Check{cost}, "cost_usd 0.002"},
		{[]evaluator.Check{there, cost}, "cost_usd 0.002; all other checks hold"},
		{[]evaluator.Check{gone, cost}, `the answer does not contain "gone"; cost_usd 0.002`},
		{[]evaluator.Check{there}, "the check holds"},
	} {
		tr := &verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "there"}}, Usage: verdict.Usage{Calls: 1, InputTokens: 1, OutputTokens: 1, CostUSD: 0.002}}
		m := measured(t.Context(), t, schema.Evaluator{Name: "main", Spec: evaluator.Checks{Checks: tt.checks}}, evaluate.Input{Case: &schema.Case{}, Transcript: tr})
		if m.Error != "" || m.Reason != tt.want {
			t.Errorf("the measurement is %+v, want the reason %q", m, tt.want)
		}
	}
}
