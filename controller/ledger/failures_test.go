package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
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
