package run

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func call(tool, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: "1", Function: schema.FunctionCall{Name: tool, Arguments: arguments}}
}

// ofCase is a mock of a case.
func ofCase(params, response string) schema.CallMock {
	return schema.CallMock{Tool: "find", Params: raw(params), Response: raw(response)}
}

// ofTarget are mocks of a target for the tool, by their params and response.
func ofTarget(pairs ...[2]string) config.Target {
	var list []config.ToolMock
	for _, p := range pairs {
		var params map[string]json.RawMessage
		if p[0] != "" {
			if err := json.Unmarshal(raw(p[0]), &params); err != nil {
				panic(err)
			}
		}
		list = append(list, config.ToolMock{Params: params, Response: raw(p[1])})
	}
	return config.Target{Mocks: map[string][]config.ToolMock{"find": list}}
}

// offering is a case with the tool, whose own mock is m.
func offering(m *schema.Mock, listed ...schema.CallMock) *schema.Case {
	return &schema.Case{Tools: []schema.Tool{{Name: "find", Mock: m}}, Mocks: listed}
}

// TestWhichMockAnswers makes calls one after the other to one sample.
func TestWhichMockAnswers(t *testing.T) {
	own := &schema.Mock{Kind: "json", Body: `{"own":true}`}
	for _, tt := range []struct {
		name   string
		c      *schema.Case
		target config.Target
		calls  []string // arguments
		want   []string
	}{
		{"the tool's own", offering(own), config.Target{}, []string{`{}`, `{"a":1}`}, []string{`{"own":true}`, `{"own":true}`}},
		{"the case's before the tool's", offering(own, ofCase(`{}`, `"case"`)), config.Target{}, []string{`{}`}, []string{"case"}},
		{"the case's before the target's", offering(own, ofCase(`{}`, `"case"`)), ofTarget([2]string{"", `"target"`}), []string{`{}`, `{}`}, []string{"case", "case"}},
		{"the target's for a call that the case's do not fit", offering(own, ofCase(`{"a":1}`, `"case"`)), ofTarget([2]string{`{"a":2}`, `"target"`}), []string{`{"a":2}`, `{"a":1}`, `{"a":3}`}, []string{"target", "case", `{"own":true}`}},
		{"in order, the last again", offering(nil, ofCase(`{}`, `1`), ofCase(`{}`, `2`)), config.Target{}, []string{`{}`, `{}`, `{}`}, []string{"1", "2", "2"}},
		{"by params", offering(nil, ofCase(`{"id":1}`, `"one"`), ofCase(`{"id":2}`, `"two"`)), config.Target{}, []string{`{"id":2}`, `{"id":1,"more":true}`}, []string{"two", "one"}},
		{"numbers by value", offering(own, ofCase(`{"id":10}`, `"ten"`)), config.Target{}, []string{`{"id":1e1}`, `{"id":10.5}`}, []string{"ten", `{"own":true}`}},
		{"texts without case and space", offering(own, ofCase(`{"city":"Jakarta"}`, `"found"`)), config.Target{}, []string{`{"city":" JAKARTA "}`, `{"city":"Bali"}`}, []string{"found", `{"own":true}`}},
		{"lists and objects", offering(own, ofCase(`{"a":[{"b":"X"}]}`, `"deep"`)), config.Target{}, []string{`{"a":[{"b":"x"}]}`, `{"a":[]}`, `{"a":{"b":"x"}}`, `{"a":"x"}`}, []string{"deep", `{"own":true}`, `{"own":true}`, `{"own":true}`}},
		{"a scalar is not an object", offering(own, ofCase(`{"a":1}`, `"one"`)), config.Target{}, []string{`{"a":{}}`}, []string{`{"own":true}`}},
		{"arguments that are not JSON", offering(own, ofCase(`{"a":1}`, `"one"`)), config.Target{}, []string{`{"a":`}, []string{`{"own":true}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newMockDispatcher(tt.c, tt.target)
			var got []string
			for _, arguments := range tt.calls {
				m, missing, err := d.Answer(call("find", arguments))
				if err != nil || missing != "" || m.Role != schema.RoleTool || m.ToolCallID != "1" || m.Name != "find" {
					t.Fatalf("the call with %s got %+v, %q, %v; want the answer of a tool", arguments, m, missing, err)
				}
				got = append(got, m.Content)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the answers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEachSampleHasItsOwnMocks uses a mock up in one sample.
func TestEachSampleHasItsOwnMocks(t *testing.T) {
	c := offering(nil, ofCase(`{}`, `"first"`), ofCase(`{}`, `"second"`))
	for range 2 {
		if m, _, err := newMockDispatcher(c, config.Target{}).Answer(call("find", `{}`)); err != nil || m.Content != "first" {
			t.Errorf("the first call of a sample got %q, %v, want first", m.Content, err)
		}
	}
}

func TestWhatIsMissing(t *testing.T) {
	for _, tt := range []struct {
		name, tool, want string
		c                *schema.Case
	}{
		{"a tool that there is not", "search", "there is no tool search", offering(nil)},
		{"a tool without a mock", "find", "tool find has no mock response", offering(nil)},
		{"mocks for other arguments", "find", "no mock response of tool find matches these arguments", offering(nil, ofCase(`{"id":1}`, `1`))},
	} {
		m, missing, err := newMockDispatcher(tt.c, config.Target{}).Answer(call(tt.tool, `{"id":2}`))
		if missing != tt.want || err != nil {
			t.Errorf("%s: missing is %q, %v, want %q", tt.name, missing, err, tt.want)
		}
		if want := `{"error":"` + tt.want + `"}`; m.Content != want {
			t.Errorf("%s: the target is told %s, want %s", tt.name, m.Content, want)
		}
	}
	// A mock of the target for a tool that the case does not offer is in no digest of it.
	if _, missing, _ := newMockDispatcher(&schema.Case{}, ofTarget([2]string{"", `1`})).Answer(call("find", `{}`)); missing != "there is no tool find" {
		t.Errorf("a mock of the target for a tool that is not offered: missing is %q, want %q", missing, "there is no tool find")
	}
}

func TestToolsThatEndTheConversation(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		mock       *schema.Mock
	}{
		{"without a mock", `{"ended":true}`, nil},
		{"with code", `{"ended":true}`, &schema.Mock{Kind: "python", Body: "print()"}},
		{"with a mock", "bye", &schema.Mock{Kind: "text", Body: "bye"}},
	} {
		m, missing, err := newMockDispatcher(offering(tt.mock), config.Target{EndsConversation: []string{"find"}}).Answer(call("find", `{}`))
		if m.Content != tt.want || missing != "" || err != nil {
			t.Errorf("%s: the answer is %q, %q, %v, want %q", tt.name, m.Content, missing, err, tt.want)
		}
	}
}

func TestCodeIsNotExecuted(t *testing.T) {
	for _, kind := range []string{"javascript", "python"} {
		_, _, err := newMockDispatcher(offering(&schema.Mock{Kind: kind, Body: "x"}), config.Target{}).Answer(call("find", `{}`))
		if err == nil || !strings.Contains(err.Error(), "its mock is "+kind+" code, which is not executed") {
			t.Errorf("a call to a tool whose mock is %s returned %v, want an error that it is not executed", kind, err)
		}
		m, _, err := newMockDispatcher(offering(&schema.Mock{Kind: kind, Body: "x"}), ofTarget([2]string{"", `"fine"`})).Answer(call("find", `{}`))
		if err != nil || m.Content != "fine" {
			t.Errorf("a mock of the target instead of %s: %q, %v, want fine", kind, m.Content, err)
		}
	}
}
