package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// answer stores a reply to a question in a judgement, under a lease as runs do.
func (k *fixture) answer(trust ledger.Trust, judgement, question, request, reply string) {
	k.t.Helper()
	run, err := k.BeginRun(k.t.Context(), trust, nil)
	k.check(err)
	lease, err := run.Lease(k.t.Context(), digest("lease"), "")
	k.check(err)
	k.check(k.SaveCall(k.t.Context(), trust, ledger.Call{
		Key: ledger.CallKey{Digest: judgement, Ordinal: 1, Role: "judge", Seq: 2}, RequestDigest: request, Question: question,
		Request: []byte(`{"q":1}`), Reply: []byte(reply), At: k.now, Lease: lease,
	}))
	k.check(lease.Release(k.t.Context()))
	k.check(run.Close(k.t.Context()))
}

// wantAnswer compares the reply to a question; empty for none.
func (k *fixture) wantAnswer(scope ledger.Scope, question, request, want string) {
	k.t.Helper()
	c, found, err := k.Answer(k.t.Context(), scope, question, request)
	k.check(err)
	if string(c.Reply) != want || found != (want != "") {
		k.t.Errorf("%+v finds the reply %q to %s, want %q", scope, c.Reply, question, want)
	}
}

// testAnswer looks for the replies to a judge's question.
func testAnswer(t *testing.T, b backend) {
	k := newFixture(t, b)
	asBase, asPull := ledger.Scope{Trust: base}, ledger.Scope{Trust: pull7}
	k.wantAnswer(asBase, "is it so?", "r", "")
	k.answer(base, "j", "is it so?", "r", "yes")
	c, found, err := k.Answer(t.Context(), asBase, "is it so?", "r")
	k.check(err)
	want := ledger.Call{
		Key: ledger.CallKey{Digest: "j", Ordinal: 1, Role: "judge", Seq: 2}, RequestDigest: "r", Question: "is it so?",
		Request: []byte(`{"q":1}`), Reply: []byte("yes"), At: epoch,
	}
	if diff := cmp.Diff(want, c); diff != "" || !found {
		t.Errorf("found %v (-want +got):\n%s", found, diff)
	}
	k.wantAnswer(asBase, "is it not so?", "r", "")
	k.wantAnswer(asBase, "is it so?", "another request", "")
	k.wantAnswer(asBase, "", "r", "")

	k.now = epoch.Add(time.Hour)
	k.answer(base, "later", "is it so?", "r", "still")
	k.wantAnswer(asBase, "is it so?", "r", "still")
	k.answer(pull7, "head", "is it so?", "r", "no")
	k.wantAnswer(asPull, "is it so?", "r", "no")
	k.wantAnswer(ledger.Scope{Trust: pull8}, "is it so?", "r", "still")
	k.wantAnswer(asBase, "is it so?", "r", "still")
	k.wantAnswer(ledger.Scope{Trust: base, NotBefore: k.now.Add(1)}, "is it so?", "r", "still") // in milliseconds
	k.wantAnswer(ledger.Scope{Trust: base, NotBefore: k.now.Add(time.Millisecond)}, "is it so?", "r", "")
	k.wantAnswer(ledger.Scope{Trust: base, Nothing: true}, "is it so?", "r", "")

	// A call that takes the place of another one takes its question from it.
	k.answer(base, "later", "", "r", "still")
	k.wantAnswer(asBase, "is it so?", "r", "yes")
}

// testAnswerHistory leaves out what was said before a history restarted, also where another
// judgement has it.
func testAnswerHistory(t *testing.T, b backend) {
	k := newFixture(t, b)
	scope := ledger.Scope{Trust: base}
	k.answer(base, "j", "is it so?", "r", "yes")
	k.answer(base, "another", "is it so?", "r", "yes")
	k.check(ledger.BeginHistories(t.Context(), k.Ledger, []string{"unrelated"}, epoch.Add(time.Minute)))
	k.wantAnswer(scope, "is it so?", "r", "yes")
	k.check(ledger.BeginHistories(t.Context(), k.Ledger, []string{"j"}, epoch.Add(time.Minute)))
	k.wantAnswer(scope, "is it so?", "r", "")
	k.now = epoch.Add(time.Hour)
	k.answer(base, "j", "is it so?", "r", "no")
	k.wantAnswer(scope, "is it so?", "r", "no")
}
