package ledger_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// testFailures: what a case failed with is found under its digest by those who may read it,
// and no longer than what else is collected.
func testFailures(t *testing.T, b backend) {
	k := newFixture(t, b)
	at := func(e string, second int, retry bool) ledger.Failure {
		return ledger.Failure{E: e, Source: "bot", Symptom: "s", Retry: retry, At: epoch.Add(time.Duration(second) * time.Second).UTC()}
	}
	first, second, theirs := at("e", 1, true), at("e", 5, false), at("e", 3, true)
	k.check(k.SaveFailure(t.Context(), base, second))
	k.check(k.SaveFailure(t.Context(), base, first))
	k.check(k.SaveFailure(t.Context(), base, first)) // such as in a task that is repeated
	k.check(k.SaveFailure(t.Context(), pull7, theirs))
	k.check(k.SaveFailure(t.Context(), base, at("another", 1, true)))
	for _, tt := range []struct {
		name  string
		scope ledger.Scope
		want  []ledger.Failure
	}{
		{"base", ledger.Scope{Trust: base}, []ledger.Failure{first, second}},
		{"its own pull request", ledger.Scope{Trust: pull7}, []ledger.Failure{first, theirs, second}},
		{"another pull request", ledger.Scope{Trust: pull8}, []ledger.Failure{first, second}},
		{"since then", ledger.Scope{Trust: base, NotBefore: epoch.Add(2 * time.Second)}, []ledger.Failure{second}},
		{"nothing", ledger.Scope{Trust: base, Nothing: true}, nil},
	} {
		found, err := k.Failures(t.Context(), tt.scope, []string{"e", "none"})
		k.check(err)
		if diff := cmp.Diff(tt.want, found["e"]); diff != "" || len(found["another"])+len(found["none"]) > 0 {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	_, err := k.Collect(t.Context(), ledger.Collection{Before: epoch.Add(4 * time.Second)})
	k.check(err)
	found, err := k.Failures(t.Context(), ledger.Scope{Trust: pull7}, []string{"e"})
	k.check(err)
	if diff := cmp.Diff([]ledger.Failure{second}, found["e"]); diff != "" {
		t.Errorf("after the collection (-want +got):\n%s", diff)
	}
}

// TestALedgerFromBeforeThereWereFailures gets their table when it is opened, and keeps its
// entries.
func TestALedgerFromBeforeThereWereFailures(t *testing.T) {
	for name, path := range map[string]string{"file": filepath.Join(t.TempDir(), "ledger.db"), "database": postgrestest.URL(t)} {
		t.Run(name, func(t *testing.T) {
			open := func() *ledger.Ledger {
				l, err := ledger.Open(t.Context(), ledger.Config{Path: path})
				if err != nil {
					t.Fatal(err)
				}
				return l
			}
			failure := ledger.Failure{E: "e", Source: "bot", Symptom: "s", At: epoch.UTC()}
			l := open()
			if err := l.Save(t.Context(), outcome(base, digestsOf("case"), 0, "text")); err != nil {
				t.Fatal(err)
			}
			err := l.Store().Submit(t.Context(), func(tx *store.Tx) error {
				dropped := errors.Join(tx.Exec("DROP TABLE failures"), tx.Exec("DROP TABLE parts"))
				if name == "file" {
					return dropped
				}
				return errors.Join(dropped, tx.Exec("UPDATE ledger_version SET version = 1"))
			})
			if err := errors.Join(err, l.Close()); err != nil {
				t.Fatal(err)
			}
			if name == "file" {
				raw(t, path, "PRAGMA user_version = 1")
			}
			l = open()
			defer l.Close() //nolint:errcheck // nothing is written after
			if err := l.SaveFailure(t.Context(), base, failure); err != nil {
				t.Fatal(err)
			}
			found, err := l.Failures(t.Context(), ledger.Scope{Trust: base}, []string{"e"})
			counts, counting := l.Counts(t.Context())
			if diff := cmp.Diff([]ledger.Failure{failure}, found["e"]); diff != "" || counts.Samples != 1 || err != nil || counting != nil {
				t.Errorf("%d samples, %v, %v (-want +got):\n%s", counts.Samples, err, counting, diff)
			}
		})
	}
}
