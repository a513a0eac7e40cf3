package ledger

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

var (
	base  = Trust{Level: LevelBase, Repository: "o/r"}
	seven = Trust{Level: LevelPull, Repository: "o/r", PullRequest: 7}
	eight = Trust{Level: LevelPull, Repository: "o/r", PullRequest: 8}
)

func digests(name string) plan.Digests {
	return plan.Digests{E: "e-" + name, J: "j-" + name, D: "d-" + name}
}

// An entry is a case that was judged, with text as its reply and reason.
type entry struct {
	trust      Trust
	name, text string
	ordinal    int
}

// file makes a ledger of entries.
func file(t *testing.T, entries ...entry) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openImported(t, path)
	for _, e := range entries {
		score, d := 1.0, digests(e.name)
		err := l.Save(t.Context(), Outcome{
			Trust: e.trust, Digests: d,
			Executions: []Execution{{Ordinal: e.ordinal, Transcript: verdict.Transcript{
				Messages: []schema.Message{{Role: schema.RoleAssistant, Content: e.text}},
			}}},
			Samples: []Judgement{{Sample: verdict.Sample{Ordinal: e.ordinal, Measurements: []verdict.Measurement{{Evaluator: "main", Reason: e.text}}}}},
			Decision: &Decision{
				Result: verdict.Result{Verdict: verdict.Pass, Score: &score, Samples: 1, Reason: e.text}, Samples: 1,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for seq, reply := range []string{`"first"`, `"second"`} {
			err := l.SaveCall(t.Context(), e.trust, Call{
				Key:           CallKey{Digest: d.E, Ordinal: e.ordinal, Seq: seq, Role: "target"},
				RequestDigest: "r", Request: []byte(`{}`), Reply: []byte(reply),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	closed(t, l)
	return path
}

func openImported(t *testing.T, path string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), Config{Path: path, Now: func() time.Time { return time.Unix(1, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func closed(t *testing.T, l *Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// seen is a reader's view of cases, by name: the replies, the reasons of the judgements
// and of the verdict, and the number of calls.
func seen(t *testing.T, path string, trust Trust, names ...string) map[string][]any {
	t.Helper()
	l := openImported(t, path)
	defer closed(t, l)
	out := map[string][]any{}
	scope := Scope{Trust: trust}
	for _, name := range names {
		d := digests(name)
		executions, _, err := l.Executions(t.Context(), scope, d.E)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range executions {
			out[name] = append(out[name], x.Transcript.Final())
		}
		judgements, err := l.Judgements(t.Context(), scope, d.J)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range judgements {
			out[name] = append(out[name], j.Sample.Measurements[0].Reason)
		}
		decided, err := l.Decided(t.Context(), scope, []string{d.D})
		if err != nil {
			t.Fatal(err)
		}
		if x, ok := decided[d.D]; ok {
			out[name] = append(out[name], x.Result.Reason)
		}
		calls, err := l.Calls(t.Context(), scope, d.E, 0)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = append(out[name], len(calls))
	}
	v, err := l.Verify(t.Context(), func(string, []verdict.Sample) (verdict.Result, bool) { return verdict.Result{}, false })
	if err != nil || len(v.Faults) > 0 {
		t.Errorf("verified with %v: %+v", err, v.Faults)
	}
	return out
}

// TestFrom adds what base learned to what a pull request has.
func TestFrom(t *testing.T) {
	of := file(t,
		entry{base, "known", "base said later", 0}, entry{base, "known", "base said twice", 1},
		entry{base, "new", "base said", 0}, entry{base, "mine", "base said", 0},
		entry{eight, "other", "eight said", 0}, entry{eight, "new", "eight said", 0})
	own := file(t, entry{base, "known", "base said", 0}, entry{seven, "mine", "seven said", 0})
	taken, err := Import(t.Context(), own, of)
	if err != nil || taken != 2 {
		t.Fatalf("%d samples, %v", taken, err)
	}
	for _, tt := range []struct {
		trust Trust
		want  map[string][]any
	}{
		{seven, map[string][]any{
			"known": {"base said", "base said", "base said", 2}, "new": {"base said", "base said", "base said", 2},
			"mine": {"seven said", "seven said", "seven said", 2}, "other": {0},
		}},
		{base, map[string][]any{
			"known": {"base said", "base said", "base said", 2}, "new": {"base said", "base said", "base said", 2},
			"mine": {"base said", "base said", "base said", 2}, "other": {0},
		}},
		{eight, map[string][]any{"new": {"base said", "base said", "base said", 2}, "other": {0}}},
	} {
		names := []string{}
		for name := range tt.want {
			names = append(names, name)
		}
		if diff := cmp.Diff(tt.want, seen(t, own, tt.trust, names...)); diff != "" {
			t.Errorf("seen by %+v (-want +got):\n%s", tt.trust, diff)
		}
	}
	if taken, err := Import(t.Context(), own, of); err != nil || taken != 0 {
		t.Errorf("%d samples the second time, %v", taken, err)
	}
}

// TestFromIntoNothing makes a ledger that knows credentials by the same digest.
func TestFromIntoNothing(t *testing.T) {
	of, own := file(t, entry{base, "new", "base said", 0}), filepath.Join(t.TempDir(), "own", "ledger.db")
	if taken, err := Import(t.Context(), own, of); err != nil || taken != 1 {
		t.Fatalf("%d samples, %v", taken, err)
	}
	a, b := openImported(t, of), openImported(t, own)
	defer closed(t, a)
	defer closed(t, b)
	if diff := cmp.Diff(a.Secret(), b.Secret()); diff != "" {
		t.Errorf("the secret is another (-want +got):\n%s", diff)
	}
}

func TestFromNothing(t *testing.T) {
	own := filepath.Join(t.TempDir(), "ledger.db")
	if _, err := Import(t.Context(), own, own+".base"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(own); err == nil {
		t.Error("a ledger was made although there was nothing to take over")
	}
	own = file(t, entry{base, "known", "base said", 0})
	if taken, err := Import(t.Context(), own, own); err != nil || taken != 0 {
		t.Errorf("from itself: %d samples, %v", taken, err)
	}
	if err := os.WriteFile(own+".base", []byte("damaged by whoever wrote it, and long enough to be looked at as a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(t.Context(), own, own+".base"); err == nil {
		t.Error("a damaged ledger was taken over from")
	}
	if diff := cmp.Diff(map[string][]any{"known": {"base said", "base said", "base said", 2}}, seen(t, own, base, "known")); diff != "" {
		t.Errorf("after a damaged one (-want +got):\n%s", diff)
	}
}

// TestImportParts copies the parts of the cases that are copied, and no other ones.
func TestImportParts(t *testing.T) {
	from := filepath.Join(t.TempDir(), "ledger.db")
	l := openImported(t, from)
	part := func(name string) []plan.Part { return []plan.Part{{Name: name, Digest: "1"}} }
	for _, o := range []Outcome{
		{Trust: base, Digests: digests("shared"), Case: "shared", Parts: part("of everybody")},
		{Trust: seven, Digests: digests("own"), Case: "own", Parts: part("of a pull request")},
	} {
		score := 1.0
		o.Executions = []Execution{{}}
		o.Samples = []Judgement{{}}
		o.Decision = &Decision{Result: verdict.Result{Verdict: verdict.Pass, Score: &score, Samples: 1}, Samples: 1}
		if err := l.Save(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, l)
	to := filepath.Join(t.TempDir(), "ledger.db")
	if _, err := Import(t.Context(), to, from); err != nil {
		t.Fatal(err)
	}
	l = openImported(t, to)
	defer closed(t, l)
	got, err := l.LastParts(t.Context(), Scope{Trust: base}, []string{"shared", "own"})
	if diff := cmp.Diff([][]plan.Part{part("of everybody"), nil}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	var n int
	err = l.store.Each(t.Context(), func(rows *sql.Rows) error { return rows.Scan(&n) }, "SELECT count(*) FROM parts")
	if n != 1 || err != nil {
		t.Errorf("%d parts are copied, want 1: %v", n, err)
	}
}
