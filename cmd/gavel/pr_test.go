package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// A job is a CI job on the demo's pull request: a forge, and a checkout of
// main whose origin has the pull request's head.
type job struct {
	forge    *forgetest.Forge
	origin   *git.Repository
	folder   string // of origin
	checkout string
	base     string
	head     string
	summary  string
	env      map[string]string
	notices  http.RoundTripper // carries notices; nil sends them
	// after tells when a time is over: never, so that no verdict takes long.
	after func(time.Duration) <-chan time.Time
}

// never is a time that does not end.
func never(time.Duration) <-chan time.Time { return nil }

func newJob(t *testing.T, pull forgetest.Pull, token string) *job {
	t.Helper()
	origin := shopFolder(t)
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
	cloneShop(t, origin, checkout)
	j := &job{forge: forgetest.New(t), origin: repo, folder: origin, checkout: checkout, base: base.Hash().String(), head: head.Hash().String(), summary: filepath.Join(t.TempDir(), "summary.md"), after: never}
	pull.Number, pull.HeadSHA, pull.BaseSHA, pull.HeadRef = 1, j.head, base.Hash().String(), "friendlier-support"
	j.forge.AddPull(pull)
	j.forge.SetPermission("maintainer", "write")
	j.env = map[string]string{
		"GITHUB_API_URL": j.forge.URL, "GITHUB_TOKEN": token, "GITHUB_STEP_SUMMARY": j.summary,
	}
	return j
}

// git runs git in the repository that the pull request is of.
func (j *job) git(t *testing.T, args ...string) string {
	t.Helper()
	return gittest.Run(t, j.folder, args...)
}

// configure adds lines to gavel.yaml at base, below the pull request.
func (j *job) configure(t *testing.T, lines string) {
	t.Helper()
	j.git(t, "checkout", "-q", "main")
	text, err := os.ReadFile(filepath.Join(j.folder, "gavel.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	j.base = gittest.Commit(t, j.folder, map[string]string{"gavel.yaml": string(text) + lines})
	j.git(t, "checkout", "-q", "friendlier-support")
	j.git(t, "merge", "-q", "main")
	j.head = gittest.Resolve(t, j.folder, "HEAD")
	j.move(t, j.head)
}

// move makes a commit the head of the pull request.
func (j *job) move(t *testing.T, head string) {
	t.Helper()
	j.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: head, BaseSHA: j.base, HeadRef: "friendlier-support"})
	if err := j.origin.Storer.SetReference(plumbing.NewHashReference("refs/pull/1/head", plumbing.NewHash(head))); err != nil {
		t.Fatal(err)
	}
}

// run is one job for the pull request: the checkout may be new, the ledger is
// in it.
func (j *job) run(t *testing.T, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	return j.call(t, append([]string{"pr", "--repo", "octo/demo", "--pr", "1"}, more...)...)
}

// event is one job that an event starts.
func (j *job) event(t *testing.T, name, payload string, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(path, []byte(payload), 0o600); err != nil {
		t.Fatal(err)
	}
	j.env["GITHUB_EVENT_PATH"], j.env["GITHUB_EVENT_NAME"] = path, name
	return j.call(t, append([]string{"pr"}, more...)...)
}

