package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// A packedReport is a report that is ready to be stored.
type packedReport struct {
	frame   []byte
	digests [][]byte
	packed  [][]byte // nil if the ledger has the piece
}

// errCollected means that a piece that the ledger had was collected meanwhile.
var errCollected = errors.New("a piece of the report is gone")

// pack does the work that needs no transaction. Pieces that the ledger has are not
// packed again, unless all are wanted.
func (l *Ledger) pack(ctx context.Context, r Run, all bool) (*packedReport, error) {
	p := &packedReport{}
	add := func(piece []byte) error {
		sum, known := sha256.Sum256(piece), false
		err := l.store.Each(ctx, func(*sql.Rows) error { known = true; return nil }, "SELECT 1 FROM pieces WHERE digest = ?", sum[:])
		var packed []byte
		if all || !known {
			packed = deflate(piece)
		}
		p.digests, p.packed = append(p.digests, sum[:]), append(p.packed, packed)
		return err
	}
	if r.Cases != nil {
		around, err := frameReport(r.Report)
		if err != nil {
			return nil, err
		}
		if p.frame, err = around.packFrame(r.Problems); err != nil {
			return nil, err
		}
		return p, eachPiece(r.Cases, add)
	}
	split := cutReport(r.Report)
	var err error
	if p.frame, err = split.packFrame(nil); err != nil {
		return nil, err
	}
	for _, piece := range split.Pieces {
		if err := add(piece); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// insert writes the report of a run. The error is errCollected if all pieces have to be
// packed.
func (p *packedReport) insert(t *store.Tx, run string) error {
	if err := t.Exec("INSERT INTO reports (run, body) VALUES (?, ?)", run, p.frame); err != nil {
		return err
	}
	const link = "INSERT INTO report_pieces (run, place, piece) SELECT ?, ?, id FROM pieces WHERE digest = ?"
	for i, digest := range p.digests {
		switch n, err := t.Change(link, run, i, digest); {
		case err != nil:
			return err
		case n == 1:
			continue
		case p.packed[i] == nil:
			return errCollected
		}
		if err := t.Exec("INSERT INTO pieces (digest, body) VALUES (?, ?)", digest, p.packed[i]); err != nil {
			return err
		}
		if err := t.Exec(link, run, i, digest); err != nil {
			return err
		}
	}
	return nil
}

// A reading reads rows, of the ledger or of one moment of it.
type reading func(ctx context.Context, do func(*sql.Rows) error, text string, args ...any) error

// unpack returns the report of a run from its stored pieces.
func (read reading) unpack(ctx context.Context, run string, body []byte) (json.RawMessage, error) {
	frame, err := inflate(body)
	if err != nil {
		return nil, fmt.Errorf("report of run %s: %w", run, err)
	}
	split, err := parseFrame(frame)
	if err != nil {
		return nil, fmt.Errorf("report of run %s: %w", run, err)
	}
	err = read(ctx, func(rows *sql.Rows) error {
		var place int
		var packed sql.RawBytes
		if err := rows.Scan(&place, &packed); err != nil {
			return err
		}
		if place != len(split.Pieces) {
			return fmt.Errorf("piece %d is missing", len(split.Pieces))
		}
		piece, err := inflate(packed)
		split.Pieces = append(split.Pieces, piece)
		return err
	}, "SELECT place, body FROM report_pieces JOIN pieces ON id = piece WHERE run = ? ORDER BY place", run)
	if err != nil {
		return nil, fmt.Errorf("report of run %s: %w", run, err)
	}
	return split.Join(), nil
}

const (
	// keptRuns is how many runs of a repository are kept with their reports. Beyond
	// these, the newest of each pull request is kept, and the runs that the outbox
	// needs.
	keptRuns = 500
	// mostRuns is how many are kept in any case, apart from those that are still to be
	// published.
	mostRuns = 2000
	// trimmed is how many runs one transaction removes, and trims how many transactions
	// follow one run, so that nobody waits for long.
	trimmed, trims = 8, 4
)

// surplus are the runs of a repository (?1) that are not kept: ?2 is keptRuns
// and ?3 mostRuns.
const surplus = `SELECT r.id FROM runs r WHERE r.repository = ?1
	AND (r.started, r.id) <= (SELECT started, id FROM runs WHERE repository = ?1 ORDER BY started DESC, id DESC LIMIT 1 OFFSET ?2)
	AND (` + replaced + ` OR (r.started, r.id) <=
		(SELECT started, id FROM runs WHERE repository = ?1 ORDER BY started DESC, id DESC LIMIT 1 OFFSET ?3))
	AND NOT EXISTS (` + unpublished + `)`

// trim removes runs of a repository that are too many. Runs that it does not
// reach are left to the next run.
func (l *Ledger) trim(ctx context.Context, repository string) error {
	for range trims {
		var n int64
		err := l.store.Submit(ctx, func(t *store.Tx) error {
			var ids string
			err := t.Row("SELECT json_group_array(id) FROM ("+surplus+" LIMIT ?4) AS r",
				repository, keptRuns, mostRuns, trimmed).Scan(&ids)
			if err != nil {
				return err
			}
			n, err = removeRuns(t, ids)
			return err
		})
		if err != nil || n < trimmed {
			return err
		}
	}
	return nil
}

// removeRuns removes the runs of a JSON list of ids, with their reports and the pieces
// that no other report has, and returns their number.
func removeRuns(t *store.Tx, ids string) (int64, error) {
	var orphans string
	err := t.Row("SELECT json_group_array(DISTINCT piece) FROM report_pieces WHERE run IN (SELECT value FROM json_each(?))", ids).Scan(&orphans)
	if err != nil {
		return 0, err
	}
	for _, table := range []string{"outbox", "report_pieces", "reports"} {
		if err := t.Exec("DELETE FROM "+table+" WHERE run IN (SELECT value FROM json_each(?))", ids); err != nil {
			return 0, err
		}
	}
	err = t.Exec(`DELETE FROM pieces WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
		AND NOT EXISTS (SELECT 1 FROM report_pieces WHERE piece = pieces.id)`, orphans)
	if err != nil {
		return 0, err
	}
	return t.Change("DELETE FROM runs WHERE id IN (SELECT value FROM json_each(?))", ids)
}
