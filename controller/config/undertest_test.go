package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

// configured parses a gavel.yaml with a target bot whose settings are written, and a judge.
func configured(t *testing.T, bot, more string) *config.Config {
	t.Helper()
	cfg, problems := config.Parse("gavel.yaml", []byte("version: 1\ndefault_target: bot\ntargets:\n  bot: {"+bot+"}\n  judge: {provider: openai, model: j}\nroles: {judge: judge}\n"+more))
	if schema.HasErrors(problems) {
		t.Fatal(problems)
	}
	return cfg
}

const bot = "provider: openai, base_url: 'https://a.example/v1', api_key_env: KEY, model: old"

// TestUnderTest changes one setting of a target: data under test is judged where head may
// choose it, everything else is as at the tip and named.
func TestUnderTest(t *testing.T) {
	for _, tt := range []struct {
		name, head string
		data       bool   // it is data under test
		says       string // the name of the change; empty without one
	}{
		{"model", strings.Replace(bot, "old", "new", 1), true, "model old → new"},
		{"temperature", bot + ", temperature: 0.5", true, "parameter temperature 0.5 added"},
		{"top_p", bot + ", top_p: 0.5", true, "parameter top_p 0.5 added"},
		{"seed", bot + ", seed: 5", true, "parameter seed 5 added"},
		{"max_tokens", bot + ", max_tokens: 5", true, "parameter max_tokens 5 added"},
		{"stop", bot + ", parameters: {stop: [END]}", true, `parameter stop ["END"] added`},
		{"penalties", bot + ", parameters: {presence_penalty: 1}", true, "parameter presence_penalty 1 added"},
		{"reasoning effort", bot + ", parameters: {reasoning_effort: low}", true, `parameter reasoning_effort "low" added`},
		{"effort in an object", bot + ", parameters: {reasoning: {effort: low}}", true, `parameter reasoning {"effort":"low"} added`},
		{"system prompt", bot + ", system_prompt: Be brief.", true, "system_prompt Be brief. added"},
		{"file of the system prompt", bot + ", system_prompt: {file: a.md}", true, "system_prompt a.md added"},
		{"tools", bot + ", tools: [pay]", true, "tools pay added"},
		{"mocks", bot + ", mocks: {pay: [{params: {}, response: 1}]}", true, ""},
		{"max_turns", bot + ", max_turns: 3", true, "max_turns 3 added"},
		{"ends_conversation", bot + ", ends_conversation: [pay]", true, "ends_conversation pay added"},

		{"address", strings.Replace(bot, "a.example", "b.example", 1), false, "base url https://a.example/v1 → https://b.example/v1"},
		{"route of a router", bot + ", parameters: {route: {order: [x]}}", false, `parameter route {"order":["x"]} added`},
		{"other models of a router", bot + ", parameters: {models: [x]}", false, `parameter models ["x"] added`},
		{"object in place of a number", bot + ", parameters: {stop: {url: x}}", false, `parameter stop {"url":"x"} added`},
		{"more than an effort", bot + ", parameters: {reasoning: {effort: low, tier: x}}", false, `parameter reasoning {"effort":"low","tier":"x"} added`},
		{"api", bot + ", api: responses", false, "api chat → responses"},
		{"provider", "provider: anthropic, model: old, base_url: 'https://a.example/v1', api_key_env: KEY", false, "provider openai → anthropic"},
		{"kind", bot + ", kind: agent", false, "kind model → agent"},
	} {
		base, head := configured(t, bot, ""), configured(t, tt.head, "")
		for _, take := range []bool{true, false} {
			got, changes := base.UnderTest(base, head, take)
			judged := take && tt.data
			var named []config.TargetChange
			if named = changes.Refused; judged {
				named = changes.Judged
			}
			said := ""
			for _, c := range named {
				if c.Target != "bot" {
					t.Errorf("%s: the change is one of %q", tt.name, c.Target)
				}
				said += c.String() + "\n"
			}
			if !strings.Contains(said, tt.says) || said == "" {
				t.Errorf("%s (judged %v): named as %q, want %q", tt.name, take, said, tt.says)
			}
			want := base
			if judged {
				want = head
			}
			is := got.Targets["bot"]
			if diff := cmp.Diff(want.Targets["bot"], is); diff != "" {
				t.Errorf("%s (judged %v): the target (-want +got):\n%s", tt.name, take, diff)
			}
			if judged != (got.Digest != base.Digest) {
				t.Errorf("%s (judged %v): the digest of the configuration is wrong", tt.name, take)
			}
		}
	}
}

