package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/report"
)

// A bot is an agent that nobody knows the version of: it answers by the prompt that is
// deployed, whichever commit is judged.
type bot struct {
	*httptest.Server
	mu sync.Mutex
	// prompt returns the deployed prompt when it is asked for the nth time, from 1.
	prompt func(n int) string
	asked  int
	// commit is what it names as its commit; nothing if it is empty.
	commit string
}

func newBot(t *testing.T, prompt func(n int) string) *bot {
	t.Helper()
	b := &bot{prompt: prompt}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asked++
		fmt.Fprintf(w, `{"messages": [{"role": "assistant", "content": %q}], "metadata": {"revision": %q}}`, "You have "+b.prompt(b.asked), b.commit)
	}))
	t.Cleanup(b.Close)
	return b
}

// deploy replaces the deployed version, and restarts the count.
func (b *bot) deploy(prompt func(n int) string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prompt, b.asked = prompt, 0
}

// wants compares how often the bot was asked since it was deployed.
func (b *bot) wants(t *testing.T, n int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked != n {
		t.Errorf("the agent was asked %d times, want %d", b.asked, n)
	}
	b.asked = 0
}

func always(prompt string) func(int) string { return func(int) string { return prompt } }

const systemPrompt = "prompts/system.md"

// withBot has one case answered by a bot that is built from a prompt.
func (p *project) withBot(b *bot, inputs string) {
	p.t.Helper()
	p.git("rm", "-qf", casePath("thanks"))
	p.commit(map[string]string{
		"gavel.yaml":      fmt.Sprintf("version: 1\ntargets: {bot: {provider: http, url: %q%s}}\n", b.URL, inputs),
		systemPrompt:      "30 days",
		casePath("hello"): window("How long can I return a helmet?"),
	})
}

// window is a case about how long something can be returned.
func window(question string) string {
	return fmt.Sprintf(`{"id": "hello", "name": "Window", "prompt": %q, "expected": {"keywords": ["30 days"]}}`, question)
}

// reportOf reads the JSON of a run, which has to end with a code.
func (p *project) reportOf(want int, args ...string) (r report.Report) {
	p.t.Helper()
	stdout, stderr, code := gavel(p.t, p.folder, append(args, "--json")...)
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != want {
		p.t.Errorf("gavel %s: exit code %d, want %d; %v\n%s%s", strings.Join(args, " "), code, want, err, stdout, stderr)
	}
	return r
}

// TestAPromptThatBreaksADeployedAgent is a regression against the stored verdict at
// base: the agent cannot be asked as it was at base, and the deployed one is not asked
// in its place. Each reader learns that.
func TestAPromptThatBreaksADeployedAgent(t *testing.T) {
	p := newProject(t)
	b := newBot(t, always("30 days"))
	p.withBot(b, `, inputs: ["prompts/**"]`)
	p.local(exitPass, "run")
	b.wants(t, 1)
	p.write(systemPrompt, "60 days")
	b.deploy(always("60 days"))

	const said = "failed in 5 of 5 reruns here against a stored pass; base not measured again"
	for _, fresh := range []bool{false, true} {
		dir := t.TempDir()
		args := []string{"run", "--base", "HEAD", "--html", filepath.Join(dir, "h"), "--junit", filepath.Join(dir, "j"), "--markdown", filepath.Join(dir, "m")}
		if fresh {
			args = append(args, "--fresh")
		}
		text := p.local(exitGate, args...)
		b.wants(t, 6) // head once, and five times again
		texts := map[string]string{"terminal": text}
		for _, name := range []string{"h", "j", "m"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = string(data)
		}
		for name, text := range texts {
			if text = strings.Join(strings.Fields(text), " "); !strings.Contains(text, said) || strings.Contains(text, "failed once") {
				t.Errorf("fresh %v: %s does not say %q:\n%s", fresh, name, said, text)
			}
		}
	}
	r := p.reportOf(exitGate, "run", "--base", "HEAD", "--fresh")
	row := r.Cases[0]
	if r.Gate.Result != report.GateFail || *row.Class != report.Regression || !row.Confirmation.Confirmed || !row.Confirmation.BaseNotMeasured {
		t.Errorf("the gate is %+v, the case %s: %+v", r.Gate, *row.Class, row.Confirmation)
	}
	for _, s := range row.Confirmation.Samples {
		if s.Side == "base" {
			t.Error("head's agent was asked for base")
		}
	}
}

