package command

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
			c := ledger.Command{Verb: o.Verb, Argument: o.Argument}
			l.resolve(&c)
			if diff := cmp.Diff(want.cases, c.Cases); diff != "" || c.Argument != want.argument || c.Refused != want.refused {
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

// TestCommands is what commands come to: id, verb, and what differs.
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
			if diff := cmp.Diff(tc.followed, ids); diff != "" || len(got.Refused) != tc.refused || !strings.HasPrefix(got.Cancelled, tc.cancelled) || (got.Cancelled == "") != (tc.cancelled == "") {
				t.Errorf("%+v, want %+v; followed -want +got\n%s", got, tc, diff)
			}
		})
	}
}
