package priority_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/priority"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// order drains the queue at a time and gives the names in that order.
func order(now time.Time, writes map[string]priority.Write) string {
	var q priority.Queue[string]
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
	at := func(worth priority.Worth, ago time.Duration) priority.Write {
		return priority.Write{Worth: worth, Pushed: start.Add(-ago)}
	}
	const s, m = time.Second, time.Minute
	for _, tt := range []struct {
		name   string
		writes map[string]priority.Write
		want   string
	}{
		{"by worth", map[string]priority.Write{
			"superseded": at(priority.Superseded, s), "pending": at(priority.Pending, s), "reaction": at(priority.Reaction, s),
			"check": at(priority.CheckRun, s), "comment": at(priority.Comment, s), "verdict": at(priority.Verdict, s), "token": at(priority.Credential, 0),
		}, "token verdict comment check reaction pending superseded"},
		{"the newest push first", map[string]priority.Write{
			"old": at(priority.Verdict, 2*m), "new": at(priority.Verdict, s), "middle": at(priority.Verdict, m),
		}, "new middle old"},
		{"worth before age", map[string]priority.Write{
			"old verdict": at(priority.Verdict, 2*m), "new comment": at(priority.Comment, s),
		}, "old verdict new comment"},
		{"what is due is passed by nothing", map[string]priority.Write{
			"new": at(priority.Verdict, s), "due": at(priority.Verdict, 3*m), "longer due": at(priority.Verdict, 4*m),
		}, "longer due due new"},
		{"a due comment before a new verdict", map[string]priority.Write{
			"verdict": at(priority.Verdict, s), "comment": at(priority.Comment, 6*m),
		}, "comment verdict"},
		{"the last word before five minutes", map[string]priority.Write{
			"verdict": at(priority.Verdict, s), "last word": at(priority.Superseded, 4*m),
		}, "last word verdict"},
		{"a token before all that is due", map[string]priority.Write{
			"verdict": at(priority.Verdict, 20*m), "token": at(priority.Credential, 0),
		}, "token verdict"},
	} {
		if got := order(start, tt.writes); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestEquals go in the order in which they came.
func TestEquals(t *testing.T) {
	var q priority.Queue[int]
	for i := range 5 {
		q.Add(priority.Write{Worth: priority.Comment, Pushed: start}, i)
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
	some := func() priority.Write {
		return priority.Write{Worth: priority.Worth(random.IntN(int(priority.Credential) + 1)), Pushed: start.Add(-time.Duration(random.IntN(600)) * time.Second)}
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
