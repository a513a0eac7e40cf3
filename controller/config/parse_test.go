package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/schema"
)

const full = `version: 1
definitions: evals/
default_target: support-agent
targets:
  support-agent: {provider: http, url: "https://example.com/agent/respond", concurrency: 8, inputs: ["agent/**"], revision: reply}
  small: {provider: openai, model: m, system_prompt: {file: ./prompts/small.md}, tools: [], base_url: "https://example.com/v1/", api_key_env: OPENAI_API_KEY, temperature: 0, parameters: {top_k: 5, seed: null}, price: {input: 0.1, output: 0.4}}
  claude: {provider: anthropic, model: c, api_key_env: ANTHROPIC_API_KEY, temperature: 0.5}
  gemini: {provider: gemini, model: g, api_key_env: GEMINI_API_KEY, seed: 7, parameters: {reasoning_effort: low}}
  planner: {provider: command, kind: agent, argv: [python3, ./planner.py, --fast], env: [LANG], timeout: 60s, reuse: off}
  recorded: {provider: replay, system_prompt: Be brief., path: recordings/a.jsonl, accepts_images: false}
  fake:
    provider: mock
    replies:
      - {match: "(?i)weather", reply: "", tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}
      - {reply: "I do not know"}
    mocks: {get_weather: [{params: {city: Oslo}, response: {degrees: 3}}]}
roles: {judge: small, editors: {gemini: small}}
aliases: {azure_base: small}
defaults: {iterations: 3, timeout: 2m, max_turns_cap: 0, difficulties: {hard: 2}}
thresholds: {domain: 0.8}
reuse: {mode: on, max_age: 30d}
gate: {fail_on: threshold, min_score: 0, required: ["math/**"]}
budget: {calls: 100, pull_request: {tokens: 5000}, day: {calls: 900}}
dialects: {"legacy/*.json": domain}
tools: [shared/tools]
comment: new
statuses: groups
`

func pointer[T any](v T) *T { return &v }