// TestUnderTestOfOtherTargets: nothing of a program or of an agent is under test but the ends
// of its conversations.
func TestUnderTestOfOtherTargets(t *testing.T) {
	const program, agent = "provider: command, argv: [sh, a.sh], inputs: [a.sh]", "provider: http, url: 'https://a.example/respond'"
	for _, tt := range []struct{ name, base, head, says string }{
		{"argv", program, strings.Replace(program, "[sh, a.sh]", "[sh, b.sh]", 1), "argv"},
		{"environment", program, program + ", env: [SECRET]", "environment SECRET"},
		{"prompt", program, program + ", prompt: argument", "prompt argument added"},
		{"address", agent, strings.Replace(agent, "a.example", "b.example", 1), "url"},
		{"revision", agent, agent + ", revision: reply", "revision none → reply"},
		{"address of a revision", agent, "provider: http, url_template: 'https://a.example/{sha}'", "url"},
		{"header", agent, agent + ", headers: {X-Tenant: other}", "header X-Tenant other added"},
		{"body", agent, agent + ", body: {to: '{{messages}}'}", "body"},
		{"query", agent, agent + ", query: {to: other}", "query to other added"},
	} {
		base, head := configured(t, tt.base, ""), configured(t, tt.head, "")
		got, changes := base.UnderTest(base, head, true)
		if diff := cmp.Diff(base.Targets["bot"], got.Targets["bot"], cmpopts.IgnoreFields(config.Target{}, "Inputs")); diff != "" || len(changes.Judged) > 0 {
			t.Errorf("%s: judged %v, the target (-base +got):\n%s", tt.name, changes.Judged, diff)
		}
		named := ""
		for _, c := range changes.Refused {
			named += c.String() + "\n"
		}
		if !strings.Contains(named, tt.says) {
			t.Errorf("%s: named as %q, want %q", tt.name, named, tt.says)
		}
	}
	base := configured(t, program, "")
	got, _ := base.UnderTest(base, configured(t, program+", max_turns: 4", ""), true)
	if is := got.Targets["bot"]; is.MaxTurns != 4 || is.Argv[1] != "a.sh" {
		t.Errorf("a program with other max_turns is %+v", is)
	}
}

// TestInputsOfProgramsUnderTest: head adds files that its programs see.
func TestInputsOfProgramsUnderTest(t *testing.T) {
	base, head := configured(t, bot, "programs: {inputs: ['lib/**']}\n"), configured(t, bot, "programs: {inputs: ['lib/**', 'data/**']}\n")
	for _, tt := range []struct {
		take bool
		want string
	}{{true, "lib/** data/**"}, {false, "lib/**"}} {
		if got, _ := base.UnderTest(base, head, tt.take); strings.Join(got.ProgramInputs, " ") != tt.want {
			t.Errorf("programs see %v (judged %v), want %s", got.ProgramInputs, tt.take, tt.want)
		}
	}
}

// TestUnderTestOfOlderForks: what main changed since the fork stays, and a value that head
// did not touch does not count as a change.
func TestUnderTestOfOlderForks(t *testing.T) {
	base := configured(t, bot, "")
	tip := configured(t, strings.Replace(bot, "old", "newer", 1), "")
	head := configured(t, bot+", temperature: 0", "")
	got, changes := tip.UnderTest(base, head, true)
	is := got.Targets["bot"]
	if is.Model != "newer" || string(is.Parameters["temperature"]) != "0" {
		t.Errorf("the target has the model %s and the temperature %s, want newer and 0", is.Model, is.Parameters["temperature"])
	}
	if len(changes.Judged) != 1 || len(changes.Refused) != 0 {
		t.Errorf("changes %+v, want the temperature alone", changes)
	}
	if _, same := tip.UnderTest(base, tip, true); len(same.Judged) != 0 {
		t.Errorf("head is as the tip, and %v counts as changed", same.Judged)
	}
}

