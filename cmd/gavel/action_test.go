package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// A project is a repository on a forge, with a model that counts what it is
// asked, and with the cache of its jobs.
type project struct {
	t      *testing.T
	forge  *forgetest.Forge
	folder string // of the repository
	server string // of git
	model  string // where it answers
	token  string // of its jobs
	inputs map[string]string
	// secrets are variables of the job.
	secrets map[string]string
	cache   *cache
	// lenient says that jobs which anybody can start may write to the cache of
	// the default branch: by cache-mode, or as on older servers.
	lenient bool
	// action is the folder of the action that the jobs use.
	action string
	runs   int

	mu    sync.Mutex
	asked []string // guarded by mu
	moods int      // guarded by mu
	// drifted has everything answered wrongly from now on; guarded by mu.
	drifted bool
	// cancel ends the job that is in progress, which happens after so many
	// questions; guarded by mu.
	cancel   context.CancelFunc
	patience int
}

// agentPath is where the model answers as an agent does.
const agentPath = "/agent"

// A head whose prompt has this word is answered wrongly.
const wrong = "sourly"

// One whose prompt has this word is not answered.
const fault = "inaudibly"

// One whose prompt has this word is answered wrongly every second time.
const moody = "moodily"

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{t: t, forge: forgetest.New(t), folder: t.TempDir(), token: forgetest.TokenActions, cache: &cache{}, action: actionFolder(t)}
	model := httptest.NewServer(http.HandlerFunc(p.answer))
	t.Cleanup(model.Close)
	p.model = model.URL
	p.serve()
	p.forge.SetPermission("maintainer", "write")
	gittest.Init(p.t, p.folder, "main")
	p.commit(map[string]string{
		"gavel.yaml": fmt.Sprintf(`
version: 1
default_target: bot
targets: {bot: {provider: openai, model: small, base_url: %s/v1, concurrency: 1}}
`, model.URL),
		"test_definitions/talk/domain.json": `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
	})
	p.commit(map[string]string{casePath("hello"): caseOf("hello", "kindly"), casePath("thanks"): caseOf("thanks", "kindly")})
	return p
}

// serve has git ask for the token of the jobs.
func (p *project) serve() {
	p.server = strings.TrimSuffix(gittest.Serve(p.t, p.folder, p.token), "/gavel-evals/gavel.git")
}

func casePath(id string) string { return "test_definitions/talk/level_1/" + id + ".json" }

// caseOf is a case that is put in a certain way.
func caseOf(id, way string) string {
	return fmt.Sprintf(`{"id": %[1]q, "name": "a case", "prompt": "%[1]s, %[2]s", "expected": {"keywords": ["yes"]}}`, id, way)
}

func (p *project) answer(w http.ResponseWriter, r *http.Request) {
	var req struct{ Messages []struct{ Content string } }
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
		http.Error(w, "no question", http.StatusBadRequest)
		return
	}
	question := req.Messages[len(req.Messages)-1].Content
	p.mu.Lock()
	p.asked = append(p.asked, question)
	bad, drifted := false, p.drifted
	if strings.Contains(question, moody) {
		p.moods++
		bad = p.moods%2 == 0
	}
	over := p.patience > 0 && len(p.asked) > p.patience
	if over {
		p.cancel()
	}
	p.mu.Unlock()
	if over {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Minute): // nobody told gavel
		}
	}
	if strings.Contains(question, fault) {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	reply := "yes"
	if bad || strings.Contains(question, wrong) {
		reply = "no"
	}
	if drifted {
		reply = "no: " + question // equal replies would look like an outage
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == agentPath {
		fmt.Fprintf(w, `{"messages": [{"role": "assistant", "content": %q}]}`, reply)
		return
	}
	fmt.Fprintf(w, `{"model": "small", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": %q}}], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}`, reply)
}

// calls are the questions since the last time, sorted.
func (p *project) calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := slices.Sorted(slices.Values(p.asked))
	p.asked = nil
	return asked
}

func (p *project) git(args ...string) string {
	p.t.Helper()
	return gittest.Run(p.t, p.folder, args...)
}

// resolve gives the commit that a revision means.
func (p *project) resolve(revision string) string {
	p.t.Helper()
	return gittest.Resolve(p.t, p.folder, revision)
}

// commit writes files on the branch that is checked out.
func (p *project) commit(files map[string]string) string {
	p.t.Helper()
	return gittest.Commit(p.t, p.folder, files)
}

// pull makes the pull request 1, or moves it to the checked out commit.
func (p *project) pull(of forgetest.Pull) {
	p.t.Helper()
	of.Number, of.HeadSHA, of.BaseSHA = 1, p.resolve("HEAD"), p.resolve("main")
	of.HeadRef = "topic"
	p.forge.AddPull(of)
	p.git("update-ref", "refs/pull/1/head", "HEAD")
}

// pullJob is a job for pull request 1 as it is now.
func (p *project) pullJob(event string, of forgetest.Pull) *machine {
	p.t.Helper()
	id, repo := 1, "octo/demo"
	if of.HeadRepo != "" {
		id, repo = 2, of.HeadRepo
	}
	scope := "refs/pull/1/merge"
	if event == "pull_request_target" {
		scope = defaultScope
	}
	return p.job(event, scope, payload(`"action": "synchronize", "number": 1, "pull_request": {"number": 1, "state": "open", "user": {"login": "maintainer", "id": 5},
		"head": {"sha": %q, "ref": "topic", "repo": {"id": %d, "full_name": %q}},
		"base": {"sha": %q, "ref": "main", "repo": {"id": 1, "full_name": "octo/demo"}}}`,
		p.resolve("refs/pull/1/head"), id, repo, p.resolve("main")))
}

// pushJob is a job for a push to main after a commit.
func (p *project) pushJob(before string) *machine {
	p.t.Helper()
	return p.job("push", defaultScope, payload(`"ref": "refs/heads/main", "before": %q, "after": %q`, before, p.resolve("main")))
}

// job runs the action on a machine of its own, for an event.
func (p *project) job(event, scope, payload string) *machine {
	p.t.Helper()
	p.runs++
	file := filepath.Join(p.t.TempDir(), "event.json")
	if err := os.WriteFile(file, []byte(payload), 0o600); err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	p.mu.Lock()
	p.cancel = cancel
	p.mu.Unlock()
	anybodys := event == "pull_request_target" || event == "issue_comment"
	m := &machine{t: p.t, ctx: ctx, action: p.action, inputs: p.inputs, cache: p.cache, scope: scope, readOnly: anybodys && !p.lenient, env: map[string]string{
		// The server of the tests speaks to Gavel, and git reads the folder itself.
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "url.file://" + p.folder + ".insteadOf", "GIT_CONFIG_VALUE_0": p.server + "/octo/demo",
		"GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": file, "GITHUB_REPOSITORY": "octo/demo", "GITHUB_SERVER_URL": p.server,
		"GITHUB_API_URL": p.forge.URL, "GITHUB_RUN_ID": fmt.Sprint(100 + p.runs), "GITHUB_RUN_ATTEMPT": "1",
		"GITHUB_JOB":          "judge",
		"GITHUB_STEP_SUMMARY": filepath.Join(p.t.TempDir(), "summary.md"), "TOKEN": p.token,
	}}
	maps.Copy(m.env, p.secrets)
	m.run(readAction(p.t))
	return m
}

// wants compares a job with what it should have done.
func (p *project) wants(m *machine, what string, code int, calls ...string) {
	p.t.Helper()
	if m.failed != code {
		p.t.Errorf("%s: exit code %d, want %d\n%s", what, m.failed, code, &m.log)
	}
	if diff := cmp.Diff(calls, p.calls()); diff != "" {
		p.t.Errorf("%s: calls (-want +got):\n%s%s", what, diff, &m.log)
	}
}

// verdict is the last state of gavel/verdict on a commit.
func (p *project) verdict(sha string) string {
	last := ""
	for _, s := range p.forge.Statuses(sha) {
		if s.Context == "gavel/verdict" {
			last = s.State
		}
	}
	return last
}

// TestTheSecondJobMakesNoCall although all that it has of the first one is the
// cache, and although the gate of that failed.
func TestTheSecondJobMakesNoCall(t *testing.T) {
	p := newProject(t)
	gittest.Branch(p.t, p.folder, "topic")
	head := p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong)})
	p.pull(forgetest.Pull{})
	first := p.pullJob("pull_request", forgetest.Pull{})
	p.wants(first, "the first job", exitGate, confirmed("hello, kindly", "hello, "+wrong)...)
	summary, err := os.ReadFile(first.env["GITHUB_STEP_SUMMARY"])
	if err != nil || !strings.Contains(string(summary), "1 regression") {
		t.Errorf("the summary: %v\n%s", err, summary)
	}
	second := p.pullJob("pull_request", forgetest.Pull{})
	p.wants(second, "the second job", exitGate)
	if comments := p.forge.Comments(1); len(comments) != 1 || !strings.Contains(comments[0].Body, "1 regression") {
		t.Errorf("comments %+v", comments)
	}
	if state := p.verdict(head); state != "failure" {
		t.Errorf("the verdict is %q", state)
	}
	if diff := cmp.Diff([]string{"gavel-pull-1-101-1"}, second.restored); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
}

