package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// stacked is a repository with two pull requests of one commit, head, which breaks a case
// in its first part: #1 goes to main, and #2 from the branch part1, which has that part.
type stacked struct {
	*job
	t     *testing.T
	part  string
	pulls map[int]forgetest.Pull
	// folders has the checkout of each pull request's jobs: they share no ledger.
	folders map[int]string
	stderr  string // of the last job
}

func newStacked(t *testing.T, base, token string) *stacked {
	s := &stacked{job: emptyOrigin(t), t: t, folders: map[int]string{}}
	const file = "test_definitions/talk/level_1/hello.json"
	asks := func(question, wants string) string {
		return fmt.Sprintf(`{"id": "hello", "name": "Hello", "prompt": %q, "expected": {"keywords": [%q]}}`, question, wants)
	}
	s.base = gittest.Commit(t, s.folder, map[string]string{
		"gavel.yaml":                        "version: 1\ntargets:\n  bot: {provider: mock, replies: [{reply: hello}]}\n",
		"test_definitions/talk/domain.json": `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
		file:                                asks("hello", "hello"),
	})
	gittest.Branch(t, s.folder, "part1")
	s.part = gittest.Commit(t, s.folder, map[string]string{file: asks("hello, say bye", "bye")})
	gittest.Branch(t, s.folder, "topic")
	s.head = gittest.Commit(t, s.folder, map[string]string{"docs.md": "words"})
	s.env["GITHUB_API_URL"], s.env["GITHUB_TOKEN"] = s.forge.URL+base, token
	s.env["GITHUB_SERVER_URL"], s.env["GITHUB_RUN_ID"] = "https://github.com", "5"
	s.pulls = map[int]forgetest.Pull{
		1: {Number: 1, HeadSHA: s.head, HeadRef: "topic", BaseSHA: s.base},
		2: {Number: 2, HeadSHA: s.head, HeadRef: "topic", BaseSHA: s.part, BaseRef: "part1"},
		9: {Number: 9, HeadSHA: s.head, HeadRef: "topic", BaseSHA: s.base, HeadRepo: "stranger/demo", Author: "stranger"},
	}
	return s
}

// changes pushes a commit to a pull request's branch, or back to head.
func (s *stacked) changes(number int, change func(*forgetest.Pull)) {
	pull := s.pulls[number]
	change(&pull)
	s.pulls[number] = pull
	s.forge.AddPull(pull)
	s.git(s.t, "update-ref", fmt.Sprintf("refs/pull/%d/head", number), pull.HeadSHA)
}

// happens has something happen to a pull request, and the job that it starts.
func (s *stacked) happens(number int, action string) (stdout string, code int) {
	before := s.pulls[number].HeadSHA
	s.changes(number, func(p *forgetest.Pull) {
		p.Closed = action == "closed"
		if action == "synchronize" {
			p.HeadSHA = s.base
		}
		if action == "synchronize back" {
			p.HeadSHA = s.head
		}
	})
	pull := s.pulls[number]
	if s.folders[number] == "" {
		s.folders[number] = s.tree("main")
	}
	s.checkout = s.folders[number]
	state := map[bool]string{false: "open", true: "closed"}[pull.Closed]
	action, _, _ = strings.Cut(action, " ")
	stdout, s.stderr, code = s.event(s.t, "pull_request_target", payload(`"action": %q, "before": %q, "number": %d, "pull_request": {"number": %d, "state": %q, "user": {"login": "maintainer", "id": 5},
		"head": {"sha": %q, "ref": "topic", "repo": {"id": 1, "full_name": "octo/demo"}},
		"base": {"sha": %q, "ref": "main", "repo": {"id": 1, "full_name": "octo/demo"}}}`, action, before, number, number, state, pull.HeadSHA, pull.BaseSHA))
	if code == exitUsage || code == exitInternal {
		s.t.Fatalf("%s #%d: exit code %d: %s", action, number, code, s.stderr)
	}
	return stdout, code
}

// tree is a new checkout of a branch.
func (s *stacked) tree(branch string) string {
	dir := s.t.TempDir()
	s.git(s.t, "clone", "-q", "-b", branch, "file://"+s.folder, dir)
	return dir
}

// TestAbuseTwoPullRequestsOfOneCommit: whatever order jobs run in that share no ledger,
// the commit says the worst of the pull requests that have it as their head. Closing one
// or moving it on brings the other's verdict back, and opening it again its own. (abuse 38)
func TestAbuseTwoPullRequestsOfOneCommit(t *testing.T) {
	const (
		regressed = "failure: 1 regression"
		fails     = "failure: fails in #1 · 1 regression"
		passes    = "success: no affected cases"
		waits     = "error: waits in #9: close #9 or approve it · "
	)
	type step struct {
		number int
		action string
		says   string // how the verdict begins then
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"the failing one first", []step{{1, "opened", regressed}, {2, "opened", fails}, {1, "reopened", fails}, {2, "reopened", fails}}},
		{"the passing one first", []step{{2, "opened", passes}, {1, "opened", fails}, {2, "reopened", fails}}},
		{"closed and reopened", []step{
			{1, "opened", regressed}, {2, "opened", fails}, {1, "closed", "success: passes in #2"}, {1, "reopened", fails}, {2, "closed", regressed}, {1, "closed", regressed},
		}},
		{"moved on and back", []step{
			{2, "opened", passes}, {1, "opened", fails}, {1, "synchronize", passes}, {1, "synchronize back", fails}, {2, "synchronize", regressed},
		}},
		{"a stranger's", []step{
			{2, "opened", passes}, {9, "opened", waits}, {2, "reopened", waits}, {1, "opened", fails}, {1, "closed", waits}, {9, "closed", passes}, {2, "reopened", passes},
		}},
	} {
		for _, forge := range []struct{ name, base, token string }{
			{"a job's token", "", forgetest.TokenActions}, {"a user's token", "", forgetest.TokenUser}, {"Gitea", "/api/v1", forgetest.TokenUser},
		} {
			t.Run(tt.name+", "+forge.name, func(t *testing.T) {
				t.Parallel()
				s := newStacked(t, forge.base, forge.token)
				for i, step := range tt.steps {
					writes := len(s.forge.Statuses(s.head))
					stdout, code := s.happens(step.number, step.action)
					if got := s.states()["gavel/verdict"]; !strings.HasPrefix(got, step.says) {
						t.Fatalf("step %d, #%d %s: the commit says %q, want %q\n%s", i, step.number, step.action, got, step.says, s.stderr)
					}
					if got := s.states()["gavel/validate"]; got != "success: all definitions are valid" && !strings.HasPrefix(got, "success: passes in #") {
						t.Errorf("step %d: validation says %q", i, got)
					}
					if runs := s.forge.CheckRuns(s.head); len(runs) > 0 {
						state, _, _ := strings.Cut(s.states()["gavel/verdict"], ":")
						conclusion := runs[len(runs)-1].Conclusion
						if want := map[string]string{"failure": "failure", "error": "action_required", "success": "success"}[state]; conclusion != want {
							t.Errorf("step %d, #%d %s: the check run is %s, want %s", i, step.number, step.action, conclusion, want)
						}
					} else if forge.token == forgetest.TokenActions && strings.Contains(s.states()["gavel/verdict"], "1 regression") {
						t.Errorf("step %d: there is no check run", i)
					}
					if n := len(s.forge.Statuses(s.head)) - writes; n > 2 {
						t.Errorf("step %d, #%d %s: %d writes of statuses", i, step.number, step.action, n)
					}
					// Each job ends as its own pull request does.
					if own := map[int]int{1: exitGate, 2: exitPass, 9: exitGate}[step.number]; code != own && step.action != "closed" && step.action != "synchronize" {
						t.Errorf("step %d: the job of #%d ends with %d, want %d", i, step.number, code, own)
					}
					if step.action == "closed" && (code != exitPass || stdout != "nothing to do: the pull request was closed\n") {
						t.Errorf("step %d: a closed pull request ends with %d: %s", i, code, stdout)
					}
				}
			})
		}
	}
}

// TestAPullRequestOutweighsABranch in a job, too: a push to a branch whose tip is the head
// of a pull request replaces no verdict of that.
func TestAPullRequestOutweighsABranch(t *testing.T) {
	for _, order := range [][]string{{"push", "pull"}, {"pull", "push"}} {
		s := newStacked(t, "", forgetest.TokenActions)
		s.forge.AddPull(s.pulls[1])
		for _, what := range order {
			if what == "pull" {
				s.happens(1, "opened")
				continue
			}
			s.checkout = s.tree("topic")
			s.git(t, "update-ref", "refs/heads/main", s.head)
			s.event(t, "push", payload(`"ref": "refs/heads/main", "before": %q, "after": %q`, s.part, s.head))
			s.git(t, "update-ref", "refs/heads/main", s.base)
		}
		if got := s.states()["gavel/verdict"]; !strings.HasPrefix(got, "failure: fails in #1 · 1 regression") && !strings.HasPrefix(got, "failure: 1 regression") {
			t.Errorf("%q: the commit says %q", order, got)
		}
		if !slices.Equal(order, []string{"push", "pull"}) {
			continue
		}
		s.happens(1, "closed")
		if got := s.states()["gavel/verdict"]; !strings.HasPrefix(got, "success: no affected cases") {
			t.Errorf("after #1 was closed the commit says %q", got)
		}
	}
}
