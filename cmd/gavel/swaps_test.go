package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
)

// A swap is a head that changes one setting of the targets.
type swap struct {
	name string
	// from and to are texts of the file of targets, at base and at head.
	from, to string
	// data says that the setting is under test: a writer's head is judged with it.
	data bool
	// free says that the change bears on no verdict.
	free bool
	// sends is a part of a body that a judged head sends.
	sends string
	// file is where the target is written. Defaults to gavel.yaml.
	file string
}

// swaps are of the target in gavel.yaml as swapBase has it. ELSEWHERE is another server.
var swaps = []swap{
	{name: "model", from: "model: model", to: "model: new", data: true, sends: `"model":"new"`},
	{name: "temperature", from: "temperature: 0", to: "temperature: 1", data: true, sends: `"temperature":1`},
	{name: "top_p", from: "temperature: 0", to: "temperature: 0, top_p: 0.5", data: true, sends: `"top_p":0.5`},
	{name: "seed", from: "temperature: 0", to: "temperature: 0, seed: 4", data: true, sends: `"seed":4`},
	{name: "max_tokens", from: "temperature: 0", to: "temperature: 0, max_tokens: 9", data: true, sends: `"max_tokens":9`},
	{name: "stop", from: "parameters: {}", to: "parameters: {stop: [END]}", data: true, sends: `"stop":["END"]`},
	{name: "penalty", from: "parameters: {}", to: "parameters: {frequency_penalty: 1}", data: true, sends: `"frequency_penalty":1`},
	{name: "effort", from: "parameters: {}", to: "parameters: {reasoning_effort: low}", data: true, sends: `"reasoning_effort":"low"`},
	{name: "system prompt", from: "temperature: 0", to: "temperature: 0, system_prompt: Be brief.", data: true, sends: "Be brief."},

	{name: "file of the system prompt", from: "temperature: 0", to: "temperature: 0, system_prompt: {file: prompts/brief.md}", data: true, sends: "Be very brief."},
	{name: "tools", from: "temperature: 0", to: "temperature: 0, tools: [pay]", data: true, sends: `"name":"pay_bill"`},
	{name: "mocks", from: "temperature: 0", to: "temperature: 0, mocks: {pay: [{params: {}, response: {paid: true}}]}", data: true},
	{name: "max_turns", from: "temperature: 0", to: "temperature: 0, max_turns: 3", data: true},
	{name: "ends_conversation", from: "temperature: 0", to: "temperature: 0, ends_conversation: [pay]", data: true},
	{name: "inputs", from: "temperature: 0", to: "temperature: 0, inputs: [prompts/**]", data: true, sends: "say a"},

	{name: "address", from: "base_url: MODELS/v1", to: "base_url: ELSEWHERE/v1"},
	{name: "path of the address", from: "base_url: MODELS/v1", to: "base_url: MODELS/v2"},
	{name: "api", from: "temperature: 0", to: "temperature: 0, api: responses"},
	{name: "provider", from: "provider: openai", to: "provider: anthropic"},
	{name: "kind", from: "temperature: 0", to: "temperature: 0, kind: agent"},
	{name: "other parameter", from: "parameters: {}", to: "parameters: {route: fallback}"},
	{name: "object as a parameter", from: "parameters: {}", to: "parameters: {stop: {url: x}}"},
	{name: "judge", from: "judge: judge", to: "judge: bot"},
	{name: "address of the judge", from: "model: judge, base_url: MODELS/v1", to: "model: judge, base_url: ELSEWHERE/v1"},
	{name: "model of the judge", from: "model: judge", to: "model: new", data: true, free: true},
	{name: "key", from: "api_key_env: MODEL_KEY}", to: "api_key_env: OTHER_KEY}", free: true},
	{name: "limit", from: "temperature: 0", to: "temperature: 0, concurrency: 50", free: true},
	{name: "rate", from: "temperature: 0", to: "temperature: 0, requests_per_minute: 5000, tokens_per_minute: 900000", free: true},
	{name: "timeout", from: "temperature: 0", to: "temperature: 0, timeout: 1s", free: true},
	{name: "price", from: "price: {input: 1, output: 1}", to: "price: {input: 0, output: 0}", free: true},
	{name: "gate", from: "gate: {fail_on: regression}", to: "gate: {fail_on: never}", free: true},
	{name: "budget", from: "budget: {calls: 100}", to: "budget: {calls: 100000}", free: true},
	{name: "noise", from: "budget: {calls: 100}", to: "budget: {calls: 100}\nnoise: {alpha: 0.01}", free: true},
	{name: "unused target", from: "roles:", to: "  other: {provider: http, url: ELSEWHERE/agent}\nroles:", free: true},
	{name: "new target elsewhere", from: "default_target: bot\ntargets:\n", to: "default_target: next\ntargets:\n  next: {provider: openai, model: new, base_url: ELSEWHERE/v1, api_key_env: OTHER_KEY}\n"},
	{name: "new target with the address of base", from: "default_target: bot\ntargets:\n", data: true, sends: `"model":"new"`,
		to: "default_target: next\ntargets:\n  next: {provider: openai, model: new, base_url: MODELS/v1, api_key_env: MODEL_KEY, temperature: 0, parameters: {}}\n"},
	{name: "header of an agent", from: "default_target: bot\ntargets:\n", to: "default_target: agent\ntargets:\n  agent: {provider: http, url: MODELS/agent, headers: {X-Key: {value_env: OTHER_KEY}}}\n"},
}