// TestACancelledJob leaves no status pending, and what it has paid for to the
// next one, which repeats the one call that was in progress. A case of which one side
// has no verdict yet leaves the job's own undetermined.
func TestACancelledJob(t *testing.T) {
	p := newProject(t)
	gittest.Branch(p.t, p.folder, "topic")
	head := p.commit(map[string]string{casePath("hello"): caseOf("hello", "briefly"), casePath("thanks"): caseOf("thanks", "briefly")})
	p.pull(forgetest.Pull{})
	p.patience = 2
	m := p.pullJob("pull_request", forgetest.Pull{})
	first := p.calls()
	if m.failed != exitInterrupted || len(first) != 3 {
		t.Errorf("exit code %d after %q\n%s", m.failed, first, &m.log)
	}
	if state := p.verdict(head); state != "error" {
		t.Errorf("the verdict is %q", state)
	}

	p.patience = 0
	m = p.pullJob("pull_request", forgetest.Pull{})
	all := append(first, p.calls()...)
	slices.Sort(all)
	if distinct := slices.Compact(slices.Clone(all)); m.failed != exitPass || len(all) != 5 || len(distinct) != 4 {
		t.Errorf("exit code %d after %q in all\n%s", m.failed, all, &m.log)
	}
}

// TestPullRequestsBeginWithWhatBaseKnows, and learn what it pays for later.
func TestPullRequestsBeginWithWhatBaseKnows(t *testing.T) {
	p := newProject(t)
	p.wants(p.pushJob(p.resolve("main~1")), "a push", exitPass, "hello, kindly", "thanks, kindly")

	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", "briefly")})
	p.pull(forgetest.Pull{})
	p.wants(p.pullJob("pull_request", forgetest.Pull{}), "a pull request", exitPass, "hello, briefly")

	p.git("checkout", "-q", "main")
	before := p.resolve("main")
	p.commit(map[string]string{casePath("thanks"): caseOf("thanks", "warmly")})
	p.wants(p.pushJob(before), "another push", exitPass, "thanks, warmly")

	p.git("checkout", "-q", "topic")
	p.git("merge", "-q", "main")
	p.commit(map[string]string{casePath("thanks"): caseOf("thanks", "coolly")})
	p.pull(forgetest.Pull{})
	m := p.pullJob("pull_request", forgetest.Pull{})
	p.wants(m, "after it took over main", exitPass, "thanks, coolly")
	if !strings.Contains(m.log.String(), "from base") {
		t.Errorf("it does not say so:\n%s", &m.log)
	}
}

