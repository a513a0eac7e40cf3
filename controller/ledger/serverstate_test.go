package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
)

var stateNoon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func newState(t *testing.T) *ledger.ServerState {
	t.Helper()
	return ledger.NewServerState(ledgertest.Open(t, ledger.Config{}))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNames stay what they were first, and belong to one repository.
func TestNames(t *testing.T) {
	s := newState(t)
	for _, tt := range []struct {
		id        int64
		now, want string
	}{
		{1, "octo/demo", "octo/demo"},
		{1, "octo/renamed", "octo/demo"},
		{-2, "octo/demo", "octo/demo (-2)"},
		{3, "octo/renamed", "octo/renamed"},
		{-2, "octo/other", "octo/demo (-2)"},
	} {
		if got, err := s.Name(t.Context(), tt.id, tt.now); err != nil || got != tt.want {
			t.Errorf("repository %d, now %s, is %q, %v; want %q", tt.id, tt.now, got, err, tt.want)
		}
	}
}

// TestPending keeps heads apart by all that names them, and moves them to the id
// that the server gives a repository.
func TestPending(t *testing.T) {
	s := newState(t)
	pull := ledger.PendingHead{Repository: 1, Kind: "pull", Pull: 7, SHA: "a", Seen: stateNoon}
	branch := ledger.PendingHead{Repository: 1, Kind: "branch", Ref: "main", SHA: "a"}
	for _, h := range []ledger.PendingHead{pull, branch, {Repository: 9, Kind: "branch", Ref: "main", SHA: "a"}} {
		check(t, s.AddPending(t.Context(), h))
	}
	pull.Contexts = []string{"gavel/support"}
	check(t, s.AddPending(t.Context(), pull))
	got, known, err := s.Load(t.Context(), ledger.PendingHead{Repository: 1, Kind: "pull", Pull: 7, SHA: "a"})
	if diff := cmp.Diff(pull, got); err != nil || !known || diff != "" {
		t.Errorf("known: %v, %v; -want +got:\n%s", known, err, diff)
	}
	if _, known, err := s.Load(t.Context(), ledger.PendingHead{Repository: 1, Kind: "pull", Pull: 8, SHA: "a"}); err != nil || known {
		t.Errorf("a head that nobody added is known: %v, %v", known, err)
	}
	check(t, s.MovePending(t.Context(), 1, 2))
	check(t, s.MovePending(t.Context(), 2, 2))
	check(t, s.MovePending(t.Context(), 0, 2))
	if left, err := s.Pending(t.Context(), 1); err != nil || len(left) > 0 {
		t.Errorf("the old id has %+v, %v; want none", left, err)
	}
	branch.Repository, pull.Repository = 2, 2
	check(t, s.RemovePending(t.Context(), branch))
	left, err := s.Pending(t.Context(), 2)
	if diff := cmp.Diff([]ledger.PendingHead{pull}, left); err != nil || diff != "" {
		t.Errorf("%v; -want +got:\n%s", err, diff)
	}
}
