package verdict_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// same checks that the reader and encoding/json read the same.
func same(t *testing.T, r *verdict.JSONReader, text string) (ok bool) {
	t.Helper()
	body := []byte(text)
	got, ok := r.Decision(body)
	clear(body) // nothing that was read refers to it
	if !ok {
		return false
	}
	var want verdict.DecisionReader
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatalf("%s was read, but: %v", text, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s is read differently (-want +got):\n%s", text, cmp.Diff(want, got))
	}
	return true
}

// chance makes results up.
type chance struct{ *rand.Rand }

func (c chance) text() string {
	all := []string{"", "found", `says "no"`, "two\nlines", "naïve — 日本", "<b>&</b>", "\u2028", "\xff", `\u00e9`, "\x00", strings.Repeat("long ", 50)}
	return all[c.IntN(len(all))]
}

func (c chance) number() float64 {
	all := []float64{0, 1, 0.5, 2. / 3, -0.25, 1e-9, 1e21, math.MaxFloat64, math.SmallestNonzeroFloat64, 12345678}
	return all[c.IntN(len(all))]
}

func (c chance) optional() *float64 {
	if c.IntN(2) == 0 {
		return nil
	}
	x := c.number()
	return &x
}

func (c chance) bool() bool { return c.IntN(2) == 0 }

// list makes a list of up to three, or none.
func list[T any](c chance, one func() T) []T {
	var out []T
	for range c.IntN(4) {
		out = append(out, one())
	}
	return out
}

func (c chance) criterion() verdict.Criterion {
	return verdict.Criterion{
		ID: c.text(), Score: c.number(), Veto: c.bool(), NotApplicable: c.bool(), Value: c.optional(), Note: c.text(), Expected: c.text(), Actual: c.text(), Sample: c.IntN(9), Code: c.text(),
		Turns: list(c, func() int { return c.IntN(9) }), Hits: list(c, c.text), Misses: list(c, c.text),
	}
}

func (c chance) evaluator(depth int) verdict.EvaluatorResult {
	e := verdict.EvaluatorResult{
		Name: c.text(), Type: c.text(), Weight: c.optional(), Score: c.number(), Pass: c.bool(),
		Criteria: list(c, c.criterion), Reason: c.text(), Aggregator: c.text(),
	}
	if depth > 0 {
		e.Members = list(c, func() verdict.EvaluatorResult { return c.evaluator(depth - 1) })
	}
	return e
}

func (c chance) result() verdict.Result {
	return verdict.Result{
		Verdict: verdict.Pass, Score: c.optional(), Samples: c.IntN(100), Best: c.bool(), Reason: c.text(), NoThreshold: c.bool(),
		Evaluators: list(c, func() verdict.EvaluatorResult { return c.evaluator(2) }),
	}
}