// TestTargetsThatAreNewAtHead: one with the address of a target of base is asked there, with
// base's key, and takes limits of base; another one is never asked.
func TestTargetsThatAreNewAtHead(t *testing.T) {
	base := configured(t, bot+", concurrency: 2, requests_per_minute: 3", "")
	with := func(next string) *config.Config {
		cfg, problems := config.Parse("gavel.yaml", []byte("version: 1\ndefault_target: bot\ntargets:\n  bot: {"+bot+"}\n  next: {"+next+"}\n  judge: {provider: openai, model: j}\nroles: {judge: judge}\n"))
		if schema.HasErrors(problems) {
			t.Fatal(problems)
		}
		return cfg
	}
	got, changes := base.UnderTest(base, with(strings.Replace(bot, "old", "new", 1)+", concurrency: 99"), true)
	next := got.Targets["next"]
	if next.Refused || next.Model != "new" || next.APIKeyEnv != "KEY" || next.Concurrency != 2 || next.RequestsPerMinute != 3 || len(changes.Refused) > 0 {
		t.Errorf("the new target is %+v, with the changes %+v", next, changes)
	}
	digests := map[string]string{} // who accepts one of the changes accepts no other
	for _, tt := range []struct{ name, written string }{
		{"another address", strings.Replace(bot, "a.example", "b.example", 1)},
		{"another key", strings.Replace(bot, "KEY", "AWS_SECRET_ACCESS_KEY", 1)},
		{"another agent", "provider: http, url: 'https://a.example/v1', headers: {X-Token: {value_env: AWS_SECRET_ACCESS_KEY}}"},
		{"a program", "provider: command, argv: [sh, run.sh], env: [AWS_SECRET_ACCESS_KEY]"},
	} {
		got, changes := base.UnderTest(base, with(tt.written), true)
		next := got.Targets["next"]
		if !next.Refused || len(next.Variables()) > 0 || len(next.Env) > 0 {
			t.Errorf("%s: the new target is %+v, want one that is refused and reads no variable", tt.name, next)
		}
		if len(changes.Refused) != 1 || changes.Refused[0].Target != "next" {
			t.Fatalf("%s: the changes %+v do not name the target", tt.name, changes)
		}
		digest := changes.Refused[0].Digest()
		if same, known := digests[digest]; known {
			t.Errorf("%s has the digest of %s", tt.name, same)
		}
		digests[digest] = tt.name
	}
}

// TestAJudgeStaysAsItIs: a target that judges and is tested is tested as head has it, and
// judges as the tip does. Other targets for the roles are refused.
func TestAJudgeStaysAsItIs(t *testing.T) {
	base := configured(t, bot, "")
	base.Roles.Judge = "bot"
	head := configured(t, strings.Replace(bot, "old", "new", 1), "")
	head.Roles.Judge = "bot"
	got, _ := base.UnderTest(base, head, true)
	if is, judge := got.Targets["bot"].Model, got.Targets[got.Roles.Judge].Model; is != "new" || judge != "old" {
		t.Errorf("the target has the model %s and the judge %s, want new and old", is, judge)
	}
	if name := got.Settings().Judge("bot"); got.Targets[name].Model != "old" {
		t.Errorf("an evaluator that names bot is judged by %s, want the old model", got.Targets[name].Model)
	}
	head.Roles.Judge = "judge"
	got, changes := base.UnderTest(base, head, true)
	if !slices.ContainsFunc(changes.Refused, func(c config.TargetChange) bool { return c.String() == "roles.judge bot → judge" }) {
		t.Errorf("another judge gives the changes %+v", changes)
	}
	if got.Targets[got.Roles.Judge].Model != "old" {
		t.Errorf("head chose the judge %s", got.Roles.Judge)
	}
}

