package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// full saves a case with its journal.
func (k *fixture) full(trust ledger.Trust, name string) plan.Digests {
	k.t.Helper()
	d := digestsOf(name)
	k.save(outcome(trust, d, 0, name))
	for _, digest := range []string{d.E, d.J} {
		k.check(k.SaveCall(k.t.Context(), trust, ledger.Call{
			Key: ledger.CallKey{Digest: digest, Role: "target"}, Request: []byte("{}"), Reply: []byte("{}"), At: k.now,
		}))
	}
	return d
}

func (k *fixture) collect(c ledger.Collection, want ledger.Removed) {
	k.t.Helper()
	dry := c
	dry.DryRun = true
	for _, c := range []ledger.Collection{dry, c} {
		got, err := k.Collect(k.t.Context(), c)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			k.t.Errorf("removed, dry %v: %v (-want +got):\n%s", c.DryRun, err, diff)
		}
	}
}

func testCollect(t *testing.T, b backend) {
	k := newFixture(t, b)
	needed, old, wanted := k.full(base, "needed"), k.full(base, "old"), k.full(base, "wanted")
	open, closed := k.full(pull7, "open"), k.full(pull8, "closed")
	// The needed sample was judged by another rubric once, and the open pull
	// request has judged a sample of base that nobody else needs.
	was := digestsOf("was")
	was.E = needed.E
	_, j := sample(0, "was")
	k.save(ledger.Outcome{Trust: base, Digests: was, Samples: []ledger.Judgement{j}, Decision: decision(1, "was")})
	theirs := k.full(base, "theirs")
	rejudged := digestsOf("rejudged")
	rejudged.E = theirs.E
	k.save(ledger.Outcome{Trust: pull7, Digests: rejudged, Samples: []ledger.Judgement{j}, Decision: decision(1, "was")})
	k.now = epoch.Add(time.Hour)
	young := k.full(base, "young")
	k.want(base, wanted.E, wanted.J, wanted.D)

	c := ledger.Collection{Needed: []plan.Digests{needed}, Closed: []ledger.Trust{pull8}}
	k.collect(c, ledger.Removed{}) // no age
	c.Before = epoch.Add(time.Minute)
	// old and closed go, of needed the judgement by the other rubric, and of
	// theirs what base judged.
	k.collect(c, ledger.Removed{Samples: 2, Judgements: 4, Verdicts: 4, Calls: 5})
	k.collect(c, ledger.Removed{})
	for _, tt := range []struct {
		name string
		d    plan.Digests
	}{{"needed", needed}, {"wanted", wanted}, {"young", young}} {
		k.wantSeen(ledger.Scope{Trust: base}, tt.d, one(tt.name))
	}
	k.wantSeen(ledger.Scope{Trust: base}, old, seen{})
	k.wantSeen(ledger.Scope{Trust: pull7}, open, one("open"))
	k.wantSeen(ledger.Scope{Trust: pull8}, closed, seen{})
	k.wantSeen(ledger.Scope{Trust: pull7}, rejudged, seen{
		Executions: map[int]string{0: "theirs"}, Judgements: map[int]string{0: "was"}, Next: 1, Decision: "was",
	})
	for _, tt := range []struct {
		digest string
		want   int
	}{{needed.E, 1}, {needed.J, 1}, {old.E, 0}, {old.J, 0}, {theirs.E, 1}, {theirs.J, 0}} {
		calls, err := k.Calls(t.Context(), ledger.Scope{Trust: base}, tt.digest, 0)
		if err != nil || len(calls) != tt.want {
			t.Errorf("%d calls of %s, want %d (%v)", len(calls), tt.digest, tt.want, err)
		}
	}
	if v := k.verify(nil); len(v.Faults) > 0 {
		t.Errorf("after a collection: %v", v.Faults)
	}
}

func testCollectBySize(t *testing.T, b backend) {
	k := newFixture(t, b)
	var last plan.Digests
	for i := range 64 {
		k.now = epoch.Add(time.Duration(i) * time.Minute)
		last = digestsOf(fmt.Sprint(i))
		o := outcome(base, last, 0, fmt.Sprint(i))
		o.Executions[0].Transcript.System = strings.Repeat("long ", 5000)
		k.save(o)
	}
	before, err := k.Counts(t.Context())
	k.check(err)
	half := before.Bytes / 2
	removed, err := k.Collect(t.Context(), ledger.Collection{MaxBytes: half, Needed: []plan.Digests{digestsOf("0")}})
	k.check(err)
	after, err := k.Counts(t.Context())
	k.check(err)
	name := k.Store().Path() // a file returns its free space; PostgreSQL uses it again
	if after.Bytes > half || after.Bytes < half/2 || after.Samples+removed.Samples != 64 || after.Free != 0 && !strings.HasPrefix(name, "postgres:") {
		t.Errorf("%+v became %+v, removed %+v", before, after, removed)
	}
	k.wantSeen(ledger.Scope{Trust: base}, digestsOf("0"), one("0"))
	k.wantSeen(ledger.Scope{Trust: base}, digestsOf("1"), seen{})
	k.wantSeen(ledger.Scope{Trust: base}, last, one("63"))
}

