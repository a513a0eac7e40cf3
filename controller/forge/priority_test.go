package forge_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// order drains the queue at a time and gives the names in that order.
func order(now time.Time, writes map[string]forge.PendingWrite) string {
	var q forge.WriteQueue[string]
	for name, w := range writes {
		q.Add(w, name)
	}
	var names []string
	for name, _, ok := q.First(now); ok; name, _, ok = q.First(now) {
		names = append(names, name)
		q.Remove(name)
	}
	return strings.Join(names, " ")
}

func TestOrder(t *testing.T) {
	at := func(worth forge.WriteWorth, ago time.Duration) forge.PendingWrite {
		return forge.PendingWrite{Worth: worth, Pushed: start.Add(-ago)}
	}
	const s, m = time.Second, time.Minute
	for _, tt := range []struct {
		name   string
		writes map[string]forge.PendingWrite
		want   string
	}{
		{"by worth", map[string]forge.PendingWrite{
			"superseded": at(forge.WorthSuperseded, s), "pending": at(forge.WorthPending, s), "reaction": at(forge.WorthReaction, s),
			"check": at(forge.WorthCheckRun, s), "comment": at(forge.WorthComment, s), "verdict": at(forge.WorthVerdict, s), "token": at(forge.WorthCredential, 0),
		}, "token verdict reaction comment check superseded pending"},
		{"the newest push first", map[string]forge.PendingWrite{
			"old": at(forge.WorthVerdict, 2*m), "new": at(forge.WorthVerdict, s), "middle": at(forge.WorthVerdict, m),
		}, "new middle old"},
		{"worth before age", map[string]forge.PendingWrite{
			"old verdict": at(forge.WorthVerdict, 2*m), "new comment": at(forge.WorthComment, s),
		}, "old verdict new comment"},
		{"no newer one of its worth passes what is due", map[string]forge.PendingWrite{
			"new": at(forge.WorthVerdict, s), "due": at(forge.WorthVerdict, 3*m), "longer due": at(forge.WorthVerdict, 4*m),
		}, "longer due due new"},
		{"a verdict waits for nothing of less worth, however old", map[string]forge.PendingWrite{
			"verdict": at(forge.WorthVerdict, s), "comment": at(forge.WorthComment, 60*m), "reaction": at(forge.WorthReaction, 50*m),
			"last word": at(forge.WorthSuperseded, 40*m), "pending": at(forge.WorthPending, 30*m),
		}, "verdict reaction comment last word pending"},
		{"a token before all that is due", map[string]forge.PendingWrite{
			"verdict": at(forge.WorthVerdict, 20*m), "token": at(forge.WorthCredential, 0),
		}, "token verdict"},
	} {
		if got := order(start, tt.writes); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestEquals go in the order in which they came.
func TestEquals(t *testing.T) {
	var q forge.WriteQueue[int]
	for i := range 5 {
		q.Add(forge.PendingWrite{Worth: forge.WorthComment, Pushed: start}, i)
	}
	if !q.Remove(2) || q.Remove(2) || q.Len() != 4 {
		t.Errorf("%d are left, want 4", q.Len())
	}
	for _, want := range []int{0, 1, 3, 4} {
		if got, _, ok := q.First(start); got != want || !ok {
			t.Errorf("%d, want %d", got, want)
		}
		q.Remove(want)
	}
	if _, _, ok := q.First(start); ok {
		t.Error("an empty queue has a first one")
	}
}

// TestBeforeIsAnOrder: no two writes go before each other, and what goes before
// another goes before all that come after that.
func TestBeforeIsAnOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func() forge.PendingWrite {
		return forge.PendingWrite{Worth: forge.WriteWorth(random.IntN(int(forge.WorthCredential) + 1)), Pushed: start.Add(-time.Duration(random.IntN(600)) * time.Second)}
	}
	for range 20_000 {
		a, b, c := some(), some(), some()
		if a.Before(b, start) && b.Before(a, start) {
			t.Fatalf("%v and %v go before each other", a, b)
		}
		if a.Before(b, start) && b.Before(c, start) && !a.Before(c, start) {
			t.Fatalf("%v before %v before %v, but not the first before the last", a, b, c)
		}
	}
}

// TestACrowdIsNotAnnounced: as soon as more heads wait for their verdicts than a crowd
// has, and until no other one is left, statuses that only announce verdicts are held back.
func TestACrowdIsNotAnnounced(t *testing.T) {
	var q forge.WriteQueue[string]
	q.Add(forge.PendingWrite{Worth: forge.WorthPending, Pushed: start}, "pending")
	first := func() string {
		name, _, ok := q.First(start)
		if !ok {
			return ""
		}
		return name
	}
	for _, step := range []struct {
		awaited int
		want    string
	}{{1, "pending"}, {7, "pending"}, {1, ""}, {-1, ""}, {-6, ""}, {-1, "pending"}, {7, "pending"}, {1, ""}, {-9, "pending"}} {
		q.Await(step.awaited)
		if got := first(); got != step.want {
			t.Errorf("after %+d heads the first write is %q, want %q", step.awaited, got, step.want)
		}
	}
	q.Await(9)
	q.Add(forge.PendingWrite{Worth: forge.WorthSuperseded, Pushed: start}, "last word")
	if got := first(); got != "last word" {
		t.Errorf("the first write in a crowd is %q, want the last word", got)
	}
}
