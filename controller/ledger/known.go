package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

const (
	// fromJudgements joins judgements j with the samples s that they judge.
	fromJudgements = "FROM judgements j JOIN samples s ON s.id = j.sample"
	// visible keeps the samples s of a namespace and the trusted ones; a sample of the
	// namespace hides the trusted one with the same ordinal. Its arguments are the
	// namespace, three times.
	visible = `s.ns IN ('', ?) AND (s.ns = ? OR NOT EXISTS
		(SELECT 1 FROM samples own WHERE own.e = s.e AND own.ordinal = s.ordinal AND own.ns = ?))`
	// ownFirst keeps the judgements on visible samples. Its arguments are the
	// namespace, four times.
	ownFirst = "j.ns IN ('', ?) AND " + visible
	// fromVerdicts joins the digests q with the verdict v that a scope uses of
	// each. Its arguments are the namespace, the age, the end, and the digests.
	fromVerdicts = `FROM json_each(?4) q JOIN verdicts v ON v.id = coalesce(
		(SELECT id FROM verdicts WHERE d = unhex(q.value) AND ns = ?1 AND oldest >= ?2 AND created < ?3 ORDER BY last DESC LIMIT 1),
		(SELECT id FROM verdicts WHERE d = unhex(q.value) AND ns = '' AND oldest >= ?2 AND created < ?3 ORDER BY last DESC LIMIT 1))`
)

// Executions returns the samples of E that the scope may use, by ordinal, and the
// ordinal that the next new one takes. Samples that are too old to be used do not have
// that ordinal, either.
func (l *Ledger) Executions(ctx context.Context, scope Scope, e string) (found []Execution, next int, err error) {
	err = l.store.Each(ctx, func(rows *sql.Rows) error {
		var x Execution
		var created int64
		var body sql.RawBytes
		if err := rows.Scan(&x.Ordinal, &x.Duration, &created, &body); err != nil {
			return err
		}
		if x.Ordinal < next {
			return nil // the scope has its own sample
		}
		next = x.Ordinal + 1
		if scope.Nothing || created < scope.notBefore() {
			return nil
		}
		if err := json.Unmarshal(body, &x.Transcript); err != nil {
			return fmt.Errorf("sample %d: %w", x.Ordinal, err)
		}
		x.Usage = x.Transcript.Usage
		found = append(found, x)
		return nil
	}, `SELECT s.ordinal, s.duration, s.created, t.body FROM samples s JOIN transcripts t ON t.sample = s.id
		WHERE s.e = ? AND s.ns IN ('', ?) ORDER BY s.ordinal, s.ns DESC`, digestBytes(e), scope.Namespace())
	return found, next, l.store.Fault("read the samples of "+e, err)
}

// LastReplies returns the last reply of the newest sample for each decision digest that
// the scope may use. Unknown digests are not in the map.
func LastReplies(ctx context.Context, l *Ledger, scope Scope, digests []string) (map[string]schema.Message, error) {
	decided, err := l.Decided(ctx, scope, digests)
	if err != nil {
		return nil, err
	}
	var asked []string // with an entry for each of executed
	var executed []string
	for digest, decision := range decided {
		asked, executed = append(asked, digest), append(executed, decision.E)
	}
	found := map[string]schema.Message{}
	err = l.bulk(ctx, digestHexes(executed), func(rows *sql.Rows) error {
		var i int
		var body sql.RawBytes
		if err := rows.Scan(&i, &body); err != nil {
			return err
		}
		var said verdict.Transcript
		if err := json.Unmarshal(body, &said); err != nil {
			return fmt.Errorf("samples of %s: %w", executed[i], err)
		}
		if last := said.LastReply(); last != nil {
			found[asked[i]] = *last
		}
		return nil
	}, `SELECT q.key, t.body FROM json_each(?3) q JOIN transcripts t ON t.sample =
		(SELECT s.id FROM samples s JOIN transcripts own ON own.sample = s.id WHERE s.e = unhex(q.value) AND s.ns IN ('', ?1) AND s.created >= ?2
			ORDER BY s.ordinal DESC, s.ns DESC LIMIT 1)`, scope.Namespace(), scope.notBefore())
	return found, l.store.Fault("read the newest samples", err)
}

// Judgements returns the judged samples of J that the scope may use, by ordinal. They
// belong to the executions that Executions returns for the same scope.
func (l *Ledger) Judgements(ctx context.Context, scope Scope, j string) ([]Judgement, error) {
	if scope.Nothing {
		return nil, nil
	}
	var found []Judgement
	last := -1
	own := scope.Namespace()
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		var ordinal int
		var body sql.RawBytes
		if err := rows.Scan(&ordinal, &body); err != nil {
			return err
		}
		if ordinal == last {
			return nil // the scope has its own judgement
		}
		last = ordinal
		var judged Judgement
		if err := json.Unmarshal(body, &judged); err != nil {
			return fmt.Errorf("sample %d: %w", ordinal, err)
		}
		found = append(found, judged)
		return nil
	}, "SELECT s.ordinal, j.body "+fromJudgements+" WHERE j.j = ? AND "+ownFirst+" AND s.created >= ? ORDER BY s.ordinal, j.ns DESC",
		digestBytes(j), own, own, own, own, scope.notBefore())
	return found, l.store.Fault("read the judgements of "+j, err)
}