func (j *job) call(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	fake := &forgetest.Clock{}
	a := &App{
		Stdout: &out, Stderr: &errs, Dir: j.checkout, Clock: clock.Funcs{NowFunc: fake.Now, SleepFunc: fake.Sleep, AfterFunc: j.after},
		LookupEnv: func(name string) (string, bool) { v, ok := j.env[name]; return v, ok }, Notices: j.notices,
	}
	code = execute(t.Context(), a, args)
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
	// The verdict came within seconds: two statuses and the comment are all.
	if writes := j.forge.Writes(); len(writes) != 3 {
		t.Errorf("%d writes, want 3: %v", len(writes), writes)
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
	if !strings.Contains(second[0].Body, "· 0 calls") {
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
	if len(comments) != 1 || !strings.Contains(comments[0].Body, "comes from the fork") || regexp.MustCompile(`· \d+ calls`).MatchString(comments[0].Body) ||
		!strings.Contains(comments[0].Body, "Running it takes about") {
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

// payload is an event of the repository.
func payload(format string, args ...any) string {
	return fmt.Sprintf(`{"repository": {"id": 1, "full_name": "octo/demo", "default_branch": "main"}, `+format+"}", args...)
}

// TestEvents has each event judge its commit and set both statuses on it; only
// a pull request gets a comment.
func TestEvents(t *testing.T) {
	none := strings.Repeat("0", 40)
	for _, tt := range []struct {
		name, event string
		ref         string // made in the origin, at head
		payload     func(j *job) string
		comments    int
		says        string
	}{
		{"a pull request", "pull_request", "", func(j *job) string {
			return payload(`"action": "synchronize", "number": 1, "pull_request": {"number": 1, "state": "open", "user": {"login": "maintainer", "id": 5},
				"head": {"sha": %q, "ref": "friendlier-support", "repo": {"id": 1, "full_name": "octo/demo"}},
				"base": {"sha": %q, "ref": "main", "repo": {"id": 1, "full_name": "octo/demo"}}}`, j.head, j.base)
		}, 1, "1 regression"},
		{"a merge queue", "merge_group", "refs/heads/gh-readonly-queue/main/pr-1", func(j *job) string {
			return payload(`"action": "checks_requested", "merge_group": {"head_sha": %q, "head_ref": "refs/heads/gh-readonly-queue/main/pr-1",
				"base_sha": %q, "base_ref": "refs/heads/main"}`, j.head, j.base)
		}, 0, "1 regression"},
		{"a push to the default branch", "push", "refs/heads/main", func(j *job) string {
			return payload(`"ref": "refs/heads/main", "before": %q, "after": %q`, j.base, j.head)
		}, 0, "1 regression"},
		{"a push to another branch", "push", "refs/heads/topic", func(j *job) string {
			return payload(`"ref": "refs/heads/topic", "before": %q, "after": %q`, none, j.head)
		}, 0, "1 regression"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			if tt.ref != "" {
				ref := plumbing.NewHashReference(plumbing.ReferenceName(tt.ref), plumbing.NewHash(j.head))
				if err := j.origin.Storer.SetReference(ref); err != nil {
					t.Fatal(err)
				}
			}
			stdout, stderr, code := j.event(t, tt.event, tt.payload(j))
			if code != exitUsage {
				t.Errorf("exit code %d, want %d for the invalid definition\n%s%s", code, exitUsage, stdout, stderr)
			}
			if n := len(j.forge.Comments(1)); n != tt.comments {
				t.Errorf("%d comments, want %d", n, tt.comments)
			}
			for _, context := range []string{"gavel/validate", "gavel/verdict"} {
				if state := j.states()[context]; !strings.HasPrefix(state, "failure: ") {
					t.Errorf("%s is %q", context, state)
				}
			}
			summary, err := os.ReadFile(j.summary)
			if err != nil || !strings.Contains(string(summary), tt.says) {
				t.Errorf("the summary does not say %q: %v\n%s", tt.says, err, summary)
			}
		})
	}
}

func TestEventsThatCannotBeJudged(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	for _, tt := range []struct{ name, want string }{
		{fmt.Sprintf(`{"repository": {"id": 1, "full_name": "octo/demo"}, "ref": "refs/heads/x", "before": %q, "after": %q}`,
			strings.Repeat("0", 40), j.head), "nothing to compare with: use gavel run"},
		{payload(`"ref": "refs/heads/x", "before": %q, "after": %q`, j.base, strings.Repeat("0", 40)), "the push deletes"},
		{`{"ref": 5}`, "read event push"},
	} {
		if _, stderr, code := j.event(t, "push", tt.name); code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("exit code %d, want %d and %q: %s", code, exitUsage, tt.want, stderr)
		}
	}
	if len(j.forge.Writes()) != 0 {
		t.Errorf("something was written: %v", j.forge.Writes())
	}
}

// TestTheOutbox has a job write what an earlier one could not.
func TestTheOutbox(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	for _, method := range []string{"POST", "PATCH"} {
		j.forge.Inject(forgetest.Fault{Method: method, Status: 500, Times: -1, Body: "{}"})
	}
	_, stderr, code := j.run(t)
	if code != exitUsage || !strings.Contains(stderr, "could not be published") || len(j.forge.Comments(1)) != 0 {
		t.Fatalf("exit code %d, comments %v: %s", code, j.forge.Comments(1), stderr)
	}
	old := j.head
	j.forge.Heal()
	// The next job is about another commit of another pull request.
	j.forge.AddPull(forgetest.Pull{Number: 2, HeadSHA: j.base, BaseSHA: j.base, HeadRef: "other"})
	ref := plumbing.NewHashReference("refs/pull/2/head", plumbing.NewHash(j.base))
	if err := j.origin.Storer.SetReference(ref); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := j.call(t, "pr", "--repo", "octo/demo", "--pr", "2"); code != exitPass {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if comments := j.forge.Comments(1); len(comments) != 1 || !strings.Contains(comments[0].Body, "1 regression") {
		t.Errorf("comments %v", comments)
	}
	j.head = old
	if state := j.states()["gavel/verdict"]; !strings.HasPrefix(state, "failure: ") {
		t.Errorf("the verdict on %s is %q", old, state)
	}
	writes := len(j.forge.Writes())
	j.call(t, "pr", "--repo", "octo/demo", "--pr", "2")
	for _, w := range j.forge.Writes()[writes:] {
		if strings.Contains(w.Path, old) || strings.Contains(w.Path, "/issues/1/") {
			t.Errorf("it was published again: %s %s", w.Method, w.Path)
		}
	}
}

// TestANewCommentForANewVerdict has `comment: new` leave one comment for each
// verdict, the earlier ones folded.
func TestANewCommentForANewVerdict(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.configure(t, "comment: new\n")
	j.run(t)
	j.run(t)
	if comments := j.forge.Comments(1); len(comments) != 1 {
		t.Fatalf("%d comments for one verdict: %+v", len(comments), comments)
	}
	// With base as the head nothing is affected, and the verdict is another.
	j.move(t, j.base)
	_, stderr, _ := j.run(t)
	comments := j.forge.Comments(1)
	if len(comments) != 2 {
		t.Fatalf("%d comments for two verdicts: %s", len(comments), stderr)
	}
	if !strings.HasPrefix(comments[0].Body, "<details><summary>The verdict before: fail</summary>") || strings.Contains(comments[0].Body, "<!-- gavel:") {
		t.Errorf("the first comment is\n%s", comments[0].Body)
	}
	if !strings.HasPrefix(comments[1].Body, "<!-- gavel:") || !strings.Contains(comments[1].Body, "No affected cases") {
		t.Errorf("the second comment is\n%s", comments[1].Body)
	}
}
