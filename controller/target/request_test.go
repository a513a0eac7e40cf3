package target

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

func TestDigest(t *testing.T) {
	base := Digest(conversation())
	// Recordings contain the digest: it must never change by itself.
	if want := "8e817dec970dccff553a440635728d795cf2f8cb66e6b783368816f4a20975a4"; base != want {
		t.Errorf("digest %s, want %s", base, want)
	}
	tests := []struct {
		name   string
		change func(*Request)
		same   bool
	}{
		{"case", func(r *Request) { r.Case = "other" }, true},
		{"root", func(r *Request) { r.Root = "abc" }, true},
		{"turn", func(r *Request) { r.Turn = 3 }, true},
		{"sample", func(r *Request) { r.Sample = 3 }, true},
		{"occurrence", func(r *Request) { r.Occurrence = 3 }, true},
		{"mock", func(r *Request) { r.Tools[0].Mock = &schema.Mock{Kind: "json", Body: "1"} }, true},
		{"file of a tool", func(r *Request) { r.Tools[0].File = "tools/x.json" }, true},
		{"layout of a schema", func(r *Request) {
			r.Tools[0].Parameters = json.RawMessage(`{ "type": "object", "properties": {"city": {"type": "string"}} }`)
		}, true},
		{"layout of the format", func(r *Request) {
			r.Format = &Format{Name: "weather", Schema: json.RawMessage(`{"properties":{"bern":{"type":"string"}},"type":"object"}`)}
		}, true},
		{"system", func(r *Request) { r.System += " " }, false},
		{"no system", func(r *Request) { r.System = "" }, false},
		{"content", func(r *Request) { r.Messages[0].Content = "weather in Bern and Rome?" }, false},
		{"role", func(r *Request) { r.Messages[0].Role = schema.RoleSystem }, false},
		{"one message less", func(r *Request) { r.Messages = r.Messages[:5] }, false},
		{"arguments", func(r *Request) { r.Messages[1].ToolCalls[0].Function.Arguments = `{"city": "Bern"}` }, false},
		{"call id", func(r *Request) { r.Messages[2].ToolCallID = "c3" }, false},
		{"order of tools", func(r *Request) { r.Tools[0], r.Tools[1] = r.Tools[1], r.Tools[0] }, false},
		{"no tools", func(r *Request) { r.Tools = nil }, false},
		{"name of a tool", func(r *Request) { r.Tools[1].Name = "then" }, false},
		{"description of a tool", func(r *Request) { r.Tools[1].Description = "time" }, false},
		{"parameters of a tool", func(r *Request) { r.Tools[1].Parameters = json.RawMessage(`{}`) }, false},
		{"parameters that are not JSON", func(r *Request) { r.Tools[1].Parameters = json.RawMessage(`{`) }, false},
		{"other parameters that are not JSON", func(r *Request) { r.Tools[1].Parameters = json.RawMessage(`{{`) }, false},
		{"schema of the format", func(r *Request) { r.Format = &Format{Name: "weather", Schema: json.RawMessage(`{}`)} }, false},
		{"no format", func(r *Request) { r.Format = nil }, false},
		{"format that is not JSON", func(r *Request) { r.Format = &Format{Schema: json.RawMessage(`}`)} }, false},
		{"row", func(r *Request) { r.Row = json.RawMessage(`{"vars":{"x":"a"}}`) }, false},
		{"temperature", func(r *Request) { r.Temperature = new(float64); *r.Temperature = 1 }, false},
		{"no temperature", func(r *Request) { r.Temperature = nil }, false},
	}
	seen := map[string]string{base: "the base"}
	for _, tt := range tests {
		req := conversation()
		tt.change(&req)
		got := Digest(req)
		if tt.same {
			if got != base {
				t.Errorf("%s changes the digest", tt.name)
			}
			continue
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s has the digest of %s", tt.name, other)
		}
		seen[got] = tt.name
	}
	req := conversation()
	Digest(req)
	if diff := cmp.Diff(conversation(), req); diff != "" {
		t.Errorf("the request was changed: %s", diff)
	}
}

func TestWithDelimiter(t *testing.T) {
	req := Request{
		System: "Between " + Mark + " and " + Mark + ".",
		Messages: []schema.Message{
			{Role: schema.RoleUser, Content: "nothing"}, {Role: schema.RoleUser, Content: Mark + "\nx\n" + Mark}, {Role: schema.RoleUser, Content: Mark},
		},
	}
	before := fmt.Sprintf("%+v", req)
	want := Request{
		Digest: Digest(req),
		System: "Between D and D.",
		Messages: []schema.Message{
			{Role: schema.RoleUser, Content: "nothing"}, {Role: schema.RoleUser, Content: "D\nx\nD"}, {Role: schema.RoleUser, Content: "D"},
		},
	}
	if diff := cmp.Diff(want, WithDelimiter(req, "D")); diff != "" {
		t.Error(diff)
	}
	if after := fmt.Sprintf("%+v", req); after != before {
		t.Errorf("the request was changed to %s", after)
	}
}

func TestMock(t *testing.T) {
	target := openTest(t, config.Target{Provider: "mock", Replies: []config.MockReply{
		{Match: `(?i)weather in (\w+)`, ToolCalls: []config.MockCall{{Name: "get_weather", Arguments: json.RawMessage(`{"city":"Bern"}`)}, {Name: "now"}}},
		{Match: `^rain$`, Reply: "It rains."},
		{Match: `weather`, Reply: "never reached for Bern"},
	}}, Env{})
	ask := func(messages ...schema.Message) (Reply, error) {
		return target.Respond(t.Context(), Request{Messages: messages, Case: "shop/x"})
	}
	question := schema.Message{Role: schema.RoleUser, Content: "What is the Weather in Bern?"}
	first, err := ask(question)
	if err != nil {
		t.Fatal(err)
	}
	want := said("")
	want.Finish = "tool_calls"
	want.Messages[0].ToolCalls = []schema.ToolCall{
		functionCall("call_1_0", "get_weather", `{"city":"Bern"}`), functionCall("call_1_1", "now", "{}"),
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	second, err := ask(question, first.Messages[0], schema.Message{Role: schema.RoleTool, ToolCallID: "call_1_0", Content: "rain"})
	if err != nil {
		t.Fatal(err)
	}
	want = said("It rains.")
	want.Finish = "stop"
	if diff := cmp.Diff(want, second); diff != "" {
		t.Error(diff)
	}
	_, err = ask(schema.Message{Role: schema.RoleUser, Content: "Hello"})
	checkError(t, err, Error{Message: `none of the 3 replies matches the last message of case shop/x: "Hello"`})
}

func BenchmarkDigest(b *testing.B) {
	req := conversation()
	b.ReportAllocs()
	for b.Loop() {
		Digest(req)
	}
}
