package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/controller/evaluate/judgetest"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
)

// A scenario is a pull request, what the models answer, and what has to come of it. It
// goes through every door. The outcome is written by hand, from the pages that promise it.
type scenario struct {
	name string
	// base has the files of main, and head those that the pull request changes, by path.
	// MODELS in a text is the address of the models. A file whose text is gone is removed.
	base, head map[string]string
	// forked has the files of the commit at which head left main, where main went on
	// since; base has the files of main's tip.
	forked map[string]string
	// part has the files of a commit between base and head, on the branch part1. A second
	// pull request has the same head and goes to that branch.
	part map[string]string
	// release has the files of a commit above base's, on the branch release. Head
	// leaves that branch, and goes to it. listed says that it is a base branch.
	release map[string]string
	listed  bool
	// stranger says that somebody without permission to write opens the pull request, from a fork.
	stranger bool
	// answer is a model's reply to a prompt that it gets for the n-th time, from 1.
	answer func(prompt string, n int) string
	// agent answers for an HTTP agent: as head does once it is deployed, else as base does.
	agent func(prompt string, head bool) string
	// version is the version that such an agent names in the place of its commit, as head
	// does once it is deployed.
	version func(head bool) string
	// atHead is such an agent's reply to the n-th call, from 1, once head's is
	// deployed; agent replies if it is nil or returns "".
	atHead func(n int) string
	// reply replaces the answer to the k-th call, from 1, by a text other than "".
	reply func(k int) string
	// fault turns the k-th request away, from 1, with a status and a reason; 0 answers it.
	fault func(k int) (status int, why string)
	// meets names the case of a prompt that is only answered while the other side of the
	// case is asked, too; "" for a prompt that is answered in any case. Without the other
	// side the answer is a wrong one, after a while.
	meets func(prompt string) string
	// tokens are the tokens of a model's reply, by the name of the model. Defaults to
	// 1.
	tokens map[string]int
	// down has the server of the models refuse every call.
	down bool
	// programs are the programs that run files of the repository, as words: sh, node. If it
	// is empty, none runs.
	programs string
	// agents are coding agents, by the names of their programs.
	agents map[string]string
	// judged says that main was judged before the pull request came.
	judged bool
	// partial says that the working tree is a clone without the blobs of base.
	partial bool
	// remarks are comments on the pull request, each once the head has its verdict. mona may
	// write and rita may read.
	remarks []remark

	want outcome
	// differ has the outcome at doors where a rule makes it another one.
	differ map[string]outcome
	// unlike has the doors that the scenario does not go through, with the rule.
	unlike map[string]string
	// later names the work that makes it right; it is known to fail until then.
	later string
}

// A remark is a comment below a pull request. HEAD in it is the commit.
type remark struct{ by, says string }

// gone is the text of a file that head removes.
const gone = "\x00"

// An outcome is the visible result of a pull request.
type outcome struct {
	// gate is pass, fail or undetermined, and reason a part of what the gate says.
	gate, reason string
	// cases have the verdict and the class of cases by key: "fail regression". A case that
	// is not in it passes, or nothing affects it. With some, others are not compared.
	cases map[string]string
	some  bool
	// notice is a part of one of the notices.
	notice string
	// told are the notices that the chat in CHAT gets from a door with a forge: the event and
	// the cases.
	told []string
	// groups are the gates of groups.
	groups map[string]string
	// problems are the files with an error in them; with waits, it is that they wait for an
	// approval.
	problems []string
	waits    bool
	// calls are how often a model is asked, by prompt. Prompts that are not in it are not
	// compared.
	calls map[string]int
	// lift is what the report says about cases without their skill.
	lift string
	// triggers is what it says about the queries of the first skill; empty accepts all.
	triggers string
	// rule says why a door has another outcome than the others.
	rule string
}

// states returns what the two statuses have to be.
func (o outcome) states() map[string]string {
	words := map[string]string{report.GatePass: "success", report.GateFail: "failure", report.GateUndetermined: "error"}
	states := map[string]string{"gavel/validate": "success", "gavel/verdict": words[o.gate]}
	for group, gate := range o.groups {
		states["gavel/verdict/"+group] = words[gate]
	}
	switch {
	case o.waits:
		states["gavel/validate"] = "error"
	case len(o.problems) > 0:
		states["gavel/validate"], states["gavel/verdict"] = "failure", "failure"
	}
	return states
}

