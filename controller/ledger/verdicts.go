package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// An Execution is one sample of E: what happened with the target.
type Execution struct {
	// Ordinal counts the samples of E from 0.
	Ordinal    int
	Transcript verdict.Transcript
	Duration   time.Duration
	// Usage is what the calls to the target cost.
	Usage verdict.Usage
}

// A Judgement is one sample of J with what judging it cost.
type Judgement struct {
	Sample verdict.Sample `json:"sample"`
	Usage  verdict.Usage  `json:"usage"`
}

// A Decision is the result of D.
type Decision struct {
	Result verdict.Result `json:"result"`
	// Usage and Duration are what it took to get there, stored samples
	// included.
	Usage    verdict.Usage `json:"usage"`
	Duration time.Duration `json:"duration"`
	Samples  int           `json:"samples"`

	// Digests and Created are filled in by reading.
	E       string    `json:"-"`
	J       string    `json:"-"`
	Created time.Time `json:"-"`
}

// An Outcome is everything that a run found out about one case.
type Outcome struct {
	Trust   Trust
	Digests plan.Digests
	// Executions and Samples are those that are new.
	Executions []Execution
	Samples    []Judgement
	// Decision is nil where the case could not be decided.
	Decision *Decision
}

// errStoreError refuses what must be tried again rather than remembered.
var errStoreError = errors.New("an error is no verdict and is not stored")

// Save writes an outcome in one transaction. Of two samples with the same
// digest and ordinal the first wins.
func (l *Ledger) Save(ctx context.Context, o Outcome) error {
	if o.Decision != nil && o.Decision.Result.Verdict == verdict.Error {
		return errStoreError
	}
	for _, s := range o.Samples {
		if s.Sample.Error != "" {
			return errStoreError
		}
	}
	return l.submit(ctx, func(ctx context.Context, conn *sql.Conn) error {
		for _, x := range o.Executions {
			if err := l.saveExecution(ctx, conn, o, x); err != nil {
				return fmt.Errorf("store a sample: %w", err)
			}
		}
		for _, s := range o.Samples {
			if err := l.saveJudgement(ctx, conn, o, s); err != nil {
				return fmt.Errorf("store a judgement: %w", err)
			}
		}
		if o.Decision == nil {
			return nil
		}
		if err := l.saveDecision(ctx, conn, o); err != nil {
			return fmt.Errorf("store a verdict: %w", err)
		}
		return nil
	})
}

func (l *Ledger) saveExecution(ctx context.Context, conn *sql.Conn, o Outcome, x Execution) error {
	x.Transcript.Usage = x.Usage
	body, err := json.Marshal(x.Transcript)
	if err != nil {
		return err
	}
	var there int
	err = conn.QueryRowContext(ctx, "SELECT count(*) FROM samples WHERE e = ? AND ordinal = ? AND ns = ?",
		o.Digests.E, x.Ordinal, o.Trust.namespace()).Scan(&there)
	if err != nil || there > 0 {
		return err
	}
	res, err := conn.ExecContext(ctx, "INSERT INTO transcripts (body) VALUES (?)", body)
	if err != nil {
		return err
	}
	id, err := res.LastInsertId()
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `INSERT INTO samples (e, ordinal, ns, level, transcript_id, duration, created)
		VALUES (?, ?, ?, ?, ?, ?, ?)`,
		o.Digests.E, x.Ordinal, o.Trust.namespace(), o.Trust.Level, id, int64(x.Duration), l.now().UnixMilli())
	return err
}

func (l *Ledger) saveJudgement(ctx context.Context, conn *sql.Conn, o Outcome, s Judgement) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `INSERT INTO judgements (j, ordinal, ns, level, body, created)
		VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		o.Digests.J, s.Sample.Ordinal, o.Trust.namespace(), o.Trust.Level, body, l.now().UnixMilli())
	return err
}

func (l *Ledger) saveDecision(ctx context.Context, conn *sql.Conn, o Outcome) error {
	body, err := json.Marshal(o.Decision)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `INSERT INTO verdicts (d, e, j, ns, level, body, created) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		o.Digests.D, o.Digests.E, o.Digests.J, o.Trust.namespace(), o.Trust.Level, body, l.now().UnixMilli())
	return err
}

// readable is the condition under which a scope sees a row; its arguments are
// those of Scope.args.
const readable = "(level >= 2 OR ns = ?) AND created >= ?"

func (s Scope) args(first ...any) []any { return append(first, s.namespace(), s.since()) }

// namespace of a reader without a pull request is that of trusted entries.
func (s Scope) namespace() string {
	if s.PullRequest == 0 {
		return ""
	}
	t := s.Trust
	t.Level = LevelPull
	return t.namespace()
}

