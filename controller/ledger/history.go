package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// UsualMeasurements bounds the measurements of a case that are read if Most is 0.
const UsualMeasurements = 20

// A HistoryAsk asks for the measurements of a case after Since and not after Until.
type HistoryAsk struct {
	Case         *schema.Case
	Digests      plan.Digests
	Since, Until time.Time
	// Most bounds the number, and the newest count. 0 means the usual number.
	Most int
	// Least is how many samples have to be stored: the history of a case with fewer is not
	// read.
	Least int
}

// A Measurement is the result of as many samples as the case has iterations, by its
// current rules.
type Measurement struct {
	Result verdict.Result
	// At and Until are the times at which its first and its last sample were stored.
	At, Until time.Time
	// Model is the model that the target reported. It may be empty.
	Model string
	// Ordinal is the ordinal of its first sample.
	Ordinal int
	// Collected means that it was made only for the history.
	Collected bool
}

// ReadHistories returns for each ask the newest measurements that the scope may use, the
// oldest first. They go back to the last change of the reported model. Samples that were
// taken because of an outcome do not count: a case that is rerun after a failure would
// look better than it is. Cases with retries and cases that compare two prompts have none.
func ReadHistories(ctx context.Context, store *Ledger, scope Scope, asks []HistoryAsk) ([][]Measurement, error) {
	found := make([][]Measurement, len(asks))
	if scope.Nothing || len(asks) == 0 {
		return found, nil
	}
	samples := make([][]historySample, len(asks))
	list, err := json.Marshal(historyQuestions(asks))
	if err != nil {
		return nil, err
	}
	err = store.Store().Each(ctx, func(rows *sql.Rows) error {
		var i int
		var s historySample
		var body sql.RawBytes
		if err := rows.Scan(&i, &s.ordinal, &s.created, &s.model, &s.purpose, &body); err != nil {
			return err
		}
		if n := len(samples[i]); n > 0 && samples[i][n-1].ordinal == s.ordinal {
			return nil // the scope has its own
		}
		var judged Judgement
		if err := json.Unmarshal(body, &judged); err != nil {
			return fmt.Errorf("sample %d: %w", s.ordinal, err)
		}
		s.Sample = judged.Sample
		samples[i] = append(samples[i], s)
		return nil
	}, selectHistories, scope.Namespace(), string(list))
	for i := range asks {
		found[i] = groupMeasurements(asks[i], samples[i])
	}
	return found, store.Store().Fault("read the history of cases", err)
}

// selectHistories selects the samples of each question that were not taken because of an
// outcome. Its arguments are the namespace and the questions.
const selectHistories = `SELECT q.key, s.ordinal, s.created, coalesce(CAST(t.body AS TEXT) ->> 'model', ''), s.chosen, j.body
	FROM json_each(?2) q
	JOIN judgements j ON j.j = unhex(q.value ->> 'j') AND j.ns IN ('', ?1)
	JOIN samples s ON s.id = j.sample AND s.ns IN ('', ?1) AND s.chosen <> 1
		AND s.created > CAST(q.value ->> 'since' AS BIGINT) AND s.created <= CAST(q.value ->> 'until' AS BIGINT)
	JOIN transcripts t ON t.sample = s.id
	WHERE CAST(q.value ->> 'least' AS BIGINT) <= (SELECT count(*) FROM judgements l WHERE l.j = unhex(q.value ->> 'j'))
	ORDER BY q.key, s.ordinal, s.ns DESC, j.ns DESC`

// A historyQuestion is a HistoryAsk in the form that the query reads.
type historyQuestion struct {
	J     string `json:"j"`
	Since int64  `json:"since"`
	Until int64  `json:"until"`
	Least int    `json:"least"`
}

func historyQuestions(asks []HistoryAsk) []historyQuestion {
	out := make([]historyQuestion, len(asks))
	for i, a := range asks {
		if a.Case.Policy.Retry == nil && a.Case.Alternative == nil {
			out[i] = historyQuestion{digestHex(a.Digests.J), a.Since.UnixMilli(), a.Until.UnixMilli(), a.Least}
		}
	}
	return out
}

