package ledger_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// digest is the hex SHA-256 of a text, as real digests look.
func digest(format string, args ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return hex.EncodeToString(sum[:])
}

func digestsOf(name string) plan.Digests {
	return plan.Digests{E: digest("e %s", name), J: digest("j %s", name), D: digest("d %s", name)}
}

// realistic is an outcome of the size that a case with one prompt, one judge
// and three criteria has.
func realistic(digests plan.Digests) ledger.Outcome {
	criteria := []verdict.Criterion{
		{ID: "mentions-the-order-number", Score: 1, Note: "found at character 18"},
		{ID: "is-polite", Score: 1, Note: "greets and thanks"},
		{ID: "names-the-delivery-date", Score: 0, Note: "no date in the answer"},
	}
	usage := verdict.Usage{Calls: 1, InputTokens: 412, OutputTokens: 96, CostUSD: 0.0008}
	score := 2. / 3
	reason := "The answer is polite and names the order, but gives no date for the delivery."
	return ledger.Outcome{
		Trust: base, Digests: digests,
		Executions: []ledger.Execution{{
			Transcript: verdict.Transcript{
				System: "You are a support agent of a shop. Answer in two sentences.",
				Messages: []schema.Message{
					{Role: schema.RoleUser, Content: "Where is my order 4711? It should have been here yesterday."},
					{Role: schema.RoleAssistant, Content: "I am sorry about that. Your order 4711 has left our warehouse and is on its way to you."},
				},
				Model: "a-model", Traced: true, Latency: 900 * time.Millisecond, Usage: usage,
			},
			Duration: time.Second, Usage: usage,
		}},
		Samples: []ledger.Judgement{{
			Sample: verdict.Sample{Measurements: []verdict.Measurement{{Evaluator: "main", Criteria: criteria, Reason: reason, Usage: usage}}},
			Usage:  usage,
		}},
		Decision: &ledger.Decision{
			Result: verdict.Result{
				Verdict: verdict.Fail, Score: &score, Samples: 1, Reason: reason,
				Evaluators: []verdict.EvaluatorResult{{Name: "main", Score: score, Criteria: criteria, Reason: reason}},
			},
			Usage: usage, Duration: time.Second, Samples: 1,
		},
	}
}

// call is a journal entry of the size that goes with realistic.
func call(digests plan.Digests) ledger.Call {
	return ledger.Call{
		Key: ledger.CallKey{Digest: digests.E, Role: "target"}, RequestDigest: digest("request"),
		Request: []byte(`{"system":"You are a support agent of a shop. Answer in two sentences.","messages":[{"role":"user","content":"Where is my order 4711? It should have been here yesterday."}]}`),
		Reply:   []byte(`{"messages":[{"role":"assistant","content":"I am sorry about that. Your order 4711 has left our warehouse and is on its way to you."}],"usage":{"calls":1}}`),
		At:      epoch,
	}
}

// filled is a ledger with n cases, and their digests.
func filled(b *testing.B, n int) (*ledger.Ledger, []plan.Digests) {
	l := open(b, filepath.Join(b.TempDir(), "ledger.db"))
	all := make([]plan.Digests, n)
	limit := make(chan bool, 100)
	var group sync.WaitGroup
	for i := range all {
		all[i] = digestsOf(fmt.Sprint(i))
		limit <- true
		group.Go(func() {
			defer func() { <-limit }()
			if err := l.Save(b.Context(), realistic(all[i])); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
	return l, all
}

// BenchmarkKnown asks about 10,000 cases: decided ones, such as have to be
// decided again, and such that nothing is known of.
func BenchmarkKnown(b *testing.B) {
	l, all := filled(b, 10_000)
	redecide, unknown := slices.Clone(all), slices.Clone(all)
	for i := range all {
		redecide[i].D = digest("other %d", i)
		unknown[i] = digestsOf(fmt.Sprint("unknown", i))
	}
	for _, tt := range []struct {
		name    string
		reader  ledger.Trust
		digests []plan.Digests
	}{{"decided", base, all}, {"decided/pull", pull7, all}, {"redecide", base, redecide}, {"redecide/pull", pull7, redecide}, {"unknown", base, unknown}} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				if known, err := l.Stored(b.Context(), ledger.Scope{Trust: tt.reader}, tt.digests); err != nil || len(known) != len(all) {
					b.Fatal(len(known), err)
				}
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	l, all := filled(b, 10_000)
	scope := ledger.Scope{Trust: base}
	i := 0
	next := func() plan.Digests { i += 7; return all[i%len(all)] }
	b.Run("executions", func(b *testing.B) {
		for b.Loop() {
			if found, _, err := l.Executions(b.Context(), scope, next().E); err != nil || len(found) != 1 {
				b.Fatal(len(found), err)
			}
		}
	})
	b.Run("judgements", func(b *testing.B) {
		for b.Loop() {
			if found, err := l.Judgements(b.Context(), scope, next().J); err != nil || len(found) != 1 {
				b.Fatal(len(found), err)
			}
		}
	})
	b.Run("nothing", func(b *testing.B) {
		for b.Loop() {
			if found, _, err := l.Executions(b.Context(), scope, digest("none")); err != nil || len(found) != 0 {
				b.Fatal(len(found), err)
			}
		}
	})
	b.Run("calls", func(b *testing.B) {
		for b.Loop() {
			if found, err := l.Calls(b.Context(), scope, next().E, 0); err != nil || len(found) != 0 {
				b.Fatal(len(found), err)
			}
		}
	})
	b.Run("decided", func(b *testing.B) {
		for b.Loop() {
			d := next().D
			if found, err := l.Decided(b.Context(), scope, []string{d}); err != nil || len(found) != 1 {
				b.Fatal(len(found), err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "ledger.db")
	open(b, path)
	for b.Loop() {
		l, err := ledger.Open(b.Context(), ledger.Config{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecided(b *testing.B) {
	l, all := filled(b, 1000)
	list := make([]string, len(all))
	for i, d := range all {
		list[i] = d.D
	}
	for b.Loop() {
		if found, err := l.Decided(b.Context(), ledger.Scope{Trust: base}, list); err != nil || len(found) != len(all) {
			b.Fatal(len(found), err)
		}
	}
}

// BenchmarkLastReplies reads the answers of a grid.
func BenchmarkLastReplies(b *testing.B) {
	l, all := filled(b, 1000)
	var list []string
	for _, d := range all {
		list = append(list, d.D)
	}
	for b.Loop() {
		found, err := ledger.LastReplies(b.Context(), l, ledger.Scope{Trust: base}, list)
		if err != nil || len(found) != len(list) {
			b.Fatal(len(found), err)
		}
	}
}

// BenchmarkNew makes a new ledger.
func BenchmarkNew(b *testing.B) {
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		l, err := ledger.Open(b.Context(), ledger.Config{Path: filepath.Join(dir, strconv.Itoa(i))})
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
