package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func names(list []Property) string {
	var all []string
	for _, p := range list {
		all = append(all, p.Name)
	}
	return strings.Join(all, ",")
}

func environment(name string) (string, bool) {
	v, ok := map[string]string{"A": "one", "B": "one", "KEY": "k"}[name]
	return v, ok
}

func TestIdentityNamesWhatIsSent(t *testing.T) {
	full := Target{
		Name: "t", Provider: OpenAI, Kind: Model, Model: "m", BaseURL: "https://x/v1", API: "chat", APIKeyEnv: "KEY",
		Parameters:  map[string]json.RawMessage{"temperature": json.RawMessage("0.0")},
		Concurrency: 3, RequestsPerMinute: 4, TokensPerMinute: 5, Timeout: 6, Price: &Price{1, 2},
		Mocks: map[string][]ToolMock{"f": {{Response: json.RawMessage(`{"b":1,"a":2}`)}}},
	}
	want := []Property{
		{Name: "api", Value: "chat"}, {Name: "base url", Value: "https://x/v1"},
		{Name: "mock f", Value: `[{"Params":null,"Response":{"a":2,"b":1}}]`, Tool: "f"},
		{Name: "model", Value: "m"}, {Name: "parameter temperature", Value: "0"}, {Name: "provider", Value: "openai"},
	}
	if diff := cmp.Diff(want, full.Identity(environment, nil)); diff != "" {
		t.Error(diff)
	}
	full.Kind = Agent
	if got := names(full.Identity(environment, nil)); !strings.Contains(got, "mock") {
		t.Errorf("the identity of a model that is used as an agent is %s, want it with mocks", got)
	}
	full.Provider = HTTP
	if got := names(full.Identity(environment, nil)); strings.Contains(got, "mock") {
		t.Errorf("an agent's identity has mocks: %s", got)
	}
}

// Every change to a target either changes its identity or is one of those
// that must not.
func TestIdentityChanges(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	base := func() Target {
		return Target{
			Name: "t", Provider: Command, Kind: Model, Model: "m", BaseURL: "b", API: "chat", URL: "u", APIKeyEnv: "KEY",
			Parameters: map[string]json.RawMessage{"seed": raw("1"), "o": raw(`{"a":1,"b":2}`)},
			Argv:       []string{"./run", "x"}, Env: []string{"A"}, Path: "p", Revision: RevisionNone,
			Replies: []MockReply{{Match: "m", Reply: "r", ToolCalls: []MockCall{{"f", raw(`{"x":1}`)}}}},
			Mocks:   map[string][]ToolMock{"f": {{Params: map[string]json.RawMessage{"p": raw("1")}, Response: raw(`"r"`)}}},
		}
	}
	for _, test := range []struct {
		name    string
		edit    func(*Target)
		differs bool
	}{
		{"provider", func(t *Target) { t.Provider = HTTP }, true},
		{"kind", func(t *Target) { t.Kind = Agent }, true},
		{"model", func(t *Target) { t.Model = "n" }, true},
		{"base url", func(t *Target) { t.BaseURL = "c" }, true},
		{"api", func(t *Target) { t.API = "responses" }, true},
		{"url", func(t *Target) { t.URL = "v" }, true},
		{"url template", func(t *Target) { t.URLTemplate = "u/{sha}" }, true},
		{"revision", func(t *Target) { t.Revision = RevisionReply }, true},
		{"parameter", func(t *Target) { t.Parameters["seed"] = raw("2") }, true},
		{"parameter that is not sent", func(t *Target) { t.Parameters["temperature"] = raw("null") }, true},
		{"new parameter", func(t *Target) { t.Parameters["top_p"] = raw("1") }, true},
		{"argument", func(t *Target) { t.Argv[1] = "y" }, true},
		{"arguments split", func(t *Target) { t.Argv = []string{"./run x"} }, true},
		{"other variable of equal value", func(t *Target) { t.Env[0] = "B" }, true},
		{"missing variable", func(t *Target) { t.Env[0] = "C" }, true},
		{"match", func(t *Target) { t.Replies[0].Match = "n" }, true},
		{"reply", func(t *Target) { t.Replies[0].Reply = "s" }, true},
		{"tool call", func(t *Target) { t.Replies[0].ToolCalls[0].Arguments = raw(`{"x":2}`) }, true},
		{"mock", func(t *Target) { t.Mocks["f"][0].Response = raw(`"s"`) }, true},
		{"mock params", func(t *Target) { t.Mocks["f"][0].Params["p"] = raw("2") }, true},

		{"nothing", func(*Target) {}, false},
		{"name", func(t *Target) { t.Name = "other" }, false},
		{"key variable", func(t *Target) { t.APIKeyEnv = "OTHER" }, false},
		{"timeout", func(t *Target) { t.Timeout = 1 }, false},
		{"concurrency", func(t *Target) { t.Concurrency = 1 }, false},
		{"requests a minute", func(t *Target) { t.RequestsPerMinute = 1 }, false},
		{"tokens a minute", func(t *Target) { t.TokensPerMinute = 1 }, false},
		{"price", func(t *Target) { t.Price = &Price{1, 1} }, false},
		{"images", func(t *Target) { t.AcceptsImages = new(bool) }, false},
		{"wait", func(t *Target) { t.WaitFor = 1 }, false},
		{"reuse", func(t *Target) { t.Reuse = &Reuse{} }, false},
		{"place of the recording", func(t *Target) { t.Path = "q" }, false},
		{"form of a number", func(t *Target) { t.Parameters["seed"] = raw("1.0") }, false},
		{"order of keys", func(t *Target) { t.Parameters["o"] = raw(`{"b":2, "a":1}`) }, false},
	} {
		edited := base()
		test.edit(&edited)
		differs := !cmp.Equal(base().Identity(environment, nil), edited.Identity(environment, nil))
		if differs != test.differs {
			t.Errorf("%s: identity differs is %t, want %t", test.name, differs, test.differs)
		}
	}
}

func TestIdentityHidesValues(t *testing.T) {
	target := Target{Provider: Command, Env: []string{"A", "B"}}
	salted := target.Identity(environment, []byte("salt"))
	if salted[0].Value == salted[1].Value {
		t.Error("two variables of one value are seen to be equal")
	}
	if cmp.Equal(salted, target.Identity(environment, []byte("other"))) {
		t.Error("the salt has no effect")
	}
	for _, p := range salted {
		if strings.Contains(p.Value, "one") {
			t.Errorf("%s shows the value: %s", p.Name, p.Value)
		}
	}
	for _, p := range target.Identity(nil, nil)[:2] {
		if p.Value != "not set" {
			t.Errorf("without an environment %s = %q", p.Name, p.Value)
		}
	}
}

func TestCost(t *testing.T) {
	price := Price{Input: 0.1, Output: 0.4}
	if got := price.Cost(2_000_000, 500_000); got != 0.4 {
		t.Errorf("Cost = %v, want 0.4", got)
	}
}
