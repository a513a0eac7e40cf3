package evaluate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// after is a transcript of calls, each a name and its arguments, after a
// history that has calls too.
func after(list ...string) evaluate.Input {
	in := input("What is it?", "", &script{})
	history := schema.Message{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{{ID: "h", Function: schema.FunctionCall{Name: "search", Arguments: `{"q":"old"}`}}}}
	in.Case.Drive.Messages = append([]schema.Message{history}, in.Case.Drive.Messages...)
	in.Transcript.Messages = append([]schema.Message{history}, in.Transcript.Messages...)
	for i, c := range list {
		name, args, _ := strings.Cut(c, " ")
		in.Transcript.Messages = append(in.Transcript.Messages, schema.Message{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{
			{ID: fmt.Sprint(i), Function: schema.FunctionCall{Name: name, Arguments: args}},
		}})
	}
	return in
}

// steps are expected calls: a name and arguments.
func steps(list ...string) []evaluator.Step {
	out := make([]evaluator.Step, len(list))
	for i, s := range list {
		name, args, ok := strings.Cut(s, " ")
		out[i].Tool = name
		if ok {
			out[i].Args = raw(args)
		}
	}
	return out
}

func TestTrajectory(t *testing.T) {
	const a, b, c = `a {"x":1}`, `b {"y":"two"}`, `c {}`
	for _, tt := range []struct {
		name string
		spec evaluator.Trajectory
		in   evaluate.Input
		want []float64
	}{
		{"minimums", evaluator.Trajectory{Mode: "any_order", Minimums: map[string]int{"a": 2, "b": 1, "search": 1}}, after(a, a, c), []float64{1, 0, 0}},
		{"any order", evaluator.Trajectory{Mode: "any_order", Steps: steps("a", "b")}, after(b, c, a), []float64{1, 1}},
		{"any order, one call twice", evaluator.Trajectory{Mode: "any_order", Steps: steps("a", "a")}, after(a), []float64{1, 0}},
		{"any order, best matching", evaluator.Trajectory{Mode: "any_order", Steps: steps("a", a)}, after(a, `a {"x":2}`), []float64{1, 1}},
		{"in order", evaluator.Trajectory{Mode: "in_order", Steps: steps("a", "b")}, after(a, c, b), []float64{1, 1}},
		{"out of order", evaluator.Trajectory{Mode: "in_order", Steps: steps("a", "b")}, after(b, a), []float64{0, 0}},
		{"exact", evaluator.Trajectory{Mode: "exact", Steps: steps("a", "b")}, after(a, b), []float64{1, 1}},
		{"exact, one more", evaluator.Trajectory{Mode: "exact", Steps: steps("a", "b")}, after(a, b, c), []float64{0, 0}},
		{"exact, one between", evaluator.Trajectory{Mode: "exact", Steps: steps("a", "b")}, after(a, c, b), []float64{0, 0}},
		{"exact, one missing", evaluator.Trajectory{Mode: "exact", Steps: steps("a", "b")}, after(a), []float64{1, 0}},
		{"arguments by listed keys", evaluator.Trajectory{Mode: "exact", Steps: steps(`a {"x":1.0}`)}, after(`a {"x":1,"z":[2]}`), []float64{1}},
		{"other arguments", evaluator.Trajectory{Mode: "in_order", Steps: steps(`a {"x":1}`)}, after(`a {"x":"1"}`), []float64{0}},
		{"arguments that do not read", evaluator.Trajectory{Mode: "in_order", Steps: steps(`a {"x":1}`, "a")}, after(`a {"x":`), []float64{0, 1}},
		{"any value", evaluator.Trajectory{Mode: "in_order", Steps: []evaluator.Step{{Tool: "a", AnyValue: []string{"x"}}, {Tool: "b", AnyValue: []string{"x"}}}}, after(a, b), []float64{1, 0}},
		{"no call", evaluator.Trajectory{Mode: "any_order", Steps: steps("search"), Minimums: map[string]int{"a": 1}}, after(), []float64{0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := run(t, tt.spec, tt.in, nil)
			var got []float64
			for _, c := range m.Criteria {
				got = append(got, c.Score)
				if c.Score == 0 && c.Note == "" {
					t.Errorf("%s does not hold, and nothing says why", c.ID)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", m.Error, diff)
			}
		})
	}
}

func TestTrajectoryThatIsNotKnown(t *testing.T) {
	untraced := after()
	untraced.Transcript.Traced = false
	fails(t, run(t, evaluator.Trajectory{Mode: "any_order", Steps: steps("a")}, untraced, nil), "does not report its tool calls")
	fails(t, run(t, evaluator.Trajectory{Mode: "any_order"}, after(), nil), "no call is expected")
	fails(t, run(t, evaluator.Trajectory{Mode: "sideways", Steps: steps("a")}, after(), nil), "no trajectory mode")
	fails(t, run(t, evaluator.Trajectory{Mode: "exact", Steps: steps("a {")}, after(), nil), "expected arguments of a")

	slow := evaluator.Trajectory{Mode: "in_order", Steps: []evaluator.Step{{Tool: "a", MaxMS: 100}}}
	fails(t, run(t, slow, after("a {}"), nil), "does not report how long its calls take")
	for _, tt := range []struct{ took, want float64 }{{99, 1}, {100, 1}, {100.5, 0}} {
		in := after("a {}")
		in.Transcript.Messages[3].ToolCalls[0].DurationMS = &tt.took
		if m := run(t, slow, in, nil); m.Error != "" || m.Criteria[0].Score != tt.want {
			t.Errorf("%v ms: %+v", tt.took, m)
		}
	}
	many := make([]string, 1500)
	for i := range many {
		many[i] = "a {}"
	}
	if m := run(t, evaluator.Trajectory{Mode: "any_order", Minimums: map[string]int{"a": 1000}}, after(many...), nil); m.Error != "" || m.Criteria[0].Score != 1 {
		t.Errorf("many calls: %+v", m)
	}
}

func TestFieldAccuracy(t *testing.T) {
	const answer = `{"name":"ACME Ltd.","total":1234.5,"date":"05/03/2024","lines":[{"net":"1,200.00 EUR"}],"none":null,"text":"Total due: 12"}`
	field := func(path, match, expected string) evaluator.Field {
		return evaluator.Field{Path: path, Match: match, Expected: raw(expected)}
	}
	with := func(f evaluator.Field, tolerance float64, relative bool, formats ...string) evaluator.Field {
		f.Tolerance, f.Relative, f.Formats = tolerance, relative, formats
		return f
	}
	for _, tt := range []struct {
		name  string
		field evaluator.Field
		want  float64
	}{
		{"exact", field("name", "exact", `"ACME Ltd."`), 1},
		{"exact number", field("total", "exact", `1234.50`), 1},
		{"exact, another case", field("name", "exact", `"Acme Ltd."`), 0},
		{"exact object", field("lines[0]", "exact", `{"net":"1,200.00 EUR"}`), 1},
		{"exact null", field("none", "exact", `null`), 1},
		{"exact, a string", field("total", "exact", `"1234.5"`), 0},
		{"missing", field("vat", "exact", `19`), 0},
		{"missing in a list", field("lines[3].net", "exact", `1`), 0},
		{"contains", field("text", "contains", `"due: 12"`), 1},
		{"contains not", field("text", "contains", `"Due"`), 0},
		{"regex", field("text", "regex", `"(?i)TOTAL.*\\d+$"`), 1},
		{"regex, a number", field("total", "regex", `"^1234"`), 1},
		{"within", with(field("total", "numeric_tolerance", `1234`), 0.5, false), 1},
		{"beyond", with(field("total", "numeric_tolerance", `1234`), 0.4, false), 0},
		{"relative", with(field("total", "numeric_tolerance", `1200`), 0.03, true), 1},
		{"relative, beyond", with(field("total", "numeric_tolerance", `1200`), 0.02, true), 0},
		{"as people write", field("lines[0].net", "numeric_tolerance", `1200`), 1},
		{"a number is no thousands", with(field("total", "numeric_tolerance", `1234500`), 0, false), 0},
		{"not a number", field("name", "numeric_tolerance", `1`), 0},
		{"date in a format", with(field("date", "date", `"2024-03-05"`), 0, false, "DD/MM/YYYY"), 1},
		{"date in the other format", with(field("date", "date", `"2024-03-05"`), 0, false, "MM/DD/YYYY"), 0},
		{"date in no format", field("date", "date", `"2024-03-05"`), 0},
		{"the first format wins", with(field("date", "date", `"2024-05-03"`), 0, false, "MM/DD/YYYY", "DD/MM/YYYY"), 1},
		{"expected in the format", with(field("date", "date", `"5.3.2024"`), 0, false, "DD/MM/YYYY", "D.M.YYYY"), 1},
		{"a number is not a date", with(field("total", "date", `"2024-03-05"`), 0, false, "DD/MM/YYYY"), 0},
		{"through what is not an object", field("name.first", "exact", `"A"`), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := measure(t, evaluator.FieldAccuracy{Fields: []evaluator.Field{tt.field}}, answer, &script{})
			if m.Error != "" || m.Criteria[0].Score != tt.want || m.Criteria[0].ID != tt.field.Path || (m.Criteria[0].Note == "") != (tt.want == 1) {
				t.Errorf("%+v, want %v", m, tt.want)
			}
		})
	}
	name := evaluator.FieldAccuracy{Fields: []evaluator.Field{field("name", "exact", `"ACME"`)}}
	for _, tt := range []struct {
		answer string
		want   float64
	}{
		{`{"name":"ACME"}`, 1}, {"Here it is:\n```json\n{\"name\":\"ACME\"}\n```\nAnything else?", 1}, {"", 0}, {"ACME", 0}, {`{"name":`, 0}, {`[{"name":"ACME"}]`, 0},
		{"```\n{\"name\":\"X\"}\n```\n```\n{\"name\":\"ACME\"}\n```", 0}, {strings.Repeat("[", 100_000), 0},
	} {
		if m := measure(t, name, tt.answer, &script{}); m.Error != "" || m.Criteria[0].Score != tt.want {
			t.Errorf("%.40q: %+v, want %v", tt.answer, m, tt.want)
		}
	}
	fails(t, measure(t, evaluator.FieldAccuracy{}, "{}", &script{}), "no field")
	fails(t, measure(t, evaluator.FieldAccuracy{Fields: []evaluator.Field{field("name", "roughly", `1`)}}, answer, &script{}), "no match")
	fails(t, measure(t, evaluator.FieldAccuracy{Fields: []evaluator.Field{field("name", "regex", `"("`)}}, answer, &script{}), "missing closing")
	fails(t, measure(t, evaluator.FieldAccuracy{Fields: []evaluator.Field{field("date", "date", `"soon"`)}}, answer, &script{}), "not a date")
	fails(t, measure(t, evaluator.FieldAccuracy{Fields: []evaluator.Field{field("total", "numeric_tolerance", `true`)}}, answer, &script{}), "not a number")
}