// swapBase is the gavel.yaml that the swaps change.
const swapBase = `version: 1
default_target: bot
targets:
  bot: {provider: openai, model: model, base_url: MODELS/v1, temperature: 0, parameters: {}, price: {input: 1, output: 1}, api_key_env: MODEL_KEY}
  judge: {provider: openai, model: judge, base_url: MODELS/v1, api_key_env: MODEL_KEY}
roles: {judge: judge}
gate: {fail_on: regression}
budget: {calls: 100}
`

// swapCases are two cases, one of which uses a judge.
func swapCases() map[string]string {
	return map[string]string{
		"gavel.yaml": swapBase, domainFile: domainWith("Be kind."), at("a"): asks("a", "say a", "a!"),
		"test_definitions/rated.json":     `{"test_type": "agent", "name": "bot", "user_input": "say b", "testing_prompt": "Is it polite?"}`,
		"prompts/brief.md":                "Be very brief.",
		"test_definitions/tools/pay.json": `{"id": "pay", "function": {"name": "pay_bill", "description": "pays", "parameters": {"type": "object", "properties": {}}}}`,
	}
}

// An author writes a head.
type author struct {
	name               string
	stranger, approved bool
	pushed             bool // another head after the approval
}

var authors = []author{
	{name: "writer"},
	{name: "stranger", stranger: true},
	{name: "approved stranger", stranger: true, approved: true},
	{name: "pushed after the approval", stranger: true, approved: true, pushed: true},
}

// TestAbuseSwaps changes the targets, by people who may write, strangers, and approved
// ones: changes under test are judged, all others are named, nothing is green that was
// not judged, and no request goes to an address or has a key that base does not have
// (abuse 44).
func TestAbuseSwaps(t *testing.T) {
	for _, s := range swaps {
		for _, by := range authors {
			t.Run(s.name+" by a "+by.name, func(t *testing.T) {
				t.Parallel()
				if !strings.Contains(swapBase, s.from) {
					t.Fatalf("base has no %q", s.from)
				}
				files := swapCases()
				head := map[string]string{"gavel.yaml": strings.Replace(swapBase, s.from, s.to, 1)}
				judgeSwap(t, s, by, files, head)
			})
		}
	}
}