func testCollectRuns(t *testing.T, b backend) {
	k := newFixture(t, b)
	n := 0
	report := func(pull int, items ...string) {
		t.Helper()
		n++
		r := ledger.Run{ID: fmt.Sprint(n), PullRequest: pull, Started: epoch.Add(time.Duration(n) * time.Second), Report: []byte("{}")}
		var out []ledger.OutboxItem
		for _, item := range items {
			out = append(out, ledger.OutboxItem{Destination: item, ContentDigest: fmt.Sprint(n), Body: []byte("{}")})
		}
		k.check(k.SaveReport(t.Context(), r, out...))
	}
	publish := func(receipt string) {
		t.Helper()
		pending, err := k.Pending(t.Context())
		k.check(err)
		for _, item := range pending {
			k.check(k.MarkPublished(t.Context(), item, receipt))
		}
	}
	report(7, "status") // 1: goes
	publish("")
	report(7, "comment 7") // 2: knows the ID of the comment
	publish("number 7")
	report(8, "comment 8") // 3: still to be published
	report(8)              // 4: goes
	report(8)              // 5: the newest of 8
	report(7)              // 6: the newest of 7
	k.now = epoch.Add(time.Hour)
	k.collect(ledger.Collection{Before: k.now}, ledger.Removed{Runs: 2})
	runs, err := k.Runs(t.Context(), 9)
	k.check(err)
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	if diff := cmp.Diff([]string{"6", "5", "3", "2"}, ids); diff != "" {
		t.Errorf("runs that are left (-want +got):\n%s", diff)
	}
	if receipt, err := k.Receipt(t.Context(), "comment 7"); err != nil || receipt != "number 7" {
		t.Errorf("receipt %q, %v", receipt, err)
	}
}

// verify decides by what the rules say of a digest; nil knows none.
func (k *fixture) verify(rules map[string]verdict.Result) ledger.Verification {
	k.t.Helper()
	v, err := k.Verify(k.t.Context(), func(d string, samples []verdict.Sample) (verdict.Result, bool) {
		if len(samples) != 1 {
			k.t.Errorf("%d samples", len(samples))
		}
		result, ok := rules[d]
		return result, ok
	})
	k.check(err)
	return v
}

func testVerify(t *testing.T, b backend) {
	k := newFixture(t, b)
	good, bad := k.full(base, "good"), k.full(pull7, "bad")
	k.full(operator, "unknown")
	right := decision(1, "good").Result
	wrong := right
	wrong.Verdict = verdict.Fail
	v := k.verify(map[string]verdict.Result{good.D: right, bad.D: wrong})
	want := ledger.Verification{Verdicts: 3, Redecided: 2, Faults: []ledger.Fault{
		{Entry: "verdict " + bad.D, Message: "it is pass 0.5, and fail 0.5 follows from its samples"},
	}}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func testExport(t *testing.T, b backend) {
	k := newFixture(t, b)
	d := k.full(base, "case")
	k.check(k.SaveReport(t.Context(), ledger.Run{ID: "r", Started: epoch, Report: []byte(`{"gate":"pass"}`)}))
	var kinds []string
	err := k.Export(t.Context(), func(raw json.RawMessage) error {
		var line struct {
			Type, E, J, D, Digest string
			Created               time.Time
			Transcript            verdict.Transcript
			Decision              ledger.Decision
		}
		if err := json.Unmarshal(raw, &line); err != nil {
			return err
		}
		switch line.Type {
		case "sample":
			if line.E != d.E || line.Transcript.Final() != "case" || !line.Created.Equal(epoch) {
				t.Errorf("the line is %s, want the measurement of the case", raw)
			}
		case "verdict":
			if line.D != d.D || line.Decision.Result.Verdict != verdict.Pass {
				t.Errorf("the line is %s, want the decision of the case, a pass", raw)
			}
		}
		kinds = append(kinds, line.Type)
		return nil
	})
	if diff := cmp.Diff([]string{"sample", "judgement", "verdict", "call", "call", "run"}, kinds); diff != "" || err != nil {
		t.Errorf("exported (-want +got): %v\n%s", err, diff)
	}
}