// Decided returns the decisions of the digests that the scope may use: of several on
// one digest the newest, its own before base's. Unknown digests are not in the map.
func (l *Ledger) Decided(ctx context.Context, scope Scope, digests []string) (map[string]*Decision, error) {
	found := map[string]*Decision{}
	var reader verdict.JSONReader
	if scope.Nothing {
		return found, nil
	}
	err := l.bulk(ctx, digestHexes(digests), func(rows *sql.Rows) error {
		var i int
		d := new(Decision)
		var body sql.RawBytes
		var created, oldest int64
		if err := rows.Scan(&i, (*digestColumn)(&d.E), (*digestColumn)(&d.J), &body, &created, &oldest); err != nil {
			return err
		}
		if err := d.decode(&reader, body); err != nil {
			return fmt.Errorf("verdict %s: %w", digests[i], err)
		}
		d.Created, d.Oldest = time.UnixMilli(created).UTC(), time.UnixMilli(oldest).UTC()
		found[digests[i]] = d
		return nil
	}, "SELECT q.key, v.e, v.j, v.body, v.created, v.oldest "+fromVerdicts, scope.Namespace(), scope.notBefore(), scope.notAfter())
	return found, l.store.Fault("read the verdicts", err)
}

// Stored returns for each of the digests, in their order, the entries that a plan
// needs. A decision comes without its reason and evaluators, for which see Decided, and
// then samples are not counted, since nothing needs them.
func (l *Ledger) Stored(ctx context.Context, scope Scope, digests []plan.Digests) ([]plan.Stored, error) {
	out := make([]plan.Stored, len(digests))
	if scope.Nothing {
		return out, nil
	}
	list := make([]string, len(digests))
	for i, x := range digests {
		list[i] = x.D
	}
	err := l.bulk(ctx, digestHexes(list), func(rows *sql.Rows) error {
		var i int
		var r verdict.Result
		if err := rows.Scan(&i, &r.Verdict, &r.Score, &r.Samples); err != nil {
			return err
		}
		out[i].Decided = &r
		return nil
	}, "SELECT q.key, v.verdict, v.score, v.samples "+fromVerdicts, scope.Namespace(), scope.notBefore(), scope.notAfter())
	if err != nil {
		return nil, l.store.Fault("read the verdicts", err)
	}
	return out, l.count(ctx, scope, digests, out)
}

// Samples is Known for a caller who has called Decided for the same digests, and found
// some decisions: it counts the samples of the others.
func (l *Ledger) Samples(ctx context.Context, scope Scope, digests []plan.Digests, decided map[string]*Decision) ([]plan.Stored, error) {
	out := make([]plan.Stored, len(digests))
	if scope.Nothing {
		return out, nil
	}
	for i, x := range digests {
		if d := decided[x.D]; d != nil {
			out[i].Decided = &d.Result
		}
	}
	return out, l.count(ctx, scope, digests, out)
}

// count counts the samples of the digests that are not decided.
func (l *Ledger) count(ctx context.Context, scope Scope, digests []plan.Digests, out []plan.Stored) error {
	own, since := scope.Namespace(), scope.notBefore()
	var open []int
	var e, j []string
	for i, x := range digests {
		if out[i].Decided == nil {
			open, e, j = append(open, i), append(e, x.E), append(j, x.J)
		}
	}
	err := l.ordinals(ctx, e, func(i, n int) { out[open[i]].Executed = n },
		"FROM samples s WHERE s.e = unhex(q.value) AND "+visible+" AND s.created >= ?", own, own, own, since)
	if err != nil {
		return l.store.Fault("count the samples", err)
	}
	err = l.ordinals(ctx, j, func(i, n int) { out[open[i]].Judged = n },
		fromJudgements+" WHERE j.j = unhex(q.value) AND "+ownFirst+" AND s.created >= ?", own, own, own, own, since)
	return l.store.Fault("count the judgements", err)
}

// ordinals counts, for each digest, the ordinals that the rest of a query finds for the
// digest unhex(q.value).
func (l *Ledger) ordinals(ctx context.Context, digests []string, found func(i, n int), from string, args ...any) error {
	return l.bulk(ctx, digestHexes(digests), func(rows *sql.Rows) error {
		var i, n int
		if err := rows.Scan(&i, &n); err != nil {
			return err
		}
		found(i, n)
		return nil
	}, "SELECT q.key, (SELECT count(DISTINCT s.ordinal) "+from+") FROM json_each(?) q", args...)
}

// bulk runs a query over all values at once. They are its last argument, which
// json_each(?) reads.
func (l *Ledger) bulk(ctx context.Context, values []string, do func(*sql.Rows) error, text string, args ...any) error {
	if len(values) == 0 {
		return nil
	}
	list, err := json.Marshal(values)
	if err != nil {
		return err
	}
	return l.store.Each(ctx, do, text, append(args, string(list))...)
}
