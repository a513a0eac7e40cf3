package ledger_test

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
)

func nan() float64 { return math.NaN() }

func (k *fixture) call(trust ledger.Trust, seq int, reply string) {
	k.t.Helper()
	k.check(k.SaveCall(k.t.Context(), trust, ledger.Call{
		Key:           ledger.CallKey{Digest: "e", Ordinal: 2, Role: "target", Attempt: 1, Seq: seq},
		RequestDigest: "request", Request: []byte(`{"q":1}`), Reply: []byte(reply), At: k.now,
	}))
}

func (k *fixture) wantCalls(scope ledger.Scope, want ...string) {
	k.t.Helper()
	calls, err := k.Calls(k.t.Context(), scope, "e", 2)
	k.check(err)
	var got []string
	for i, c := range calls {
		got = append(got, string(c.Reply))
		if c.Key.Seq != i {
			k.t.Errorf("call %d has the number %d", i, c.Key.Seq)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		k.t.Errorf("calls seen by %+v (-want +got):\n%s", scope, diff)
	}
}

func testJournal(t *testing.T, b backend) {
	k, scope := newFixture(t, b), ledger.Scope{Trust: base}
	k.wantCalls(scope)
	k.call(base, 1, "b")
	k.wantCalls(scope) // the first is missing
	k.call(base, 0, "a")
	k.call(base, 3, "d")
	k.wantCalls(scope, "a", "b")
	k.call(base, 2, "c")
	k.wantCalls(scope, "a", "b", "c", "d")

	first := ledger.Call{
		Key:           ledger.CallKey{Digest: "e", Ordinal: 2, Role: "target", Attempt: 1},
		RequestDigest: "request", Request: []byte(`{"q":1}`), Reply: []byte("a"), At: epoch,
	}
	calls, err := k.Calls(t.Context(), scope, "e", 2)
	k.check(err)
	if diff := cmp.Diff(first, calls[0]); diff != "" {
		t.Errorf("first call (-want +got):\n%s", diff)
	}

	for _, elsewhere := range []ledger.CallKey{{Digest: "e", Ordinal: 1}, {Digest: "other", Ordinal: 2}} {
		k.check(k.DropCalls(t.Context(), base, elsewhere, nil))
	}
	k.wantCalls(scope, "a", "b", "c", "d")
	k.check(k.DropCalls(t.Context(), base, ledger.CallKey{Digest: "e", Ordinal: 2, Seq: 2}, nil))
	k.wantCalls(scope, "a", "b")

	k.now = epoch.Add(time.Hour)
	fresh := ledger.Scope{Trust: base, NotBefore: k.now}
	k.wantCalls(fresh)
	k.call(base, 0, "new")
	k.wantCalls(fresh, "new")
	k.wantCalls(scope, "new", "b")
	k.wantCalls(ledger.Scope{Trust: base, Nothing: true})
}

// testJournalTrust has a pull request go on from what base asked first.
func testJournalTrust(t *testing.T, b backend) {
	k := newFixture(t, b)
	k.call(base, 0, "base 0")
	k.call(base, 1, "base 1")
	k.call(pull7, 1, "seven 1")
	k.call(pull7, 2, "seven 2")
	k.wantCalls(ledger.Scope{Trust: pull7}, "base 0", "seven 1", "seven 2")
	k.wantCalls(ledger.Scope{Trust: pull8}, "base 0", "base 1")
	k.wantCalls(ledger.Scope{Trust: base}, "base 0", "base 1")

	k.check(k.DropCalls(t.Context(), pull7, ledger.CallKey{Digest: "e", Ordinal: 2}, nil))
	k.wantCalls(ledger.Scope{Trust: pull7}, "base 0", "base 1")
	k.check(k.DropCalls(t.Context(), base, ledger.CallKey{Digest: "e", Ordinal: 2, Seq: 1}, nil))
	k.wantCalls(ledger.Scope{Trust: pull7}, "base 0")

	if err := k.SaveCall(t.Context(), ledger.Trust{}, ledger.Call{}); err == nil {
		t.Error("a call was stored without trust")
	}
}

func testRuns(t *testing.T, b backend) {
	k := newFixture(t, b)
	if _, err := k.Run(t.Context(), ""); !errors.Is(err, ledger.ErrNoRun) {
		t.Errorf("newest of no runs: %v", err)
	}
	var runs []ledger.Run
	for i := range 3 {
		r := ledger.Run{
			ID: fmt.Sprint("r", i), Repository: "o/r", PullRequest: i, Base: "b", Head: "h",
			// The second and third start at the same time.
			Started: epoch.Add(time.Duration(min(i, 1)) * time.Minute), Finished: epoch.Add(time.Hour),
			Report: []byte(fmt.Sprintf(`{"run":%d}`, i)),
		}
		runs = append(runs, r)
	}
	for _, i := range []int{0, 2, 1} {
		k.check(k.SaveReport(t.Context(), runs[i]))
	}
	for _, tt := range []struct {
		id   string
		want ledger.Run
	}{{"r0", runs[0]}, {"r1", runs[1]}, {"", runs[2]}} {
		got, err := k.Run(t.Context(), tt.id)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("run %q: %v (-want +got):\n%s", tt.id, err, diff)
		}
	}
	if _, err := k.Run(t.Context(), "r9"); !errors.Is(err, ledger.ErrNoRun) {
		t.Errorf("run that is not there: %v", err)
	}
	if err := k.SaveReport(t.Context(), runs[0]); err == nil {
		t.Error("a run was stored twice")
	}
	list, err := k.Runs(t.Context(), 2)
	k.check(err)
	want := []ledger.Run{runs[2], runs[1]}
	for i := range want {
		want[i].Report = nil
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("newest runs (-want +got):\n%s", diff)
	}
}