// A column is a door, which is a way into the pipeline, and where results are kept.
type column struct {
	name string
	// database has the door keep its results in PostgreSQL.
	database bool
	// gitea has the pull request on Gitea, and not on GitHub.
	gitea bool
	// pass takes a pull request through the door and returns the report that it gets.
	pass func(c *passage) *report.Report
}

// columns are all ways in.
var columns = []column{
	{name: "run", pass: (*passage).byRun},
	{name: "run on PostgreSQL", database: true, pass: (*passage).byRun},
	{name: "pr", pass: (*passage).byJob},
	{name: "pr on Gitea", gitea: true, pass: (*passage).byJob},
	{name: "serve", pass: func(c *passage) *report.Report { return c.byServer() }},
	{name: "serve on Gitea", gitea: true, pass: func(c *passage) *report.Report { return c.byServer() }},
	{name: "serve on PostgreSQL", database: true, pass: func(c *passage) *report.Report { return c.byServer("--judge") }},
	{name: "workers", database: true, pass: (*passage).byWorkers},
	{name: "watch", pass: (*passage).byWatch},
}

// door names the door whose rules hold: a scenario has the same rules on every forge.
func (d column) door() string { return strings.TrimSuffix(d.name, " on Gitea") }

// closed counts the columns that the scenario does not go through.
func (s scenario) closed() (n int) {
	for _, d := range columns {
		if s.unlike[d.door()] != "" {
			n++
		}
	}
	return n
}

// onForge says which doors publish what they find.
func (d column) onForge() bool { return !strings.HasPrefix(d.name, "run") && d.name != "watch" }

// TestDoors takes every scenario through every door: a pull request has one outcome,
// however it is judged and wherever results are kept.
func TestDoors(t *testing.T) {
	for _, s := range slices.Concat(scenarios, storedScenarios) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := &tableRow{scenario: s}
			for _, d := range columns {
				if s.unlike[d.door()] == "" {
					t.Run(d.name, func(t *testing.T) { r.cell(t, d) })
				}
			}
			if s.later != "" && r.wrong == 0 && r.cells == len(columns)-s.closed() {
				t.Errorf("every door is right: take the mark %q away", s.later)
			}
		})
	}
}

// A tableRow is a scenario on its way through all doors.
type tableRow struct {
	scenario
	cells, wrong int
	// asked are the calls of the first door, by prompt.
	asked map[string]int
}

// cell takes the scenario through one door.
func (r *tableRow) cell(t *testing.T, d column) {
	if r.programs != "" {
		needsPrograms(t, strings.Fields(r.programs)...)
	}
	c := newPassage(t, r.scenario, d)
	diff := c.through()
	r.cells++
	if diff == "" {
		diff = r.unequal(c)
	}
	switch {
	case diff == "":
	case r.later == "":
		t.Error(diff)
	default:
		r.wrong++
		t.Logf("known to fail (%s):\n%s", r.later, diff)
	}
}

// unequal compares the calls with the calls of the first door. A server judges its branches, too, so that it may send prompts that the others do not; a watch asks no score.
func (r *tableRow) unequal(c *passage) string {
	if _, apart := r.differ[c.d.door()]; apart || r.want.some {
		return ""
	}
	if r.asked == nil {
		r.asked = c.models.all()
		return ""
	}
	got := map[string]int{}
	for prompt := range r.asked {
		got[prompt] = c.models.calls(prompt)
	}
	return cmp.Diff(r.asked, got)
}

// through takes the scenario through the door and returns how the outcome differs from
// what has to come (-want +got), or "".
func (c *passage) through() string {
	want, ok := c.s.differ[c.d.door()]
	if !ok {
		want = c.s.want
	}
	if !c.d.onForge() {
		want.told = nil // a person sees it
	}
	r := c.d.pass(c)
	diff := cmp.Diff(want, c.found(r, want), cmp.AllowUnexported(outcome{}), cmpopts.EquateEmpty())
	if c.d.onForge() {
		diff += cmp.Diff(want.states(), c.states())
	}
	if diff == "" {
		return ""
	}
	for _, row := range r.Cases {
		diff += fmt.Sprintf("\n%s: %s: %s", row.Key, seen(row), row.VerdictReason)
	}
	return diff + fmt.Sprintf("\n%s by %s\n%s\nnotices %+v\nproblems %+v\n%s", c.s.name, c.d.name, r.Gate.Reason, r.Notices, r.Problems, c.models)
}

