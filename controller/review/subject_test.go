package review

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// TestCommit has the base of a commit, the name in which it is judged, the branch whose
// rules hold, and the fetched refs; those of known come from people who may write.
func TestCommit(t *testing.T) {
	const queue = "gh-readonly-queue/main/pr-7-9f31c2e6b3a1d0c4e5f60718293a4b5c6d7e8f90"
	const other = "gh-readonly-queue/production/pr-7-9f31c2e6b3a1d0c4e5f60718293a4b5c6d7e8f90"
	refs := func(names ...string) (refs []string) {
		for _, name := range names {
			refs = append(refs, "refs/heads/"+name)
		}
		return refs
	}
	for _, tt := range []struct {
		name        string
		event       forge.Event
		listed      []string
		want        string
		refs, known []string
	}{
		{"a merge group", forge.Event{Name: forge.EventMergeGroup, HeadSHA: "h", BaseSHA: "b", HeadRef: queue, BaseRef: "main", DefaultBranch: "main"}, nil,
			"base b, number 7, queued true, merged true, accepted false, rules of main", refs(queue, "main"), refs(queue, "main")},
		{"a merge group of another branch", forge.Event{Name: forge.EventMergeGroup, HeadSHA: "h", BaseSHA: "b", HeadRef: other, BaseRef: "production", DefaultBranch: "main"}, nil,
			"base b, number 7, queued true, merged true, accepted false, rules of main and not of production", refs(other, "production", "main"), refs(other, "production", "main")},
		{"a merge group of a listed branch", forge.Event{Name: forge.EventMergeGroup, HeadSHA: "h", BaseSHA: "b", HeadRef: other, BaseRef: "production", DefaultBranch: "main"}, []string{"production"},
			"base b, number 7, queued true, merged true, accepted false, rules of production", refs(other, "production"), refs(other, "production")},
		{"a push to the default branch", forge.Event{Name: forge.EventPush, HeadSHA: "h", BaseSHA: "b", HeadRef: "main", BaseRef: "main", DefaultBranch: "main"}, nil,
			"base b, number 0, queued false, merged true, accepted true, rules of head", refs("main"), refs("main")},
		{"the first push to it", forge.Event{Name: forge.EventPush, HeadSHA: "h", HeadRef: "main", BaseRef: "main"}, nil,
			"base , number 0, queued false, merged true, accepted true, rules of head", refs("main"), refs("main")},
		{"a push to another branch", forge.Event{Name: forge.EventPush, HeadSHA: "h", BaseSHA: "b", HeadRef: "topic", BaseRef: "main", DefaultBranch: "main"}, nil,
			"base refs/heads/main, number 0, queued false, merged false, accepted false, rules of main", refs("topic", "main"), refs("main")},
		{"a push to a listed branch", forge.Event{Name: forge.EventPush, HeadSHA: "h", BaseSHA: "b", HeadRef: "production", BaseRef: "main", DefaultBranch: "main"}.Into([]string{"production"}), nil,
			"base b, number 0, queued false, merged true, accepted true, rules of head", refs("production"), refs("production")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := New(Config{Branches: tt.listed}).Commit(tt.event)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("base %s, number %d, queued %v, merged %v, accepted %v, rules of %s", r.base, r.number, r.queued, r.merged, r.accepted(), cmp.Or(r.rules.Branch, "head"))
			if r.rules.Unvouched != "" {
				got += " and not of " + r.rules.Unvouched
			}
			if got != tt.want || r.head != "h" || r.branch != tt.event.HeadRef || !r.trust.Run {
				t.Errorf("%s, head %s of %s, trusted %v, want %s", got, r.head, r.branch, r.trust.Run, tt.want)
			}
			if diff := gocmp.Diff(tt.refs, r.refs) + gocmp.Diff(tt.known, r.known); diff != "" {
				t.Errorf("refs and known refs, -want +got\n%s", diff)
			}
		})
	}
	_, err := New(Config{}).Commit(forge.Event{Name: forge.EventPush, HeadSHA: "h", BaseSHA: "b", HeadRef: "topic"})
	if !errors.Is(err, ErrNoBase) {
		t.Errorf("a push without a default branch: %v, want %v", err, ErrNoBase)
	}
	_, err = New(Config{ConfigFile: "gavel.yaml"}).Commit(forge.Event{Name: forge.EventMergeGroup, HeadSHA: "h", BaseSHA: "b", HeadRef: other, BaseRef: "production"})
	if err == nil || !strings.Contains(err.Error(), "nobody vouches for production") {
		t.Errorf("a merge group of nobody knows which branch: %v", err)
	}
}