// TestAbuseSwapsInOtherFiles is the same rule for the providers of a promptfooconfig.yaml and
// for .agentv/targets.yaml. (abuse 44)
func TestAbuseSwapsInOtherFiles(t *testing.T) {
	const (
		agent  = "version: 1\ntargets:\n  bot: {provider: http, url: MODELS/agent, api_key_env: MODEL_KEY, headers: {X-Tenant: shop}, timeout: 30s}\n"
		matrix = "prompts: ['say {{x}}']\nproviders:\n- {id: 'openai:chat:model', label: bot, config: {apiBaseUrl: MODELS/v1, apiKeyEnvar: MODEL_KEY, temperature: 0}}\ntests:\n- {vars: {x: a}, assert: [{type: contains, value: a}]}\n"
		suite  = "targets:\n- {name: bot, provider: openai, model: '${{ MODEL }}', base_url: '${{ ADDRESS }}', api_key: '${{ MODEL_KEY }}', temperature: 0}\n- {name: judge, provider: openai, model: judge, base_url: MODELS/v1, api_key: '${{ MODEL_KEY }}'}\n"
	)
	kinds := []struct {
		file, base string
		more       map[string]string
		swaps      []swap
	}{
		{"gavel.yaml", agent, map[string]string{domainFile: domainWith(""), at("a"): asks("a", "say a", "a!"), "prompts/a.md": "Be kind."}, []swap{
			{name: "inputs", from: "timeout: 30s", to: "timeout: 30s, inputs: [prompts/**]", data: true, sends: "say a"},
			{name: "max_turns", from: "timeout: 30s", to: "timeout: 30s, max_turns: 4", data: true},
			{name: "address", from: "MODELS/agent", to: "ELSEWHERE/agent"},
			{name: "path of the address", from: "MODELS/agent", to: "MODELS/agent/other"},
			{name: "address of a revision", from: "url: MODELS/agent", to: "url_template: 'MODELS/agent/{sha}'"},
			{name: "revision", from: "timeout: 30s", to: "timeout: 30s, revision: reply"},
			{name: "header", from: "X-Tenant: shop", to: "X-Tenant: other"},
			{name: "secret in a header", from: "X-Tenant: shop", to: "X-Tenant: shop, X-Key: {value_env: OTHER_KEY}"},
			{name: "body", from: "timeout: 30s", to: "timeout: 30s, body: {to: '{{messages}}'}"},
			{name: "query", from: "timeout: 30s", to: "timeout: 30s, query: {to: other}"},
			{name: "key", from: "MODEL_KEY", to: "OTHER_KEY", free: true},
			{name: "program", from: "provider: http, url: MODELS/agent, api_key_env: MODEL_KEY, headers: {X-Tenant: shop}, timeout: 30s", to: "provider: command, argv: [sh, run.sh], env: [OTHER_KEY]"},
		}},
		{"promptfooconfig.yaml", matrix, map[string]string{"gavel.yaml": "version: 1\n"}, []swap{
			{name: "model", from: "openai:chat:model", to: "openai:chat:new", data: true, sends: `"model":"new"`},
			{name: "temperature", from: "temperature: 0", to: "temperature: 1", data: true, sends: `"temperature":1`},
			{name: "address", from: "apiBaseUrl: MODELS/v1", to: "apiBaseUrl: ELSEWHERE/v1"},
			{name: "key", from: "MODEL_KEY", to: "OTHER_KEY", free: true},
			{name: "other parameter", from: "temperature: 0", to: "temperature: 0, tool_choice: none"},
		}},
		{".agentv/targets.yaml", suite, map[string]string{
			"gavel.yaml":                   "version: 1\nenvironment: [MODEL, ADDRESS, MODEL_KEY]\nroles: {judge: judge}\n",
			"test_definitions/s.eval.yaml": "tests:\n- {id: a, criteria: It says a, input: say a, assertions: [{type: contains, value: a}]}\nexecution: {target: bot}\n",
		}, []swap{
			{name: "model", from: "'${{ MODEL }}'", to: "new", data: true, sends: `"model":"new"`},
			{name: "temperature", from: "temperature: 0", to: "temperature: 1", data: true, sends: `"temperature":1`},
			{name: "address", from: "base_url: '${{ ADDRESS }}'", to: "base_url: ELSEWHERE/v1"},
			{name: "value of the environment", from: "model: '${{ MODEL }}'", to: "model: '${{ MODEL_KEY }}'"},
			{name: "provider", from: "provider: openai, model: '${{ MODEL }}'", to: "provider: anthropic, model: '${{ MODEL }}'"},
		}},
	}
	for _, kind := range kinds {
		for _, s := range kind.swaps {
			for _, by := range authors {
				t.Run(kind.file+" "+s.name+" by a "+by.name, func(t *testing.T) {
					t.Parallel()
					if !strings.Contains(kind.base, s.from) {
						t.Fatalf("base has no %q", s.from)
					}
					files := map[string]string{kind.file: kind.base}
					maps.Copy(files, kind.more)
					s.file = kind.file
					judgeSwap(t, s, by, files, map[string]string{kind.file: strings.Replace(kind.base, s.from, s.to, 1)})
				})
			}
		}
	}
}