// found reads an outcome off a report: the parts that want has.
func (c *passage) found(r *report.Report, want outcome) outcome {
	got := outcome{
		gate: string(r.Gate.Result), reason: r.Gate.Reason, some: want.some, rule: want.rule,
		cases: map[string]string{}, calls: map[string]int{},
	}
	if strings.Contains(got.reason, want.reason) {
		got.reason = want.reason
	}
	for _, row := range r.Cases {
		text := seen(row)
		_, wanted := want.cases[row.Key]
		if wanted || !want.some && text != "" && text != "pass unchanged" && text != "pass" {
			got.cases[row.Key] = text
		}
	}
	for _, n := range r.Notices {
		if strings.Contains(fmt.Sprint(n), want.notice) {
			got.notice = want.notice
		}
	}
	for _, g := range r.GroupGates {
		if got.groups == nil {
			got.groups = map[string]string{}
		}
		got.groups[g.Group] = string(g.Gate.Result)
	}
	for _, p := range r.Problems {
		if p.Severity == schema.Error && !slices.Contains(got.problems, p.File) {
			got.problems = append(got.problems, p.File)
		}
	}
	if r.Lift != nil {
		got.lift = r.Lift.String()
	}
	if want.triggers != "" && len(r.Triggers) > 0 {
		got.triggers = r.Triggers[0].String()
	}
	got.waits = report.WaitingFiles(r.Problems) > 0 && report.InvalidFiles(r.Problems) == 0
	for prompt := range want.calls {
		got.calls[prompt] = c.models.calls(prompt)
	}
	got.told = c.chat.told(c.t)
	return got
}

// seen is the verdict and the class of a row.
func seen(row report.Row) string {
	var words []string
	if row.Verdict != nil {
		words = append(words, string(*row.Verdict))
	}
	if row.Class != nil {
		words = append(words, string(*row.Class))
	}
	return strings.Join(words, " ")
}

// A passage is one scenario on its way through one door.
type passage struct {
	*job
	t      *testing.T
	s      scenario
	d      column
	models *models
	fork   string // the commit at which head left the branch that it goes to
	part   string // the commit of part1
	// flags are further ones of a person and of a CI job, and lines more of the operator's file.
	flags []string
	lines string
	// chat gets the notices.
	chat *chat
}

func newPassage(t *testing.T, s scenario, d column) *passage {
	c := &passage{job: emptyOrigin(t), t: t, s: s, d: d, models: newModels(t, s), chat: &chat{}}
	c.env["MODEL_KEY"] = "a-key-of-the-models"
	c.notices, c.lines = c.chat, "notify: [CHAT, OTHER]\n"
	c.env["CHAT"], c.env["OTHER"] = chatAddress, "https://chat.example/the-secret-of-the-head"
	if d.gitea {
		c.forge.URL += "/api/v1"
		c.forge.SetPermission("maintainer", "admin") // who may ask what others may do
		c.env["GITHUB_API_URL"] = c.forge.URL
	}
	if d.database {
		c.env[databaseVariable] = postgrestest.URL(t)
	}
	if s.agents != nil {
		dir := fakeAgents(t, s.agents)
		c.flags, c.lines = append(c.flags, "--sandbox-path", dir), c.lines+"trust: {sandbox: {path: ["+dir+"]}}\n"
	}
	c.commits()
	return c
}

// commits makes the branches main and topic, with topic checked out.
func (c *passage) commits() {
	first := c.s.base
	if c.s.forked != nil {
		first = c.s.forked
	}
	c.fork = c.commit(first)
	c.base = c.fork
	if c.s.forked != nil {
		c.base = c.commit(c.s.base)
		c.git(c.t, "checkout", "-q", "-b", "topic", c.fork)
	}
	if c.s.release != nil {
		gittest.Branch(c.t, c.folder, "release")
		c.fork = c.commit(c.s.release)
		c.base = c.fork
	}
	if c.s.part != nil {
		gittest.Branch(c.t, c.folder, "part1")
		c.part = c.commit(c.s.part)
	}
	if c.s.forked == nil {
		gittest.Branch(c.t, c.folder, "topic")
	}
	c.head = c.commit(c.s.head)
	c.models.head = c.head
	c.git(c.t, "config", "uploadpack.allowFilter", "true")
	c.git(c.t, "update-ref", "refs/pull/1/head", c.head)
	c.git(c.t, "update-ref", "refs/pull/2/head", c.head)
}