// TestAHeadNeverServesBase has base judge again what the pull request was judged
// with (abuse 20), and another pull request, too.
func TestAHeadNeverServesBase(t *testing.T) {
	p := newProject(t)
	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", "briefly")})
	p.pull(forgetest.Pull{})
	p.wants(p.pullJob("pull_request", forgetest.Pull{}), "the pull request", exitPass, "hello, briefly", "hello, kindly")

	// Even where the forge would let base have it.
	for i := range p.cache.entries {
		p.cache.entries[i].scope = defaultScope
	}
	p.git("checkout", "-q", "main")
	before := p.resolve("main")
	p.git("merge", "-q", "--ff-only", "topic")
	m := p.pushJob(before)
	// The base is judged as a whole.
	p.wants(m, "the push after the merge", exitPass, "hello, briefly", "hello, kindly", "thanks, kindly")
	if len(m.restored) > 0 {
		t.Errorf("base restored %v", m.restored)
	}
	if len(m.saved) != 1 || !strings.HasPrefix(m.saved[0], "gavel-base-") {
		t.Errorf("base saved %v", m.saved)
	}
}

// TestAForkIsOnlyLookedAt by pull_request_target: nothing of it is on the disk
// but git's own objects, nobody is asked, and no ledger is saved, although the
// forge would have taken it for one of base.
func TestAForkIsOnlyLookedAt(t *testing.T) {
	p := newProject(t)
	p.lenient = true
	gittest.Branch(p.t, p.folder, "topic")
	const mark = "whatever-a-stranger-wrote"
	head := p.commit(map[string]string{casePath("hello"): caseOf("hello", mark), "run.sh": "echo " + mark + "\n"})
	fork := forgetest.Pull{HeadRepo: "stranger/demo", Author: "stranger"}
	p.pull(fork)
	m := p.pullJob("pull_request_target", fork)
	p.wants(m, "a fork", exitGate)
	if files := m.holds("echo " + mark); len(files) > 0 {
		t.Errorf("the head is on the disk: %v", files)
	}
	if comments := p.forge.Comments(1); len(comments) != 1 || !strings.Contains(comments[0].Body, "comes from the fork stranger/demo") {
		t.Errorf("comments %+v", comments)
	}
	if state := p.verdict(head); state != "error" {
		t.Errorf("the verdict is %q", state)
	}
	if len(m.saved) > 0 {
		t.Errorf("it saved %v", m.saved)
	}
	p.lenient = false
	p.wants(p.pullJob("pull_request_target", fork), "a fork, with a cache that takes nothing", exitGate)
}

