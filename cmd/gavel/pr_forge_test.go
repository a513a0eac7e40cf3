package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// TestAForgeThatRefuses makes a job publish its result wherever it may: on the pull
// request, else in its summary; and its exit code is always the gate's.
func TestAForgeThatRefuses(t *testing.T) {
	const comments, statuses = "/issues/1/comments", "/statuses/"
	always := func(status int, path string) forgetest.Fault {
		return forgetest.Fault{Method: http.MethodPost, Path: path, Status: status, Times: -1}
	}
	once := func(f forgetest.Fault) []forgetest.Fault {
		return []forgetest.Fault{f.On(http.MethodGet, ""), f.On(http.MethodPost, comments), f.On(http.MethodPost, statuses)}
	}
	for _, tt := range []struct {
		name   string
		faults []forgetest.Fault
		// commented and verdict are the forge's state afterwards.
		commented, verdict bool
		stderr             string
	}{
		{"403 for the comment", []forgetest.Fault{always(403, comments)}, false, true, "pull-requests: write"},
		{"404 for the comment", []forgetest.Fault{always(404, comments)}, false, true, "pull-requests: write"},
		{"422 for a comment of any size", []forgetest.Fault{always(422, comments)}, false, true, "could not be published"},
		{"403 for the statuses", []forgetest.Fault{always(403, statuses)}, true, false, "statuses: write"},
		{"404 for the statuses", []forgetest.Fault{always(404, statuses)}, true, false, "statuses: write"},
		{"422 for the statuses", []forgetest.Fault{always(422, statuses)}, true, false, "could not be published"},
		{"429 for all", []forgetest.Fault{always(429, "")}, false, false, "could not be published"},
		{"429 once", once(forgetest.TooManyRequests(time.Minute)), true, true, ""},
		{"secondary limit once", once(forgetest.SecondaryLimit()), true, true, ""},
		{"502 once", once(forgetest.Fault{Status: 502}), true, true, ""},
		{"replies that are lost", []forgetest.Fault{forgetest.LostReply(http.MethodPost).On(http.MethodPost, comments), forgetest.LostReply(http.MethodPost).On(http.MethodPost, statuses)}, true, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			for _, f := range tt.faults {
				j.forge.Inject(f)
			}
			stdout, stderr, code := j.run(t)
			if code != exitUsage || !strings.Contains(stdout, "gate fail: ") {
				t.Errorf("exit code %d, want %d for the invalid definition\n%s%s", code, exitUsage, stdout, stderr)
			}
			j.wantComments(t, map[bool]int{true: 1}[tt.commented])
			if got := strings.HasPrefix(j.states()["gavel/verdict"], "failure: "); got != tt.verdict {
				t.Errorf("the states are %v", j.states())
			}
			if !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && strings.Contains(stderr, "could not") {
				t.Errorf("stderr %q, want %q", stderr, tt.stderr)
			}
			if text, err := os.ReadFile(j.summary); err != nil || !strings.Contains(string(text), "1 regression") {
				t.Errorf("the summary: %v\n%s", err, text)
			}
		})
	}
}

// wantComments counts the comments with our marker by us, each with the verdict.
func (j *job) wantComments(t *testing.T, want int) {
	t.Helper()
	n := 0
	for _, c := range j.forge.Comments(1) {
		if c.Login != "maintainer" || !strings.HasPrefix(c.Body, comment.Marker+"\n") {
			continue
		}
		if n++; !strings.Contains(c.Body, "1 regression") {
			t.Errorf("a comment without the verdict:\n%s", c.Body)
		}
	}
	if n != want {
		t.Errorf("%d comments, want %d", n, want)
	}
}

// TestAForgeThatMayNotBeRead has nobody judge anything.
func TestAForgeThatMayNotBeRead(t *testing.T) {
	for _, status := range []int{403, 404} {
		j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
		j.forge.Inject(forgetest.Fault{Path: "/pulls/1", Status: status, Times: -1})
		if stdout, stderr, code := j.run(t); code == exitPass || !strings.Contains(stderr, "pull-requests: read") {
			t.Errorf("%d: exit code %d\n%s%s", status, code, stdout, stderr)
		}
	}
}

// TestACommentThatIsTooLong is written again at a smaller size.
func TestACommentThatIsTooLong(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.forge.Inject(forgetest.Fault{Method: http.MethodPost, Path: "/comments", Status: 422})
	_, stderr, _ := j.run(t)
	j.wantComments(t, 1)
	whole, err := os.ReadFile(j.summary)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(j.forge.Comments(1)[0].Body); got > 3000 || got >= len(whole) {
		t.Errorf("the comment has %d bytes, the summary %d: %s", got, len(whole), stderr)
	}
}

// TestTheCommentAmongOthers is ours only: it is found on a later page, made
// rejudged when somebody deleted it, and one of somebody else with our marker is
// left alone.
func TestTheCommentAmongOthers(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	marker := comment.Marker + "\n"
	for i := range 120 {
		j.forge.AddComment(1, "somebody", fmt.Sprint("remark ", i))
	}
	j.forge.AddComment(1, "mallory", marker+"all is well, 1 regression")
	old := j.forge.AddComment(1, "maintainer", marker+"of an earlier machine")
	j.forge.AddComment(1, "somebody", "one more remark")

	find := func() (ours, foreign forgetest.Comment) {
		for _, c := range j.forge.Comments(1) {
			switch {
			case c.Login == "mallory":
				foreign = c
			case strings.HasPrefix(c.Body, marker):
				ours = c
			}
		}
		return ours, foreign
	}
	_, stderr, _ := j.run(t)
	j.wantComments(t, 1)
	if ours, foreign := find(); ours.ID != old || ours.Edits != 1 || foreign.Edits != 0 {
		t.Errorf("ours is %d with %d edits, want %d edited once; that of mallory was edited %d times: %s", ours.ID, ours.Edits, old, foreign.Edits, stderr)
	}

	j.forge.DeleteComment(old)
	_, stderr, _ = j.run(t)
	j.wantComments(t, 1)
	if ours, foreign := find(); ours.ID == old || ours.Edits != 0 || foreign.Edits != 0 {
		t.Errorf("ours is %+v, that of mallory %+v: %s", ours, foreign, stderr)
	}
}

// TestTwoJobsAtOnce look for the comment at the same moment, each with a ledger
// of its own, and leave one.
func TestTwoJobsAtOnce(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	other := *j
	other.checkout = filepath.Join(t.TempDir(), "checkout")
	if _, err := git.PlainClone(other.checkout, false, &git.CloneOptions{URL: j.folder, ReferenceName: plumbing.Main, SingleBranch: true}); err != nil {
		t.Fatal(err)
	}
	j.forge.Inject(forgetest.Fault{Method: http.MethodGet, Path: "/issues/1/comments", Gather: 2})
	var both sync.WaitGroup
	for _, one := range []*job{j, &other} {
		both.Go(func() {
			if stdout, stderr, code := one.run(t); code != exitUsage || strings.Contains(stderr, "could not") {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	both.Wait()
	j.wantComments(t, 1)
	for context, state := range j.states() {
		if !strings.HasPrefix(state, "failure: ") {
			t.Errorf("%s is %s", context, state)
		}
	}
}
