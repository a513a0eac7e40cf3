// Package browse reads from a ledger what people page through: the list of runs
// without their cases, and how one case was judged over time.
//
// Most callers want [Runs] and [Judged]. Both read as much as they return, however
// large the ledger is.
package browse

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/pieces"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A Run is a stored run. Its report has no cases.
type Run = ledger.Run

// A Page is a part of a list, from the newest: Limit entries after the first Skip.
type Page struct{ Skip, Limit int }

// Runs returns a page of the runs with their reports, whose lists of cases are
// empty, and how many runs there are. An empty repository means all.
func Runs(ctx context.Context, book *ledger.Ledger, repository string, p Page) (found []Run, total int, err error) {
	err = book.Store().Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&total) },
		"SELECT count(*) FROM runs WHERE ? IN ('', repository)", repository)
	if err != nil {
		return nil, 0, book.Store().Fault("count the runs", err)
	}
	err = book.Store().Each(ctx, func(rows *sql.Rows) error {
		var r Run
		var started, finished int64
		var packed bool
		var body []byte
		if err := rows.Scan(&r.ID, &r.Repository, &r.PullRequest, &r.Base, &r.Head, &started, &finished, &packed, &body); err != nil {
			return err
		}
		r.Started, r.Finished = time.UnixMilli(started).UTC(), time.UnixMilli(finished).UTC()
		if r.Report, err = withoutCases(packed, body); err != nil {
			return fmt.Errorf("report of run %s: %w", r.ID, err)
		}
		found = append(found, r)
		return nil
	}, `SELECT runs.id, repository, pull_request, base, head, started, finished, form, body
		FROM runs JOIN reports ON reports.run = runs.id WHERE ? IN ('', repository)
		ORDER BY started DESC, runs.id DESC LIMIT ? OFFSET ?`, repository, p.Limit, p.Skip)
	return found, total, book.Store().Fault("read the runs", err)
}

// withoutCases is the report without its pieces, which the cases are in.
func withoutCases(packed bool, body []byte) (json.RawMessage, error) {
	if !packed {
		split := pieces.Of(body)
		split.Pieces = nil
		return split.Join(), nil
	}
	frame, err := pieces.Unpack(body)
	if err != nil {
		return nil, err
	}
	split, err := pieces.Framed(frame)
	return split.Join(), err
}

// At returns the id of the newest run of a head whose name begins with a prefix, such
// as 7 digits of a commit; empty where there is none.
func At(ctx context.Context, book *ledger.Ledger, repository, prefix string) (id string, err error) {
	err = book.Store().Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&id) },
		`SELECT id FROM runs WHERE ? IN ('', repository) AND substr(head, 1, length(?2)) = ?2
		ORDER BY started DESC, id DESC LIMIT 1`, repository, prefix)
	return id, book.Store().Fault("look for a run", err)
}

// A Judgement is one time that a case was judged.
type Judgement struct {
	At      time.Time
	Verdict verdict.Verdict
	Score   *float64
	// Digest is the decision digest. Changed says that it is another one than
	// before: the case, or what it is judged with, was changed in between.
	Digest  string
	Changed bool
	// Run is the run that was active then, with its head; empty where it is not
	// stored any more.
	Run, Head string
}

// Judged returns the newest judgements of the case with a decision digest, at most
// limit, the oldest first. It has those that the scope may read, under any digest.
// Nothing is returned for a digest that is not known, or that a version before the
// first release decided.
func Judged(ctx context.Context, book *ledger.Ledger, scope ledger.Scope, digest string, limit int) ([]Judgement, error) {
	var found []Judgement
	err := book.Store().Each(ctx, func(rows *sql.Rows) error {
		var j Judgement
		var at int64
		var run, head sql.NullString
		if err := rows.Scan(&at, &j.Verdict, &j.Score, &j.Digest, &run, &head); err != nil {
			return err
		}
		j.At, j.Run, j.Head = time.UnixMilli(at).UTC(), run.String, head.String
		found = append(found, j)
		return nil
	}, `SELECT v.created, v.verdict, v.score, v.d, r.id, r.head
		FROM (SELECT * FROM verdicts WHERE ns IN ('', ?1)
			AND case_id = (SELECT case_id FROM verdicts WHERE d = ?2 AND case_id <> '' ORDER BY id DESC LIMIT 1)
			ORDER BY id DESC LIMIT ?3) v
		LEFT JOIN runs r ON r.id = (SELECT id FROM runs
			WHERE started <= v.created ORDER BY started DESC LIMIT 1) AND r.finished >= v.created
		ORDER BY v.id`, scope.Namespace(), digest, limit)
	for i := range found {
		found[i].Changed = i > 0 && found[i].Digest != found[i-1].Digest
	}
	return found, book.Store().Fault("read how the case was judged", err)
}