// TestSuggested are the commands below a report: those that help, for those who may.
func TestSuggested(t *testing.T) {
	why, fail, broken, regression := "timeout", verdict.Fail, verdict.Error, report.Regression
	blocked := report.Report{
		Cases: []report.Row{{Key: "a", Verdict: &fail, Class: &regression}}, Gate: report.Gate{Result: report.GateFail},
	}
	unrun := func(why string) report.Report {
		return report.Report{Cases: []report.Row{{Key: "a", Error: &why}}, Summary: report.Summary{Verdicts: report.Verdicts{Error: 1}, NotRun: 1}}
	}
	const approve, help = "/gavel approve h", "/gavel help"
	for _, tt := range []struct {
		name   string
		review Review
		report report.Report
		want   []string
	}{
		{"nobody listens", Review{}, report.Report{NotRunReason: "a fork"}, nil},
		{"nothing to do", Review{follows: true}, report.Report{}, []string{help}},
		{"not run", Review{follows: true}, report.Report{NotRunReason: "a fork", Base: &why}, []string{approve, help}},
		{"nothing is known of it", Review{follows: true}, report.Report{NotRunReason: "its branch is gone"}, []string{help}},
		{"not run, and approved", Review{follows: true, approved: true}, report.Report{NotRunReason: "a fork"}, []string{help}},
		{"not run, and the operator forbids it", Review{follows: true, Config: Config{Forks: ForksPlan}}, report.Report{NotRunReason: "a fork"}, []string{help}},
		{"cases were not run", Review{follows: true}, report.Report{Summary: report.Summary{Verdicts: report.Verdicts{Error: 1}, NotRun: 1}}, []string{"/gavel rerun errors", help}},
		{"cases were not run, since their target is down", Review{follows: true}, unrun("not run: target bot is down: 10 calls in a row failed"), []string{"/gavel rerun errors", help}},
		{"cases were not run, since they wait for an approval", Review{follows: true}, unrun("not run: it starts a program, and bot.sh is changed here: programs run as base has them until the head is approved, since mona, who pushed it, is a bot"), []string{approve, "/gavel rerun errors", help}},
		{"an error", Review{follows: true}, report.Report{Cases: []report.Row{{Key: "a", Error: &why, Verdict: &broken}}, Summary: report.Summary{Verdicts: report.Verdicts{Error: 1}}}, []string{"/gavel rerun errors", help}},
		{"blocked", Review{follows: true}, blocked, []string{"/gavel rerun failed", "/gavel accept <case> <reason>", "/gavel explain <case>", help}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.review.head = "h"
			if diff := gocmp.Diff(tt.want, tt.review.suggested(&tt.report)); diff != "" {
				t.Errorf("suggested commands, -want +got\n%s", diff)
			}
		})
	}
}

// TestQueuedHead is since when somebody waits: the newest command that has cases judged.
func TestQueuedHead(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 3, 2, hour, 0, 0, 0, time.UTC) }
	r := &Review{head: "h", number: 7, again: true, commands: command.Commands{Followed: []report.Command{
		{Verb: report.CommandRun, TakenAt: at(9)}, {Verb: report.CommandRerun, TakenAt: at(11)},
		{Verb: report.CommandRun, TakenAt: at(10)}, {Verb: report.CommandApprove, TakenAt: at(12)},
	}}}
	got := r.QueuedHead()
	if got.Number != 7 || got.Head != "h" || !got.Stranger || !got.Again || !got.Asked.Equal(at(11)) {
		t.Errorf("%+v, want a stranger's head h of 7, asked for at %v", got, at(11))
	}
	r.trust.Run, r.commands = true, command.Commands{}
	if got := r.QueuedHead(); got.Stranger || !got.Asked.IsZero() {
		t.Errorf("%+v, want a head that nobody asked for, and not a stranger's", got)
	}
}

