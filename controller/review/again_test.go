package review_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
)

// recalls has the reviews of a fixture read the stored report of their head.
func (d *fixture) recalls() {
	d.cfg.Recall = func(ctx context.Context, number int, head string) (*report.Report, error) {
		return review.Newest(ctx, d.cfg.Ledger, "octo/demo", number, head)
	}
}

// TestAStoredReportIsPublishedAgain as long as nothing differs that it rests on: the
// commands, the reason why nothing was run, and the commit that it is compared with.
func TestAStoredReportIsPublishedAgain(t *testing.T) {
	d := newTalk(t)
	d.recalls()
	approve := report.Command{CommentID: 7, Author: "mona", Verb: report.CommandApprove, Argument: d.head}
	rerun := report.Command{CommentID: 8, Author: "mona", Verb: report.CommandRun, Cases: []string{"talk/**"}, TakenAt: time.Now()}
	fork := forgetest.Pull{Number: 1, HeadSHA: d.head, HeadRef: "topic", BaseSHA: d.base, HeadRepo: "stranger/demo", Author: "stranger"}
	own := forgetest.Pull{Number: 1, HeadSHA: d.head, HeadRef: "topic", BaseSHA: d.base}
	compared := own
	compared.BaseSHA = d.head
	for _, step := range []struct {
		name     string
		pull     forgetest.Pull
		followed []report.Command
		runs     int // so far
	}{
		{"a fork is planned", fork, nil, 1},
		{"once", fork, nil, 1},
		{"and judged when it is approved", fork, []report.Command{approve}, 2},
		{"once", fork, []report.Command{approve}, 2},
		{"without the approval it is planned again", fork, nil, 3},
		{"a command is carried out", own, []report.Command{rerun}, 4},
		{"once", own, []report.Command{rerun}, 4},
		{"another base is another comparison", compared, []report.Command{rerun}, 5},
		{"which is stored, too", compared, []report.Command{rerun}, 5},
	} {
		d.forge.AddPull(step.pull)
		r, err := review.New(d.cfg).Pull(t.Context(), 1, "")
		if err != nil {
			t.Fatal(err)
		}
		r.Follow(command.Commands{Followed: step.followed})
		stored, unpublished, err := r.Run(t.Context())
		if err != nil || unpublished != nil || stored == nil {
			t.Fatalf("%s: report %v, unpublished: %v, error: %v", step.name, stored, unpublished, err)
		}
		if d.runs != step.runs {
			t.Fatalf("%s: %d runs so far, want %d", step.name, d.runs, step.runs)
		}
	}
	if n := len(d.forge.Comments(1)); n != 1 {
		t.Errorf("there are %d comments, want one that is written again", n)
	}
}

// TestALookThatChangesNothing: a case without a verdict at base is looked at again. While
// that finds nothing new, the comment keeps what was rerun, and no run is stored.
func TestALookThatChangesNothing(t *testing.T) {
	const file = "test_definitions/talk/level_1/hello.json"
	d := newFixture(t,
		gitrepo.NewCommit{Write: map[string][]byte{
			"gavel.yaml":                        []byte("version: 1\ntargets: {bot: {provider: mock, replies: [{match: there, reply: bye}]}}\n"),
			"test_definitions/talk/domain.json": []byte(`{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`),
			file:                                []byte(`{"id": "hello", "name": "Hello", "prompt": "hi", "expected": {"keywords": ["hello"]}}`),
		}},
		gitrepo.NewCommit{Branch: "topic", Write: map[string][]byte{
			file: []byte(`{"id": "hello", "name": "Hello", "prompt": "hi there", "expected": {"keywords": ["hello"]}}`),
		}})
	d.pull(1)
	d.recalls()
	look := func(followed ...report.Command) string {
		t.Helper()
		r, err := review.New(d.cfg).Pull(t.Context(), 1, "")
		if err != nil {
			t.Fatal(err)
		}
		r.Follow(command.Commands{Followed: followed})
		stored, unpublished, err := r.Run(t.Context())
		if err != nil || unpublished != nil || stored == nil {
			t.Fatalf("report %v, unpublished: %v, error: %v", stored, unpublished, err)
		}
		comments := d.forge.Comments(1)
		if len(comments) != 1 || !strings.Contains(comments[0].Body, "1 of 1 case rerun") {
			t.Fatalf("the comments are %+v, want one about a rerun", comments)
		}
		return stored.Run
	}
	first := look()
	if again := look(); again != first {
		t.Errorf("another look stored the run %s, want %s to stay", again, first)
	}
	rerun := report.Command{CommentID: 8, Author: "mona", Verb: report.CommandRerun, Argument: "failed", Cases: []string{"talk/**"}, TakenAt: time.Now()}
	second := look(rerun)
	if again := look(rerun); second == first || again != second {
		t.Errorf("the runs are %s, with a rerun %s and again %s, want the rerun to stay", first, second, again)
	}
	if runs, err := d.cfg.Ledger.Runs(t.Context(), 10); err != nil || len(runs) != 2 {
		t.Errorf("%d runs are stored, want 2: %v", len(runs), err)
	}
}

