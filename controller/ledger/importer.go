package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	_ "modernc.org/sqlite" // the driver that ledgers are kept with
)

// Import adds to the ledger at path the entries of the ledger at base that serve
// everybody; entries of pull requests stay there. If path has samples of a case
// already, it keeps its own, since a verdict must not rest on samples of two ledgers.
// Neither may be in use. A new ledger gets the secret of base, without which the same
// credential would look like another.
//
// It returns the number of samples. If there is no ledger at base, or it is the one at
// path, it does nothing.
func Import(ctx context.Context, path, base string) (taken int64, err error) {
	at, err := os.Stat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("inherit from %s: %w", base, err)
	}
	if own, err := os.Stat(path); err == nil && os.SameFile(own, at) {
		return 0, nil
	}
	secret, err := update(ctx, Config{Path: base})
	if err != nil {
		return 0, err
	}
	if _, err = update(ctx, Config{Path: path, Rand: bytes.NewReader(secret)}); err != nil {
		return 0, err
	}
	if taken, err = add(ctx, path, base); err != nil {
		return 0, fmt.Errorf("inherit from %s: %w", base, err)
	}
	return taken, nil
}

// update gives both ledgers the tables that are read and written here.
func update(ctx context.Context, cfg Config) (secret []byte, err error) {
	store, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return store.Secret(), store.Close()
}

func add(ctx context.Context, path, base string) (taken int64, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	if base, err = filepath.Abs(base); err != nil {
		return 0, err
	}
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: "_pragma=foreign_keys(1)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// An attached database belongs to one connection.
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "ATTACH DATABASE ? AS base", base); err != nil {
		return 0, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	if err := importParts(ctx, tx); err != nil {
		return 0, errors.Join(err, tx.Rollback())
	}
	for _, text := range importSteps {
		done, err := tx.ExecContext(ctx, text)
		if err != nil {
			return 0, errors.Join(err, tx.Rollback())
		}
		if text == samples {
			if taken, err = done.RowsAffected(); err != nil {
				return 0, errors.Join(err, tx.Rollback())
			}
		}
	}
	return taken, tx.Commit()
}

// importParts copies the parts of the verdicts that serve everybody.
func importParts(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT parts FROM base.verdicts WHERE ns = '' AND parts IS NOT NULL")
	if err != nil {
		return err
	}
	used, err := keysIn(func(do func(*sql.Rows) error) error {
		for rows.Next() {
			if err := do(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err = errors.Join(err, rows.Close()); err != nil {
		return err
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(used)), atOnce) {
		list, err := json.Marshal(some)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO parts (key, body, touched) SELECT key, body, touched FROM base.parts
			WHERE key IN (SELECT value FROM json_each(?)) ON CONFLICT DO NOTHING`, string(list))
		if err != nil {
			return err
		}
	}
	return nil
}

// samples copies the samples of new executions. Entries that refer to them are found by
// digest and ordinal, since the ids differ here.
const samples = `INSERT INTO samples (e, ordinal, ns, level, duration, created, chosen)
	SELECT e, ordinal, ns, level, duration, created, chosen FROM base.samples WHERE ns = '' AND e IN fresh`

// steps are in the order in which each finds the entries that it needs.
var importSteps = []string{
	`CREATE TEMP TABLE fresh AS SELECT DISTINCT e FROM base.samples
		WHERE ns = '' AND e NOT IN (SELECT e FROM main.samples WHERE ns = '')`,
	samples,
	`INSERT INTO transcripts (sample, body) SELECT here.id, t.body ` + joined + `JOIN base.transcripts t ON t.sample = there.id`,
	`INSERT INTO judgements (j, sample, ns, level, body, created)
		SELECT j.j, here.id, j.ns, j.level, j.body, j.created ` + joined + `JOIN base.judgements j ON j.sample = there.id AND j.ns = ''`,
	`INSERT INTO verdicts (d, last, ns, level, e, j, verdict, score, samples, body, oldest, created, case_id, parts, commit_id)
		SELECT d, last, ns, level, e, j, verdict, score, samples, body, oldest, created, case_id, parts, commit_id FROM base.verdicts
		WHERE ns = '' AND e IN fresh ON CONFLICT DO NOTHING`,
	// Calls are read in their order, since the calls of two runs must not mix.
	`INSERT INTO calls (digest, ordinal, seq, ns, level, role, attempt, request_digest, request, reply, created, question)
		SELECT digest, ordinal, seq, ns, level, role, attempt, request_digest, request, reply, created, question FROM base.calls
		WHERE ns = '' AND digest NOT IN (SELECT digest FROM main.calls WHERE ns = '')`,
	`INSERT INTO histories (j, since) SELECT j, since FROM base.histories WHERE true ON CONFLICT DO NOTHING`,
	`DROP TABLE fresh`,
}

const joined = `FROM base.samples there JOIN main.samples here ON here.e = there.e AND here.ordinal = there.ordinal AND here.ns = ''
	` + `AND there.ns = '' AND there.e IN fresh `