// TestAnAcceptedSwap: somebody who may write clears the unjudged changes, for this head
// alone and with a reason; a reader and a stranger do not. It holds however the head is
// judged.
func TestAnAcceptedSwap(t *testing.T) {
	for _, d := range columns {
		if d.onForge() {
			t.Run(d.name, func(t *testing.T) { acceptSwap(t, d) })
		}
	}
}

func acceptSwap(t *testing.T, d column) {
	head := map[string]string{"gavel.yaml": strings.Replace(swapBase, "base_url: MODELS/v1, temp", "base_url: MODELS/v2, temp", 1), at("a"): asks("a", "please say a", "a!")}
	c := newPassage(t, scenario{base: swapCases(), head: head, answer: echo}, d)
	sent := c.watch()
	door := c.keeper()
	const accept = "/gavel accept gavel.yaml the new gateway is live"
	for _, step := range []struct {
		by, says string // nothing is a push
		gate     string
	}{
		{"rita", accept, report.GateUndetermined},
		{"somebody", accept, report.GateUndetermined},
		{"mona", "/gavel accept gavel.yaml", report.GateUndetermined},
		{"mona", accept, report.GatePass},
		{"", "", report.GateUndetermined},
		{"rita", accept, report.GateUndetermined},
		{"mona", accept, report.GatePass},
	} {
		if step.by == "" {
			c.push(map[string]string{"README.md": "words"})
			door.pushed()
		} else {
			door.said(remark{step.by, step.says})
		}
		status := map[string]string{report.GateUndetermined: "error", report.GatePass: "success"}[step.gate]
		r := door.report()
		if string(r.Gate.Result) != step.gate || c.states()["gavel/verdict"] != status {
			t.Errorf("after %q of %q the gate is %s (%s) with the statuses %v, want %s", step.says, step.by, r.Gate.Result, r.Gate.Reason, c.job.states(), step.gate)
		}
		accepted := r.TargetChanges != nil && r.TargetChanges.Accepted != nil
		if accepted != (step.gate == report.GatePass) || accepted && r.TargetChanges.Accepted.Author != "mona" {
			t.Errorf("after %q of %q the report has the changes %+v", step.says, step.by, r.TargetChanges)
		}
	}
	if text := sent(); strings.Count(text, "please say a") != 1 {
		t.Errorf("the accepted head is not judged once, as base has the target:\n%.400s", text)
	}
	door.end()
}

// push has another commit be the head.
func (c *passage) push(files map[string]string) {
	c.git(c.t, "checkout", "-q", "topic")
	c.head = c.commit(files)
	c.git(c.t, "update-ref", "refs/pull/1/head", c.head)
	c.git(c.t, "checkout", "-q", "main")
	c.open()
}

// A doorkeeper is a door through which a pull request goes again and again.
type doorkeeper struct {
	// said has somebody write a comment, pushed judges another head, report returns the last
	// report on the head, and end closes the door.
	said   func(remark)
	pushed func()
	report func() *report.Report
	end    func()
}