// Executions gives the samples of E that the scope may use, by ordinal, and
// the ordinal that the next new one takes.
func (l *Ledger) Executions(ctx context.Context, scope Scope, e string) (found []Execution, next int, err error) {
	err = l.db.QueryRowContext(ctx, "SELECT coalesce(max(ordinal) + 1, 0) FROM samples WHERE e = ? AND (level >= 2 OR ns = ?)",
		e, scope.namespace()).Scan(&next)
	if err != nil || scope.Nothing || next == 0 {
		return nil, next, wrap("read the samples", err)
	}
	rows, err := l.db.QueryContext(ctx, `SELECT ordinal, duration, body FROM samples JOIN transcripts ON transcripts.id = transcript_id
		WHERE e = ? AND `+readable+` GROUP BY ordinal HAVING level = max(level) ORDER BY ordinal`, scope.args(e)...)
	if err != nil {
		return nil, 0, wrap("read the samples", err)
	}
	defer rows.Close() //nolint:errcheck // Err is checked
	for rows.Next() {
		var x Execution
		var body []byte
		if err := rows.Scan(&x.Ordinal, &x.Duration, &body); err != nil {
			return nil, 0, wrap("read a sample", err)
		}
		if err := json.Unmarshal(body, &x.Transcript); err != nil {
			return nil, 0, wrap("read a transcript", err)
		}
		x.Usage = x.Transcript.Usage
		found = append(found, x)
	}
	return found, next, wrap("read the samples", rows.Err())
}

// Judgements gives the judged samples of J that the scope may use, by ordinal.
func (l *Ledger) Judgements(ctx context.Context, scope Scope, j string) ([]Judgement, error) {
	if scope.Nothing {
		return nil, nil
	}
	rows, err := l.db.QueryContext(ctx, `SELECT body FROM judgements WHERE j = ? AND `+readable+`
		GROUP BY ordinal HAVING level = max(level) ORDER BY ordinal`, scope.args(j)...)
	if err != nil {
		return nil, wrap("read the judgements", err)
	}
	defer rows.Close() //nolint:errcheck // Err is checked
	var found []Judgement
	for rows.Next() {
		var body []byte
		var s Judgement
		if err := rows.Scan(&body); err != nil {
			return nil, wrap("read a judgement", err)
		}
		if err := json.Unmarshal(body, &s); err != nil {
			return nil, wrap("read a judgement", err)
		}
		found = append(found, s)
	}
	return found, wrap("read the judgements", rows.Err())
}

// Decided gives the newest decisions of the digests that the scope may use.
// Digests that are not known are not in the map.
func (l *Ledger) Decided(ctx context.Context, scope Scope, digests []string) (map[string]Decision, error) {
	found := map[string]Decision{}
	if scope.Nothing {
		return found, nil
	}
	err := inChunks(digests, func(chunk []any) error {
		rows, err := l.db.QueryContext(ctx, `SELECT d, e, j, body, created FROM verdicts
			WHERE d IN (`+marks(len(chunk))+`) AND `+readable+` ORDER BY id`, scope.args(chunk...)...)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // Err is checked
		for rows.Next() {
			var d string
			var body []byte
			var created int64
			var dec Decision
			if err := rows.Scan(&d, &dec.E, &dec.J, &body, &created); err != nil {
				return err
			}
			if err := json.Unmarshal(body, &dec); err != nil {
				return err
			}
			dec.Created = time.UnixMilli(created)
			found[d] = dec
		}
		return rows.Err()
	})
	return found, wrap("read the verdicts", err)
}

// Known says what the ledger has for each of the digests, in their order.
func (l *Ledger) Known(ctx context.Context, scope Scope, digests []plan.Digests) ([]plan.Known, error) {
	out := make([]plan.Known, len(digests))
	if scope.Nothing {
		return out, nil
	}
	var d, e, j []string
	for _, x := range digests {
		d, e, j = append(d, x.D), append(e, x.E), append(j, x.J)
	}
	decided, err := l.Decided(ctx, scope, d)
	if err != nil {
		return nil, err
	}
	executed, err := l.count(ctx, scope, "samples", "e", e)
	if err != nil {
		return nil, err
	}
	judged, err := l.count(ctx, scope, "judgements", "j", j)
	if err != nil {
		return nil, err
	}
	for i, x := range digests {
		out[i] = plan.Known{Executed: executed[x.E], Judged: judged[x.J]}
		if dec, ok := decided[x.D]; ok {
			out[i].Decided = &dec.Result
		}
	}
	return out, nil
}

// count counts the ordinals that are stored for each digest.
func (l *Ledger) count(ctx context.Context, scope Scope, table, column string, digests []string) (map[string]int, error) {
	found := map[string]int{}
	err := inChunks(digests, func(chunk []any) error {
		rows, err := l.db.QueryContext(ctx, fmt.Sprintf(`SELECT %s, count(DISTINCT ordinal) FROM %s WHERE %s IN (%s) AND %s GROUP BY 1`,
			column, table, column, marks(len(chunk)), readable), scope.args(chunk...)...)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // Err is checked
		for rows.Next() {
			var digest string
			var n int
			if err := rows.Scan(&digest, &n); err != nil {
				return err
			}
			found[digest] = n
		}
		return rows.Err()
	})
	return found, wrap("read the "+table, err)
}

// inChunks calls do with at most 500 digests at a time, leaving out empty ones.
func inChunks(digests []string, do func(chunk []any) error) error {
	var chunk []any
	for i, d := range digests {
		if d != "" {
			chunk = append(chunk, d)
		}
		if len(chunk) == 500 || (i == len(digests)-1 && len(chunk) > 0) {
			if err := do(chunk); err != nil {
				return err
			}
			chunk = nil
		}
	}
	return nil
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ledger: %s: %w", op, err)
}