func TestMeasured(t *testing.T) {
	known := verdict.Usage{Calls: 3, InputTokens: 900, OutputTokens: 100, CostUSD: 0.02}
	for _, tt := range []struct {
		name     string
		quantity string
		change   func(*verdict.Transcript)
		value    float64
		want     string // the error
	}{
		{"tool calls", evaluator.ToolCallCount, nil, 2, ""},
		{"model calls", evaluator.ModelCallCount, nil, 3, ""},
		{"calls and text in one message", evaluator.ModelCallCount, func(t *verdict.Transcript) { t.Messages[len(t.Messages)-1].Rest = true }, 2, ""},
		{"no calls", evaluator.ToolCallCount, func(t *verdict.Transcript) { t.Messages = t.Messages[:3] }, 0, ""},
		{"calls that are not known", evaluator.ToolCallCount, func(t *verdict.Transcript) { t.Traced = false }, 0, "does not report its tool calls"},
		{"tokens", evaluator.TotalTokens, nil, 1000, ""},
		{"input tokens", evaluator.InputTokens, nil, 900, ""},
		{"output tokens", evaluator.OutputTokens, nil, 100, ""},
		{"no tokens", evaluator.TotalTokens, func(t *verdict.Transcript) { t.Usage = verdict.Usage{Calls: 1} }, 0, "does not report its tokens"},
		{"half of the tokens", evaluator.TotalTokens, func(t *verdict.Transcript) { t.Usage.OutputTokens = 0 }, 0, "does not report its tokens"},
		{"cost", evaluator.CostUSD, nil, 0.02, ""},
		{"a cost near nothing", evaluator.CostUSD, func(t *verdict.Transcript) { t.Usage.CostUSD = 0.00003 }, 0.00003, ""},
		{"no price", evaluator.CostUSD, func(t *verdict.Transcript) { t.Usage.Unpriced = 1 }, 0, "set price: of the target"},
		{"a price of nothing", evaluator.CostUSD, func(t *verdict.Transcript) { t.Usage = verdict.Usage{Calls: 1} }, 0, "does not report its tokens"},
		{"duration", evaluator.DurationMS, nil, 1500, ""},
		{"no duration", evaluator.DurationMS, func(t *verdict.Transcript) { t.Latency = 0 }, 0, "how long the target took is not known"},
		{"something else", "mood", nil, 0, "no quantity"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := after("a {}", "b {}")
			in.Transcript.Usage, in.Transcript.Latency = known, 1500*time.Millisecond
			if tt.change != nil {
				tt.change(in.Transcript)
			}
			m := run(t, evaluator.Measured{Type: "execution_metrics", Quantities: []string{tt.quantity}}, in, nil)
			if tt.want != "" {
				fails(t, m, tt.want)
				return
			}
			if note := m.Criteria; len(note) > 0 && strings.Contains(note[0].Note, "e-") {
				t.Errorf("the note %q has an exponent", note[0].Note)
			}
			if m.Error != "" || math.Abs(*m.Criteria[0].Value-tt.value) > 1e-9 || m.Criteria[0].Score != 0 {
				t.Errorf("%+v, want %v", m, tt.value)
			}
		})
	}
	in := after("a {}")
	in.Case = &schema.Case{CaseInfo: schema.CaseInfo{Target: "openai:gpt-5"}}
	in.Transcript.Usage = verdict.Usage{Calls: 1, Unpriced: 1, InputTokens: 1, OutputTokens: 1}
	fails(t, run(t, evaluator.Measured{Type: "cost", Quantities: []string{evaluator.CostUSD}}, in, nil), `aliases: {"openai:gpt-5": model}`)
	fails(t, run(t, evaluator.Measured{}, after(), nil), "nothing is to be measured")
}
