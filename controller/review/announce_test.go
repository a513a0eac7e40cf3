package review_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/command"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/review"
)

// newTalk is a fixture with one case, which topic changes.
func newTalk(t *testing.T) *fixture {
	t.Helper()
	const file = "test_definitions/talk/level_1/hello.json"
	d := newFixture(t,
		gitrepo.NewCommit{Write: map[string][]byte{
			"gavel.yaml":                        []byte("version: 1\ntargets: {bot: {provider: mock, replies: [{reply: hello}]}}\n"),
			"test_definitions/talk/domain.json": []byte(`{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`),
			file:                                []byte(`{"id": "hello", "name": "Hello", "prompt": "hi", "expected": {"keywords": ["hello"]}}`),
		}},
		gitrepo.NewCommit{Branch: "topic", Write: map[string][]byte{
			file: []byte(`{"id": "hello", "name": "Hello", "prompt": "hi there", "expected": {"keywords": ["hello"]}}`),
		}})
	d.pull(1)
	return d
}

// never is a time that does not end.
func never(time.Duration) <-chan time.Time { return nil }

// history are the writes to the head, oldest first.
func (d *fixture) history() (all []string) {
	for _, s := range d.forge.Statuses(d.head) {
		all = append(all, strings.TrimPrefix(s.Context, "gavel/")+" "+s.State)
	}
	return all
}

// slow has every run wait until something is true of the forge. Nothing is announced
// before it begins.
func (d *fixture) slow(until func() bool) {
	began := make(chan time.Time)
	begin := sync.OnceFunc(func() { close(began) })
	d.cfg.Clock = clock.Funcs{AfterFunc: func(time.Duration) <-chan time.Time { return began }}
	d.cfg.Execute = func(ctx context.Context, p *controller.Prepared, e controller.RunOptions) (*report.Report, error) {
		begin()
		for !until() && ctx.Err() == nil {
			time.Sleep(time.Millisecond) // nothing tells what the forge has
		}
		return d.execute(ctx, p, e)
	}
}

func (d *fixture) pendings() int {
	return len(slices.DeleteFunc(d.history(), func(s string) bool { return !strings.HasSuffix(s, "pending") }))
}

// TestPendingOnlyWhereItTakesTime: a verdict that comes within seconds is all
// that is written.
func TestPendingOnlyWhereItTakesTime(t *testing.T) {
	d := newTalk(t)
	d.cfg.Clock = clock.Funcs{AfterFunc: never}
	if err := d.review(1); err != nil {
		t.Fatal(err)
	}
	if got, want := d.history(), []string{"verdict success", "validate success"}; !slices.Equal(got, want) {
		t.Errorf("the statuses are %q, want %q", got, want)
	}
	if n := len(d.forge.Writes()); n != 3 {
		t.Errorf("%d writes, want two statuses and a comment: %v", n, d.forge.Writes())
	}
}

