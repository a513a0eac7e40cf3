package command

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

const (
	head  = "9f31c2e6b3a1d0c4e5f60718293a4b5c6d7e8f90"
	alike = "9f31c2e6b3a1d0c4e5f6ffffffffffffffffffff"
	other = "4b07d1a6d8aa4b6f9a6f9b3f6b8f0c1d2e3f4a5b"
)

// TestApprove binds an approval to one commit.
func TestApprove(t *testing.T) {
	for _, tc := range []struct {
		name   string
		commit string
		before []string
		never  string
		want   string
	}{
		{name: "all of it", commit: head, before: []string{head}},
		{name: "all of it, never seen", commit: head, before: []string{other}},
		{name: "in short", commit: head[:7], before: []string{other, head}},
		{name: "in short, never seen", commit: head[:7], before: []string{other}, want: "was pushed meanwhile"},
		{name: "in short, of two", commit: head[:20], before: []string{alike, head}, want: "several heads that begin so"},
		{name: "long enough to tell", commit: head[:21], before: []string{alike, head}},
		{name: "another", commit: other, before: []string{other, head}, want: "the head of this pull request is 9f31c2e6b3a1"},
		{name: "what the operator forbids", commit: head, before: []string{head}, never: "no", want: "no"},
		{name: "longer than it is", commit: head + strings.Repeat("0", 24), before: []string{head}, want: "the head of this"},
		{name: "in short, of another commit", commit: other[:7], before: []string{other, head}, want: "the head of this"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := poll{PullHead: PullHead{Head: head, Unapprovable: tc.never}, before: heads{}}
			for _, sha := range tc.before {
				l.before[sha] = time.Time{}
			}
			c := ledger.Command{Verb: Approve, Argument: tc.commit}
			l.resolve(&c)
			if (c.Refused == "") != (tc.want == "") || !strings.Contains(c.Refused, tc.want) || c.Refused == "" && c.Argument != head {
				t.Errorf("%+v, want %q", c, tc.want)
			}
		})
	}
}

// judged is a report with a case of each sort.
func judged() *report.Report {
	row := func(key string, v verdict.Verdict) report.Row {
		row := report.Row{Key: key, Verdict: &v}
		if v == verdict.Error {
			why := "timeout"
			row.Error = &why
		}
		return row
	}
	left := row("b/passes", verdict.Pass)
	right := row("b/passes", verdict.Fail)
	left.Target, left.PerTarget, right.Target, right.PerTarget = "small", true, "large", true
	return &report.Report{Cases: []report.Row{
		row("a", verdict.Fail), row("a b", verdict.Borderline), row("a/error", verdict.Error), left, right,
	}}
}