// TestADeployedAgentWithoutAVerdictAtBase: the deployed agent is not asked for base,
// and nothing is stored as base's. The gate is open and suggests a remedy.
func TestADeployedAgentWithoutAVerdictAtBase(t *testing.T) {
	p := newProject(t)
	b := newBot(t, always("60 days"))
	p.withBot(b, `, inputs: ["prompts/**"]`)
	p.write(systemPrompt, "60 days")
	const why = "target bot answers as it is deployed now, not as at base; judge base before the change is deployed, or give each commit its own address with url_template and {sha}"
	r := p.reportOf(exitGate, "run", "--base", "HEAD")
	b.wants(t, 1)
	if want := "1 case does not pass without a verdict at base to compare with: " + why; r.Gate.Result != report.GateUndetermined || r.Gate.Reason != want {
		t.Errorf("the gate is %+v, want it undetermined: %s", r.Gate, want)
	}
	if row := r.Cases[0]; *row.Class != report.Unclear || row.BaseVerdict != nil || !strings.Contains(row.BaseError, why) {
		t.Errorf("the case is %s, base %v: %s", *row.Class, row.BaseVerdict, row.BaseError)
	}
	p.git("stash", "-q")
	b.deploy(always("30 days"))
	p.local(exitPass, "run") // base has no verdict yet
	b.wants(t, 1)
}

// TestAPromptThatBreaksADeployedAgentAtTimes is neither called nor passed where most
// reruns fail, and noise where most of them pass.
func TestAPromptThatBreaksADeployedAgentAtTimes(t *testing.T) {
	for _, tt := range []struct {
		series string // what the agent gets right at head
		code   int
		class  report.Class
		says   string
		gate   string
	}{
		{"fffpff", exitGate, report.Unclear, "failed, then passed 1 of 4 reruns here; base not measured again",
			"1 case was worse than base in most reruns, and base cannot be measured again to compare"},
		{"fpffpp", exitPass, report.Flaky, "failed, then passed 3 of 5 reruns: as likely noise; base not measured again", "no case regressed (fail_on: regression)"},
		{"fppp", exitPass, report.Flaky, "failed once, then passed 3 of 3 reruns: as likely noise; base not measured again", "no case regressed (fail_on: regression)"},
		{"p", exitPass, report.Unchanged, "", "no case regressed (fail_on: regression)"},
	} {
		p := newProject(t)
		b := newBot(t, always("30 days"))
		p.withBot(b, `, inputs: ["prompts/**"]`)
		p.local(exitPass, "run")
		p.write(systemPrompt, "about 30 days")
		b.deploy(func(n int) string {
			if tt.series[n-1] == 'p' {
				return "30 days"
			}
			return "60 days"
		})
		r := p.reportOf(tt.code, "run", "--base", "HEAD")
		row, says := r.Cases[0], ""
		if row.Confirmation != nil {
			says = row.Confirmation.Sentence
		}
		if *row.Class != tt.class || says != tt.says || r.Gate.Reason != tt.gate {
			t.Errorf("%s: %s, %q, the gate is %+v; want %s, %q, %q", tt.series, *row.Class, says, r.Gate, tt.class, tt.says, tt.gate)
		}
	}
}

// TestInputsOfEitherSide: a change that takes a file out of the inputs, or puts one in,
// changes what the agent is made of, too.
func TestInputsOfEitherSide(t *testing.T) {
	for _, tt := range []struct{ base, head string }{
		{`, inputs: ["prompts/**"]`, `, inputs: ["other/**"]`},
		{`, inputs: ["other/**"]`, `, inputs: ["prompts/**"]`},
		{"", `, inputs: ["prompts/**"]`},
	} {
		p := newProject(t)
		b := newBot(t, always("30 days"))
		p.withBot(b, tt.base)
		p.local(exitPass, "run")
		p.write(systemPrompt, "60 days")
		p.write("gavel.yaml", fmt.Sprintf("version: 1\ntargets: {bot: {provider: http, url: %q%s}}\n", b.URL, tt.head))
		b.deploy(always("60 days"))
		r := p.reportOf(exitGate, "run", "--base", "HEAD")
		if row := r.Cases[0]; *row.Class != report.Regression || !row.Confirmation.BaseNotMeasured {
			t.Errorf("inputs%s → inputs%s: %s, %+v", tt.base, tt.head, *row.Class, row.Confirmation)
		}
		b.wants(t, 6)
	}
}

// TestADeployedAgentOfTheSameInputs is asked for base, too: both sides ask the agent
// that is deployed.
func TestADeployedAgentOfTheSameInputs(t *testing.T) {
	p := newProject(t)
	b := newBot(t, always("30 days"))
	p.withBot(b, `, inputs: ["prompts/**"]`)
	p.local(exitPass, "run")
	p.write(casePath("hello"), window("Until when can I return a helmet?"))
	b.deploy(always("60 days"))
	r := p.reportOf(exitPass, "run", "--base", "HEAD")
	if row := r.Cases[0]; *row.Class != report.Flaky || row.Confirmation.BaseNotMeasured || !strings.Contains(row.Confirmation.Sentence, "failed, and again in 4 of 4 reruns here, and failed 4 of 4 at base: base is no better") {
		t.Errorf("the case is %s, %+v; want it flaky, and both sides measured again", *row.Class, row.Confirmation)
	}
}

