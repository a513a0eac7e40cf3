package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// A backend makes empty stores and opens them.
type backend struct {
	// empty names a store that nobody uses yet.
	empty func(t *testing.T) string
	// open opens a store by its name. It is closed with the test.
	open func(t *testing.T, store string, now func() time.Time) *ledger.Ledger
	// leased has outcomes stored under leases that nobody else asks for.
	leased bool
}

func TestSQLite(t *testing.T) {
	conformance(t, backend{
		empty: func(t *testing.T) string { return t.TempDir() + "/ledger.db" },
		open: func(t *testing.T, store string, now func() time.Time) *ledger.Ledger {
			return ledgertest.Open(t, ledger.Config{Path: store, Now: now})
		},
	})
}

// tables is a ledger in a database, which is copied for each test.
var tables = postgrestest.NewTemplate(ledgertest.Make)

func TestPostgres(t *testing.T) {
	conformance(t, backend{
		empty: func(t *testing.T) string { return tables.URL(t) },
		open: func(t *testing.T, store string, now func() time.Time) *ledger.Ledger {
			return ledgertest.Open(t, ledger.Config{Path: store, Now: now})
		},
	})
}

// TestPostgresUnderLeases has every outcome stored under a lease, as workers do.
func TestPostgresUnderLeases(t *testing.T) {
	conformance(t, backend{
		empty: func(t *testing.T) string { return tables.URL(t) },
		open: func(t *testing.T, store string, now func() time.Time) *ledger.Ledger {
			return ledgertest.Open(t, ledger.Config{Path: store, Now: now})
		},
		leased: true,
	})
}

// conformance has the demands on every backend.
func conformance(t *testing.T, b backend) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, backend)
	}{
		{"round trip", testRoundTrip},
		{"first sample wins", testFirstWins},
		{"nothing of a loser", testLoser},
		{"errors are refused", testRefused},
		{"visibility", testVisibility},
		{"no shadow", testNoShadow},
		{"own samples", testOwnSamples},
		{"last replies", testLastReplies},
		{"age", testAge},
		{"more samples", testMoreSamples},
		{"known", testKnown},
		{"parts", testParts},
		{"shared parts", testSharedParts},
		{"journal", testJournal},
		{"journal by trust", testJournalTrust}, {"answers to a question", testAnswer}, {"answers of a history", testAnswerHistory},
		{"runs", testRuns},
		{"outbox", testOutbox},
		{"two at once", testTwoAtOnce},
		{"fail alone", testFailAlone},
		{"lease", testLease},
		{"blank lease", testBlankLease},
		{"lease by trust", testLeaseTrust},
		{"lost lease", testLostLease},
		{"lease of this process", testLeaseOfThisProcess},
		{"clock", testLeaseClock},
		{"wanted", testWanted},
		{"failures", testFailures},
		{"dead run", testDeadRun},
		{"collect", testCollect},
		{"collect by size", testCollectBySize},
		{"collect runs", testCollectRuns},
		{"verify", testVerify},
		{"export", testExport},
		{"spending", testSpending},
		{"spending at once", testSpendingAtOnce},
		{"claims", testClaims},
		{"unreported", testUnreported},
		{"commands", testCommands},
		{"heads", testHeads},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, b)
		})
	}
}

// A fixture is a ledger with short ways to write and read one case.
type fixture struct {
	*ledger.Ledger
	t      *testing.T
	now    time.Time
	leased bool // see backend
}

func newFixture(t *testing.T, b backend) *fixture {
	k := &fixture{t: t, now: epoch, leased: b.leased}
	k.Ledger = b.open(t, b.empty(t), func() time.Time { return k.now })
	return k
}