// keeper opens a pull request at a door of a forge, and waits for its verdict.
func (c *passage) keeper() doorkeeper {
	if c.d.name == "pr" {
		c.checkout = c.tree("main")
		c.open()
		judge := func() *report.Report { return c.read(c.run(c.t, append(c.flags, "--json")...)) }
		last := judge()
		return doorkeeper{
			said:   func(r remark) { last = c.byComment(r) },
			pushed: func() { last = judge() },
			report: func() *report.Report { return last }, end: func() {},
		}
	}
	file := c.operators()
	var flags []string
	if c.d.name == "serve on PostgreSQL" {
		flags = []string{"--judge"}
	}
	log, end := c.starting(c.t, file, flags...)
	at := log.listens(c.t)
	ends := []func() int{end}
	if c.d.name == "workers" {
		ends = append(c.workers(file), end)
	}
	c.announce(at)
	c.await(log)
	return doorkeeper{
		said: func(r remark) { c.hear(at, log, c.store(file), r) },
		pushed: func() {
			deliver(c.t, at+"/hooks", hookSecret)
			c.await(log)
		},
		report: func() *report.Report { return c.lastReport(c.t, c.store(file), c.fork) },
		end: func() {
			go c.drain(log)
			rest(c.t, at)
			for _, end := range ends {
				if code := end(); code != exitPass {
					c.t.Errorf("it ends with %d", code)
				}
			}
		},
	}
}

// TestWhoseTargetsAreJudged: the operator says whose changes of targets are judged, in the
// server's file or by a flag of the job.
func TestWhoseTargetsAreJudged(t *testing.T) {
	head := map[string]string{"gavel.yaml": strings.Replace(swapBase, "model: model,", "model: new,", 1)}
	for _, tt := range []struct {
		choice        string
		first, second string // before and after an approval
	}{
		{"writers", report.GatePass, report.GatePass},
		{"approved", report.GateUndetermined, report.GatePass},
		{"base-only", report.GateUndetermined, report.GateUndetermined},
	} {
		for _, d := range []column{columns[2], columns[3]} {
			t.Run(tt.choice+" by "+d.name, func(t *testing.T) {
				t.Parallel()
				c := newPassage(t, scenario{base: swapCases(), head: head, answer: echo}, d)
				c.flags, c.lines = []string{"--targets", tt.choice}, "trust: {targets: "+tt.choice+"}\n"
				sent := c.watch()
				door := c.keeper()
				for _, want := range []string{tt.first, tt.second} {
					if r := door.report(); string(r.Gate.Result) != want {
						t.Errorf("the gate is %s (%s), want %s", r.Gate.Result, r.Gate.Reason, want)
					}
					if judged := strings.Contains(sent(), `"model":"new"`); judged != (want == report.GatePass) {
						t.Errorf("the new model is asked: %v, and the gate has to be %s", judged, want)
					}
					door.said(remark{"mona", "/gavel approve " + c.head})
				}
				door.end()
			})
		}
	}
}

// TestASwapUnderTheOperatorsBudget: a limit in money of the server's file holds for a new model,
// too, or its cases are not run.
func TestASwapUnderTheOperatorsBudget(t *testing.T) {
	const priced = ", price: {input: 1, output: 1}"
	for _, tt := range []struct {
		name, limits, head string
		gate, says         string
	}{
		{"money alone", "{usd: 1}", strings.Replace(swapBase, priced, "", 1), report.GateUndetermined, ""},
		{"money and calls", "{usd: 1, calls: 100}", strings.Replace(swapBase, priced, "", 1), report.GatePass, "bounded by calls and tokens alone"},
		{"money and a price", "{usd: 1}", swapBase, report.GatePass, "says here that the new model of bot costs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := swapCases()
			base["gavel.yaml"] = strings.Replace(swapBase, "budget: {calls: 100}\n", "", 1)
			swapped := strings.Replace(strings.Replace(tt.head, "budget: {calls: 100}\n", "", 1), "model: model,", "model: new,", 1)
			c := newPassage(t, scenario{base: base, head: map[string]string{"gavel.yaml": swapped}, answer: echo}, columns[3])
			c.lines = "budget: " + tt.limits + "\n"
			sent := c.watch()
			door := c.keeper()
			r := door.report()
			if string(r.Gate.Result) != tt.gate || !strings.Contains(fmt.Sprint(r.Notices), tt.says) {
				t.Errorf("the gate is %s (%s) with %v, want %s and %q", r.Gate.Result, r.Gate.Reason, r.Notices, tt.gate, tt.says)
			}
			if asked := strings.Contains(sent(), `"model":"new"`); asked != (tt.gate == report.GatePass) {
				t.Errorf("the new model is asked: %v, and the gate has to be %s", asked, tt.gate)
			}
			door.end()
		})
	}
}