// TestDecline says on a commit why nothing of it is judged. A pull request gets a
// comment, too; a merge group, a push and a scheduled run do not.
func TestDecline(t *testing.T) {
	const why = "too many heads wait"
	for _, tt := range []struct {
		name     string
		make     func(*testing.T, *fixture) *review.Review
		statuses string
		comments int
	}{
		{"a pull request", func(t *testing.T, d *fixture) *review.Review {
			r, err := review.New(d.cfg).Pull(t.Context(), 1, "")
			if err != nil {
				t.Fatal(err)
			}
			return r
		}, "verdict error, validate error", 1},
		{"a merge group", func(t *testing.T, d *fixture) *review.Review {
			return commitOf(t, d, forge.Event{Name: forge.EventMergeGroup, HeadSHA: d.head, BaseSHA: d.base, HeadRef: "gh-readonly-queue/main/pr-1-" + d.base, BaseRef: "main", DefaultBranch: "main"})
		}, "verdict error, validate error", 0},
		{"a push", func(t *testing.T, d *fixture) *review.Review {
			return commitOf(t, d, forge.Event{Name: forge.EventPush, HeadSHA: d.head, BaseSHA: d.base, HeadRef: "main", BaseRef: "main"})
		}, "verdict error, validate error", 0},
		{"a scheduled run", func(_ *testing.T, d *fixture) *review.Review {
			return review.New(d.cfg).Scheduled(review.Schedule{Branch: "main", SHA: d.head, Due: time.Now(), Issue: config.DriftIssue{Number: 1}})
		}, "drift error", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newTalk(t)
			if err := tt.make(t, d).Decline(t.Context(), why); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(d.history(), ", "); got != tt.statuses {
				t.Errorf("the statuses are %s, want %s", got, tt.statuses)
			}
			for _, s := range d.forge.Statuses(d.head) {
				if s.Description != why {
					t.Errorf("%s says %q, want %q", s.Context, s.Description, why)
				}
			}
			comments := d.forge.Comments(1)
			if len(comments) != tt.comments || tt.comments > 0 && !strings.Contains(comments[0].Body, why) {
				t.Errorf("the comments are %+v, want %d that say why", comments, tt.comments)
			}
		})
	}
}

func commitOf(t *testing.T, d *fixture, event forge.Event) *review.Review {
	t.Helper()
	r, err := review.New(d.cfg).Commit(event)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDrift puts the result of a scheduled run on a status, and on an issue where there
// is one.
func TestDrift(t *testing.T) {
	for _, issue := range []int{0, 1, 9} {
		d := newTalk(t)
		d.forge.AddIssue(9)
		c := review.Schedule{Branch: "main", SHA: d.base, Due: time.Now(), Issue: config.DriftIssue{Number: issue}}
		_, unpublished, err := review.New(d.cfg).Scheduled(c).Run(t.Context())
		if err != nil || unpublished != nil {
			t.Fatalf("with the issue %d: unpublished: %v, error: %v", issue, unpublished, err)
		}
		written := len(d.forge.Comments(1)) + len(d.forge.Comments(9))
		if want := min(issue, 1); written != want || len(d.forge.Comments(issue)) != want {
			t.Errorf("with the issue %d there are %d comments, want %d", issue, written, want)
		}
		if got := d.forge.Statuses(d.base); len(got) != 1 || got[0].Context != "gavel/drift" {
			t.Errorf("with the issue %d the statuses are %+v, want one for drift", issue, got)
		}
	}
}

// TestHasComment: a comment that was never written is not missed, one that somebody edited or
// deleted is, and the next review writes it again, once.
func TestHasComment(t *testing.T) {
	d := newTalk(t)
	d.recalls()
	stands := func() bool {
		t.Helper()
		stands, err := review.New(d.cfg).HasComment(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return stands
	}
	if !stands() {
		t.Error("a comment is missed before one was written")
	}
	for range 2 {
		if err := d.review(1); err != nil {
			t.Fatal(err)
		}
		if !stands() {
			t.Error("a comment is missed that is there")
		}
		d.forge.DeleteComment(d.forge.Comments(1)[0].ID)
		if stands() {
			t.Error("a deleted comment is not missed")
		}
	}
	for range 2 { // the second time it has been put right before
		if err := d.review(1); err != nil {
			t.Fatal(err)
		}
		written := d.forge.Comments(1)[0]
		if !stands() {
			t.Error("a comment that is as it was written does not stand")
		}
		d.forge.EditComment(written.ID, strings.Replace(written.Body, "###", "### ✅ No regressions", 1))
		if stands() {
			t.Error("an edited comment stands")
		}
		if err := d.review(1); err != nil {
			t.Fatal(err)
		}
		if now := d.forge.Comments(1)[0]; now.Body != written.Body || now.ID != written.ID || !stands() {
			t.Errorf("the edited comment is\n%s\nwant\n%s", now.Body, written.Body)
		}
	}
	if d.runs != 1 {
		t.Errorf("the head is judged %d times, want once", d.runs)
	}
}

// TestAReportThatCannotBeRead is an error: it does not count as none, and the check run
// that was asked for again is not answered as if nobody waited for it.
func TestAReportThatCannotBeRead(t *testing.T) {
	d := newTalk(t)
	d.recalls()
	now := time.Now()
	if err := d.cfg.Ledger.SaveReport(t.Context(), ledger.Run{
		ID: "damaged", Repository: "octo/demo", PullRequest: 1, Head: d.head, Started: now, Finished: now, Report: []byte(`{"summary": 1}`),
	}); err != nil {
		t.Fatal(err)
	}
	const want = "read the report of run damaged"
	if found, err := review.Newest(t.Context(), d.cfg.Ledger, "octo/demo", 1, d.head); err == nil || found != nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the newest report is %v, %v; want the error %q", found, err, want)
	}
	err := review.New(d.cfg).Answer(t.Context(), review.Rerequest{Number: 1}, d.head, "nobody waits for it")
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Answer returns %v, want the error %q", err, want)
	}
	if n := len(d.forge.Writes()); n != 0 {
		t.Errorf("%d writes to the forge, want none", n)
	}
}
