package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// A job is a CI job on the demo's pull request: a forge, and a checkout of
// main whose origin has the pull request's head.
type job struct {
	forge    *forgetest.Forge
	checkout string
	head     string
	summary  string
	env      map[string]string
}

func newJob(t *testing.T, pull forgetest.Pull, token string) *job {
	t.Helper()
	origin := demoFolder(t)
	repo, err := git.PlainOpen(origin)
	if err != nil {
		t.Fatal(err)
	}
	head, err := repo.Head()
	if err != nil {
		t.Fatal(err)
	}
	base, err := repo.Reference(plumbing.Main, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.Storer.SetReference(plumbing.NewHashReference("refs/pull/1/head", head.Hash())); err != nil {
		t.Fatal(err)
	}
	checkout := filepath.Join(t.TempDir(), "checkout")
	_, err = git.PlainClone(checkout, false, &git.CloneOptions{URL: origin, ReferenceName: plumbing.Main, SingleBranch: true})
	if err != nil {
		t.Fatal(err)
	}
	j := &job{forge: forgetest.New(t), checkout: checkout, head: head.Hash().String(), summary: filepath.Join(t.TempDir(), "summary.md")}
	pull.Number, pull.HeadSHA, pull.BaseSHA, pull.HeadRef = 1, j.head, base.Hash().String(), "friendlier-support"
	j.forge.AddPull(pull)
	j.forge.SetPermission("maintainer", "write")
	j.env = map[string]string{
		"GITHUB_API_URL": j.forge.URL, "GITHUB_TOKEN": token, "GITHUB_STEP_SUMMARY": j.summary,
	}
	return j
}

// run is one job: the checkout may be new, the ledger is in it.
func (j *job) run(t *testing.T) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	clock := &forgetest.Clock{}
	a := &app{
		stdout: &out, stderr: &errs, dir: j.checkout, now: clock.Now, wait: clock.Wait,
		lookupEnv: func(name string) (string, bool) { v, ok := j.env[name]; return v, ok },
	}
	code = a.command(t.Context(), []string{"pr", "--repo", "octo/demo", "--pr", "1"})
	return out.String(), errs.String(), code
}

// states are the last states of the head by context.
func (j *job) states() map[string]string {
	out := map[string]string{}
	for _, s := range j.forge.Statuses(j.head) {
		if s.SHA == j.head {
			out[s.Context] = s.State + ": " + s.Description
		}
	}
	return out
}

func TestPullRequestGetsItsVerdicts(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	stdout, stderr, code := j.run(t)
	if code != exitUsage {
		t.Errorf("exit code %d, want %d for the invalid definition\n%s%s", code, exitUsage, stdout, stderr)
	}
	comments := j.forge.Comments(1)
	if len(comments) != 1 || !strings.Contains(comments[0].Body, "1 invalid definition, 1 regression, 2 improvements") {
		t.Fatalf("comments %+v\n%s", comments, stderr)
	}
	for context, state := range j.states() {
		if !strings.HasPrefix(state, "failure: ") {
			t.Errorf("%s is %s", context, state)
		}
	}
	if n := len(j.states()); n != 2 {
		t.Errorf("%d statuses, want 2", n)
	}
	pending := 0
	for _, s := range j.forge.Statuses(j.head) {
		if s.State == "pending" {
			pending++
		}
	}
	if pending != 2 {
		t.Errorf("%d pending statuses before the verdict, want 2", pending)
	}
	if _, err := os.Stat(j.summary); err != nil {
		t.Error(err)
	}
}

func TestASecondRunCallsNobodyAndKeepsTheComment(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.run(t)
	first := j.forge.Comments(1)
	j.run(t)
	second := j.forge.Comments(1)
	if len(second) != 1 || second[0].ID != first[0].ID {
		t.Errorf("comments %+v, then %+v", first, second)
	}
	if !strings.Contains(second[0].Body, "0 calls") && strings.Contains(second[0].Body, "7 calls") {
		t.Errorf("the second run made calls:\n%s", second[0].Body)
	}
}

func TestAForkIsPlannedOnly(t *testing.T) {
	j := newJob(t, forgetest.Pull{HeadRepo: "stranger/demo", Author: "stranger"}, forgetest.TokenUser)
	_, stderr, code := j.run(t)
	if code == exitPass {
		t.Errorf("exit code 0: a waiting pull request is green\n%s", stderr)
	}
	comments := j.forge.Comments(1)
	if len(comments) != 1 || !strings.Contains(comments[0].Body, "comes from the fork") || !strings.Contains(comments[0].Body, "· 0 calls") {
		t.Errorf("comments %+v", comments)
	}
	if _, ok := j.states()["gavel/verdict"]; !ok || strings.HasPrefix(j.states()["gavel/verdict"], "success") {
		t.Errorf("states %v", j.states())
	}
}

func TestAReadOnlyTokenLeavesSummaryAndExitCode(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenFork)
	_, stderr, code := j.run(t)
	if code != exitUsage {
		t.Errorf("exit code %d, want %d\n%s", code, exitUsage, stderr)
	}
	summary, err := os.ReadFile(j.summary)
	if err != nil || !strings.Contains(string(summary), "1 regression") {
		t.Errorf("summary %q, %v", summary, err)
	}
	if len(j.forge.Comments(1)) != 0 || !strings.Contains(stderr, "pull-requests: write") {
		t.Errorf("comments %v, stderr %s", j.forge.Comments(1), stderr)
	}
}