// TestASwapInTheFirstLine: people read the result of another model first, wherever they
// look. It breaks three of twelve cases for good and repairs five.
func TestASwapInTheFirstLine(t *testing.T) {
	files := shopOf(ids(12), nil)
	head := map[string]string{"gavel.yaml": strings.Replace(files["gavel.yaml"], "model: model", "model: new", 1)}
	broken, mended := []string{"say c0", "say c1", "say c2"}, []string{"say c3", "say c4", "say c5", "say c6", "say c7"}
	answer := func(prompt string, n int) string {
		asked, isNew := strings.CutSuffix(strings.TrimPrefix(prompt, "Be kind. | "), byNew)
		if isNew && slices.Contains(broken, asked) || !isNew && slices.Contains(mended, asked) {
			return "no"
		}
		return echo(prompt, n)
	}
	const line = "model model → new: 3 broke, 5 got better, tokens −41 %"
	s := scenario{base: files, head: head, answer: answer, tokens: map[string]int{"model": 99, "new": 58}}
	t.Run("pr", func(t *testing.T) {
		c := newPassage(t, s, columns[2])
		c.checkout = c.tree("main")
		c.open()
		page := filepath.Join(t.TempDir(), "page.html")
		c.run(t, "--html", page)
		heading, status := c.said(t)
		if !strings.HasPrefix(heading, "### ❌ "+line+" · 3 regressions (confirmed), 5 improvements") {
			t.Errorf("the comment begins with %q, want %q", heading, line)
		}
		if !strings.HasPrefix(status, "failure: 3 regressions, 5 improvements") || !strings.Contains(status, line) {
			t.Errorf("the status says %q, want %q in it", status, line)
		}
		wantPage(t, page, line)
		text, err := os.ReadFile(page)
		for _, want := range []string{`<p class="meta">octo/demo#1 · `, `href="https://github.com/octo/demo/blob/` + c.head} {
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("the page has no %q (%v)", want, err)
			}
		}
	})
	t.Run("run", func(t *testing.T) {
		c := newPassage(t, s, columns[0])
		c.person()
		page := filepath.Join(t.TempDir(), "page.html")
		stdout, _, _ := c.call(t, "run", "--base", "main", "--html", page)
		if !strings.Contains(stdout, "\n"+line+"\n") {
			t.Errorf("there is no %q in the terminal:\n%s", line, stdout)
		}
		wantPage(t, page, line)
	})
}