// sample makes an execution and a judgement that say text.
func sample(ordinal int, text string) (ledger.Execution, ledger.Judgement) {
	usage := verdict.Usage{Calls: 1, InputTokens: 3, OutputTokens: 2, CostUSD: 0.25}
	x := ledger.Execution{
		Ordinal: ordinal, Duration: 2 * time.Second, Usage: usage,
		Transcript: verdict.Transcript{
			System: "system", Model: "model", Traced: true, Latency: time.Second, Usage: usage,
			Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text}},
		},
	}
	j := ledger.Judgement{Usage: usage, Sample: verdict.Sample{Ordinal: ordinal, Measurements: []verdict.Measurement{{
		Evaluator: "main", Reason: text, Criteria: []verdict.Criterion{{ID: "a", Score: 0.5, Veto: true, Note: "note"}},
		Asked: "asked", Answered: "answered", Usage: usage,
	}}}}
	return x, j
}

func decision(samples int, reason string) *ledger.Decision {
	score := 0.5
	return &ledger.Decision{
		Result: verdict.Result{
			Verdict: verdict.Pass, Score: &score, Samples: samples, Reason: reason,
			Evaluators: []verdict.EvaluatorResult{{Name: "main", Score: 0.5, Pass: true, Criteria: []verdict.Criterion{{ID: "a", Score: 0.5}}}},
		},
		Usage: verdict.Usage{Calls: 2, Unpriced: 1}, Duration: 3 * time.Second, Samples: samples,
	}
}

// outcome is a whole case with one sample, all of it saying text.
func outcome(trust ledger.Trust, d plan.Digests, ordinal int, text string) ledger.Outcome {
	x, j := sample(ordinal, text)
	return ledger.Outcome{
		Trust: trust, Digests: d,
		Executions: []ledger.Execution{x}, Samples: []ledger.Judgement{j}, Decision: decision(1, text),
	}
}

func (k *fixture) save(o ledger.Outcome) {
	k.t.Helper()
	if k.leased && o.Lease == nil {
		run, err := k.BeginRun(k.t.Context(), o.Trust, nil)
		k.check(err)
		o.Lease, err = run.Lease(k.t.Context(), "of nobody "+o.Digests.E, "")
		k.check(err)
		defer func() { k.check(run.Close(k.t.Context())) }()
	}
	if err := k.Save(k.t.Context(), o); err != nil {
		k.t.Fatal(err)
	}
}

// seen is a scope's view of a case: the texts by ordinal, and the text of the decision.
type seen struct {
	Executions, Judgements map[int]string
	Next                   int
	Decision               string
}

func (k *fixture) see(scope ledger.Scope, d plan.Digests) seen {
	k.t.Helper()
	ctx := k.t.Context()
	s := seen{Executions: map[int]string{}, Judgements: map[int]string{}}
	executions, next, err := k.Executions(ctx, scope, d.E)
	k.check(err)
	s.Next = next
	for _, x := range executions {
		s.Executions[x.Ordinal] = x.Transcript.Final()
	}
	judgements, err := k.Judgements(ctx, scope, d.J)
	k.check(err)
	for _, j := range judgements {
		s.Judgements[j.Sample.Ordinal] = j.Sample.Measurements[0].Reason
	}
	decided, err := k.Decided(ctx, scope, []string{d.D})
	k.check(err)
	if found := decided[d.D]; found != nil {
		s.Decision = found.Result.Reason
	}

	// Reading in bulk and one by one give the same.
	asked := []plan.Digests{d, {E: d.E, J: d.J, D: "undecided"}}
	known, err := k.Stored(ctx, scope, asked)
	k.check(err)
	counted, err := k.Samples(ctx, scope, asked, decided)
	k.check(err)
	for i, c := range counted {
		if was := known[i]; c.Executed != was.Executed || c.Judged != was.Judged || (c.Decided == nil) != (was.Decided == nil) {
			k.t.Errorf("known of digest %d are %+v, and with its decision %+v", i, was, c)
		}
	}
	if got := known[0].Decided != nil; got != (s.Decision != "") {
		k.t.Errorf("known to be decided: %v, but the decision is %q", got, s.Decision)
	}
	if known[1].Executed != len(s.Executions) || known[1].Judged != len(s.Judgements) {
		k.t.Errorf("known are %d samples and %d judgements, read are %d and %d", known[1].Executed, known[1].Judged, len(s.Executions), len(s.Judgements))
	}
	return s
}