// commit writes files, with the address of the models in them, and commits them.
func (c *passage) commit(files map[string]string) string {
	written := map[string]string{}
	for name, text := range files {
		if text == gone {
			if err := os.Remove(filepath.Join(c.folder, filepath.FromSlash(name))); err != nil {
				c.t.Fatal(err)
			}
			continue
		}
		written[name] = strings.ReplaceAll(text, "MODELS", c.models.URL)
	}
	return gittest.Commit(c.t, c.folder, written)
}

// open opens the pull request, and the second one. The agent of head is deployed.
func (c *passage) open() {
	c.models.deployed.Store(true)
	c.forge.SetPermission("mona", "write")
	c.forge.SetPermission("rita", "read")
	pull := forgetest.Pull{Number: 1, HeadSHA: c.head, BaseSHA: c.base, HeadRef: "topic"}
	if c.s.release != nil {
		pull.BaseRef = "release"
	}
	if c.s.stranger {
		pull.HeadRepo, pull.Author = "stranger/demo", "stranger"
	} else if c.s.programs != "" {
		c.forge.Push("topic", c.head, "maintainer")
	}
	c.forge.AddPull(pull)
	if c.s.part != nil {
		pull.Number, pull.BaseSHA, pull.BaseRef = 2, c.part, "part1"
		c.forge.AddPull(pull)
	}
}

// read reads a report as it is printed. A command that ended without one has a gate of its own.
func (c *passage) read(stdout, stderr string, code int) *report.Report {
	c.t.Helper()
	if stdout == "" {
		return &report.Report{Gate: report.Gate{Result: "none", Reason: fmt.Sprintf("exit code %d: %s", code, stderr)}}
	}
	r, err := report.Decode([]byte(stdout))
	if err != nil {
		c.t.Fatalf("the report cannot be read: %v\n%s", err, stdout)
	}
	if code != r.ExitCode() {
		c.t.Errorf("exit code %d, want %d as the report has it\n%s", code, r.ExitCode(), stderr)
	}
	return r
}

// tree is the working tree of a person or a job, at a branch.
func (c *passage) tree(branch string) string {
	dir := filepath.Join(c.t.TempDir(), "tree")
	args := []string{"clone", "-q", "-b", branch, "file://" + c.folder, dir}
	if c.s.partial {
		args = slices.Insert(args, 1, "--filter=blob:none")
	}
	c.git(c.t, args...)
	if branch != "main" {
		gittest.Run(c.t, dir, "branch", "main", "origin/main")
	}
	return dir
}

// person is the working tree of head, with main judged before if the scenario says so.
func (c *passage) person() {
	c.checkout = c.tree("topic")
	if c.s.judged {
		gittest.Run(c.t, c.checkout, "checkout", "-q", "main")
		c.call(c.t, "run")
		gittest.Run(c.t, c.checkout, "checkout", "-q", "topic")
	}
	c.models.deployed.Store(true)
}

// byRun has a person run the head in a working tree.
func (c *passage) byRun() *report.Report {
	c.person()
	return c.read(c.call(c.t, append([]string{"run", "--base", "main", "--json"}, c.flags...)...))
}

// byJob has a CI job judge the pull request.
func (c *passage) byJob() *report.Report {
	branch := "main"
	if c.s.partial {
		branch = "topic" // whose files are those that were fetched
	}
	c.checkout = c.tree(branch)
	if c.s.judged {
		c.event(c.t, "push", payload(`"ref": "refs/heads/main", "before": %q, "after": %q`, strings.Repeat("0", 40), c.base))
	}
	c.open()
	flags := append(slices.Clone(c.flags), "--json")
	if c.s.listed {
		flags = append(flags, "--branches", "main,release")
	}
	r := c.read(c.run(c.t, flags...))
	if c.s.part != nil {
		c.call(c.t, "pr", "--repo", "octo/demo", "--pr", "2")
	}
	for _, remark := range c.remarks() {
		r = c.byComment(remark)
	}
	return r
}