// TestResolve says which cases a command is about.
func TestResolve(t *testing.T) {
	for _, want := range []struct {
		written  string
		cases    []string
		argument string
		refused  string
	}{
		{written: "rerun failed", cases: []string{"a", "a b", "b/passes"}, argument: "failed"},
		{written: "rerun errors", cases: []string{"a/error"}, argument: "errors"},
		{written: "run a/*", cases: []string{"a/*"}, argument: "a/*"},
		{written: "run c/**", cases: []string{"c/**"}, argument: "c/**", refused: "no case has such a key"},
		{written: "accept a b it is meant", cases: []string{"a b"}, argument: "it is meant"},
		{written: "accept a it is meant", cases: []string{"a"}, argument: "it is meant"},
		{written: "accept `a` it is meant", cases: []string{"a"}, argument: "it is meant"},
		{written: "accept ab it is meant", argument: "ab it is meant", refused: "unknown case \"ab\"; did you mean `a`?"},
		{written: "accept a b", cases: []string{"a b"}, refused: "say why the result is meant"},
		{written: "accept b/passes so", cases: []string{"b/passes"}, argument: "so"},
		{written: "accept b/passes @ large so", cases: []string{"b/passes @ large"}, argument: "so"},
		{written: "accept b/passes @ small so", cases: []string{"b/passes @ small"}, argument: "so", refused: "the case does not fail"},
		{written: "accept a/error so", cases: []string{"a/error"}, argument: "so", refused: "the case does not fail"},
		{written: "quarantine a 2026-03-03 the tool is down", cases: []string{"a"}, argument: "2026-03-03 the tool is down"},
		{written: "quarantine a 2026-03-02 today", cases: []string{"a"}, argument: "2026-03-02 today"},
		{written: "quarantine a 2026-03-01 late", cases: []string{"a"}, argument: "2026-03-01 late", refused: "2026-03-01 is over; write a later date"},
		{written: "quarantine ab 2026-03-03 later", argument: "ab 2026-03-03 later", refused: "unknown case \"ab\"; did you mean `a`?"},
		{written: "explain a/eror", argument: "a/eror", refused: "unknown case \"a/eror\"; did you mean `a/error`?"},
		{written: "explain b/passes", cases: []string{"b/passes"}},
		{written: "explain " + strings.Repeat("longer ", 9), argument: strings.TrimSpace(strings.Repeat("longer ", 9)), refused: "unknown case \"longer\""},
	} {
		t.Run(want.written, func(t *testing.T) {
			o, _ := Parse(prefix + " " + want.written)
			if o.Problem != "" {
				t.Fatal(o.Problem)
			}
			l := poll{PullHead: PullHead{Head: head}, report: judged()}
			c := ledger.Command{Verb: o.Verb, Argument: o.Argument, Written: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
			l.resolve(&c)
			if diff := gocmp.Diff(want.cases, c.Cases); diff != "" || c.Argument != want.argument || c.Refused != want.refused {
				t.Errorf("argument %q, refused %q, want %+v; cases -want +got\n%s", c.Argument, c.Refused, want, diff)
			}
			l.report = nil
			c = ledger.Command{Verb: o.Verb, Argument: o.Argument}
			if l.resolve(&c); o.Verb != Run && c.Refused != "this head is not judged yet" {
				t.Errorf("without a report: refused %q", c.Refused)
			}
		})
	}
}

// TestCommands has the results of commands: id, verb, and the differences.
func TestCommands(t *testing.T) {
	of := func(id int64, verb string) ledger.Command {
		return ledger.Command{Comment: id, Verb: verb, Head: head, Login: "mona"}
	}
	elsewhere, refused := of(2, Approve), of(3, Run)
	elsewhere.Head, refused.Refused = other, "no"
	for _, tc := range []struct {
		name      string
		taken     []ledger.Command
		done      []int64
		followed  []int64
		refused   int
		cancelled string
	}{
		{name: "nothing"},
		{name: "talk", taken: []ledger.Command{of(1, Help), of(2, Explain)}},
		{name: "of another head", taken: []ledger.Command{of(1, Approve), elsewhere}, followed: []int64{1}},
		{name: "refused", taken: []ledger.Command{of(1, Approve), refused}, followed: []int64{1}, refused: 1},
		{name: "refused before a command that the report does not have yet", taken: []ledger.Command{refused, of(4, Rerun)}, followed: []int64{4}, refused: 1},
		{name: "refused before a command of the report", taken: []ledger.Command{refused, of(4, Rerun)}, done: []int64{4}, followed: []int64{4}},
		{name: "refused after a command of the report", taken: []ledger.Command{of(1, Rerun), refused}, done: []int64{1}, followed: []int64{1}, refused: 1},
		{name: "cancelled", taken: []ledger.Command{of(1, Approve), of(2, Rerun), of(3, Cancel)}, followed: []int64{1}, cancelled: "cancelled by mona"},
		{name: "cancelled when it was done", taken: []ledger.Command{of(1, Run), of(2, Rerun), of(3, Cancel)}, done: []int64{1}, followed: []int64{1}, cancelled: "cancelled by mona"},
		{name: "asked for again", taken: []ledger.Command{of(1, Rerun), of(2, Cancel), of(3, Run)}, followed: []int64{3}},
		{name: "approved after it was ended", taken: []ledger.Command{of(1, Cancel), of(2, Approve)}, followed: []int64{2}},
		{name: "cancelled once more", taken: []ledger.Command{of(1, Cancel), of(2, Run), of(3, Cancel)}, cancelled: "cancelled by mona"},
		{name: "a cancel that was refused", taken: []ledger.Command{of(1, Run), {Comment: 2, Verb: Cancel, Head: head, Refused: "no"}}, followed: []int64{1}, refused: 1},
		{name: "what nobody may ask for here", taken: []ledger.Command{{Comment: 1, Verb: Approve, Refused: "its author has no write permission"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := poll{PullHead: PullHead{Head: head}, report: &report.Report{}}
			for _, id := range tc.done {
				l.report.Commands = append(l.report.Commands, report.Command{CommentID: id})
			}
			got := l.commands(tc.taken)
			var ids []int64
			for _, o := range got.Followed {
				ids = append(ids, o.CommentID)
			}
			if diff := gocmp.Diff(tc.followed, ids); diff != "" || len(got.Refused) != tc.refused || !strings.HasPrefix(got.Cancelled, tc.cancelled) || (got.Cancelled == "") != (tc.cancelled == "") {
				t.Errorf("%+v, want %+v; followed -want +got\n%s", got, tc, diff)
			}
		})
	}
}

// TestWaits: before there is a report, a command about its cases waits for it, unless the
// head is never judged. The others need none.
func TestWaits(t *testing.T) {
	for _, tc := range []struct {
		verb  string
		waits bool
	}{
		{Rerun, true}, {Accept, true}, {Explain, true}, {Quarantine, true},
		{Run, false}, {Approve, false}, {Cancel, false}, {Help, false},
	} {
		if got := (&poll{}).waits(tc.verb); got != tc.waits {
			t.Errorf("%s waits: %v, want %v", tc.verb, got, tc.waits)
		}
		if (&poll{report: judged()}).waits(tc.verb) {
			t.Errorf("%s waits although there is a report", tc.verb)
		}
		if (&poll{PullHead: PullHead{Unapprovable: "no"}}).waits(tc.verb) {
			t.Errorf("%s waits for a report that never comes", tc.verb)
		}
	}
}

// TestCancel refuses to cancel a finished head. It is unfinished while it is judged,
// while the report lacks a command, or while cases of it were not run.
func TestCancel(t *testing.T) {
	run := ledger.Command{Comment: 1, Verb: Run, Head: head, Login: "mona"}
	followed := report.Command{CommentID: 1, Author: "mona", Verb: Run}
	cancel := ledger.Command{Comment: 2, Verb: Cancel, Head: head, Login: "mona"}
	for _, tc := range []struct {
		name    string
		taken   []ledger.Command
		report  *report.Report
		running bool
		refused string
	}{
		{name: "nothing is judged yet"},
		{name: "all is judged", report: &report.Report{}, refused: "nothing is running"},
		{name: "all is judged and judged again", report: &report.Report{}, running: true},
		{name: "cases were left out", report: &report.Report{Summary: report.Summary{NotRun: 1}}},
		{name: "a command is not in the report", taken: []ledger.Command{run}, report: &report.Report{}},
		{name: "a command is in the report", taken: []ledger.Command{run}, report: &report.Report{Commands: []report.Command{followed}}, refused: "nothing is running"},
		{name: "it was cancelled before", taken: []ledger.Command{cancel}, running: true, refused: "nothing is running"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := poll{PullHead: PullHead{Head: head, Running: tc.running}, report: tc.report, taken: tc.taken, inbox: &Inbox{}}
			c := ledger.Command{Verb: Cancel}
			if l.resolve(&c); c.Refused != tc.refused {
				t.Errorf("refused %q, want %q", c.Refused, tc.refused)
			}
		})
	}
}

// TestRefused lists the last five commands that were refused as they were written.
func TestRefused(t *testing.T) {
	var taken []ledger.Command
	for i, c := range []ledger.Command{
		{Verb: Run, Argument: "b/**"}, {Verb: Approve, Argument: "4b07d1a"}, {Verb: Accept, Cases: []string{"a"}, Argument: "it is meant"},
		{Verb: Explain, Argument: "aa"}, {Verb: Quarantine, Cases: []string{"a"}, Argument: "2026-01-01 later"}, {Verb: Rerun, Argument: "failed"},
	} {
		c.Comment, c.Head, c.Login, c.Refused = int64(i), head, "mona", "no"
		taken = append(taken, c)
	}
	got := (&poll{PullHead: PullHead{Head: head}, inbox: &Inbox{}}).commands(taken)
	want := []string{
		`"/gavel approve 4b07d1a" of mona was refused: no`, `"/gavel accept a it is meant" of mona was refused: no`, `"/gavel explain aa" of mona was refused: no`,
		`"/gavel quarantine a 2026-01-01 later" of mona was refused: no`, `"/gavel rerun failed" of mona was refused: no`,
	}
	if diff := gocmp.Diff(want, got.Refused); diff != "" || len(got.Followed) > 0 {
		t.Errorf("followed %+v; refused -want +got\n%s", got.Followed, diff)
	}
}

// TestQuarantineHoldsAtEveryHead, until its day is over. At the pull request where it was
// asked for it is not followed a second time.
func TestQuarantineHoldsAtEveryHead(t *testing.T) {
	taken := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	command := func(id int64, until string) ledger.Command {
		return ledger.Command{Comment: id, Verb: Quarantine, Head: other, Login: "mona", Taken: taken, Argument: until + " the tool is down", Cases: []string{"a"}}
	}
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	l := poll{
		PullHead: PullHead{Head: head}, inbox: &Inbox{cfg: Config{Now: func() time.Time { return now }}},
		quarantines: []ledger.Command{command(1, "2026-03-01"), command(2, "2026-03-02"), command(3, "2026-03-03")},
	}
	at := command(3, "2026-03-03")
	at.Head = head
	got := l.commands([]ledger.Command{at})
	want := []report.Command{
		{CommentID: 2, Author: "mona", TakenAt: taken, Verb: Quarantine, Argument: "2026-03-02 the tool is down", Cases: []string{"a"}},
		{CommentID: 3, Author: "mona", TakenAt: taken, Verb: Quarantine, Argument: "2026-03-03 the tool is down", Cases: []string{"a"}},
	}
	if diff := gocmp.Diff(want, got.Followed); diff != "" || len(got.Refused) > 0 {
		t.Errorf("refused %q; followed -want +got\n%s", got.Refused, diff)
	}
}

// TestIsUnseen: an acceptance that was written at an earlier head is told from one at this head
// by the first status or, without statuses, by when the head was noted.
func TestIsUnseen(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	before, after := at.Add(-time.Minute), at.Add(time.Minute)
	denied, away := &forge.DeniedError{Status: 403}, errors.New("the forge is away")
	for _, tt := range []struct {
		name   string
		verb   string
		heads  heads
		status time.Time
		back   time.Time
		err    error
		unseen bool
	}{
		{name: "the first head", heads: heads{}, unseen: false},
		{name: "the first head, noted", heads: heads{head: after}, unseen: false},
		{name: "a status before it", heads: heads{other: before, head: before}, status: before, unseen: false},
		{name: "a status after it", heads: heads{other: before, head: before}, status: after, unseen: true},
		{name: "the head again before it", heads: heads{other: before, head: before}, status: before, back: before, unseen: false},
		{name: "the head again after it", heads: heads{other: before, head: before}, status: before, back: after, unseen: true},
		{name: "no status, and not noted", heads: heads{other: before}, unseen: true},
		{name: "no status, and noted before it", heads: heads{other: before, head: before}, unseen: false},
		{name: "no permission, and noted before it", heads: heads{other: before, head: before}, err: denied, unseen: false},
		{name: "no permission, and noted after it", heads: heads{other: before, head: after}, err: denied, unseen: true},
		{name: "another command", verb: Rerun, heads: heads{other: before}, unseen: false},
		{name: "no answer", heads: heads{other: before}, err: away},
	} {
		l := poll{PullHead: PullHead{Head: head}, before: tt.heads, back: tt.back, since: func() (time.Time, error) { return tt.status, tt.err }}
		unseen, err := l.isUnseen(&ledger.Command{Verb: cmp.Or(tt.verb, Accept), Head: head, Written: at})
		if wantErr := tt.err == away; unseen != tt.unseen || (err != nil) != wantErr {
			t.Errorf("%s: %v, %v, want %v", tt.name, unseen, err, tt.unseen)
		}
	}
}

// TestActive: of the quarantines of a case the last one counts, so that an earlier one does not
// come back when a shorter one has ended.
func TestActive(t *testing.T) {
	quarantine := func(comment int64, name, until string) ledger.Command {
		return ledger.Command{Comment: comment, Verb: Quarantine, Cases: []string{name}, Argument: until + " slow"}
	}
	given := []ledger.Command{
		quarantine(1, "a", "2026-12-31"), quarantine(2, "b", "2026-12-31"), quarantine(3, "a @ small", "2026-12-31"), quarantine(4, "a", "2026-03-31"),
	}
	for _, tt := range []struct {
		day  string
		want []int64
	}{{"2026-03-31", []int64{1, 2, 3, 4}}, {"2026-04-01", []int64{2, 3}}, {"2027-01-01", nil}} {
		now, err := time.Parse(time.DateOnly, tt.day)
		if err != nil {
			t.Fatal(err)
		}
		d := &Inbox{cfg: Config{Now: func() time.Time { return now }}}
		var got []int64
		for _, c := range d.active(given) {
			got = append(got, c.CommentID)
		}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("on %s (-want +got):\n%s", tt.day, diff)
		}
	}
}