// TestARefusedSwapInTheComment: a comment names the unjudged changes, their place and
// which cases wait, and offers the command that helps: an approval if that gets head
// judged with the change, else an acceptance.
func TestARefusedSwapInTheComment(t *testing.T) {
	const approve, accept = "\n/gavel approve ", "\n```\n/gavel accept gavel.yaml <reason>\n```\n"
	for _, tt := range []struct {
		name, from, to string
		stranger       bool
		flags          []string
		has            []string
		lacks          []string
	}{
		{
			name: "an address", from: "base_url: MODELS/v1, temp", to: "base_url: MODELS/v2, temp",
			has: []string{
				"### ⚠️ Gate undetermined: 2 cases were not run, since gavel.yaml changes base url", " · waits for an acceptance\n", accept,
				"is not judged: bot: base url", "its cases have no verdict until somebody with write permission accepts that", "[shop/level_1/a]",
			},
			lacks: []string{approve, "waits for approval"},
		},
		{
			name: "a role", from: "judge: judge}", to: "judge: bot}",
			has: []string{"1 case was not run, since gavel.yaml changes roles.judge judge → bot, and that is not judged before the merge", accept}, lacks: []string{approve},
		},
		{
			name: "a new target", from: "default_target: bot\ntargets:\n", to: "default_target: next\ntargets:\n  next: {provider: openai, model: new, base_url: MODELS/v2}\n",
			has: []string{"is not judged: next: new, with an address that no target of base has;", accept}, lacks: []string{approve, " added"},
		},
		{
			name: "a stranger's model", from: "model: model,", to: "model: new,", stranger: true,
			has: []string{"model model → new; its cases have no verdict until somebody with write permission approves this commit", approve}, lacks: []string{accept},
		},
		{
			name: "a model that needs an approval", from: "model: model,", to: "model: new,", flags: []string{"--targets", "approved"},
			has: []string{"until somebody with write permission approves this commit", "not judged with that before an approval", approve}, lacks: []string{accept},
		},
		{
			name: "a model that nobody may change", from: "model: model,", to: "model: new,", flags: []string{"--targets", "base-only"},
			has: []string{"until somebody with write permission accepts that", accept}, lacks: []string{approve},
		},
		{
			name: "a judge's model", from: "model: judge,", to: "model: new, price: {input: 1, output: 1},",
			has:   []string{"### ✅ No affected cases", "changes judge: model judge → new, which no case is run against; where it judges, it does so as base has it"},
			lacks: []string{accept, approve, "says here that the new model"},
		},
		{
			name: "a model", from: "model: model,", to: "model: new,",
			has: []string{"this run was decided by the one at main, but with model model → new"}, lacks: []string{accept, approve},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			head := map[string]string{"gavel.yaml": strings.Replace(swapBase, tt.from, tt.to, 1)}
			c := newPassage(t, scenario{base: swapCases(), head: head, answer: echo, stranger: tt.stranger}, columns[2])
			c.checkout = c.tree("main")
			c.open()
			c.run(t, tt.flags...)
			body := c.forge.Comments(1)[0].Body
			for _, words := range tt.has {
				if !strings.Contains(body, words) {
					t.Errorf("the comment has no %q:\n%s", words, body)
				}
			}
			for _, words := range tt.lacks {
				if strings.Contains(body, words) {
					t.Errorf("the comment has %q:\n%s", words, body)
				}
			}
		})
	}
}

// wantPage demands that the heading of a page begins with a line.
func wantPage(t *testing.T, page, line string) {
	t.Helper()
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "<h1>"+line) {
		t.Errorf("the page does not begin with %q (%v)", line, err)
	}
}

// TestASwapUnderABudgetInMoney: where head names no price for the new model, the budget cannot
// hold; calls and tokens bound the run, or nothing runs. A price of head is never the one that
// is shown.
func TestASwapUnderABudgetInMoney(t *testing.T) {
	for _, tt := range []struct {
		name, budget, price string
		want, says          string
	}{
		{"no price and nothing else", "{usd: 1}", "", report.GateUndetermined, ""},
		{"no price, and calls", "{usd: 1, calls: 100}", "", report.GatePass, "the budget in USD cannot hold"},
		{"a price", "{usd: 1}", ", price: {input: 1, output: 1}", report.GatePass, "says here that the new model of bot costs $1 and $1"},
		{"a price above the budget, which the old one is not", "{usd: 0.5}", ", price: {input: 1000, output: 1000}", report.GateUndetermined, "costs $1000 and $1000"},
		{"a lower price than the budget allows for the old one", "{usd: 0.000001}", ", price: {input: 0, output: 0}", report.GateUndetermined, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := swapCases()
			priced := strings.Replace(swapBase, "model: judge,", "model: judge, price: {input: 0, output: 0},", 1)
			base["gavel.yaml"] = strings.Replace(priced, "{calls: 100}", tt.budget, 1)
			swapped := strings.Replace(base["gavel.yaml"], ", price: {input: 1, output: 1}", tt.price, 1)
			if tt.price == "" { // a file with a budget in money names every price
				swapped = strings.Replace(swapped, tt.budget, "{calls: 100}", 1)
			}
			head := map[string]string{"gavel.yaml": strings.Replace(swapped, "model: model,", "model: new,", 1)}
			c := newPassage(t, scenario{base: base, head: head, answer: echo}, columns[2])
			c.checkout = c.tree("main")
			c.open()
			r := c.read(c.run(t, "--json"))
			if string(r.Gate.Result) != tt.want || !strings.Contains(fmt.Sprint(r.Notices), tt.says) {
				t.Errorf("the gate is %s (%s) with %v, want %s and %q", r.Gate.Result, r.Gate.Reason, r.Notices, tt.want, tt.says)
			}
			for _, row := range r.Cases {
				if row.CostUSD != nil && *row.CostUSD > 0 && row.Key == key("a") {
					t.Errorf("%s costs %v, by a price that only head names", row.Key, *row.CostUSD)
				}
			}
		})
	}
}