func (k *fixture) check(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *fixture) wantSeen(scope ledger.Scope, d plan.Digests, want seen) {
	k.t.Helper()
	if diff := cmp.Diff(want, k.see(scope, d), cmpopts.EquateEmpty()); diff != "" {
		k.t.Errorf("seen by %+v (-want +got):\n%s", scope, diff)
	}
}

func one(text string) seen {
	return seen{Executions: map[int]string{0: text}, Judgements: map[int]string{0: text}, Next: 1, Decision: text}
}

func testRoundTrip(t *testing.T, b backend) {
	k, d := newFixture(t, b), digestsOf("case")
	in := outcome(base, d, 0, "hello")
	k.save(in)
	scope := ledger.Scope{Trust: base}
	executions, next, err := k.Executions(t.Context(), scope, d.E)
	k.check(err)
	if diff := cmp.Diff(in.Executions, executions); diff != "" || next != 1 {
		t.Errorf("next %d, executions (-want +got):\n%s", next, diff)
	}
	judgements, err := k.Judgements(t.Context(), scope, d.J)
	k.check(err)
	if diff := cmp.Diff(in.Samples, judgements); diff != "" {
		t.Errorf("judgements (-want +got):\n%s", diff)
	}
	decided, err := k.Decided(t.Context(), scope, []string{"", d.D, "unknown", d.D})
	k.check(err)
	want := *in.Decision
	want.E, want.J, want.Created, want.Oldest = d.E, d.J, epoch, epoch
	if diff := cmp.Diff(map[string]*ledger.Decision{d.D: &want}, decided); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

func testFirstWins(t *testing.T, b backend) {
	k, d := newFixture(t, b), digestsOf("case")
	k.save(outcome(base, d, 0, "first"))
	k.save(outcome(operator, d, 0, "second"))
	k.wantSeen(ledger.Scope{Trust: base}, d, one("first"))

	// The same sample judged under another J, by two who do not know of each
	// other.
	other := d
	other.J, other.D = digest("j2"), digest("d2")
	for _, text := range []string{"one judge", "other judge"} {
		_, j := sample(0, text)
		k.save(ledger.Outcome{Trust: base, Digests: other, Samples: []ledger.Judgement{j}, Decision: decision(1, text)})
	}
	want := one("one judge")
	want.Executions[0] = "first"
	k.wantSeen(ledger.Scope{Trust: base}, other, want)
}

// testLoser saves what rests on a sample that came too late: nothing of it
// may be kept, or there would be a verdict that no stored transcript explains.
func testLoser(t *testing.T, b backend) {
	k, d := newFixture(t, b), digestsOf("case")
	winner := outcome(base, d, 0, "winner")
	winner.Samples, winner.Decision = nil, nil
	k.save(winner)

	loser := outcome(base, d, 0, "loser")
	x, j := sample(1, "kept")
	loser.Executions, loser.Samples = append(loser.Executions, x), append(loser.Samples, j)
	loser.Decision = decision(2, "loser")
	k.save(loser)
	k.wantSeen(ledger.Scope{Trust: base}, d, seen{
		Executions: map[int]string{0: "winner", 1: "kept"}, Judgements: map[int]string{1: "kept"}, Next: 2,
	})
}

func testRefused(t *testing.T, b backend) {
	k := newFixture(t, b)
	for _, tt := range []struct {
		name  string
		spoil func(*ledger.Outcome)
	}{
		{"error in a sample", func(o *ledger.Outcome) { o.Samples[0].Sample.Error = "timeout" }},
		{"error in a measurement", func(o *ledger.Outcome) { o.Samples[0].Sample.Measurements[0].Error = "no judge" }},
		{"error as the verdict", func(o *ledger.Outcome) { o.Decision.Result.Verdict = verdict.Error }},
		{"no trust", func(o *ledger.Outcome) { o.Trust = ledger.Trust{} }},
		{"too much trust", func(o *ledger.Outcome) { o.Trust.Level = ledger.LevelOperator + 1 }},
		{"judgement on nothing", func(o *ledger.Outcome) { o.Executions = nil }},
		{"decision on nothing", func(o *ledger.Outcome) { o.Executions, o.Samples = nil, nil }},
		{"decision on no sample", func(o *ledger.Outcome) { o.Executions, o.Samples, o.Decision.Samples = nil, nil, 0 }},
		{"ordinal below 0", func(o *ledger.Outcome) { o.Executions[0].Ordinal = -1; o.Samples = nil; o.Decision = nil }},
		{"judgement of another", func(o *ledger.Outcome) { o.Samples[0].Sample.Ordinal = 5 }},
		{"score that is no number", func(o *ledger.Outcome) { *o.Decision.Result.Score = nan() }},
	} {
		d := digestsOf(tt.name)
		o := outcome(base, d, 0, "text")
		tt.spoil(&o)
		if err := k.Save(t.Context(), o); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
		k.wantSeen(ledger.Scope{Trust: base}, d, seen{})
	}
}

// testVisibility goes through who sees whose entries: the entries of an untrusted head
// serve only the same pull request of the same repository.
func testVisibility(t *testing.T, b backend) {
	who := map[string]ledger.Trust{
		"operator":         operator,
		"base":             base,
		"other base":       {Level: ledger.LevelBase, Repository: "x/y"},
		"base, naming 7":   {Level: ledger.LevelBase, Repository: "o/r", PullRequest: 7},
		"operator, naming": {Level: ledger.LevelOperator, Repository: "o/r", PullRequest: 7},
		"pull 7":           pull7,
		"pull 8":           pull8,
		"other's pull 7":   {Level: ledger.LevelPull, Repository: "x/y", PullRequest: 7},
		"no pull":          {Level: ledger.LevelPull, Repository: "o/r"},
		"pull 77":          {Level: ledger.LevelPull, Repository: "o/r", PullRequest: 77},
	}
	k := newFixture(t, b)
	for writer, w := range who {
		d := digestsOf(writer)
		k.save(outcome(w, d, 0, "text"))
		key := ledger.CallKey{Digest: d.E, Role: "target"}
		k.check(k.SaveCall(t.Context(), w, ledger.Call{Key: key, Request: []byte("{}"), Reply: []byte("{}"), At: epoch}))
		for reader, r := range who {
			visible := w.Level >= ledger.LevelBase || (w == r && w.PullRequest != 0)
			want := seen{}
			if visible {
				want = one("text")
			}
			t.Run(fmt.Sprintf("%s by %s", writer, reader), func(t *testing.T) {
				k := &fixture{Ledger: k.Ledger, t: t}
				k.wantSeen(ledger.Scope{Trust: r}, d, want)
				k.wantSeen(ledger.Scope{Trust: r, Nothing: true}, d, seen{Next: want.Next})
				calls, err := k.Calls(t.Context(), ledger.Scope{Trust: r}, d.E, 0)
				k.check(err)
				if (len(calls) == 1) != visible {
					t.Errorf("%d calls seen", len(calls))
				}
			})
		}
	}
}

// testNoShadow has untrusted entries come first: base and other pull requests
// go on as if they were not there.
func testNoShadow(t *testing.T, b backend) {
	k, d := newFixture(t, b), digestsOf("case")
	k.save(outcome(pull7, d, 0, "seven"))
	k.wantSeen(ledger.Scope{Trust: base}, d, seen{})
	k.save(outcome(pull8, d, 0, "eight"))
	k.save(outcome(base, d, 0, "base"))
	k.wantSeen(ledger.Scope{Trust: base}, d, one("base"))
	k.wantSeen(ledger.Scope{Trust: operator}, d, one("base"))
	k.wantSeen(ledger.Scope{Trust: pull7}, d, one("seven"))
	k.wantSeen(ledger.Scope{Trust: pull8}, d, one("eight"))
}

// testLastReplies: a scope sees the reply of the last sample, its own before base's, and no
// other pull request's. Each digest has its own reply, and two that share a sample have both
// the same.
func testLastReplies(t *testing.T, b backend) {
	k, d := newFixture(t, b), digestsOf("case")
	k.save(outcome(base, d, 0, "first"))
	k.save(outcome(base, d, 1, "base"))
	k.save(outcome(pull7, d, 1, "seven"))
	k.save(outcome(pull8, d, 2, "eight"))
	for trust, want := range map[ledger.Trust]string{base: "base", pull7: "seven", pull8: "eight"} {
		got, err := ledger.LastReplies(t.Context(), k.Ledger, ledger.Scope{Trust: trust}, []string{d.D, "unknown"})
		k.check(err)
		if len(got) != 1 || got[d.D].Content != want {
			t.Errorf("%+v sees %v, want %s", trust, got, want)
		}
	}
	sharing, other := d, digestsOf("other")
	sharing.D = digest("another d")
	k.save(ledger.Outcome{Trust: base, Digests: sharing, Decision: decision(1, "of the same sample")})
	k.save(outcome(base, other, 0, "other"))
	got, err := ledger.LastReplies(t.Context(), k.Ledger, ledger.Scope{Trust: base}, []string{d.D, other.D, "unknown", sharing.D})
	k.check(err)
	if len(got) != 3 || got[d.D].Content != "base" || got[sharing.D].Content != "base" || got[other.D].Content != "other" {
		t.Errorf("several digests have the replies %v", got)
	}
	got, err = ledger.LastReplies(t.Context(), k.Ledger, ledger.Scope{Trust: base, Nothing: true}, []string{d.D})
	if k.check(err); len(got) > 0 {
		t.Errorf("a scope without entries sees %v", got)
	}
}

// testOwnSamples has a pull request and base hold different samples of one
// ordinal: a judgement is read only with the very sample that was judged.
func testOwnSamples(t *testing.T, b backend) {
	k, d := newFixture(t, b), digestsOf("case")
	k.save(outcome(pull7, d, 0, "seven"))
	other := digestsOf("case")
	other.J, other.D = digest("other j"), digest("other d")
	k.save(outcome(base, other, 0, "base"))
	k.wantSeen(ledger.Scope{Trust: pull7}, other, seen{
		Executions: map[int]string{0: "seven"}, Next: 1, Decision: "base",
	})

	// Judging its own sample, the pull request is not held up by base's.
	_, j := sample(0, "seven again")
	k.save(ledger.Outcome{Trust: pull7, Digests: other, Samples: []ledger.Judgement{j}, Decision: decision(1, "seven again")})
	k.wantSeen(ledger.Scope{Trust: pull7}, other, seen{
		Executions: map[int]string{0: "seven"}, Judgements: map[int]string{0: "seven again"}, Next: 1, Decision: "seven again",
	})
	k.wantSeen(ledger.Scope{Trust: base}, other, one("base"))

	// Base cannot be made to judge, or decide over, another's samples.
	seventh := digestsOf("seventh")
	k.save(outcome(pull7, seventh, 0, "seven"))
	_, j = sample(0, "taken over")
	for _, o := range []ledger.Outcome{
		{Trust: base, Digests: seventh, Samples: []ledger.Judgement{j}},
		{Trust: pull8, Digests: seventh, Samples: []ledger.Judgement{j}},
		{Trust: operator, Digests: seventh, Decision: decision(1, "taken over")},
	} {
		if err := k.Save(t.Context(), o); err == nil {
			t.Errorf("%+v took over what pull request 7 wrote", o.Trust)
		}
	}
	k.wantSeen(ledger.Scope{Trust: base}, seventh, seen{})

	// And what it judges of base's samples serves only itself.
	third := digestsOf("third")
	k.save(outcome(base, third, 0, "base"))
	rejudged := third
	rejudged.J, rejudged.D = digest("third j"), digest("third d")
	_, j = sample(0, "praise")
	k.save(ledger.Outcome{Trust: pull7, Digests: rejudged, Samples: []ledger.Judgement{j}, Decision: decision(1, "praise")})
	k.wantSeen(ledger.Scope{Trust: base}, rejudged, seen{Executions: map[int]string{0: "base"}, Next: 1})
	k.wantSeen(ledger.Scope{Trust: pull8}, rejudged, seen{Executions: map[int]string{0: "base"}, Next: 1})

	// Once base judges the same, each reads its own.
	_, j = sample(0, "base")
	k.save(ledger.Outcome{Trust: base, Digests: rejudged, Samples: []ledger.Judgement{j}, Decision: decision(1, "base")})
	k.wantSeen(ledger.Scope{Trust: base}, rejudged, one("base"))
	k.wantSeen(ledger.Scope{Trust: pull7}, rejudged, seen{
		Executions: map[int]string{0: "base"}, Judgements: map[int]string{0: "praise"}, Next: 1, Decision: "praise",
	})
}

func testAge(t *testing.T, b backend) {
	k, d := newFixture(t, b), digestsOf("case")
	k.save(outcome(base, d, 0, "old"))
	k.now = epoch.Add(time.Hour)
	fresh := ledger.Scope{Trust: base, NotBefore: epoch.Add(time.Minute)}
	k.wantSeen(ledger.Scope{Trust: base, NotBefore: epoch}, d, one("old"))
	k.wantSeen(fresh, d, seen{Next: 1})

	// Judging an old transcript again makes it no younger.
	again := d
	again.J, again.D = digest("again j"), digest("again d")
	_, j := sample(0, "again")
	k.save(ledger.Outcome{Trust: base, Digests: again, Samples: []ledger.Judgement{j}, Decision: decision(1, "again")})
	k.wantSeen(fresh, again, seen{Next: 1})
	// Nor does deciding again.
	anew := again
	anew.D = digest("anew d")
	k.save(ledger.Outcome{Trust: base, Digests: anew, Decision: decision(1, "anew")})
	// Nor does it count in the question for earlier decisions.
	for _, tt := range []struct {
		before time.Duration
		want   string
	}{{time.Hour, ""}, {time.Hour + time.Second, "anew"}} {
		if got := k.see(ledger.Scope{Trust: base, Before: epoch.Add(tt.before)}, anew).Decision; got != tt.want {
			t.Errorf("before %v it was decided %q, want %q", tt.before, got, tt.want)
		}
	}
	k.wantSeen(fresh, anew, seen{Next: 1})
	k.wantSeen(ledger.Scope{Trust: base}, anew, seen{
		Executions: map[int]string{0: "old"}, Judgements: map[int]string{0: "again"}, Next: 1, Decision: "anew",
	})

	// A new sample has the digest decided again, and that is read.
	k.save(outcome(base, d, 1, "new"))
	k.wantSeen(fresh, d, seen{
		Executions: map[int]string{1: "new"}, Judgements: map[int]string{1: "new"}, Next: 2, Decision: "new",
	})
	k.wantSeen(ledger.Scope{Trust: base}, d, seen{
		Executions: map[int]string{0: "old", 1: "new"}, Judgements: map[int]string{0: "old", 1: "new"}, Next: 2, Decision: "new",
	})
}

// testMoreSamples decides over stored and new samples together, by the number
// of iterations that is wanted.
func testMoreSamples(t *testing.T, b backend) {
	k, first := newFixture(t, b), digestsOf("case")
	k.save(outcome(base, first, 0, "0"))
	more := func(name string, at time.Duration, ordinal, samples int) plan.Digests {
		k.now = epoch.Add(at)
		d := first
		d.D = digest("%s", name)
		o := outcome(base, d, ordinal, fmt.Sprint(ordinal))
		o.Decision = decision(samples, name)
		k.save(o)
		return d
	}
	two := more("two", time.Hour, 1, 2)
	three := more("three", 2*time.Hour, 2, 3)
	lastTwo := more("last two", 3*time.Hour, 3, 2) // samples 0 and 1 were too old
	decided := func(d plan.Digests, notBefore time.Duration) string {
		t.Helper()
		return k.see(ledger.Scope{Trust: base, NotBefore: epoch.Add(notBefore)}, d).Decision
	}
	for _, tt := range []struct {
		digests   plan.Digests
		notBefore time.Duration
		want      string
	}{
		{first, 0, "0"}, {first, time.Minute, ""},
		{two, 0, "two"}, {two, time.Minute, ""},
		{three, 0, "three"}, {three, time.Minute, ""},
		{lastTwo, 2 * time.Hour, "last two"}, {lastTwo, 3 * time.Hour, ""},
	} {
		if got := decided(tt.digests, tt.notBefore); got != tt.want {
			t.Errorf("not before %v is decided %q, want %q", tt.notBefore, got, tt.want)
		}
	}

	// Decided again on later samples, the later decision counts.
	o := outcome(base, two, 4, "4")
	o.Decision = decision(2, "later")
	k.save(o)
	if got := decided(two, 0); got != "later" {
		t.Errorf("decided is %q", got)
	}
	// Two judgements on one sample are one sample.
	twice := digestsOf("twice")
	for i := range 2 {
		k.now = epoch.Add(time.Duration(i) * time.Hour)
		o := outcome(base, twice, i, "base")
		o.Decision = nil
		k.save(o)
		o.Trust, o.Executions = pull7, nil
		k.save(o)
	}
	k.save(ledger.Outcome{Trust: pull7, Digests: twice, Decision: decision(2, "twice")})
	for _, tt := range []struct {
		notBefore time.Duration
		want      string
	}{{0, "twice"}, {time.Minute, ""}} {
		if got := k.see(ledger.Scope{Trust: pull7, NotBefore: epoch.Add(tt.notBefore)}, twice).Decision; got != tt.want {
			t.Errorf("not before %v is decided %q, want %q", tt.notBefore, got, tt.want)
		}
	}
	// More samples than there are decide nothing.
	if err := k.Save(t.Context(), ledger.Outcome{Trust: base, Digests: first, Decision: decision(6, "six")}); err == nil {
		t.Error("a decision over six samples was stored where there are five")
	}
}

func testKnown(t *testing.T, b backend) {
	k := newFixture(t, b)
	done, judged, driven, none := digestsOf("done"), digestsOf("judged"), digestsOf("driven"), digestsOf("none")
	k.save(outcome(base, done, 0, "text"))
	for ordinal := range 3 {
		o := outcome(base, judged, ordinal, "text")
		o.Decision = nil
		k.save(o)
		o.Digests, o.Samples = driven, nil
		k.save(o)
	}
	score := 0.5
	got, err := k.Stored(t.Context(), ledger.Scope{Trust: base}, []plan.Digests{none, driven, done, judged, {}, done})
	k.check(err)
	decided := plan.Stored{Decided: &verdict.Result{Verdict: verdict.Pass, Score: &score, Samples: 1}}
	want := []plan.Stored{{}, {Executed: 3}, decided, {Executed: 3, Judged: 3}, {}, decided}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	got, err = k.Stored(t.Context(), ledger.Scope{Trust: base, Nothing: true}, []plan.Digests{done, judged})
	k.check(err)
	if diff := cmp.Diff(make([]plan.Stored, 2), got); diff != "" {
		t.Errorf("known without reuse (-want +got):\n%s", diff)
	}
	if got, err = k.Stored(t.Context(), ledger.Scope{Trust: base}, nil); err != nil || len(got) != 0 {
		t.Errorf("of no digests are known %v, %v", got, err)
	}
}
