package crashguard

import (
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// next are the notes of a process that starts at a time.
func next(t *testing.T, state *ledger.ServerState, at time.Time) *Notes {
	t.Helper()
	n, err := openNotes(t.Context(), state, func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *Notes) want(t *testing.T, h Head, suspected bool, ended int) {
	t.Helper()
	got, count, _ := n.Suspected(h)
	if got != suspected || count != ended {
		t.Errorf("%s is suspected: %v, after %d children; want %v after %d", h.SHA, got, count, suspected, ended)
	}
}

// TestNotes: the next process suspects what this one was judging, and nothing that
// it was done with.
func TestNotes(t *testing.T) {
	state := ledger.NewServerState(ledgertest.Open(t, ledger.Config{}))
	done, twice, died := Head{1, 1, "done"}, Head{1, 2, "twice"}, Head{-7, 0, "died"}
	n := next(t, state, noon)
	ends := map[Head]func() error{}
	for _, h := range []Head{done, twice, died} {
		end, err := n.Begin(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		ends[h] = end
	}
	again, err := n.Begin(t.Context(), twice)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []func() error{ends[done], again, again} { // the last one is not another
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range []Head{done, twice, died} {
		n.want(t, h, false, 0)
	}
	later := next(t, state, noon)
	later.want(t, done, false, 0)
	later.want(t, twice, true, 0)
	later.want(t, died, true, 0)
	if err := later.Clear(t.Context(), twice); err != nil {
		t.Fatal(err)
	}
	later.want(t, twice, false, 0)
	next(t, state, noon).want(t, twice, false, 0)
}

// TestNotesOfChildren are kept until they are forgiven, or for a long time.
func TestNotesOfChildren(t *testing.T) {
	state := ledger.NewServerState(ledgertest.Open(t, ledger.Config{}))
	h := Head{1, 1, "dies"}
	n := next(t, state, noon)
	for range 2 {
		if err := n.Count(t.Context(), h, noon); err != nil {
			t.Fatal(err)
		}
	}
	n.want(t, h, true, 2)
	n = next(t, state, noon)
	n.want(t, h, true, 2)
	if _, _, at := n.Suspected(h); !at.Equal(noon) {
		t.Errorf("the last child ended at %v, want %v", at, noon)
	}
	if err := n.Forgive(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	n.want(t, h, true, 0)
	next(t, state, noon).want(t, h, true, 0)
	next(t, state, noon.Add(forgotten+time.Hour)).want(t, h, false, 0)
	next(t, state, noon).want(t, h, false, 0)
}