// judgeSwap has a CI job judge the head.
func judgeSwap(t *testing.T, s swap, by author, base, head map[string]string) {
	t.Helper()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("head chose the address of a request: %s", r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	for name := range head {
		head[name] = strings.ReplaceAll(head[name], "ELSEWHERE", elsewhere.URL)
	}
	c := newPassage(t, scenario{base: base, head: head, answer: echo, agent: func(string, bool) string { return "a!" }, stranger: by.stranger}, columns[2])
	c.env["OTHER_KEY"], c.env["MODEL"], c.env["ADDRESS"] = "a-secret-of-the-operator", "model", c.models.URL+"/v1"
	sent := c.watch()
	c.checkout = c.tree("main")
	c.open()
	r := c.read(c.run(t, "--json"))
	if by.approved {
		approve := "/gavel approve " + c.head
		c.forge.AddComment(1, "mona", approve)
		if by.pushed {
			c.push(map[string]string{"README.md": "words"})
		}
		c.event(t, "issue_comment", written(approve))
		r = c.read(c.run(t, "--json"))
	}
	mayRun := !by.stranger || by.approved && !by.pushed
	c.judged(r, s, mayRun, sent())
}

// judged demands of a report that nothing is green that was not judged.
func (c *passage) judged(r *report.Report, s swap, mayRun bool, sent string) {
	c.t.Helper()
	said := fmt.Sprintf("%s: %s\n%+v\nproblems %v", r.Gate.Result, r.Gate.Reason, r.Notices, r.Problems)
	named := strings.Contains(fmt.Sprint(r.Notices), cmp.Or(s.file, "gavel.yaml"))
	free := s.free && (!s.data || mayRun) // a change of a stranger is accepted first
	switch {
	case free && r.Gate.Result != report.GatePass:
		c.t.Errorf("the change bears on no verdict: %s", said)
	case free && !named:
		c.t.Errorf("the change is not named: %s", said)
	case free:
	case s.data && !s.free && mayRun:
		if r.Gate.Result != report.GatePass || !strings.Contains(sent, s.sends) {
			c.t.Errorf("not judged with the change: %s\n%.400s", said, sent)
		}
	case r.Gate.Result != report.GateUndetermined || !named:
		c.t.Errorf("want an undetermined gate, and the change by name: %s", said)
	}
	if !mayRun && sent != "" {
		c.t.Errorf("a head that may not run made calls:\n%.400s", sent)
	}
	if strings.Contains(sent, "a-secret") || strings.Contains(sent, `"model":"a-key`) || (!s.data || s.free) && strings.Contains(sent, `"model":"new"`) {
		c.t.Errorf("head chose what is sent:\n%.400s", sent)
	}
}

// watch has the models note what they are sent: the path, the keys and the body of each
// request. It fails for a path or a key that base does not have.
func (c *passage) watch() (sent func() string) {
	var mu sync.Mutex
	var all strings.Builder
	c.models.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		fmt.Fprintf(&all, "%s %v %s\n", r.URL.Path, cmp.Or(r.Header.Get("Authorization"), "no key"), body)
		mu.Unlock()
		if err != nil || r.URL.Path != "/v1/chat/completions" && r.URL.Path != "/agent" || r.URL.RawQuery != "" || r.Header.Get("Authorization") != "Bearer a-key-of-the-models" || r.Header.Get("X-Key") != "" {
			c.t.Errorf("%s is sent to with %v (%v)", r.URL, r.Header, err)
		}
		c.models.ServeHTTP(w, r)
	})
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}
