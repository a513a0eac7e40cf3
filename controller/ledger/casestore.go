package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// A StoredCase has the entries of a ledger for a case under its digests.
type StoredCase struct {
	// Executions, Next and Judgements are the results of [ledger.Ledger.Executions] and
	// [ledger.Ledger.Judgements].
	Executions []Execution
	Next       int
	Judgements []Judgement
	// Journal reports that there may be calls in the journal.
	Journal bool
}

// The kinds of rows.
const (
	execution = iota
	judgement
	journal
)

// LoadCase reads the entries that the scope may use under the digests E and J, in one
// statement. The error says what cannot be read.
func LoadCase(ctx context.Context, l *Ledger, scope Scope, e, j string) (StoredCase, error) {
	var s StoredCase
	own, since := scope.Namespace(), scope.NotBefore.UnixMilli()
	last := -1 // the ordinal of the last judgement
	op := "read the samples of " + e
	err := l.Store().Each(ctx, func(rows *sql.Rows) error {
		var kind, ordinal int
		var x Execution
		var created int64
		var body, ns sql.RawBytes
		if err := rows.Scan(&kind, &ordinal, &x.Duration, &created, &body, &ns); err != nil {
			return err
		}
		fresh := !scope.Nothing && created >= since
		switch {
		case kind == journal:
			s.Journal = !scope.Nothing
		case kind == execution && ordinal >= s.Next: // else the scope has its own sample
			s.Next, x.Ordinal = ordinal+1, ordinal
			if !fresh {
				return nil
			}
			if err := json.Unmarshal(body, &x.Transcript); err != nil {
				return fmt.Errorf("sample %d: %w", ordinal, err)
			}
			x.Usage = x.Transcript.Usage
			s.Executions = append(s.Executions, x)
		case kind == judgement && fresh && ordinal != last:
			last, op = ordinal, "read the judgements of "+j
			var judged Judgement
			if err := json.Unmarshal(body, &judged); err != nil {
				return fmt.Errorf("sample %d: %w", ordinal, err)
			}
			s.Judgements = append(s.Judgements, judged)
		}
		return nil
	}, `SELECT 0, s.ordinal, s.duration, s.created, t.body, s.ns AS ns FROM samples s JOIN transcripts t ON t.sample = s.id
			WHERE s.e = ?1 AND s.ns IN ('', ?3)
		UNION ALL SELECT 1, s.ordinal, 0, s.created, j.body, j.ns FROM judgements j JOIN samples s ON s.id = j.sample
			WHERE j.j = ?2 AND j.ns IN ('', ?3) AND s.ns IN ('', ?3) AND (s.ns = ?3 OR NOT EXISTS
				(SELECT 1 FROM samples own WHERE own.e = s.e AND own.ordinal = s.ordinal AND own.ns = ?3))
		UNION ALL SELECT 2, 0, 0, 0, NULL, '' WHERE EXISTS (SELECT 1 FROM calls WHERE digest IN (?1, ?2) AND ns IN ('', ?3))
		ORDER BY 1, 2, 6 DESC`, digestBytes(e), digestBytes(j), own)
	return s, l.Store().Fault(op, err)
}
