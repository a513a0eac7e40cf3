package evaluate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// expecting reads expectations: "tool", "tool {params}", "!tool {params}".
func expecting(specs ...string) evaluator.Conversation {
	var calls []evaluator.CallExpectation
	for _, s := range specs {
		name, forbidden := strings.CutPrefix(s, "!")
		name, params, _ := strings.Cut(name, " ")
		call := evaluator.CallExpectation{Tool: name, Forbidden: forbidden}
		if params != "" {
			call.Params = raw(params)
		}
		calls = append(calls, call)
	}
	evaluator.NumberCalls(calls)
	return evaluator.Conversation{Calls: calls}
}

// TestExpectations has the judge's question, and which expectations hold after its
// answer, as 1 and 0.
func TestExpectations(t *testing.T) {
	for _, tt := range []struct {
		name  string
		want  []string
		calls []string
		same  string // the judge's answers by comparison: y and n
		held  string
	}{
		{"called", []string{"get"}, []string{"get {}"}, "", "1"},
		{"not called", []string{"get"}, nil, "", "0"},
		{"another was", []string{"get"}, []string{"got {}"}, "", "0"},
		{"name in another case", []string{"get"}, []string{"Get {}"}, "", "0"},
		{"params", []string{`get {"a":1}`}, []string{`get {"b":2,"a":1.0}`}, "", "1"},
		{"nested params", []string{`get {"a":{"b":[1,{"c":2}]}}`}, []string{`get {"a":{"b":[1,{"c":2,"d":3}],"e":4}}`}, "", "1"},
		{"a param is missing", []string{`get {"a":1}`}, []string{`get {"b":1}`}, "", "0"},
		{"no arguments", []string{`get {"a":1}`}, []string{`get `}, "", "0"},
		{"arguments are not an object", []string{`get {"a":1}`}, []string{`get [1]`}, "", "0"},
		{"arguments are not json", []string{`get {"a":1}`}, []string{`get {"a":`}, "", "0"},
		{"no json, any params", []string{`get`}, []string{`get {"a":`}, "", "1"},
		{"means the same", []string{`get {"a":"1 May"}`}, []string{`get {"a":"May 1st"}`}, "y", "1"},
		{"means another", []string{`get {"a":"1 May"}`}, []string{`get {"a":"2 May"}`}, "n", "0"},
		{"another type", []string{`get {"a":1}`}, []string{`get {"a":"1"}`}, "y", "1"},
		{"asked once", []string{`get {"a":1}`}, []string{`get {"a":"1"}`, `get {"a": "1"}`}, "y", "1"},
		{"one and its string", []string{`get {"a":0}`}, []string{`get {"a":1}`, `get {"a":"1"}`}, "ny", "1"},
		{"exactly, so not asked", []string{`get {"a":1}`}, []string{`get {"a":2}`, `get {"a":1}`}, "", "1"},
		{"two want two", []string{"get", "get"}, []string{"get {}"}, "", "10"},
		{"two have two", []string{"get", "get"}, []string{"get {}", "get {}"}, "", "11"},
		{"any order", []string{"a", "b"}, []string{"b {}", "c {}", "a {}"}, "", "11"},
		{"the flexible makes room", []string{"get", `get {"a":1}`}, []string{`get {"a":1}`, `get {"a":2}`}, "", "11"},
		{"the judged makes room", []string{"get", `get {"a":1}`}, []string{`get {"a":"one"}`, "get {}"}, "y", "11"},
		{"each asked of both", []string{`get {"a":1}`, `get {"a":1,"b":2}`}, []string{`get {"a":1,"b":"2"}`, `get {"a":"1"}`}, "yy", "11"},
		{"forbidden", []string{"!get"}, []string{"get {}"}, "", "0"},
		{"forbidden, not called", []string{"!get"}, []string{"put {}"}, "", "1"},
		{"forbidden params", []string{`!get {"a":1}`}, []string{`get {"a":1,"b":2}`}, "", "0"},
		{"other params", []string{`!get {"a":1}`}, []string{`get {"b":1}`}, "", "1"},
		{"forbidden, the same", []string{`!get {"a":"x"}`}, []string{`get {"a":"X."}`}, "y", "0"},
		{"forbidden, not the same", []string{`!get {"a":"x"}`}, []string{`get {"a":"y"}`}, "n", "1"},
		{"forbidden, one of two", []string{`!get {"a":"x"}`}, []string{`get {"a":"y"}`, `get {"a":"z"}`}, "ny", "0"},
		{"forbidden, so not asked", []string{`!get {"a":"x"}`}, []string{`get {"a":"y"}`, `get {"a":"x"}`}, "", "0"},
		{"wanted and forbidden", []string{`get {"a":1}`, `!get {"a":2}`}, []string{`get {"a":1}`, `get {"a":2}`}, "", "10"},
		{"forbidden does not claim", []string{`get`, `!get {"a":2}`}, []string{`get {"a":2}`}, "", "10"},
		{"open forbidden", []string{`get {"a":1}`, `!get`}, []string{`get {"a":1}`}, "", "10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := expecting(tt.want...)
			var said []string
			for i, c := range tt.same {
				said = append(said, fmt.Sprintf(`{"comparison": %d, "same": %v}`, i+1, c == 'y'))
			}
			s := &script{replies: []string{judged(all("5"), `, "comparisons": [`+strings.Join(said, ",")+`]`)}}
			m := judge(t, spec, talk(tt.calls...), s)
			if m.Error != "" {
				t.Fatal(m.Error)
			}
			held := ""
			for _, c := range m.Criteria[8:] {
				held += fmt.Sprint(c.Score)
				if c.Score == 0 && c.Note == "" {
					t.Errorf("%s does not say why", c.ID)
				}
			}
			if held != tt.held {
				t.Errorf("held %s, want %s: %+v", held, tt.held, m.Criteria[8:])
			}
			if res := decide(spec, m); (res.Verdict == verdict.Pass) != !strings.Contains(tt.held, "0") {
				t.Errorf("the result is %+v, want a pass only when everything holds", res)
			}
		})
	}
}

