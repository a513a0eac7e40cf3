package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Fault is something in the ledger that does not hold.
type Fault struct {
	// Entry names the wrong entry, such as "verdict 3f…".
	Entry   string `json:"entry"`
	Message string `json:"message"`
}

// A Verification is the result of Verify.
type Verification struct {
	// Verdicts is how many were checked, Redecided how many of them were decided again
	// from their samples.
	Verdicts  int `json:"verdicts"`
	Redecided int `json:"redecided"`
	// Faults are the first that were found, and More counts the others.
	Faults []Fault `json:"faults"`
	More   int     `json:"more_faults"`
}

// maxFaults bounds how many faults are held.
const maxFaults = 1000

// A Redecide decides over samples by the rules that have a decision digest. It reports
// false if it does not know them.
type Redecide func(d string, samples []verdict.Sample) (verdict.Result, bool)

// Verify looks for damage in the file, for entries that cannot be read or that
// rest on nothing, and for verdicts that do not follow from their samples.
func (l *Ledger) Verify(ctx context.Context, redecide Redecide) (Verification, error) {
	v := verification{Ledger: l, redecide: redecide, out: Verification{Faults: []Fault{}}}
	for _, step := range []func(context.Context) error{v.file, v.bodies, v.decisions} {
		if err := step(ctx); err != nil {
			return v.out, l.store.Fault("verify", err)
		}
	}
	return v.out, nil
}

type verification struct {
	*Ledger
	redecide Redecide
	out      Verification
}

func (v *verification) fault(entry, format string, args ...any) {
	if len(v.out.Faults) == maxFaults {
		v.out.More++
		return
	}
	v.out.Faults = append(v.out.Faults, Fault{entry, fmt.Sprintf(format, args...)})
}

// file makes the database check its own pages, indexes and references.
func (v *verification) file(ctx context.Context) error {
	return v.store.Broken(ctx, func(entry, message string) { v.fault(entry, "%s", message) })
}

// bodies finds entries that are not JSON, and samples without a transcript.
func (v *verification) bodies(ctx context.Context) error {
	for _, q := range []struct{ message, text string }{
		{"its transcript cannot be read", "SELECT 'sample ' || lower(hex(s.e)) || ' ' || s.ordinal FROM samples s LEFT JOIN transcripts t ON t.sample = s.id WHERE t.body IS NULL OR NOT json_valid(CAST(t.body AS TEXT))"},
		{"it cannot be read", "SELECT 'judgement ' || lower(hex(j)) FROM judgements WHERE NOT json_valid(CAST(body AS TEXT))"},
		{"it cannot be read", "SELECT 'call ' || lower(hex(digest)) || ' ' || seq FROM calls WHERE NOT json_valid(CAST(request AS TEXT)) OR NOT json_valid(CAST(reply AS TEXT))"},
	} {
		err := v.store.Each(ctx, func(rows *sql.Rows) error {
			var entry string
			err := rows.Scan(&entry)
			v.fault(entry, "%s", q.message)
			return err
		}, q.text)
		if err != nil {
			return err
		}
	}
	return errors.Join(v.parts(ctx), v.reports(ctx))
}

// parts finds the verdicts whose parts cannot be read.
func (v *verification) parts(ctx context.Context) error {
	whole := map[int64]bool{}
	err := v.store.Each(ctx, func(rows *sql.Rows) error {
		var key int64
		var body sql.RawBytes
		err := rows.Scan(&key, &body)
		whole[key] = json.Valid(body)
		return err
	}, "SELECT key, body FROM parts")
	if err != nil {
		return err
	}
	return v.store.Each(ctx, func(rows *sql.Rows) error {
		var d string
		var body sql.RawBytes
		if err := rows.Scan((*digestColumn)(&d), &body); err != nil {
			return err
		}
		keys, ok := decodeKeys(body)
		isMissing := func(key int64) bool { return !whole[key] }
		if ok && slices.ContainsFunc(keys, isMissing) || !ok && !json.Valid(body) {
			v.fault("verdict "+d, "a part of its case is missing or cannot be read")
		}
		return nil
	}, "SELECT d, parts FROM verdicts WHERE parts IS NOT NULL ORDER BY id")
}

