// Package history reads what earlier measurements of a case showed, so that fewer
// have to be made.
//
// Most callers want [Read]. A measurement is as many samples as the case has
// iterations, judged by its rules of today. Samples that were taken because of an
// outcome are not among them: a case that is rerun since it failed would look
// better than it is.
package history

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// Most is how many measurements of a case are read, unless an [Ask] says otherwise.
const Most = 20

// An Ask is a case and the time from which its measurements are: after Since, and
// not after Until.
type Ask struct {
	Case         *schema.Case
	Digests      plan.Digests
	Since, Until time.Time
	// Most is how many of the newest are read; 0 for the usual number.
	Most int
}

// A Measurement is what a case showed once.
type Measurement struct {
	Result verdict.Result
	// At is when the first of its samples was stored, Until when the last was.
	At, Until time.Time
	// Model is what the target called itself; may be empty.
	Model string
	// Ordinal is that of the first of its samples.
	Ordinal int
	// Collected says that it was made for the history alone.
	Collected bool
}

// Read returns the newest measurements that the scope may use of each of the asks,
// the oldest first, as far back as the target reports the same model. Cases that
// are run again when they fail, and those that compare two prompts, have none.
func Read(ctx context.Context, store *ledger.Ledger, scope ledger.Scope, asks []Ask) ([][]Measurement, error) {
	found := make([][]Measurement, len(asks))
	if scope.Nothing || len(asks) == 0 {
		return found, nil
	}
	samples := make([][]sample, len(asks))
	list, err := json.Marshal(questions(asks))
	if err != nil {
		return nil, err
	}
	err = store.Store().Each(ctx, func(rows *sql.Rows) error {
		var i int
		var s sample
		var body sql.RawBytes
		if err := rows.Scan(&i, &s.ordinal, &s.created, &s.model, &s.purpose, &body); err != nil {
			return err
		}
		if n := len(samples[i]); n > 0 && samples[i][n-1].ordinal == s.ordinal {
			return nil // the scope has one of its own
		}
		var judged ledger.Judgement
		if err := json.Unmarshal(body, &judged); err != nil {
			return fmt.Errorf("sample %d: %w", s.ordinal, err)
		}
		s.Sample = judged.Sample
		samples[i] = append(samples[i], s)
		return nil
	}, read, scope.Namespace(), string(list))
	for i := range asks {
		found[i] = measurements(asks[i], samples[i])
	}
	return found, store.Store().Fault("read the history of cases", err)
}

// read has the samples of each question that were not taken because of an outcome. Its arguments are the
// namespace, and the questions.
const read = `SELECT q.key, s.ordinal, s.created, coalesce(CAST(t.body AS TEXT) ->> 'model', ''), s.chosen, j.body
	FROM json_each(?2) q
	JOIN judgements j ON j.j = q.value ->> 'j' AND j.ns IN ('', ?1)
	JOIN samples s ON s.id = j.sample AND s.ns IN ('', ?1) AND s.chosen <> 1
		AND s.created > CAST(q.value ->> 'since' AS BIGINT) AND s.created <= CAST(q.value ->> 'until' AS BIGINT)
	JOIN transcripts t ON t.sample = s.id
	ORDER BY q.key, s.ordinal, s.ns DESC, j.ns DESC`

// A question is an Ask as the query reads it.
type question struct {
	J     string `json:"j"`
	Since int64  `json:"since"`
	Until int64  `json:"until"`
}

func questions(asks []Ask) []question {
	out := make([]question, len(asks))
	for i, a := range asks {
		if a.Case.Policy.Retry == nil && a.Case.Alternative == nil {
			out[i] = question{a.Digests.J, a.Since.UnixMilli(), a.Until.UnixMilli()}
		}
	}
	return out
}

// A sample is one that is stored.
type sample struct {
	verdict.Sample
	ordinal int
	created int64
	model   string
	purpose plan.Purpose
}

// measurements decides on the samples, a block of as many as the case has
// iterations at a time. Blocks of which some are missing are left out.
func measurements(a Ask, samples []sample) []Measurement {
	n := a.Case.Samples()
	var out []Measurement
	for len(samples) > 0 {
		block := samples[0].ordinal / n
		end := slices.IndexFunc(samples, func(s sample) bool { return s.ordinal/n != block })
		if end < 0 {
			end = len(samples)
		}
		if end == n {
			out = append(out, decide(a.Case, samples[:n]))
		}
		samples = samples[end:]
	}
	slices.SortStableFunc(out, func(a, b Measurement) int { return a.At.Compare(b.At) })
	from := max(0, len(out)-cmp.Or(a.Most, Most))
	for i := range out {
		if i > 0 && out[i].Model != out[i-1].Model {
			from = max(from, i)
		}
	}
	return out[from:]
}

func decide(c *schema.Case, block []sample) Measurement {
	m := Measurement{Model: block[0].model, Ordinal: block[0].ordinal, Collected: block[0].purpose == plan.Collecting, At: time.UnixMilli(block[0].created).UTC()}
	judged := make([]verdict.Sample, len(block))
	for i, s := range block {
		judged[i] = s.Sample
		at := time.UnixMilli(s.created).UTC()
		if at.Before(m.At) {
			m.At = at
		}
		if at.After(m.Until) {
			m.Until = at
		}
	}
	m.Result = verdict.DecideCase(c, judged)
	return m
}