// remarks returns the remarks of the scenario, with the commit in place of HEAD.
func (c *passage) remarks() []remark {
	all := slices.Clone(c.s.remarks)
	if c.d.gitea && c.s.programs != "" && !c.s.stranger {
		// Gitea does not say who pushed a head, so that its programs wait for an approval.
		all = slices.Insert(all, 0, remark{"mona", "/gavel approve HEAD"})
	}
	for i := range all {
		all[i].says = strings.ReplaceAll(all[i].says, "HEAD", c.head)
	}
	return all
}

// byComment has somebody write a comment, and the CI job of that judge the pull request.
func (c *passage) byComment(r remark) *report.Report {
	c.forge.AddComment(1, r.by, r.says)
	c.event(c.t, "issue_comment", written(r.says), c.flags...)
	return c.read(c.run(c.t, append(c.flags, "--json")...))
}

// operators is the operator's file.
func (c *passage) operators() string {
	file := operatorsFile(c.t, c.job, c.lines)
	if !c.s.listed {
		return file
	}
	text, err := os.ReadFile(file)
	if err == nil {
		listed := strings.Replace(string(text), "credential: bot}", "credential: bot, branches: [main, release]}", 1)
		err = os.WriteFile(file, []byte(listed), 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return file
}

// byServer has a server judge the pull request in its own process.
func (c *passage) byServer(flags ...string) *report.Report {
	file := c.operators()
	log, end := c.starting(c.t, file, flags...)
	at := log.listens(c.t)
	if c.s.judged {
		log.await(c.t, `"branch":"main"`)
	}
	c.announce(at)
	c.await(log)
	store := c.store(file)
	for _, remark := range c.remarks() {
		c.hear(at, log, store, remark)
	}
	go c.drain(log)
	rest(c.t, at)
	if code := end(); code != exitPass {
		c.t.Errorf("serve ends with %d", code)
	}
	return c.lastReport(c.t, store, c.fork)
}

// store is where a server with an operator's file keeps its results.
func (c *passage) store(file string) string {
	if c.d.database {
		return c.env[databaseVariable]
	}
	return filepath.Join(filepath.Dir(file), "data", "ledger.db")
}

// hear has somebody write a comment, and waits until a server has answered it: what it follows
// is in the report.
func (c *passage) hear(at string, log lines, store string, r remark) {
	id := c.forge.AddComment(1, r.by, r.says)
	deliver(c.t, at+"/hooks", hookSecret)
	answered := func() bool {
		sign := c.forge.Reactions(1, id, "maintainer")
		return sign == "-1" || sign == "confused" || sign == "+1" &&
			slices.ContainsFunc(c.lastReport(c.t, store, c.fork).Commands, func(o report.Command) bool { return o.CommentID == id })
	}
	// A report is stored before its statuses are posted.
	posted := func() bool {
		return maps.Equal(c.states(), c.found(c.lastReport(c.t, store, c.fork), outcome{}).states())
	}
	for !answered() || !c.settled() || !posted() {
		log.await(c.t, `"repo":"octo/demo#1","duration"`)
	}
	rest(c.t, at) // the same states may be those from before the review that follows
}

// rest waits until a server reviews nothing. One that ends within a review says that of the
// head, which may already have its verdict: it is looked at again if events or a poll ask for
// that, and judged again if a case of it ended in an error.
func rest(t *testing.T, at string) {
	t.Helper()
	for isBusy(t, at) {
		time.Sleep(5 * time.Millisecond)
	}
}

// isBusy reports whether a server reviews something or is about to.
func isBusy(t *testing.T, at string) bool {
	status, metrics := get(t, at+"/metrics")
	const idle = "\ngavel_queue_depth{state=%q} 0\n"
	if status != http.StatusOK {
		t.Fatalf("the metrics have the status %d:\n%s", status, metrics)
	}
	return !strings.Contains(metrics, fmt.Sprintf(idle, "waiting")) || !strings.Contains(metrics, fmt.Sprintf(idle, "running"))
}

// byWorkers has a server on an empty database plan, and two workers judge, which are
// started once cases wait.
func (c *passage) byWorkers() *report.Report {
	file := c.operators()
	log, end := c.starting(c.t, file)
	at := log.listens(c.t)
	if !c.s.judged {
		c.announce(at)
	}
	log.await(c.t, "no gavel worker is running")
	ends := append(c.workers(file), end)
	if c.s.judged {
		log.await(c.t, `"branch":"main"`)
		c.announce(at)
	}
	c.await(log)
	for _, remark := range c.remarks() {
		c.hear(at, log, c.store(file), remark)
	}
	go c.drain(log)
	rest(c.t, at)
	for _, end := range ends {
		if code := end(); code != exitPass {
			c.t.Errorf("it ends with %d", code)
		}
	}
	return c.lastReport(c.t, c.store(file), c.fork)
}

// workers starts two workers, and returns what ends them.
func (c *passage) workers(file string) (ends []func() int) {
	var logs []lines
	for range 2 {
		worker, end := start(c.t, c.env, "worker", "--config", file)
		logs, ends = append(logs, worker), append(ends, end)
	}
	for _, worker := range logs {
		worker.await(c.t, "waiting for cases")
		go c.drain(worker)
	}
	return ends
}

// announce opens the pull request, and the forge says so.
func (c *passage) announce(at string) {
	c.open()
	deliver(c.t, at+"/hooks", hookSecret)
}

// await waits until the pull request has its verdict.
func (c *passage) await(log lines) {
	for !c.settled() {
		log.await(c.t, "")
	}
}

// drain reads a log until the test ends, and shows what went wrong.
func (c *passage) drain(log lines) {
	for ctx := c.t.Context(); ; {
		select {
		case line := <-log:
			if strings.Contains(line, `"level":"error"`) || strings.HasPrefix(line, "gavel: ") {
				c.t.Log(line)
			}
		case <-ctx.Done():
			return
		}
	}
}

// settled reports whether both statuses of the head are final and what they are about is
// stored.
func (c *passage) settled() bool {
	states := c.states()
	if c.s.part != nil && len(c.forge.Comments(2)) == 0 {
		return false
	}
	return len(states) == 2 && states["gavel/validate"] != "pending" && states["gavel/verdict"] != "pending" && len(c.forge.Comments(1)) > 0
}

// states are the last states of the head by context.
func (c *passage) states() map[string]string {
	states := c.job.states()
	for context, state := range states {
		states[context], _, _ = strings.Cut(state, ":")
	}
	return states
}

// byWatch has a watch over the working tree of the head say what became of it.
func (c *passage) byWatch() *report.Report {
	c.person()
	cmd := program(c.t, append([]string{"watch", "--json", "--yes", "--base", "main"}, c.flags...)...)
	cmd.Dir = c.checkout
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	var found *report.Report
	for events := json.NewDecoder(out); ; {
		var event struct {
			Event  string
			Report json.RawMessage
		}
		if err := events.Decode(&event); err != nil {
			break
		}
		if event.Event == "result" && found == nil {
			r, err := report.Decode(event.Report)
			if err != nil {
				c.t.Fatal(err)
			}
			found = r
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil { // as on Windows
				err = cmd.Process.Kill()
				if err != nil {
					c.t.Fatal(err)
				}
			}
		}
	}
	if _ = cmd.Wait(); found == nil {
		return c.read("", errs.String(), cmd.ProcessState.ExitCode())
	}
	return found
}

// models are a server that speaks the protocol of OpenAI, and HTTP agents' protocol
// below /agent, with the answers of a scenario.
type models struct {
	*httptest.Server
	s        scenario
	head     string       // the commit; written before the first call
	deployed atomic.Bool  // whether the agent of head is
	visits   atomic.Int64 // of the agent of head, or of a server with faults

	mu    sync.Mutex
	times map[string]int           // by prompt; guarded by mu
	total int                      // guarded by mu
	alone map[string]chan struct{} // calls that have not met, by case; guarded by mu
}

func newModels(t *testing.T, s scenario) *models {
	m := &models{s: s, times: map[string]int{}, alone: map[string]chan struct{}{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

// A modelCall is a request to a model, or to an agent without the fields that only models have.
type modelCall struct {
	Model          string
	Messages       []struct{ Role, Content string }
	ResponseFormat struct {
		JSONSchema struct {
			Name   string
			Schema map[string]any
		} `json:"json_schema"`
	} `json:"response_format"`
}

// byNew ends a prompt that another model than the usual one is sent, and byHarsh one that a
// model is sent which finds fault with everything when it judges.
const (
	byNew   = " | by new"
	byHarsh = " | by harsh"
)

// toJudge counts the calls of judges, whatever their prompts are.
const toJudge = "(to a judge)"

// atOld ends a prompt that is sent to an address that nobody has any more.
const atOld = " | at the old address"

// prompt is the whole conversation, with the model if it is not the usual one.
func (r *modelCall) prompt() string {
	var parts []string
	for _, message := range r.Messages {
		parts = append(parts, message.Content)
	}
	if r.Model == "new" || r.Model == "harsh" {
		parts = append(parts, "by "+r.Model)
	}
	return strings.Join(parts, " | ")
}

func (m *models) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req modelCall
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if m.s.down {
		http.Error(w, `{"error": {"message": "overloaded"}}`, http.StatusServiceUnavailable)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/old/") {
		m.count(req.prompt() + atOld)
		http.Error(w, `{"error": {"message": "nobody is here"}}`, http.StatusGone)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if agent, ok := strings.CutPrefix(r.URL.Path, "/agent"); ok {
		m.count(req.prompt())
		commit := strings.TrimPrefix(agent, "/")
		head := commit == m.head || commit == "" && m.deployed.Load()
		said := m.s.agent(req.prompt(), head)
		if head && m.s.atHead != nil {
			if other := m.s.atHead(int(m.visits.Add(1))); other != "" {
				said = other
			}
		}
		if m.s.version != nil {
			commit = m.s.version(head)
		}
		fmt.Fprintf(w, `{"messages": [{"role": "assistant", "content": %q}], "metadata": {"revision": %q}}`, said, commit)
		return
	}
	if m.s.fault != nil {
		if status, why := m.s.fault(int(m.visits.Add(1))); status != 0 {
			w.Header().Set("Retry-After-Ms", "20")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error": {"message": %q}}`, why)
			return
		}
	}
	tokens := max(1, m.s.tokens[req.Model])
	text, err := m.text(&req)
	content, encoding := json.Marshal(text)
	if err := errors.Join(err, encoding); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, `{"id": "1", "object": "chat.completion", "model": %q, "choices": [{"index": 0, "finish_reason": "stop",
		"message": {"role": "assistant", "content": %s}}], "usage": {"prompt_tokens": 1, "completion_tokens": %d, "total_tokens": %d}}`, req.Model, content, tokens, 1+tokens)
}

// text is the reply of a model. A judge that is not harsh accepts everything without
// FAIL in it, a user is done after the second answer, and an editor writes "Be better."
func (m *models) text(req *modelCall) (string, error) {
	prompt, form := req.prompt(), req.ResponseFormat.JSONSchema
	var value any
	switch form.Name {
	case "":
		n, k := m.count(prompt)
		if m.s.reply != nil && m.s.reply(k) != "" {
			return m.s.reply(k), nil
		}
		if m.s.meets != nil && !m.met(m.s.meets(prompt)) {
			return "alone", nil
		}
		return m.s.answer(prompt, n), nil
	case "user":
		value = map[string]any{"message": "And then?", "done": strings.Count(prompt, "|") > 3}
	case "prompt":
		value = map[string]any{"prompt": "Be better."}
	default:
		m.mu.Lock()
		m.times[toJudge]++
		m.mu.Unlock()
		value = judgetest.Fitting(form.Schema, !strings.Contains(prompt, "FAIL") && req.Model != "harsh", 5) // of the scale of conversations
	}
	raw, err := json.Marshal(value)
	return string(raw), err
}

// met waits for the call of a case at the other side, and reports whether it came.
func (m *models) met(name string) bool {
	if name == "" {
		return true
	}
	m.mu.Lock()
	if other := m.alone[name]; other != nil {
		delete(m.alone, name)
		close(other)
		m.mu.Unlock()
		return true
	}
	here := make(chan struct{})
	m.alone[name] = here
	m.mu.Unlock()
	select {
	case <-here:
		return true
	case <-time.After(5 * time.Second):
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.alone[name] == here {
			delete(m.alone, name)
		}
		return false
	}
}

// count counts a call, and returns how often the prompt and how often anything was sent.
func (m *models) count(prompt string) (n, k int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.times[prompt]++
	m.total++
	return m.times[prompt], m.total
}

// calls is how often a prompt was sent.
func (m *models) calls(prompt string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.times[prompt]
}

// all are the counts of all prompts.
func (m *models) all() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.times)
}

// String lists all prompts with how often they were sent.
func (m *models) String() string {
	var list []string
	for prompt, n := range m.all() {
		list = append(list, fmt.Sprintf("%d × %s", n, prompt))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}