func TestParse(t *testing.T) {
	got, problems := Parse("gavel.yaml", []byte(full))
	if len(problems) != 1 || problems[0].Rule != "implied-inputs" || problems[0].Severity != schema.Note || problems[0].Line != 9 {
		t.Fatal(problems)
	}
	want := &Config{
		Definitions: []string{"evals"}, DefaultTarget: "support-agent",
		Targets: map[string]Target{
			"support-agent": {
				Name: "support-agent", Provider: HTTP, Kind: Agent, URL: "https://example.com/agent/respond",
				Concurrency: 8, Inputs: []string{"agent/**"}, Revision: RevisionReply,
			},
			"small": {
				Name: "small", Provider: OpenAI, Kind: Model, Model: "m", Tools: []string{},
				SystemPrompt: schema.TargetPrompt{File: "prompts/small.md", At: schema.Position{File: "gavel.yaml", Line: 6, Column: 39}},
				BaseURL:      "https://example.com/v1", API: "chat", APIKeyEnv: "OPENAI_API_KEY",
				Parameters: map[string]json.RawMessage{"temperature": json.RawMessage("0"), "top_k": json.RawMessage("5"), "seed": json.RawMessage("null")},
				Price:      &Price{0.1, 0.4},
			},
			"claude": {
				Name: "claude", Provider: Anthropic, Kind: Model, Model: "c", BaseURL: "https://api.anthropic.com", APIKeyEnv: "ANTHROPIC_API_KEY",
				Parameters: map[string]json.RawMessage{"temperature": json.RawMessage("0.5"), "max_tokens": json.RawMessage("4096")},
			},
			"gemini": {
				Name: "gemini", Provider: Gemini, Kind: Model, Model: "g", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", APIKeyEnv: "GEMINI_API_KEY",
				Parameters: map[string]json.RawMessage{"seed": json.RawMessage("7"), "reasoning_effort": json.RawMessage(`"low"`)},
			},
			"planner": {
				Name: "planner", Provider: Command, Kind: Agent, Declared: true, Argv: []string{"python3", "./planner.py", "--fast"}, Env: []string{"LANG"},
				Timeout: time.Minute, Inputs: []string{"python3", "planner.py"}, Implied: true, Reuse: &Reuse{},
			},
			"recorded": {Name: "recorded", Provider: Replay, Kind: Model, SystemPrompt: schema.TargetPrompt{Text: "Be brief.", At: schema.Position{File: "gavel.yaml", Line: 10, Column: 32}}, Path: "recordings/a.jsonl", AcceptsImages: pointer(false)},
			"fake": {
				Name: "fake", Provider: Mock, Kind: Model,
				Replies: []MockReply{
					{Match: "(?i)weather", ToolCalls: []MockCall{{"get_weather", json.RawMessage(`{"city":"Oslo"}`)}}},
					{Reply: "I do not know"},
				},
				Mocks: map[string][]ToolMock{"get_weather": {{
					Params: map[string]json.RawMessage{"city": json.RawMessage(`"Oslo"`)}, Response: json.RawMessage(`{"degrees":3}`),
				}}},
			},
		},
		Roles:      Roles{Judge: "small", Editors: map[string]string{"gemini": "small"}},
		Aliases:    map[string]string{"azure_base": "small"},
		Defaults:   Defaults{Iterations: 3, Timeout: 2 * time.Minute, MaxTurnsCap: pointer(0), Difficulties: map[string]float64{"hard": 2}},
		Thresholds: map[string]float64{"domain": 0.8},
		Reuse:      Reuse{On: true, MaxAge: 720 * time.Hour},
		Gate:       Gate{FailOn: "threshold", MinScore: pointer(0.0), Required: []string{"math/**"}},
		Budget:     Budget{Limits: Limits{Calls: pointer[int64](100)}, PullRequest: Limits{Tokens: pointer[int64](5000)}, Day: Limits{Calls: pointer[int64](900)}},
		Dialects:   []Pin{{"legacy/*.json", "domain"}},
		Tools:      []string{"shared/tools"}, Comment: "new", GroupStatuses: true,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Config{}, "Digest", "OwnDigest"), cmpopts.IgnoreFields(Target{}, "AddressAt")); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	if at, want := got.Targets["small"].AddressAt, (schema.Position{File: "gavel.yaml", Line: 6}); at.File != want.File || at.Line != want.Line {
		t.Errorf("the address of small is at %v, want its line %v", at, want)
	}
}

