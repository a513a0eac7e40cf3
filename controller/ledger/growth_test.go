package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/verdict"
)

func opened(t *testing.T) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// manyCases is the report of a run of many cases, one of which changed.
func manyCases(t *testing.T, run, cases, changed int) []byte {
	t.Helper()
	type row struct {
		Key    string  `json:"key"`
		File   string  `json:"file"`
		Score  float64 `json:"score"`
		Digest string  `json:"digest"`
		Reason string  `json:"reason"`
	}
	out := struct {
		Run   string `json:"run"`
		Cases []row  `json:"cases"`
		Gate  string `json:"gate"`
	}{Run: fmt.Sprint("run ", run), Gate: "pass"}
	for i := range cases {
		r := row{fmt.Sprint("support/level_1/case_", i), fmt.Sprintf("test_definitions/support/level_1/case_%d.json", i), 1, fmt.Sprintf("%064x", i*7919), strings.Repeat("as expected ", 20)}
		if i == changed {
			r.Reason = fmt.Sprint("changed in run ", run)
		}
		out.Cases = append(out.Cases, r)
	}
	data, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (l *Ledger) number(t *testing.T, text string) (n int64) {
	t.Helper()
	if err := l.store.DB().QueryRowContext(t.Context(), text).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (l *Ledger) bytes(t *testing.T) int64 {
	t.Helper()
	counts, err := l.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return counts.Bytes
}

// TestGrowth: a run only adds the new parts of its report to the file.
func TestGrowth(t *testing.T) {
	const cases = 10_000
	l := opened(t)
	n := 0
	save := func(changed int) {
		t.Helper()
		n++
		report := manyCases(t, n, cases, changed)
		id := fmt.Sprint(n)
		if err := l.SaveReport(t.Context(), Run{ID: id, Started: time.UnixMilli(int64(n)), Report: report}); err != nil {
			t.Fatal(err)
		}
		stored, err := l.Run(t.Context(), id)
		if err != nil || !bytes.Equal(stored.Report, report) {
			t.Fatalf("the report that comes back is another: %v", err)
		}
	}
	save(-1)
	whole := len(manyCases(t, 1, cases, -1))
	first, pieces := l.bytes(t), l.number(t, "SELECT count(*) FROM pieces")
	if most := int64(whole) / 4; first > most {
		t.Errorf("a report of %d bytes takes %d, want at most %d", whole, first, most)
	}
	const runs = 20
	for range runs {
		save(-1)
	}
	same := (l.bytes(t) - first) / runs
	t.Logf("a report of %d bytes: the first takes %d, each unchanged one %d", whole, first, same)
	if same > 8192 || l.number(t, "SELECT count(*) FROM pieces") != pieces {
		t.Errorf("an unchanged run adds %d bytes, want at most 8192", same)
	}
	before := l.bytes(t)
	for range runs {
		save(n * 37)
	}
	if one := (l.bytes(t) - before) / runs; one > 4*8192 {
		t.Errorf("a run with one changed case adds %d bytes, want at most %d", one, 4*8192)
	}
	for i, statement := range []string{"UPDATE pieces SET body = x'00' WHERE id = 1", "DELETE FROM report_pieces WHERE run = '3' AND place = 2"} {
		if err := l.store.Submit(t.Context(), func(x *store.Tx) error { return x.Exec(statement) }); err != nil {
			t.Fatal(err)
		}
		v, err := l.Verify(t.Context(), func(string, []verdict.Sample) (verdict.Result, bool) { return verdict.Result{}, false })
		if err != nil || len(v.Faults) < 1 || !strings.HasPrefix(v.Faults[0].Entry, "run ") {
			t.Errorf("damage %d: %v, %+v", i, err, v.Faults)
		}
	}
}

// caseByCase hands on the cases of a report one by one. atEnd is called after the
// last one.
func caseByCase(t *testing.T, report []byte, atEnd func()) iter.Seq2[[]byte, error] {
	t.Helper()
	var parsed struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(report, &parsed); err != nil {
		t.Fatal(err)
	}
	return func(yield func([]byte, error) bool) {
		for _, c := range parsed.Cases {
			if !yield(c, nil) {
				return
			}
		}
		atEnd()
	}
}

// TestCasesAreStoredOneByOne holds that a report whose cases come one by one is stored
// like one with all of them, also if pieces of it are collected between the look and
// the transaction, and that they are never in memory together.
func TestCasesAreStoredOneByOne(t *testing.T) {
	const cases = 10_000
	l := opened(t)
	whole := manyCases(t, 1, cases, -1)
	around, rest, _ := bytes.Cut(whole, []byte(`"cases":[`))
	frame := slices.Concat(around, []byte(`"cases":[]`), rest[bytes.LastIndexByte(rest, ']')+1:])
	if err := l.SaveReport(t.Context(), Run{ID: "whole", Started: time.UnixMilli(1), Report: whole}); err != nil {
		t.Fatal(err)
	}
	looks := 0
	run := Run{ID: "parts", Started: time.UnixMilli(2), Report: frame, Cases: caseByCase(t, whole, func() {
		if looks++; looks > 1 {
			return
		}
		err := l.store.Submit(t.Context(), func(t *store.Tx) error {
			_, err := removeRuns(t, `["whole"]`)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})}
	if err := l.SaveReport(t.Context(), run); err != nil || looks != 2 {
		t.Fatalf("stored after %d looks with the error %v, want 2 and none", looks, err)
	}
	stored, err := l.Run(t.Context(), "parts")
	if err != nil || !bytes.Equal(stored.Report, whole) {
		t.Fatalf("the report that comes back is another: %v", err)
	}

	const long = 1000
	var before, most uint64
	run = Run{ID: "many", Started: time.UnixMilli(3), Report: []byte(`{"cases":[]}`), Cases: func(yield func([]byte, error) bool) {
		before = heap()
		for i := range cases {
			if !yield(fmt.Appendf(nil, `{"key":"%d","text":%q}`, i, strings.Repeat("x", long)), nil) {
				return
			}
		}
		most = max(heap(), before)
	}}
	if err := l.SaveReport(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if grown := most - before; grown > cases*long/4 {
		t.Errorf("%d cases of %d bytes leave %d bytes in memory, want less than a quarter of them", cases, long, grown)
	}
}

// TestTrim keeps the newest runs of each repository, the newest of each pull request,
// and unpublished ones, and only pieces that a report has.
func TestTrim(t *testing.T) {
	l := opened(t)
	n := 0
	save := func(repository string, pull int, items ...OutboxItem) {
		t.Helper()
		n++
		r := Run{ID: fmt.Sprintf("%05d", n), Repository: repository, PullRequest: pull, Started: time.UnixMilli(int64(n)), Report: manyCases(t, n, 1, 0)}
		if err := l.SaveReport(t.Context(), r, items...); err != nil {
			t.Fatal(err)
		}
	}
	save("o/other", 0)                                               // 1: stays
	save("o/r", 7)                                                   // 2: goes
	save("o/r", 7)                                                   // 3: the newest of 7
	save("o/r", 0, OutboxItem{Destination: "x", Body: []byte("{}")}) // 4: to be published
	save("o/r", 0)                                                   // 5: goes
	for range keptRuns {
		save("o/r", 0)
	}
	runs, err := l.Runs(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	var old []string
	for _, r := range runs[min(len(runs), keptRuns):] {
		old = append(old, r.ID)
	}
	if want := []string{"00004", "00003", "00001"}; !slices.Equal(old, want) {
		t.Errorf("of the old ones %v are kept, want %v", old, want)
	}
	for _, table := range []string{"reports", "pieces", "report_pieces"} {
		if got := l.number(t, "SELECT count(*) FROM "+table); got != int64(len(runs)) {
			t.Errorf("%d %s, want %d", got, table, len(runs))
		}
	}
}

// verdicts fills a ledger with so many of them, each with its sample.
func (l *Ledger) verdicts(t *testing.T, n int) {
	t.Helper()
	d, err := json.Marshal(Decision{Result: verdict.Result{Verdict: verdict.Pass, Samples: 1, Reason: strings.Repeat("as expected ", 50)}, Samples: 1})
	if err != nil {
		t.Fatal(err)
	}
	j, err := json.Marshal(Judgement{})
	if err != nil {
		t.Fatal(err)
	}
	const numbers = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ?1) "
	err = l.store.Submit(t.Context(), func(x *store.Tx) error {
		for _, text := range []string{
			numbers + "INSERT INTO samples (id, e, ordinal, ns, level, duration, created) SELECT i, CAST('e' || i AS BLOB), 0, '', 2, 0, 1 FROM n WHERE ?2 IS NOT ?3",
			numbers + "INSERT INTO transcripts (sample, body) SELECT i, CAST('{}' AS BLOB) FROM n WHERE ?2 IS NOT ?3",
			numbers + "INSERT INTO judgements (j, sample, ns, level, body, created) SELECT CAST('j' || i AS BLOB), i, '', 2, ?2, 1 FROM n WHERE ?2 IS NOT ?3",
			numbers + "INSERT INTO verdicts (d, last, ns, level, e, j, verdict, samples, body, oldest, created) SELECT CAST('d' || i AS BLOB), 0, '', 2, CAST('e' || i AS BLOB), CAST('j' || i AS BLOB), 'pass', 1, ?3, 1, 1 FROM n WHERE ?2 IS NOT ?3",
		} {
			if err := x.Exec(text, n, j, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestVerifyStreams: what a verification holds does not grow with the ledger.
func TestVerifyStreams(t *testing.T) {
	n, most := 20_000, int64(3<<20)
	l := opened(t)
	l.verdicts(t, n)
	before, peak, seen := heap(), uint64(0), 0
	v, err := l.Verify(t.Context(), func(string, []verdict.Sample) (verdict.Result, bool) {
		if seen++; seen%5000 == 0 {
			peak = max(peak, heap())
		}
		return verdict.Result{Verdict: verdict.Pass}, true
	})
	if err != nil || v.Verdicts != n || v.Redecided != n || len(v.Faults) > 0 {
		t.Fatalf("%v: %d verdicts, %d re-decided, %d faults", err, v.Verdicts, v.Redecided, len(v.Faults))
	}
	if grown := int64(peak) - int64(before); grown > most {
		t.Errorf("it holds %d bytes, want at most %d", grown, most)
	}
	// Nor does its mistake.
	v, err = l.Verify(t.Context(), func(string, []verdict.Sample) (verdict.Result, bool) {
		return verdict.Result{Verdict: verdict.Fail}, true
	})
	if err != nil || len(v.Faults) != maxFaults || v.More != n-maxFaults {
		t.Errorf("%v: %d faults and %d more", err, len(v.Faults), v.More)
	}
}

// TestCollectionIsDoneInSteps, so that nobody waits long to write.
func TestCollectionIsDoneInSteps(t *testing.T) {
	const n = 5 * atOnce / 2
	l := opened(t)
	l.verdicts(t, n)
	s := &sweep{Collection: Collection{Before: time.UnixMilli(2)}, needed: "[]", over: `[""]`}
	steps := 0
	err := s.all(func(do func(*store.Tx) error) error {
		return l.store.Submit(t.Context(), func(x *store.Tx) error {
			steps++
			var before, after int
			if err := x.Row("SELECT total_changes()").Scan(&before); err != nil {
				return err
			}
			if err := do(x); err != nil {
				return err
			}
			err := x.Row("SELECT total_changes()").Scan(&after)
			if after-before > 2*atOnce { // a sample and its transcript
				t.Errorf("one step removes %d rows", after-before)
			}
			return err
		})
	}, &s.removed)
	if want := (Removed{Samples: n, Judgements: n, Verdicts: n}); err != nil || s.removed != want || steps < 9 {
		t.Errorf("%v: %+v in %d steps, want %+v", err, s.removed, steps, want)
	}
}

// TestWritersWait for a minute by default.
func TestWritersWait(t *testing.T) {
	l := opened(t)
	var wait int
	err := l.store.Each(context.Background(), func(rows *sql.Rows) error { return rows.Scan(&wait) }, "SELECT timeout FROM pragma_busy_timeout")
	if err != nil || wait != 60_000 {
		t.Errorf("they wait for %d ms, want 60000 (%v)", wait, err)
	}
}