func testOutbox(t *testing.T, b backend) {
	k := newFixture(t, b)
	runs := 0
	save := func(destination, content string) {
		t.Helper()
		runs++
		k.check(k.SaveReport(t.Context(), ledger.Run{ID: fmt.Sprint(runs), Report: []byte("{}")},
			ledger.OutboxItem{Destination: destination, Head: "h", ContentDigest: content, Body: []byte("body " + content)}))
	}
	want := func(contents ...string) []ledger.OutboxItem {
		t.Helper()
		pending, err := k.Pending(t.Context())
		k.check(err)
		var got []string
		for _, item := range pending {
			got = append(got, item.Destination+" "+item.ContentDigest+" "+item.Head+" "+string(item.Body))
		}
		if diff := cmp.Diff(contents, got); diff != "" {
			t.Errorf("pending (-want +got):\n%s", diff)
		}
		// The same ones by their destinations, without bodies.
		all := []string{"comment", "status", "later", "new", "other"}
		waiting, err := k.Waiting(t.Context(), all...)
		k.check(err)
		var some []ledger.OutboxItem
		for _, destination := range all {
			for _, item := range pending {
				if item.Destination == destination {
					item.Body = nil
					some = append(some, item)
				}
			}
		}
		if diff := cmp.Diff(some, waiting); diff != "" {
			t.Errorf("waiting (-want +got):\n%s", diff)
		}
		return pending
	}
	want()
	save("comment", "a")
	save("comment", "a") // nothing new
	save("status", "a")
	later := ledger.OutboxItem{Destination: "later", Head: "h", ContentDigest: "a", Body: []byte("body a")}
	k.check(k.AddItems(t.Context(), "1", later))
	added := want("comment a h body a", "status a h body a", "later a h body a")
	k.check(k.MarkPublished(t.Context(), added[2], ""))
	k.check(k.AddItems(t.Context(), "1", later)) // nothing new
	first := want("comment a h body a", "status a h body a")
	save("comment", "b") // takes the place of the unpublished one
	second := want("status a h body a", "comment b h body b")
	k.check(k.MarkPublished(t.Context(), first[0], "")) // too late: b is there
	want("status a h body a", "comment b h body b")
	k.check(k.MarkPublished(t.Context(), second[1], "number 7"))
	want("status a h body a")
	for _, destination := range []string{"comment", "status", "other"} { // the last two have none
		k.check(k.ReplaceReceipt(t.Context(), destination, "number 8"))
	}
	for _, tt := range []struct{ destination, receipt string }{{"comment", "number 8"}, {"status", ""}, {"other", ""}} {
		got, err := k.Receipt(t.Context(), tt.destination)
		k.check(err)
		if got != tt.receipt {
			t.Errorf("the receipt of %s is %q, want %q", tt.destination, got, tt.receipt)
		}
	}
	save("comment", "a") // back to the earlier content
	want("status a h body a", "comment a h body a")

	// A run that cannot be stored leaves nothing in the outbox.
	err := k.SaveReport(t.Context(), ledger.Run{ID: "1", Report: []byte("{}")}, ledger.OutboxItem{Destination: "new"})
	if err == nil {
		t.Error("a run was stored twice")
	}
	want("status a h body a", "comment a h body a")
}

// testTwoAtOnce writes from two handles on one store at the same time, as two
// processes would.
func testTwoAtOnce(t *testing.T, b backend) {
	store := b.empty(t)
	now := func() time.Time { return epoch }
	handles := []*ledger.Ledger{b.open(t, store, now), b.open(t, store, now)}
	if string(handles[0].Secret()) != string(handles[1].Secret()) || len(handles[0].Secret()) != 32 {
		t.Errorf("secrets %x and %x", handles[0].Secret(), handles[1].Secret())
	}
	const cases = 50
	var group sync.WaitGroup
	for h, l := range handles {
		for i := range cases {
			group.Go(func() {
				// Both handles race for every case.
				if err := l.Save(t.Context(), outcome(base, digestsOf(fmt.Sprint(i)), 0, fmt.Sprint(h))); err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	for i := range cases {
		d := digestsOf(fmt.Sprint(i))
		a, b := &fixture{Ledger: handles[0], t: t}, &fixture{Ledger: handles[1], t: t}
		got := a.see(ledger.Scope{Trust: base}, d)
		if diff := cmp.Diff(one(got.Decision), got); diff != "" || got.Decision == "" {
			t.Errorf("case %d is of both handles:\n%s", i, diff)
		}
		b.wantSeen(ledger.Scope{Trust: base}, d, got)
	}
}

// testFailAlone has one write fail among many at the same time.
func testFailAlone(t *testing.T, b backend) {
	k := newFixture(t, b)
	var group sync.WaitGroup
	const writes = 100
	errs := make([]error, writes)
	for i := range writes {
		group.Go(func() {
			o := outcome(base, digestsOf(fmt.Sprint(i)), 0, "text")
			if i%10 == 3 {
				o.Executions[0].Ordinal = -1
			}
			errs[i] = k.Save(t.Context(), o)
		})
	}
	group.Wait()
	for i, err := range errs {
		if (err != nil) != (i%10 == 3) {
			t.Errorf("write %d: %v", i, err)
		}
		want := one("text")
		if i%10 == 3 {
			want = seen{}
		}
		k.wantSeen(ledger.Scope{Trust: base}, digestsOf(fmt.Sprint(i)), want)
	}
}