// TestGreenStaysGreen: a head that is judged again does not turn yellow while
// nothing changed, however long it takes, and does when a case is judged again.
func TestGreenStaysGreen(t *testing.T) {
	d := newTalk(t)
	d.slow(func() bool { return len(d.history()) == 2 }) // both statuses are announced
	if err := d.review(1); err != nil {
		t.Fatal(err)
	}
	first := []string{"verdict pending", "validate success", "verdict success"}
	if got := d.history(); !slices.Equal(got, first) {
		t.Fatalf("the statuses are %q, want %q", got, first)
	}

	// Nothing is stored of the head where the review looks, as in a job.
	asked := len(d.forge.Requests())
	d.slow(func() bool {
		return slices.ContainsFunc(d.forge.Requests()[asked:], func(r forgetest.Request) bool { return strings.HasSuffix(r.Path, "/statuses") })
	})
	if err := d.review(1); err != nil {
		t.Fatal(err)
	}
	if d.pendings() != 1 {
		t.Errorf("the statuses are %q after nothing changed", d.history())
	}

	d.slow(func() bool { return d.pendings() == 2 })
	r, err := review.New(d.cfg).Pull(t.Context(), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	r.Follow(command.Commands{Followed: []report.Command{{CommentID: 7, Author: "mona", Verb: report.CommandRun, Cases: []string{"**"}, TakenAt: time.Now().Add(time.Hour)}}})
	if _, unpublished, err := r.Run(t.Context()); err != nil || unpublished != nil {
		t.Fatal(err, unpublished)
	}
	again := []string{"verdict pending", "verdict success"}
	if got := d.history(); !slices.Equal(got[len(got)-2:], again) {
		t.Errorf("the statuses are %q after a case was judged again, want %q at the end", got, again)
	}
}

// TestAVerdictTakesAnAnnouncementBack that still waits for its turn.
func TestAVerdictTakesAnAnnouncementBack(t *testing.T) {
	d := newTalk(t)
	began := make(chan struct{})
	d.forge.Inject(forgetest.Fault{Method: "GET", Path: "/statuses", Hold: func() { close(began); <-t.Context().Done() }})
	d.slow(func() bool {
		select {
		case <-began:
			return true
		default:
			return false
		}
	})
	if err := d.review(1); err != nil {
		t.Fatal(err)
	}
	if n := d.pendings(); n != 0 {
		t.Errorf("the statuses are %q", d.history())
	}
}

// words are the texts of a context on the head, oldest first.
func (d *fixture) words(context string) (all []string) {
	for _, s := range d.forge.Statuses(d.head) {
		if s.Context == context {
			all = append(all, s.State+": "+s.Description)
		}
	}
	return all
}

// TestWhatAHeadIsSaidToWaitFor: its turn, the plan, while its cases are judged, a worker that
// runs, and one that is free. Validation has its last word as soon as it is done.
func TestWhatAHeadIsSaidToWaitFor(t *testing.T) {
	d := newTalk(t)
	waits := make(chan time.Time) // the time until the first word is over when the head waits
	d.cfg.Clock = clock.Funcs{AfterFunc: func(time.Duration) <-chan time.Time { return waits }}
	fetch := d.cfg.Fetch
	await := func(context, words string) {
		for !slices.Contains(d.words(context), words) && t.Context().Err() == nil {
			time.Sleep(time.Millisecond) // nothing tells what the forge has
		}
	}
	d.cfg.Turn = func(_ context.Context, w review.QueuedHead) (review.Turn, error) {
		w.Waits()
		close(waits)
		await("gavel/verdict", "pending: waits for its turn behind other heads")
		await("gavel/validate", "pending: waits for its turn behind other heads")
		return review.Turn{End: func() {}}, nil
	}
	d.cfg.Fetch = func(ctx context.Context, src gitrepo.Source) (*gitrepo.Repository, []string, error) {
		await("gavel/validate", "pending: checking the definitions")
		return fetch(ctx, src)
	}
	d.cfg.Execute = func(ctx context.Context, p *controller.Prepared, e controller.RunOptions) (*report.Report, error) {
		await("gavel/validate", "success: all definitions are valid")
		for _, tt := range []struct {
			waiting controller.WaitingCases
			words   string
		}{
			{controller.WaitingCases{Cases: 2}, "2 cases wait for a worker; none is running"},
			{controller.WaitingCases{Cases: 1}, "1 case waits for a worker; none is running"},
			{controller.WaitingCases{Cases: 2, Workers: 1}, "2 cases wait for a worker; the one that is running is busy"},
			{controller.WaitingCases{Cases: 2, Workers: 3}, "2 cases wait for a worker; the 3 that are running are busy"},
			{controller.WaitingCases{Cases: 2, Programs: true}, "2 cases wait for a worker with a sandbox; none is running"},
		} {
			e.Waits(tt.waiting)
			await("gavel/verdict", "pending: "+tt.words)
		}
		e.Waits(controller.WaitingCases{})
		for got := d.words("gavel/verdict"); got[len(got)-1] != "pending: judging 1 case"; got = d.words("gavel/verdict") {
			time.Sleep(time.Millisecond)
		}
		return d.execute(ctx, p, e)
	}
	if err := d.review(1); err != nil {
		t.Fatal(err)
	}
	if got, want := d.words("gavel/validate"), []string{
		"pending: waits for its turn behind other heads", "pending: checking the definitions", "success: all definitions are valid",
	}; !slices.Equal(got, want) {
		t.Errorf("validation says %q, want %q", got, want)
	}
	got := d.words("gavel/verdict")
	if last := got[len(got)-1]; got[1] != "pending: working out what is affected" || !strings.HasPrefix(last, "success: ") {
		t.Errorf("the verdict says %q", got)
	}
}

// TestValidationStaysWhereJudgingFails: the result of validation is true whatever the
// verdict is.
func TestValidationStaysWhereJudgingFails(t *testing.T) {
	d := newTalk(t)
	d.cfg.Clock = clock.Funcs{AfterFunc: never}
	d.cfg.Execute = func(context.Context, *controller.Prepared, controller.RunOptions) (*report.Report, error) {
		return nil, errors.New("the disk is full")
	}
	r, err := review.New(d.cfg).Pull(t.Context(), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Run(t.Context()); err == nil {
		t.Fatal("there is no error")
	}
	if got, want := d.history(), []string{"verdict error", "validate success"}; !slices.Equal(got, want) {
		t.Errorf("the statuses are %q, want %q", got, want)
	}
}