// reports finds the reports that cannot be put together or are not JSON.
func (v *verification) reports(ctx context.Context) error {
	return v.store.Each(ctx, func(rows *sql.Rows) error {
		var run string
		var body []byte
		if err := rows.Scan(&run, &body); err != nil {
			return err
		}
		if report, err := reading(v.store.Each).unpack(ctx, run, body); err != nil || !json.Valid(report) {
			v.fault("run "+run, "its report cannot be read")
		}
		return ctx.Err()
	}, "SELECT run, body FROM reports")
}

// A storedDecision is a row of verdicts.
type storedDecision struct {
	d, j, ns, verdict string
	last, samples     int
	score             *float64
	body              []byte
}

// page is how many verdicts are held at once.
const page = 500

func (v *verification) decisions(ctx context.Context) error {
	all := make([]storedDecision, 0, page)
	for last := int64(0); ; {
		all = all[:0]
		err := v.store.Each(ctx, func(rows *sql.Rows) error {
			var s storedDecision
			err := rows.Scan(&last, (*digestColumn)(&s.d), &s.last, &s.ns, (*digestColumn)(&s.j), &s.verdict, &s.score, &s.samples, &s.body)
			all = append(all, s)
			return err
		}, "SELECT id, d, last, ns, j, verdict, score, samples, body FROM verdicts WHERE id > ? ORDER BY id LIMIT ?", last, page)
		if err != nil {
			return err
		}
		for _, s := range all {
			v.out.Verdicts++
			if err := v.decision(ctx, s); err != nil {
				return err
			}
		}
		if len(all) < page {
			return nil
		}
	}
}

// decision compares a verdict with its own body and with its samples.
func (v *verification) decision(ctx context.Context, s storedDecision) error {
	entry := "verdict " + s.d
	var d Decision
	if err := json.Unmarshal(s.body, &d); err != nil {
		v.fault(entry, "it cannot be read: %v", err)
		return nil
	}
	if string(d.Result.Verdict) != s.verdict || !same(d.Result.Score, s.score) || d.Result.Samples != s.samples {
		v.fault(entry, "its row says %s, and its body %s", s.verdict, d.Result.Verdict)
	}
	samples, err := v.samples(ctx, s, d.Samples)
	switch {
	case err != nil:
		v.fault(entry, "its samples cannot be read: %v", err)
		return ctx.Err()
	case len(samples) < d.Samples:
		v.fault(entry, "it rests on %d samples, and there are %d", d.Samples, len(samples))
		return nil
	}
	result, known := v.redecide(s.d, samples)
	if !known {
		return nil
	}
	v.out.Redecided++
	if result.Verdict != d.Result.Verdict || !same(result.Score, d.Result.Score) {
		v.fault(entry, "it is %s, and %s follows from its samples", describe(d.Result), describe(result))
	}
	return nil
}

// samples returns the last samples on which a decision rests.
func (v *verification) samples(ctx context.Context, s storedDecision, n int) ([]verdict.Sample, error) {
	var found []verdict.Sample
	err := v.store.Each(ctx, func(rows *sql.Rows) error {
		var body sql.RawBytes
		if err := rows.Scan(&body); err != nil {
			return err
		}
		var j Judgement
		if err := json.Unmarshal(body, &j); err != nil {
			return err
		}
		// If a sample has two judgements, the run's own comes first.
		if k := len(found); k == 0 || found[k-1].Ordinal != j.Sample.Ordinal {
			found = append(found, j.Sample)
		}
		return nil
	}, "SELECT j.body "+fromJudgements+" WHERE j.j = ? AND "+ownFirst+" AND s.ordinal <= ? ORDER BY s.ordinal, j.ns DESC",
		digestBytes(s.j), s.ns, s.ns, s.ns, s.ns, s.last)
	return found[max(0, len(found)-n):], err
}

func same(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && math.Abs(*a-*b) < 1e-9
}

func describe(r verdict.Result) string {
	if r.Score == nil {
		return string(r.Verdict)
	}
	return fmt.Sprintf("%s %.9g", r.Verdict, *r.Score)
}