func encode(t testing.TB, d verdict.DecisionReader) string {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWritten: everything that this program writes is read, with one reader for all of
// it, like encoding/json reads it.
func TestWritten(t *testing.T) {
	c := chance{rand.New(rand.NewPCG(1, 2))}
	var r verdict.JSONReader
	for range 3000 {
		usage := verdict.Usage{Calls: c.IntN(9), InputTokens: c.Int64(), OutputTokens: -c.Int64(), CostUSD: c.number(), Unpriced: c.IntN(3), Told: c.IntN(3), ToldUSD: c.number()}
		var effort *verdict.Effort
		if c.bool() {
			effort = &verdict.Effort{
				Samples: c.IntN(9), Calls: c.IntN(9), InputTokens: c.Int64(), OutputTokens: c.Int64N(2), Told: c.IntN(2), ToldUSD: c.number(),
				Latency: time.Duration(c.Int64()), Turns: c.IntN(9), ToolCalls: c.IntN(2), Untraced: c.bool(),
			}
		}
		if text := encode(t, verdict.DecisionReader{Result: c.result(), Usage: usage, Effort: effort, Duration: time.Duration(c.Int64()), Samples: c.IntN(9)}); !same(t, &r, text) {
			t.Fatalf("%s is not read", text)
		}
	}
}

// TestFields: a field that a type gets is one that the reader knows or refuses.
func TestFields(t *testing.T) {
	refused := map[string]bool{"attempts": true, "comparison": true, "details": true}
	x := 0.5
	criterion := verdict.Criterion{
		ID: "a", Score: 1, Veto: true, NotApplicable: true, Value: &x, Note: "n", Expected: "x", Actual: "y", Sample: 2, Code: "c",
		Turns: []int{1}, Hits: []string{"h"}, Misses: []string{"m"}, Details: json.RawMessage("1"),
	}
	evaluator := verdict.EvaluatorResult{
		Name: "e", Type: "t", Weight: &x, Score: 1, Pass: true, Criteria: []verdict.Criterion{criterion}, Reason: "r", Aggregator: "min",
		Members: []verdict.EvaluatorResult{{Name: "m"}},
	}
	full := verdict.Result{
		Verdict: verdict.Pass, Score: &x, Samples: 1, Evaluators: []verdict.EvaluatorResult{evaluator}, Reason: "r", NoThreshold: true, Best: true,
		Attempts: []verdict.Attempt{{}}, Comparison: &verdict.Comparison{}, PassShare: &verdict.PassShare{Passes: 3, Samples: 4, Need: 3, Of: 5, PassK: []float64{0.75, 0.5}},
	}
	effort := verdict.Effort{Samples: 1, Calls: 1, InputTokens: 1, OutputTokens: 1, Told: 1, ToldUSD: 1, Latency: 1, Turns: 1, ToolCalls: 1, Untraced: true}
	for _, v := range []any{full, evaluator, criterion, effort, verdict.Usage{Calls: 1, InputTokens: 1, OutputTokens: 1, CostUSD: 1, Unpriced: 1, Told: 1, ToldUSD: 1}} {
		for i, typ := 0, reflect.TypeOf(v); i < typ.NumField(); i++ {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if reflect.ValueOf(v).Field(i).IsZero() {
				t.Errorf("%s.%s is not tested here; fill it in, and have the reader read it or refuse it", typ, name)
			}
			one := reflect.New(typ).Elem()
			one.Field(i).Set(reflect.ValueOf(v).Field(i))
			result, usage, effort := verdict.Result{}, verdict.Usage{}, (*verdict.Effort)(nil)
			switch one := one.Interface().(type) {
			case verdict.Result:
				one.Evaluators = nil // each has a case of its own
				result = one
			case verdict.EvaluatorResult:
				one.Criteria = nil
				result.Evaluators = []verdict.EvaluatorResult{one}
			case verdict.Criterion:
				result.Evaluators = []verdict.EvaluatorResult{{Criteria: []verdict.Criterion{one}}}
			case verdict.Usage:
				usage = one
			case verdict.Effort:
				effort = &one
			}
			if ok := same(t, new(verdict.JSONReader), encode(t, verdict.DecisionReader{Result: result, Usage: usage, Effort: effort})); ok == refused[name] {
				t.Errorf("%s.%s is read: %t", typ, name, ok)
			}
		}
	}
}

// refused are texts that the reader leaves to encoding/json.
var refused = []string{
	``, `{`, `[]`, `null`, `{"result":null}`, `{"result":{}} `, ` {"result":{}}`, `{"result":{},}`, `{,"result":{}}`, `{"result":{}}{}`,
	`{"Result":{}}`, `{"result":{"score":1,"verdict":"pass"}}`, `{"result":{"samples":1,"samples":2}}`, `{"result":{"other":1}}`,
	`{"result":{"score":01}}`, `{"result":{"score":+1}}`, `{"result":{"score":1.}}`, `{"result":{"score":.5}}`, `{"result":{"score":1e}}`,
	`{"result":{"score":1e999}}`, `{"result":{"score":Inf}}`, `{"result":{"score":-}}`, `{"result":{"samples":1e2}}`, `{"result":{"samples":1.5}}`,
	`{"result":{"samples":99999999999999999999}}`, `{"result":{"reason":"a`, `{"result":{"reason":"\`, `{"result":{"reason":"\"`, `{"result":{"reason":"\x"}}`,
	"{\"result\":{\"reason\":\"a\tb\"}}", "{\"result\":{\"reason\":\"\xff\"}}", `{"result":{"reason":null}}`, `{"result":{"no_threshold":yes}}`,
	`{"result":{"evaluators":null}}`, `{"result":{"evaluators":[}}`, `{"result":{"evaluators":[{},]}}`, `{"result":{"evaluators":[{}{}]}}`, `{"result":{"ungated":true}}`,
}

// TestRefused: whatever this program does not write is not read.
func TestRefused(t *testing.T) {
	for _, text := range refused {
		if got, ok := new(verdict.JSONReader).Decision([]byte(text)); ok {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
	// A reader that refused a text reads the next one.
	var r verdict.JSONReader
	for _, text := range refused {
		r.Decision([]byte(text))
		if !same(t, &r, `{"result":{"evaluators":[],"reason":""},"usage":{}}`) {
			t.Errorf("after %s nothing is read", text)
		}
	}
}

// FuzzReader: the reader always agrees with encoding/json.
func FuzzReader(f *testing.F) {
	c := chance{rand.New(rand.NewPCG(3, 4))}
	for range 20 {
		f.Add(encode(f, verdict.DecisionReader{Result: c.result(), Usage: verdict.Usage{Calls: 1}, Duration: time.Second}))
	}
	for _, text := range refused {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { same(t, new(verdict.JSONReader), text) })
}