// TestAPullRequestThatBreaksADeployedAgent, judged by a job that has the ledger of base:
// base was judged by a push while the old prompt was deployed.
func TestAPullRequestThatBreaksADeployedAgent(t *testing.T) {
	for _, known := range []bool{true, false} {
		p := newProject(t)
		b := newBot(t, always("30 days"))
		p.withBot(b, `, inputs: ["prompts/**"]`)
		if known {
			if m := p.pushJob(p.resolve("main~1")); m.failed != exitPass {
				t.Fatalf("the push ends with %d\n%s", m.failed, &m.log)
			}
		}
		gittest.Branch(p.t, p.folder, "topic")
		head := p.commit(map[string]string{systemPrompt: "60 days"})
		b.deploy(always("60 days"))
		p.pull(forgetest.Pull{})
		m := p.pullJob("pull_request", forgetest.Pull{})
		body, state, said, calls := p.forge.Comments(1)[0].Body, "failure", "base not measured again", 6
		if !known {
			state, said, calls = "error", "judge base before the change is deployed", 1
		}
		if got := p.verdict(head); m.failed != exitGate || got != state || !strings.Contains(body, said) || strings.Contains(body, "✅") || strings.Contains(body, "failed once") {
			t.Errorf("known %v: exit code %d, the status is %s, want %s; the comment has to say %q:\n%s", known, m.failed, got, state, said, body)
		}
		b.wants(t, calls)
	}
}

// TestAServerWithADeployedAgent: a server that judges itself, and one whose workers do, ask
// head's agent for head alone.
func TestAServerWithADeployedAgent(t *testing.T) {
	for _, workers := range []bool{false, true} {
		j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
		j.env[databaseVariable] = postgrestest.URL(t)
		b := newBot(t, always("30 days"))
		j.replace(t, map[string]string{
			"gavel.yaml":                        fmt.Sprintf("version: 1\ntargets: {bot: {provider: http, url: %q, inputs: [\"prompts/**\"]}}\n", b.URL),
			systemPrompt:                        "30 days",
			"test_definitions/talk/domain.json": `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
			casePath("hello"):                   window("How long can I return a helmet?"),
		}, map[string]string{systemPrompt: "60 days"})
		if stdout, stderr, code := j.event(t, "push", payload(`"ref": "refs/heads/main", "before": %q, "after": %q`, gittest.Resolve(t, j.folder, j.base+"~1"), j.base)); code != exitPass {
			t.Fatalf("the push to main is not judged:\n%s%s", stdout, stderr)
		}
		b.wants(t, 1)
		b.deploy(always("60 days"))
		var flags []string
		if !workers {
			flags = []string{"--judge"}
		}
		file := operatorsFile(t, j, "")
		served, end := j.starting(t, file, flags...)
		ends := []func() int{end}
		served.listens(t)
		if workers {
			log, end := start(t, j.env, "worker", "--config", file, "--listen", "127.0.0.1:0")
			log.await(t, "waiting for cases")
			ends = append(ends, end)
		}
		served.await(t, `"repo":"octo/demo#1","duration"`)
		body, state := j.forge.Comments(1)[0].Body, j.states()["gavel/verdict"]
		if !strings.Contains(body, "failed in 5 of 5 reruns here against a stored pass; base not measured again") || !strings.HasPrefix(state, "failure: ") {
			t.Errorf("workers %v: the status is %q, and the comment is\n%s", workers, state, body)
		}
		b.wants(t, 6)
		for _, end := range ends {
			if code := end(); code != exitPass {
				t.Errorf("workers %v: a process ends with %d", workers, code)
			}
		}
	}
}

// TestAWatchedPromptThatBreaksADeployedAgent is a regression as the file is saved.
func TestAWatchedPromptThatBreaksADeployedAgent(t *testing.T) {
	p := newProject(t)
	b := newBot(t, always("30 days"))
	p.withBot(b, `, inputs: ["prompts/**"]`)
	p.local(exitPass, "run")
	b.wants(t, 1)
	p.write(systemPrompt, "60 days")
	b.deploy(always("60 days"))
	text := p.watched(`"event":"result"`)
	if !strings.Contains(text, `"result":"fail"`) || strings.Contains(text, `"result":"pass"`) || !strings.Contains(text, "base not measured again") {
		t.Errorf("the watch says\n%s", text)
	}
	b.wants(t, 6)
}

// write puts a file into the working tree.
func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.folder, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// watched is the output of a watch up to a text, by default as JSON.
func (p *project) watched(text string, flag ...string) string {
	p.t.Helper()
	out := &until{text: text}
	a := &App{Stdout: out, Stderr: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }, Dir: p.folder}
	execute(p.t.Context(), a, append([]string{"watch"}, cmp.Or(strings.Join(flag, ""), "--json")))
	out.mu.Lock()
	defer out.mu.Unlock()
	if !strings.Contains(out.String(), out.text) {
		p.t.Errorf("the watch never says %s:\n%s", text, out.String())
	}
	return out.String()
}

// until is read until a text is in it.
type until struct {
	mu sync.Mutex
	strings.Builder
	text string
}

func (u *until) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n, err := u.Builder.Write(b)
	if strings.Contains(u.String(), u.text) {
		err = syscall.EPIPE // nobody reads any more
	}
	return n, err
}