func TestDefaults(t *testing.T) {
	least, problems := Parse("gavel.yaml", []byte("version: 1\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, tt := range []struct {
		name string
		c    *Config
	}{{"least", least}, {"none", Default()}} {
		if tt.c.Definitions[0] != "test_definitions" || tt.c.Comment != "edit" || !tt.c.Reuse.On || len(tt.c.Targets) != 0 || len(tt.c.Digest) != 64 {
			t.Errorf("%s: %+v, want the defaults", tt.name, tt.c)
		}
		if s := tt.c.Settings(); s.Targets != nil {
			t.Errorf("%s: Settings().Targets = %v, want nil: no name can be checked", tt.name, s.Targets)
		}
	}
	if least.Digest != Default().Digest {
		t.Error("a file that says nothing differs from none")
	}
	one, problems := Parse("gavel.yaml", []byte("version: 1\ntargets: {a: {provider: openai, model: m}}\n"))
	if len(problems) > 0 || one.DefaultTarget != "a" || one.Targets["a"].BaseURL != baseURLs[OpenAI] || one.Targets["a"].API != "chat" {
		t.Errorf("one target: %+v, %v", one, problems)
	}
}

// TestImpliedDefault: the only target without a role serves the cases that name none, and one
// that has a role never does by itself.
func TestImpliedDefault(t *testing.T) {
	for _, tt := range []struct{ name, targets, rest, want, problem string }{
		{"one", "a", "", "a", ""},
		{"a judge", "a", "roles: {judge: a}", "", ""},
		{"a simulator", "a", "roles: {simulator: a}", "", ""},
		{"an editor", "a", "roles: {editors: {claude: a}}", "", ""},
		{"a judge that is named", "a", "roles: {judge: a}\ndefault_target: a", "a", ""},
		{"one next to a judge", "a b", "roles: {judge: a}", "b", ""},
		{"two", "a b", "", "", "add default_target: a"},
		{"two next to a judge", "a b c", "roles: {judge: a}", "", "add default_target: b"},
		{"two judges", "a b", "roles: {judge: a, extractor: b}", "", ""},
	} {
		text := "version: 1\ntargets:\n"
		for name := range strings.FieldsSeq(tt.targets) {
			text += "  " + name + ": {provider: openai, model: m}\n"
		}
		c, problems := Parse("gavel.yaml", []byte(text+tt.rest))
		if c.DefaultTarget != tt.want || schema.HasErrors(problems) != (tt.problem != "") || tt.problem != "" && problems[0].Hint != tt.problem {
			t.Errorf("%s: the default target is %q, problems %v, want %q and %q", tt.name, c.DefaultTarget, problems, tt.want, tt.problem)
		}
	}
}

// The base URL of anthropic may be written with the version in its paths, like the
// other ones.
func TestAnthropicDefaults(t *testing.T) {
	c, problems := Parse("gavel.yaml", []byte(`version: 1
targets: {a: {provider: anthropic, model: m, base_url: "https://proxy.example/v1/", max_tokens: 9}, b: {provider: openai, model: m, base_url: "https://proxy.example/v1/"}}
default_target: a
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	a := c.Targets["a"]
	if a.BaseURL != "https://proxy.example" || string(a.Parameters["max_tokens"]) != "9" || a.API != "" {
		t.Errorf("anthropic: %+v", a)
	}
	if got := c.Targets["b"].BaseURL; got != "https://proxy.example/v1" {
		t.Errorf("openai: %s", got)
	}
}

func TestReuseForms(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Reuse
	}{
		{"on", Reuse{On: true}}, {"off", Reuse{}}, {"true", Reuse{On: true}}, {"false", Reuse{}}, {`"on"`, Reuse{On: true}}, {`"off"`, Reuse{}},
		{"{}", Reuse{On: true}}, {"{mode: off}", Reuse{}}, {"{mode: true}", Reuse{On: true}}, {"{mode: off, max_age: 1h}", Reuse{MaxAge: time.Hour}}, {"{max_age: 2h}", Reuse{On: true, MaxAge: 2 * time.Hour}},
	} {
		c, problems := Parse("gavel.yaml", []byte("version: 1\nreuse: "+tt.text+"\n"))
		if len(problems) > 0 || c.Reuse != tt.want {
			t.Errorf("reuse: %s = %+v, %v; want %+v", tt.text, c.Reuse, problems, tt.want)
		}
	}
}

func TestDigest(t *testing.T) {
	digest := func(text string) string {
		c, problems := Parse("gavel.yaml", []byte(text))
		if schema.HasErrors(problems) {
			t.Fatalf("%s: problems %v, want no errors", text, problems)
		}
		return c.Digest
	}
	base := digest("version: 1\ntargets: {a: {provider: openai, model: m, temperature: 1}}\n")
	same := digest("# a comment\ntargets:\n  a: {temperature: 1.0, model: \"m\", provider: openai}\nversion: 1\n")
	other := digest("version: 1\ntargets: {a: {provider: openai, model: m, temperature: 2}}\n")
	if base != same || base == other {
		t.Errorf("digests: %s, reordered %s, changed %s", base, same, other)
	}
}

func TestSettings(t *testing.T) {
	c, problems := Parse("gavel.yaml", []byte(full))
	if schema.HasErrors(problems) {
		t.Fatal(problems)
	}
	yes, no := true, false
	want := schema.Settings{
		Definitions: []string{"evals"}, Tools: []string{"shared/tools"}, Dialects: map[string]string{"legacy/*.json": "domain"},
		DefaultTarget: "support-agent", Aliases: map[string]string{"azure_base": "small"}, Thresholds: map[string]float64{"domain": 0.8},
		Iterations: 3, Timeout: 2 * time.Minute, MaxTurnsCap: new(int), Difficulties: map[string]float64{"hard": 2},
		Skills: schema.SkillSettings{Find: true},
		Targets: map[string]schema.TargetSettings{
			"support-agent": {Agent: true, AcceptsPrompt: &no},
			"planner":       {Agent: true, Kind: Agent, AcceptsPrompt: &no, Timeout: time.Minute, HasWorkspace: true},
			"small":         {AcceptsPrompt: &yes, Tools: []string{}, Prompt: c.Targets["small"].SystemPrompt},
			"claude":        {AcceptsPrompt: &yes},
			"gemini":        {AcceptsPrompt: &yes},
			"recorded":      {AcceptsPrompt: &yes, AcceptsImages: &no, Prompt: c.Targets["recorded"].SystemPrompt},
			"fake":          {AcceptsPrompt: &yes, Mocks: map[string]bool{"get_weather": true}},
		},
	}
	if diff := cmp.Diff(want, c.Settings(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if c.Settings().Targets["small"].Tools == nil || c.Settings().Targets["claude"].Tools != nil {
		t.Error("tools: [] and no tools are the same, want them told apart")
	}
}

// Each row is the text behind "version: 1" and its mistake as line:column rule, then
// words that the message and the hint hold.
func TestProblems(t *testing.T) {
	const two = "\ntargets:\n  one: {provider: mock, replies: [{reply: x}]}\n  two: {provider: replay, path: p}\n"
	target := func(fields string) string { return "\ntargets:\n  t: {" + fields + "}\n" }
	for _, test := range []struct{ text, at, words string }{
		{two, "2:1 missing-field", "default_target|add default_target: one"},
		{two + "default_target: tow", "5:1 unknown-target", `"tow"|did you mean` + " `two`?"},
		{two + "default_target: zzzzzz", "5:1 unknown-target", "there are one, two"},
		{"\ndefault_target: x", "2:1 unknown-target", "add it under targets"},
		{two + "default_target: one\nroles: {judge: tow}", "6:9 unknown-target", "`two`"},
		{two + "default_target: one\nroles: {editors: {claude: oen}}", "6:19 unknown-target", "`one`"},
		{two + "default_target: one\naliases: {x: tow}", "6:11 unknown-target", "`two`"},
		{two + "default_target: one\naliases: {one: two}", "6:11 ambiguous-name", "target and an alias"},
		{"\ngate: {fail_on: threshold}", "2:8 missing-field", "min_score or max_drop"},
		{"\ngate: {max_cost_rise: half}", "2:8 bad-share", `write it in percent, such as 50%`},
		{"\ngate: {max_cost_rise: -5%}", "2:8 bad-share", `write it in percent, such as 50%`},
		{"\ngate: {max_time_rise: 0.5}", "2:23 wrong-type", `write "50%"`},
		{"\ngate: {max_tokens_rise: 50}", "2:25 wrong-type", `write "50%"`},
		{"\ngate: {required: [\"a[\"]}", "2:19 bad-glob", `"a["`},
		{"\ngate: {min_score: 1.5}", "2:19 out-of-range", "at most 1"},
		{"\ndialects: {\"a[\": domain}", "2:12 bad-glob", "malformed"},
		{target("provider: openai, model: m, system_prompt: {file: ../secret.md}"), "3:51 path-escapes", "../secret.md|repository root"},
		{target("provider: http, url: https://h, system_prompt: Be kind."), "3:39 foreign-field", "provider http|openai"},
		{"\ndefinitions: [a, a/b]", "2:18 overlapping-folders", "a and a/b"},
		{"\ndefinitions: [., a]", "2:18 overlapping-folders", ". and a"},
		{"\ndefinitions: [a/b, a]", "2:20 overlapping-folders", "a/b and a"},
		{"\ndefinitions: []", "2:14 out-of-range", "at least 1"},
		{"\ndefinitions: a\\b", "2:1 path-backslash", "write a/b"},
		{"\ndefinitions: ../a", "2:1 path-escapes", "outside"},
		{"\ntools: [/etc]", "2:9 path-escapes", "relative to the repository root"},
		{"\ndefaults: {timeout: \"60\"}", "2:12 bad-duration", `"60"|60s`},
		{"\ndefaults: {timeout: 24h1s}", "2:12 too-long", "24h"},
		{"\ndefaults: {iterations: 1000000000}", "2:24 out-of-range", "at most 1000"},
		{target("provider: mock, replies: [{reply: x}], timeout: 10000h"), "3:46 too-long", "`timeout` is 10000h"},
		{target("provider: http, url: https://a.example, revision: reply, wait_for: 1000h"), "3:64 too-long", "`wait_for` is 1000h"},
		{"\ndefaults: {timeout: -5s}", "2:12 bad-duration", "-5s"},
		{"\nreuse: {max_age: forever}", "2:9 bad-duration", "30d"},
		{"\ndefinitons: a", "2:1 unknown-field", "`definitions`?"},
		{target("provider: openai"), "3:3 missing-field", "needs `model`"},
		{target("provider: anthropic"), "3:3 missing-field", "needs `model`"},
		{target("provider: gemini"), "3:3 missing-field", "needs `model`"},
		{target("provider: http"), "3:3 missing-field", "needs `url`"},
		{target("provider: command, argv: [], inputs: []"), "3:3 missing-field", "needs `argv`"},
		{target("provider: replay"), "3:3 missing-field", "needs `path`"},
		{target("provider: mock, replies: []"), "3:3 missing-field", "needs `replies`"},
		{target("provider: openia, model: m"), "3:17 wrong-value", "`openai`?"},
		{target("provider: openai, model: m, argv: [x]"), "3:35 foreign-field", "`argv`|field of command"},
		{target("provider: http, url: https://h, temperature: 1"), "3:39 foreign-field", "field of anthropic, gemini and openai"},
		{target("provider: anthropic, model: m, seed: 1"), "3:38 foreign-field", "field of gemini and openai"},
		{target("provider: gemini, model: m, api: responses"), "3:35 foreign-field", "field of openai"},
		{target("provider: antropic, model: m"), "3:17 wrong-value", "`anthropic`?"},
		{target("provider: replay, path: ../p"), "3:25 path-escapes", "../p"},
		{target("provider: http, url: ftp://h"), "3:23 bad-url", "https://host/path"},
		{target("provider: http, url: example.com"), "3:23 bad-url", "not an http or https URL"},
		{target("provider: http, url: \"https://me:pw@h\""), "3:23 literal-secret", "api_key_env"},
		{target("provider: openai, model: m, base_url: \"http://\""), "3:35 bad-url", "base_url"},
		{target("provider: openai, model: m, api_key: sk-1"), "3:35 literal-secret", "api_key_env: OPENAI_API_KEY"},
		{target("provider: openai, model: m, Api-Token: sk-1"), "3:35 literal-secret", "secret into the repository"},
		{target("provider: openai, model: m, api_key_env: sk-abc-123"), "3:35 bad-variable", "stays out of the file"},
		{target("provider: command, inputs: [], argv: [x], env: [\"A=b\"]"), "3:55 bad-variable", "name of an environment variable"},
		{target("provider: mock, replies: [{match: \"(?=x)\"}]"), "3:34 bad-regex", "reply 1|RE2"},
		{target("provider: mock, replies: [{reply: x}], timeout: 5"), "", ""},
		{target("provider: mock, replies: [{reply: x}], timeout: \"5\""), "3:46 bad-duration", "60s"},
		{target("provider: mock, replies: [{reply: x}], reuse: {max_age: x}"), "3:54 bad-duration", "30d"},
		{target("provider: mock, replies: [{reply: x}], concurrency: -1"), "3:59 out-of-range", "at least 1"},
		{target("provider: openai, model: m, price: {input: -1, output: 0}"), "3:50 out-of-range", "at least 0"},
		{target("provider: openai, model: m, seed: 1, parameters: {seed: 2}"), "3:57 duplicate-key", "twice"},
		{target("provider: http, url: https://h, mocks: {f: [{response: 1}]}"), "3:39 mocks-unused", "kind: model"},
		{target("provider: http, url: https://h, tools: [a]"), "3:39 tools-unused", "runs its own tools"},
		{target("provider: http, url: https://h, kind: workflow, mocks: {f: [{response: 1}]}"), "3:55 mocks-unused", "runs its own tools"},
		{target("provider: http, url: https://h, url_template: \"https://{sha}.h\""), "3:23 ambiguous-field", "remove one of them"},
		{target("provider: http, url_template: https://h"), "3:23 bad-template", "{sha} or {pr}"},
		{target("provider: http, url_template: \"ftp://{sha}.h\""), "3:23 bad-url", "not an http or https URL"},
		{target("provider: http, url: https://h, revision: url_template"), "3:39 missing-field", "add url_template"},
		{target("provider: http, url_template: \"https://{sha}.h\", revision: none"), "3:56 ambiguous-field", "remove `revision`"},
		{target("provider: http, url: https://h, wait_for: 5m"), "3:39 missing-field", "add revision: reply"},
		{target("provider: http, url: https://h, revision: reply, wait_for: 5"), "3:66 wrong-type", "a string"},
		{target("provider: http, inputs: [a], url: \"http://127.0.0.1:{port}/\", start: {argv: []}"), "3:69 missing-field", "needs `argv`"},
		{target("provider: http, inputs: [a], url: \"http://127.0.0.1:{port}/\", start: {argv: [x], timeout: 25h}"), "3:88 too-long", "24h"},
		{target("provider: http, inputs: [a], url: \"http://127.0.0.1:{port}/\", start: {argv: [x], ready: \"http://example.com:{port}/\"}"), "3:88 bad-url", "`ready`|http://127.0.0.1:{port}/path"},
		{target("provider: http, inputs: [a], url: \"http://127.0.0.1:{port}/\", start: {argv: [x], ready: \"127.0.0.1:{port}\"}"), "3:88 bad-url", "not an http or https URL"},
		{target("provider: http, inputs: [a], url: \"https://agent.example/\", start: {argv: [x]}"), "3:36 bad-url", "`url`|http://127.0.0.1:{port}/path"},
		{target("provider: http, inputs: [a], url: \"http://127.0.0.1:8000/\", start: {argv: [x]}"), "3:36 bad-url", "{port}"},
		{target("provider: http, inputs: [a], url: \"https://localhost:{port}/\", start: {argv: [x]}"), "3:36 bad-url", "http://127.0.0.1:{port}/path"},
		{target("provider: http, inputs: [a], url: \"http://127.0.0.1:{port}/\", start: {argv: [x]}, revision: reply"), "3:89 ambiguous-field", "`revision` is for an agent that is deployed"},
		{target("provider: http, inputs: [a], url: \"http://127.0.0.1:{port}/\", start: {argv: [x]}, revision: none"), "3:89 ambiguous-field", "remove it"},
		{target("provider: http, inputs: [a], url_template: \"http://{sha}.example/\", start: {argv: [x]}"), "3:36 ambiguous-field", "`url_template` is for an agent that is deployed"},
		{target("provider: http, url: \"http://127.0.0.1:{port}/\", start: {argv: [x]}"), "3:3 implied-inputs", "\"t\" has no"},
		{target("provider: http, inputs: [a], url: \"http://127.0.0.1:{port}/\", start: {argv: [x]}, env: [\"A=b\"]"), "3:95 bad-variable", "name of an environment variable"},
		{target("provider: http, url: \"https://agent.example/\", env: [A]"), "3:54 foreign-field", "add start"},
		{target("provider: command, argv: [x], inputs: [a], start: {argv: [y]}"), "3:50 foreign-field", "field of http"},
		{target("provider: http, url: https://h, revision: {reply: some}"), "3:57 wrong-value", "any"},
		{target("provider: http, url: https://h, revision: {reply: any}, reply: $.text"), "3:39 missing-field", "add revision: $.version"},
		{target("provider: openai, model: m, revision: reply"), "3:35 foreign-field", "field of http"},
		{target("provider: command, argv: [x]"), "3:3 implied-inputs", `"t" has no|inputs: ["prompts/**"]`},
		{target("provider: command, argv: [x], inputs: [../y]"), "3:46 path-escapes", "../y"},
		{target("provider: openai, model: m") + "budget: {usd: 1}", "4:10 unknown-price", `"t"|price:`},
		{target("provider: openai, model: m") + "budget: {day: {usd: 1}}", "4:16 unknown-price", `"t"|price:`},
		{target("provider: openai, model: m") + "budget: {pull_request: {usd: 1}}", "4:25 unknown-price", `"t"|price:`},
		{"\nbudget: {calls: -1}", "2:17 out-of-range", "at least 0"},
		{"\nnoise: {confirm: on}", "2:18 wrong-value", "auto"},
		{"\nnoise: {alpha: 0.5}", "2:16 out-of-range", "at most 0.2"},
		{"\nnoise: {samples: 3}", "2:18 out-of-range", "at least 4"},
		{"\nnoise: {history: 14}", "2:18 wrong-type", "a string"},
		{"\nnoise: {history: \"14\"}", "2:9 bad-duration", "30d"},
		{"\nnoise: {new: {runs: 4, pass: 5}}", "2:24 out-of-range", "pass: 4"},
		{"\nnoise: {new: {runs: 4}}", "2:9 missing-field", "pass"},
		{"\nquarantine: [{case: a, until: 2026-02-31, reason: r}]", "2:24 invalid-date", "2026-04-01"},
		{"\nquarantine: [{case: a, until: soon, reason: r}]", "2:24 invalid-date", `"soon"`},
		{"\nquarantine: [{case: a, until: 2026-02-01}]", "2:14 missing-field", "reason"},
		{"\nquarantine: [{case: a, until: 2026-02-01, reason: \"\"}]", "2:43 missing-field", "reason"},
		{"\nquarantine: [{case: a, until: 2026-02-01, reason: r}, {case: a, until: 2026-02-01, reason: r}]", "2:56 duplicate-case", "twice"},
	} {
		_, problems := Parse("gavel.yaml", []byte("version: 1"+test.text+"\n"))
		if len(problems) != 1 {
			t.Errorf("%s\n\tgave %d problems, want 1: %v", test.text, len(problems), problems)
			continue
		}
		p := problems[0]
		if got := fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Rule); test.at != "" && got != test.at {
			t.Errorf("%s\n\tgave %s (%s), want %s", test.text, got, p.Message, test.at)
		}
		for word := range strings.SplitSeq(test.words, "|") {
			if !strings.Contains(p.Message+" "+p.Hint, word) {
				t.Errorf("%s\n\tgave %q and %q without %q", test.text, p.Message, p.Hint, word)
			}
		}
		for _, secret := range []string{"sk-", "pw@", "A=b"} {
			if strings.Contains(p.String(), secret) {
				t.Errorf("%s\n\tshows a secret: %s", test.text, p)
			}
		}
	}
}

// Keys of definitions in a list of folders begin at the root, so that they stay
// when the list grows.
func TestListed(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool
	}{{"", false}, {"definitions: a", false}, {"definitions: [a]", true}, {"definitions: [a, b]", true}} {
		c, problems := Parse("gavel.yaml", []byte("version: 1\n"+tt.text+"\n"))
		if len(problems) > 0 || c.Settings().Listed != tt.want {
			t.Errorf("%s: listed is %v; %v", tt.text, c.Settings().Listed, problems)
		}
	}
}

// TestOverlappingFoldersLoadOnce: if folders overlap, the first is taken, so that nothing is loaded twice.
func TestOverlappingFoldersLoadOnce(t *testing.T) {
	c, _ := Parse("gavel.yaml", []byte("version: 1\ndefinitions: [a, ./a/, a/b, c]\n"))
	if diff := cmp.Diff([]string{"a", "c"}, c.Settings().Definitions); diff != "" {
		t.Error(diff)
	}
}

// TestTheSameFolderTwice is not a mistake.
func TestTheSameFolderTwice(t *testing.T) {
	c, problems := Parse("gavel.yaml", []byte("version: 1\ntools: [shared, ./shared, shared/]\n"))
	if diff := cmp.Diff([]string{"shared"}, c.Settings().Tools); diff != "" || len(problems) > 0 {
		t.Errorf("the problems are %v, and the folders (-want +got):\n%s", problems, diff)
	}
}

// Several problems are reported at once, in the order of the file.
func TestProblemsAtOnce(t *testing.T) {
	text := "version: 1\ngate: {fail_on: threshold}\ntargets:\n  a: {provider: http, url: nope, api_key_env: x-y}\nroles: {judge: b}\n"
	c, problems := Parse("gavel.yaml", []byte(text))
	var rules []string
	for _, p := range problems {
		rules = append(rules, p.Rule)
	}
	if got := strings.Join(rules, " "); got != "missing-field bad-url bad-variable unknown-target" {
		t.Errorf("problems: %v", problems)
	}
	if c == nil || c.Targets["a"].Provider != HTTP {
		t.Errorf("Config next to problems = %+v; want what could be read", c)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("version: 1\nreuse: {mode: {}}\n"))
	f.Add([]byte("version: 1\ntargets: {a: {provider: command, argv: [\"\"], inputs: ['']}}\n"))
	for _, seed := range []string{
		"a: &a [*a]", "version: 1\ntargets: &t {a: {provider: mock, replies: &r [*r]}}\n", "version: 1\ntargets: {<<: {a: {}}, a: {}}\n",
		"version: 1\ndefinitions: [../x, /etc, \"a\\0b\", \"a\\\\b\", .git, .GIT, a/../../b]\ntools: [..]\n",
		"version: 1\ntargets: {a: {provider: replay, path: /proc/self/environ, inputs: [\"[\", \"**/../..\", \"\"]}}\n",
		"version: 1\ntargets: {a: {provider: mock, replies: [{match: \"((a{1,1000}){1,1000}){1,1000}\"}, {match: \"(?=x)\"}]}}\n",
		"version: 1\ntargets: {a: {provider: http, url: \"http://[::1%25\", url_template: \"{sha}{sha}://{pr}\", wait_for: -1s}}\n",
		"version: 1\ntargets: {a: {provider: http, url: \"http://169.254.169.254/\\r\\nX: y\", api_key_env: \"A\\nB\"}}\n",
		"version: 1\ngate: {min_score: 1e-999, max_drop: .nan, required: [\"[\"]}\nbudget: {usd: 1e308}\n", "version: 1\nversion: 1\n", "\xef\xbb\xbfversion: 1\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, problems := Parse("gavel.yaml", data)
		if c == nil || len(c.Definitions) == 0 {
			t.Fatalf("Parse gave an unusable Config and %v", problems)
		}
		for _, target := range c.Targets {
			target.Identity(nil, nil)
		}
	})
}