// TestRejudged: the last command that means a case says since when it is judged again.
func TestRejudged(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 3, 2, hour, 0, 0, 0, time.UTC) }
	r := &Review{}
	if r.rerunSince() != nil {
		t.Error("without a command cases are judged again")
	}
	r.commands.Followed = []report.Command{
		{Verb: report.CommandRun, Author: "mona", TakenAt: at(9), Cases: []string{"a/**"}},
		{Verb: report.CommandRerun, Author: "lisa", TakenAt: at(10), Cases: []string{"a/b"}},
		{Verb: report.CommandAccept, Author: "robin", TakenAt: at(11), Cases: []string{"a/b", "c"}},
	}
	for _, tt := range []struct {
		key   string
		since time.Time
		why   string
	}{
		{"a/b", at(10), "requested by lisa"}, {"a/c", at(9), "requested by mona"}, {"c", time.Time{}, ""},
	} {
		if since, why := r.rerunSince()(tt.key); !since.Equal(tt.since) || why.Message != tt.why {
			t.Errorf("%s is judged again since %v: %q, want %v: %q", tt.key, since, why.Message, tt.since, tt.why)
		}
	}
}

// TestDestination names each place on the forge once, since an item of the outbox
// replaces the one with its destination.
func TestDestination(t *testing.T) {
	status := &comment.Status{Context: "gavel/verdict"}
	for _, tt := range []struct {
		p    publication
		want string
	}{
		{publication{Repository: "o/d", Head: "h", Status: status}, "status o/d#0 h gavel/verdict"},
		{publication{Repository: "o/d", Head: "h", Groups: []comment.Status{*status}}, "groups o/d#0 h"},
		{publication{Repository: "o/d", Number: 7, Head: "h", Check: &comment.Check{}}, "check o/d#7 h"},
		{publication{Repository: "o/d", Number: 7, Head: "h", Branch: "main"}, "comment o/d#7 main"},
		{publication{Repository: "o/d", Number: 7, Head: "h"}, "comment o/d#7"},
	} {
		if got := tt.p.destination(); got != tt.want {
			t.Errorf("destination %q, want %q", got, tt.want)
		}
		if comment := tt.p.Comment == "" && tt.p.Status == nil && tt.p.Groups == nil && tt.p.Check == nil; tt.p.isComment() != comment {
			t.Errorf("%s is a comment: %v, want %v", tt.want, tt.p.isComment(), comment)
		}
	}
}

// TestOpen: another look is worth it where a case that was wanted has no verdict, or
// none to compare with.
func TestOpen(t *testing.T) {
	why, unclear, fixed := "timeout", report.Unclear, report.Improvement
	for _, tt := range []struct {
		name string
		gate string
		row  report.Row
		want bool
	}{
		{"an error", report.GateUndetermined, report.Row{Error: &why}, true},
		{"an error that the gate allows", report.GatePass, report.Row{Error: &why}, false},
		{"no verdict at base", report.GateUndetermined, report.Row{Class: &unclear}, true},
		{"an improvement", report.GateUndetermined, report.Row{Class: &fixed}, false},
		{"nothing", report.GateUndetermined, report.Row{}, false},
	} {
		r := &report.Report{Gate: report.Gate{Result: tt.gate}, Cases: []report.Row{{}, tt.row}}
		if got := open(r); got != tt.want {
			t.Errorf("%s is open: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestWrites is the trust of samples: a base branch's differ from a pull request's.
func TestWrites(t *testing.T) {
	r := &Review{Config: Config{Known: "octo/demo"}, level: ledger.LevelPull, number: 7}
	if got, want := r.writes(), (ledger.Trust{Level: ledger.LevelPull, Repository: "octo/demo", PullRequest: 7}); got != want {
		t.Errorf("samples are written as %+v, want %+v", got, want)
	}
	if r.maxNew() != strangersCases {
		t.Errorf("a stranger may have %d new cases, want %d", r.maxNew(), strangersCases)
	}
	if r.trust.Run = true; r.maxNew() != writersCases {
		t.Errorf("people who may write have at most %d new cases, want %d", r.maxNew(), writersCases)
	}
	if r.number = 0; r.maxNew() != 0 {
		t.Errorf("a branch has at most %d new cases, want no bound", r.maxNew())
	}
}