func TestExpectationsSayWhatWasCalled(t *testing.T) {
	spec := expecting(`get {"a":1}`, "put", "put", "!drop")
	m := judge(t, spec, talk(`get {"b":1}`, "put {}", `drop {"all":true}`), &script{replies: []string{judged(all("5"), "")}})
	want := `get with {"a":1} was called with other arguments: {"b":1}; put was called too few times; drop must not be called, and was: {"all":true}`
	if m.Reason != want {
		t.Errorf("reason %q, want %q", m.Reason, want)
	}
	if turns := m.Criteria[11].Turns; len(turns) != 1 || turns[0] != 6 {
		t.Errorf("the forbidden call is in the turns %v", turns)
	}
}

// An agent that never stops calling a tool costs a bounded question.
func TestExpectationsBoundTheQuestion(t *testing.T) {
	var calls, no []string
	for i := range 60 {
		calls = append(calls, fmt.Sprintf(`get {"a":%d}`, i))
		if i < 50 {
			no = append(no, fmt.Sprintf(`{"comparison": %d, "same": false}`, i+1))
		}
	}
	s := &script{replies: []string{judged(all("5"), `, "comparisons": [`+strings.Join(no, ",")+`]`)}}
	m := judge(t, expecting(`get {"a":"none"}`), talk(calls...), s)
	if m.Error != "" || m.Criteria[8].Score != 0 || !strings.Contains(m.Reason, "the judge saw the first 50 different calls") {
		t.Errorf("error %q, criteria %+v; want a score of 0 and a reason that says that the judge saw 50 calls", m.Error, m.Criteria[8:])
	}
	fails(t, judge(t, expecting(`!get {"a":"none"}`), talk(calls...), &script{}), "too many to say")
}