// TestAMergeQueue has its commit judged with what base knows.
func TestAMergeQueue(t *testing.T) {
	p := newProject(t)
	p.pushJob(p.resolve("main~1"))
	p.calls()
	const queue = "gh-readonly-queue/main/pr-1"
	gittest.Branch(p.t, p.folder, queue)
	head := p.commit(map[string]string{casePath("hello"): caseOf("hello", "briefly")})
	m := p.job("merge_group", "refs/heads/"+queue, payload(`"action": "checks_requested", "merge_group": {"head_sha": %q, "head_ref": "refs/heads/%s",
		"base_sha": %q, "base_ref": "refs/heads/main"}`, head, queue, p.resolve("main")))
	p.wants(m, "a merge queue", exitPass, "hello, briefly")
	if state := p.verdict(head); state != "success" {
		t.Errorf("the verdict is %q", state)
	}
}

// TestATokenThatOnlyReads leaves the summary and the exit code.
func TestATokenThatOnlyReads(t *testing.T) {
	p := newProject(t)
	p.token = forgetest.TokenFork
	p.serve()
	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", wrong)})
	p.pull(forgetest.Pull{})
	m := p.pullJob("pull_request", forgetest.Pull{})
	p.wants(m, "a token that only reads", exitGate, confirmed("hello, kindly", "hello, "+wrong)...)
	summary, err := os.ReadFile(m.env["GITHUB_STEP_SUMMARY"])
	if err != nil || !strings.Contains(string(summary), "1 regression") {
		t.Errorf("the summary: %v\n%s", err, summary)
	}
	if len(p.forge.Comments(1)) > 0 {
		t.Errorf("comments %+v", p.forge.Comments(1))
	}
}

// TestWithoutTheCache saves nothing and restores nothing but the program.
func TestWithoutTheCache(t *testing.T) {
	p := newProject(t)
	before := p.resolve("main~1")
	p.pushJob(before)
	p.calls()
	p.inputs = map[string]string{"cache": "false"}
	m := p.pushJob(before)
	p.wants(m, "without the cache", exitPass, "hello, kindly", "thanks, kindly")
	if len(m.restored)+len(m.saved) > 0 {
		t.Errorf("restored %v, saved %v", m.restored, m.saved)
	}
}

// TestInputsAreNoPrograms, whatever they and the names of branches contain
// (abuse 9).
func TestInputsAreNoPrograms(t *testing.T) {
	p := newProject(t)
	const hostile = "x\"; touch \"$RUNNER_TEMP/pwned\"; $(touch $RUNNER_TEMP/pwned) `touch $RUNNER_TEMP/pwned`\n touch $RUNNER_TEMP/pwned #"
	jobs := []*machine{p.job("push", defaultScope, payload(`"ref": %q, "before": %q, "after": %q`,
		"refs/heads/"+hostile, p.resolve("main~1"), p.resolve("main")))}
	for name := range readAction(t).Inputs {
		p.inputs = map[string]string{name: hostile}
		jobs = append(jobs, p.pushJob(p.resolve("main~1")))
	}
	for _, m := range jobs {
		if _, err := os.Stat(filepath.Join(m.temp, "pwned")); err == nil {
			t.Errorf("with %v: what came from outside was run", m.inputs)
		}
	}
	if jobs[0].failed == 0 {
		t.Error("a branch with such a name is judged")
	}
}

// TestAShallowCheckout has neither the merge base nor the head: both are
// fetched.
func TestAShallowCheckout(t *testing.T) {
	p := newProject(t)
	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", "briefly")})
	p.pull(forgetest.Pull{})
	p.git("checkout", "-q", "main")
	p.commit(map[string]string{casePath("thanks"): caseOf("thanks", "warmly")})
	p.pull(forgetest.Pull{HeadSHA: p.resolve("topic")})
	p.git("update-ref", "refs/pull/1/head", "topic")
	p.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: p.resolve("topic"), BaseSHA: p.resolve("main"), HeadRef: "topic"})

	checkout := filepath.Join(t.TempDir(), "checkout")
	p.git("clone", "-q", "--depth", "1", "--branch", "main", "file://"+p.folder, checkout)
	p.git("-C", checkout, "remote", "set-url", "origin", p.server+"/octo/demo")
	j := &job{checkout: checkout, env: map[string]string{"GITHUB_API_URL": p.forge.URL, "GITHUB_TOKEN": forgetest.TokenActions, "GITHUB_ACTIONS": "true"}}
	_, stderr, code := j.call(t, "pr", "--repo", "octo/demo", "--pr", "1")
	if code != exitPass {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if diff := cmp.Diff([]string{"hello, briefly", "hello, kindly"}, p.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
