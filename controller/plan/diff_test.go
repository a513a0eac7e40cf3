package plan

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// measuredBy is a case with these evaluators, which are named in their order.
func measuredBy(evaluators ...schema.Evaluator) *schema.Case {
	c := tc("a", "1", 1)
	for i := range evaluators {
		if evaluators[i].Name == "" {
			evaluators[i].Name = []string{"first", "second", "third"}[i]
		}
		evaluators[i].Weight = 1
	}
	c.Evaluators = evaluators
	return c
}

func rubric(criteria ...evaluator.Criterion) schema.Evaluator {
	return schema.Evaluator{Spec: evaluator.Criteria{Criteria: criteria}, Rule: schema.Rule{Threshold: 0.8}}
}

func keywords(threshold float64, words ...string) schema.Evaluator {
	return schema.Evaluator{Spec: evaluator.Keyword{Keywords: words}, Rule: schema.Rule{Threshold: threshold}}
}

func called(name string, ev schema.Evaluator) schema.Evaluator {
	ev.Name = name
	return ev
}

// TestReasons holds that a reason says which part of a case changed, and how,
// and that one change has one reason.
func TestReasons(t *testing.T) {
	tone, date := evaluator.Criterion{Name: "tone"}, evaluator.Criterion{Name: "date", Description: "a date is named"}
	strict := evaluator.Criterion{Name: "date", Description: "the date of payment is named"}
	promptval := func(threshold float64) *schema.Case {
		c := measuredBy(keywords(threshold, "x"))
		c.Dialect = schema.DialectPromptval
		return c
	}
	weights := measuredBy(rubric(tone))
	weights.Evaluators[0].Rule.Weights = map[string]float64{"tone": 2}
	openings := tc("a", "1", 1)
	openings.Drive.Openings = [][]schema.Message{{}}
	layered := func(text string, files ...string) *schema.Case {
		c := tc("a", "1", 1)
		c.System = text
		for _, f := range files {
			c.Layers = append(c.Layers, schema.Layer{File: f})
		}
		return c
	}
	for _, test := range []struct {
		name       string
		base, head *schema.Case
		want       string
	}{
		{"a criterion", measuredBy(rubric(tone, date)), measuredBy(rubric(tone, strict)), "evaluator first: criteria.date.description a date is named → the date of payment is named in a.json"},
		{"criteria", measuredBy(rubric(date)), measuredBy(rubric(tone)), "evaluator first: criteria.date removed, criteria.tone added in a.json"},
		{"an order", measuredBy(rubric(tone, date)), measuredBy(rubric(date, tone)), "evaluator first: criteria reordered in a.json"},
		{"a list of words", measuredBy(keywords(1, "a")), measuredBy(keywords(1, "b")), "evaluator first: keywords changed in a.json"},
		{"many fields",
			measuredBy(rubric(evaluator.Criterion{Name: "1"}, evaluator.Criterion{Name: "2"}, evaluator.Criterion{Name: "3"}, evaluator.Criterion{Name: "4"}, evaluator.Criterion{Name: "5"})), measuredBy(rubric(tone)),
			"evaluator first: criteria.1 removed, criteria.2 removed, criteria.3 removed, 3 more in a.json",
		},
		{"another kind", measuredBy(keywords(0.8, "a")), measuredBy(rubric(tone)), "evaluator first: keyword → criteria in a.json"},
		{"one more", measuredBy(keywords(1, "a")), measuredBy(keywords(1, "a"), rubric(tone)), "evaluator second is new in a.json"},
		{"one more before the other", measuredBy(keywords(1, "a")), measuredBy(called("second", rubric(tone)), called("first", keywords(1, "a"))), "evaluator second is new in a.json"},
		{"one less", measuredBy(keywords(1, "a"), rubric(tone)), measuredBy(keywords(1, "a")), "evaluator second is gone in a.json"},
		{"the threshold of one", measuredBy(keywords(1, "a")), measuredBy(keywords(0.5, "a")), "threshold 1 → 0.5 in a.json"},
		{"the threshold of two", measuredBy(keywords(1, "a"), keywords(1, "b")), measuredBy(keywords(1, "a"), keywords(0.5, "b")), "threshold of second 1 → 0.5 in a.json"},
		{"a threshold out of ten", promptval(0.8), promptval(0.75), "threshold 8 → 7.5 in a.json"},
		{"a threshold of 0.56", promptval(0.56), promptval(0.57), "threshold 5.6 → 5.7 in a.json"},
		{"weights", weights, measuredBy(rubric(tone)), "criterion weights are gone in a.json"},
		{"openings", tc("a", "1", 1), openings, "openings are new in a.json"},
		{"a new prompt", tc("a", "1", 1), layered("s", "domain.json"), "system prompt is new in domain.json"},
		{"the layer that changed", layered("one", "domain.json"), layered("one\n\ntwo", "domain.json", "a.json"), "system prompt changed in a.json"},
		{"layers none of which did", layered("one", "domain.json"), layered("two", "domain.json", "level.json"), "system prompt changed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := side(test.base)
			p := Compare(&base, side(test.head), Options{Changed: func(f string) bool { return f == "a.json" }})
			if got := Summarise(p.Rows[0].Reasons); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestReasonsOfRoles holds that a judge which is needed only now is not a reason
// next to the evaluator that needs it.
func TestReasonsOfRoles(t *testing.T) {
	env := func(model string) Environment {
		return Environment{
			Config: "gavel.yaml", Roles: map[schema.Role]string{schema.Judge: "small"},
			Targets: map[string]Target{"small": {Facts: []Fact{{Name: "provider", Value: "openai"}, {Name: "model", Value: model}}}},
		}
	}
	words, both := measuredBy(keywords(1, "a")), measuredBy(keywords(1, "a"), rubric(evaluator.Criterion{Name: "tone"}))
	for _, test := range []struct {
		name       string
		base, head Side
		want       string
	}{
		{"a judge is needed", sideOf("b", []*schema.Case{words}, env("m")), sideOf("h", []*schema.Case{both}, env("m")), "evaluator second is new in a.json"},
		{"and no longer", sideOf("b", []*schema.Case{both}, env("m")), sideOf("h", []*schema.Case{words}, env("m")), "evaluator second is gone in a.json"},
		{"the judge is another", sideOf("b", []*schema.Case{both}, env("m")), sideOf("h", []*schema.Case{both}, env("n")), "judge model m → n in gavel.yaml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Compare(&test.base, test.head, Options{Changed: func(f string) bool { return f == "a.json" }})
			if got := Summarise(p.Rows[0].Reasons); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestNumberedParts holds that the same rule counts for the evaluator that has
// it: two that are alike but for it are not the same when it changes places.
func TestNumberedParts(t *testing.T) {
	weighted := func(i int) Digests {
		c := measuredBy(keywords(1, "a"), keywords(1, "a"))
		c.Evaluators[i].Rule.Weights = map[string]float64{"a": 2}
		return Digest(c, &Environment{})
	}
	if weighted(0).D == weighted(1).D {
		t.Error("the digest does not tell whose weights they are")
	}
}

// TestReasonNamesEveryChangedFile: a row of a matrix is written in several files. A
// change names the changed files, including prompts, variables and the common part of
// all tests.
func TestReasonNamesEveryChangedFile(t *testing.T) {
	row := func(text, system, word string) *schema.Case {
		c := measuredBy(keywords(1, word))
		c.Row, c.Origin.File, c.System = &schema.Row{}, "rows.csv", system
		c.Drive.Messages[0].Content = text
		c.Inputs = []schema.Input{
			{File: "m.yaml", Role: "definition"}, {File: "more.csv", Role: "other tests"}, {File: "p.txt", Role: "prompt"}, {File: "rows.csv", Role: "tests"}, {File: "v.txt", Role: "variable"}, {File: "x.py", Role: "program"},
		}
		return c
	}
	for _, test := range []struct {
		changed    []string
		base, head *schema.Case
		want       string
		files      []string
	}{
		{[]string{"v.txt"}, row("a", "", "w"), row("b", "", "w"), "messages changed in v.txt", nil},
		{[]string{"more.csv", "v.txt"}, row("a", "", "w"), row("b", "", "w"), "messages changed in v.txt", nil},
		{[]string{"p.txt", "v.txt"}, row("a", "", "w"), row("b", "", "w"), "messages changed in p.txt and v.txt", []string{"p.txt", "v.txt"}},
		{[]string{"m.yaml", "p.txt", "rows.csv"}, row("a", "", "w"), row("b", "", "w"), "messages changed in m.yaml, p.txt and rows.csv", []string{"m.yaml", "p.txt", "rows.csv"}},
		{[]string{"v.txt"}, row("a", "s", "w"), row("a", "t", "w"), "system prompt changed in v.txt", nil},
		{[]string{"m.yaml"}, row("a", "", "w"), row("a", "", "x"), "evaluator first: keywords changed in m.yaml", nil},
	} {
		base := side(test.base)
		p := Compare(&base, side(test.head), Options{Changed: func(f string) bool { return slices.Contains(test.changed, f) }})
		reasons := p.Rows[0].Reasons
		if got := Summarise(reasons); got != test.want || !slices.Equal(reasons[0].Files, test.files) {
			t.Errorf("%v changed: %q in %v, want %q in %v", test.changed, got, reasons[0].Files, test.want, test.files)
		}
	}
	was, is := row("a", "", "w"), row("b", "", "w")
	was.Row, is.Row = &schema.Row{Prompt: "a", PromptFile: "p.txt"}, &schema.Row{Prompt: "b", PromptFile: "p.txt"}
	for _, tt := range []struct {
		want string
		base *schema.Case
	}{{"messages changed in p.txt", was}, {"messages changed in m.yaml and v.txt", row("a", "", "w")}} {
		if tt.base != was {
			tt.base.Row = &schema.Row{Prompt: "b", PromptFile: "p.txt", Vars: map[string]json.RawMessage{"q": json.RawMessage("1")}}
		}
		state := side(tt.base)
		p := Compare(&state, side(is), Options{Changed: func(f string) bool { return f == "p.txt" || f == "m.yaml" || f == "v.txt" }})
		if got := Summarise(p.Rows[0].Reasons); got != tt.want {
			t.Errorf("with the template and the variables known: %q, want %q", got, tt.want)
		}
	}
	input := Reason{Message: "target input prompts/a.md changed", File: "prompts/a.md"}
	if got := input.String(); got != input.Message {
		t.Errorf("the reason is %q, want its file once", got)
	}
	many := Reason{Message: "messages changed", File: "e", Files: []string{"a", "b", "c", "d", "e"}}
	if got, want := many.String(), "messages changed in a, b, c and 2 more files"; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
}

// TestReasonShape holds that a reason always has all fields.
func TestReasonShape(t *testing.T) {
	for _, tt := range []struct {
		want   string
		reason Reason
	}{
		{`{"part":"all","file":"","message":"all cases were asked for"}`, Reason{Part: "all", Message: "all cases were asked for"}},
		{`{"part":"new","file":"a.json","message":"the case is new"}`, Reason{Part: "new", File: "a.json", Message: "the case is new"}},
		{`{"part":"moved","file":"a.json","message":"moved from b"}`, Reason{Part: "moved", File: "a.json", Message: "moved from b"}},
		{`{"part":"messages","file":"b","message":"changed","files":["a","b"]}`, Reason{Part: "messages", File: "b", Message: "changed", Files: []string{"a", "b"}}},
		{`{"part":"removed","file":"a.json","message":"the case gone"}`, Reason{Part: "removed", File: "a.json", Message: "the case gone"}},
	} {
		got, err := json.Marshal(tt.reason)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Error(diff)
		}
	}
	got := Summarise([]Reason{{Part: "removed", File: "a.json", Message: "the case is gone"}, {Part: "moved", File: "b.json", Message: "moved from a"}, {Part: "x", File: "c.json", Message: "y"}, {Part: "x", File: "c.json", Message: "y"}, {Part: "ledger", File: "d.json", Message: "not judged before"}})
	if want := "the case is gone from a.json; moved from a; y in c.json; not judged before"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