// A historySample is a stored sample.
type historySample struct {
	verdict.Sample
	ordinal int
	created int64
	model   string
	purpose plan.Purpose
}

// groupMeasurements decides blocks of as many samples as the case has iterations, or as
// decide its pass share. It skips incomplete blocks.
func groupMeasurements(a HistoryAsk, samples []historySample) []Measurement {
	var out []Measurement
	for _, block := range blocksOf(a.Case, samples) {
		out = append(out, decideMeasurement(a.Case, block))
	}
	slices.SortStableFunc(out, func(a, b Measurement) int { return a.At.Compare(b.At) })
	from := max(0, len(out)-cmp.Or(a.Most, UsualMeasurements))
	for i := range out {
		if i > 0 && out[i].Model != out[i-1].Model {
			from = max(from, i)
		}
	}
	return out[from:]
}

// blocksOf cuts samples into the complete blocks of single measurements.
func blocksOf(c *schema.Case, samples []historySample) [][]historySample {
	var out [][]historySample
	if c.Policy.PassShare > 0 {
		for end := decidingSamples(c, samples); end > 0; end = decidingSamples(c, samples) {
			out, samples = append(out, samples[:end]), samples[end:]
		}
		return out
	}
	n := c.Samples()
	for len(samples) > 0 {
		block := samples[0].ordinal / n
		end := slices.IndexFunc(samples, func(s historySample) bool { return s.ordinal/n != block })
		if end < 0 {
			end = len(samples)
		}
		if end == n {
			out = append(out, samples[:n])
		}
		samples = samples[end:]
	}
	return out
}

// decidingSamples returns how many of the first samples decide a pass share; 0 if all of them
// do not.
func decidingSamples(c *schema.Case, samples []historySample) int {
	tally := verdict.NewTally(c, nil)
	for i, s := range samples {
		one := verdict.NewTally(c, []verdict.Sample{s.Sample})
		tally.Passes, tally.Fails = tally.Passes+one.Passes, tally.Fails+one.Fails
		if tally.Missing() == 0 {
			return i + 1
		}
	}
	return 0
}

func decideMeasurement(c *schema.Case, block []historySample) Measurement {
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

// BeginHistories restarts the history of judgement digests at a time, because older
// measurements are known to be out of date.
func BeginHistories(ctx context.Context, l *Ledger, digests []string, at time.Time) error {
	err := l.Store().Submit(ctx, func(t *store.Tx) error {
		for _, j := range digests {
			if err := t.Exec("INSERT INTO histories (j, since) VALUES (?, ?) ON CONFLICT DO NOTHING", digestBytes(j), at.UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	})
	return l.Store().Fault("begin histories", err)
}

// HistoriesBegun returns the times at which the histories of judgement digests restarted,
// the earliest first. It leaves out digests whose history never did.
func HistoriesBegun(ctx context.Context, l *Ledger, digests []string) (map[string][]time.Time, error) {
	list, err := digestList(digests)
	if err != nil {
		return nil, err
	}
	begun := map[string][]time.Time{}
	err = l.Store().Each(ctx, func(rows *sql.Rows) error {
		var j string
		var since int64
		if err := rows.Scan((*digestColumn)(&j), &since); err != nil {
			return err
		}
		begun[j] = append(begun[j], time.UnixMilli(since).UTC())
		return nil
	}, "SELECT h.j, h.since FROM (SELECT DISTINCT value FROM json_each(?)) q JOIN histories h ON h.j = unhex(q.value) ORDER BY h.j, h.since", list)
	return begun, l.Store().Fault("read when histories began", err)
}

// LastBegun returns the last of the ascending times that is not after until, or the zero
// time.
func LastBegun(begun []time.Time, until time.Time) (last time.Time) {
	for _, at := range begun {
		if !at.After(until) {
			last = at
		}
	}
	return last
}