// TestATargetThatHeadRemoves: head cannot name it any more, and it keeps its role. A target
// that only the tip has stays, and all stay if head has no target at all.
func TestATargetThatHeadRemoves(t *testing.T) {
	const fox = "}\n  fox: {provider: openai, model: fox, api_key_env: KEY"
	tip, base, head := configured(t, bot+fox, ""), configured(t, bot+fox, ""), configured(t, bot, "")
	tip.Roles.Judge = "fox"
	got, changes := tip.UnderTest(base, head, true)
	if _, there := got.Targets["fox"]; there || len(changes.Judged)+len(changes.Refused) > 0 {
		t.Errorf("fox is %v, and the changes are %+v", there, changes)
	}
	if judge := got.Targets[got.Roles.Judge]; judge.Model != "fox" {
		t.Errorf("the judge is %q with the model %q, want fox", got.Roles.Judge, judge.Model)
	}
	if got, _ := tip.UnderTest(head, head, true); got != tip {
		t.Errorf("the targets are %v, although head removes none", got.Targets)
	}
	if got, _ := base.UnderTest(base, &config.Config{}, true); got.Targets["fox"].Model != "fox" {
		t.Errorf("without a gavel.yaml the targets are %v", got.Targets)
	}
}

// TestThePriceOfANewModel: only head knows it, so that no report uses it, and a budget in
// money counts the higher one.
func TestThePriceOfANewModel(t *testing.T) {
	base := configured(t, bot+", price: {input: 2, output: 8}", "")
	swapped := strings.Replace(bot, "old", "new", 1)
	for _, tt := range []struct {
		head    string
		ceiling *config.Price
	}{
		{swapped + ", price: {input: 1, output: 9}", &config.Price{Input: 2, Output: 9}},
		{swapped, nil},
	} {
		got, changes := base.UnderTest(base, configured(t, tt.head, ""), true)
		is := got.Targets["bot"]
		if diff := cmp.Diff(tt.ceiling, is.Ceiling); diff != "" || is.Price != nil || (tt.ceiling == nil) != (len(changes.Unbounded) == 1) {
			t.Errorf("%s: price %v, ceiling %v, unbounded %v", tt.head, is.Price, is.Ceiling, changes.Unbounded)
		}
	}
	got, changes := base.UnderTest(base, configured(t, bot+", price: {input: 0, output: 0}, temperature: 0", ""), true)
	if is := got.Targets["bot"]; is.Price == nil || is.Price.Input != 2 || len(changes.Unbounded) > 0 {
		t.Errorf("with the same model the price is %v, want that of base", is.Price)
	}
}

// TestUnderTestOfACodingAgent: the model is data under test; the agent, its environment, the
// address of its API and its bounds are not.
func TestUnderTestOfACodingAgent(t *testing.T) {
	const coder = "provider: claude-code, model: old, bounds: {turns: 7}"
	base := configured(t, coder, "")
	for head, model := range map[string]string{
		strings.Replace(coder, "old", "new", 1):                 "new",
		strings.Replace(coder, "turns: 7", "turns: 70", 1):      "old",
		strings.Replace(coder, "turns: 7", "usd: 5", 1):         "old",
		coder + ", base_url: 'https://b.example'":               "old",
		coder + ", env: [AWS_SECRET_ACCESS_KEY]":                "old",
		"provider: codex, model: new":                           "old",
		"provider: command, argv: [./claude], inputs: [claude]": "old",
	} {
		got, changes := base.UnderTest(base, configured(t, head, ""), true)
		want := base.Targets["bot"]
		want.Model = model
		has := got.Targets["bot"]
		has.Inputs, has.Implied = want.Inputs, want.Implied // files, which come from both sides
		if diff := cmp.Diff(want, has, cmpopts.IgnoreFields(config.Target{}, "AddressAt", "ToolsAt")); diff != "" {
			t.Errorf("%s: judged is another target (-want +got):\n%s", head, diff)
		}
		if model == "old" && len(changes.Refused) == 0 {
			t.Errorf("%s: no change is refused", head)
		}
	}
}
