package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
)

// exports give the entries of each kind as JSON objects, in the order in which
// they were made.
var exports = []string{
	`SELECT json_object('type', 'sample', 'e', e, 'ordinal', ordinal, 'level', level, 'namespace', ns, 'created', ` + isoTime("created") + `,
		'duration_ms', duration / 1000000, 'transcript', json(CAST(body AS TEXT))) FROM samples JOIN transcripts ON sample = id ORDER BY id`,
	`SELECT json_object('type', 'judgement', 'j', j.j, 'e', s.e, 'ordinal', s.ordinal, 'level', j.level, 'namespace', j.ns,
		'created', ` + isoTime("j.created") + `, 'judgement', json(CAST(j.body AS TEXT))) FROM judgements j JOIN samples s ON s.id = j.sample ORDER BY j.id`,
	`SELECT json_object('type', 'verdict', 'd', d, 'j', j, 'e', e, 'last', last, 'level', level, 'namespace', ns, 'created', ` + isoTime("created") + `,
		'decision', json(CAST(body AS TEXT))) FROM verdicts ORDER BY id`,
	`SELECT json_object('type', 'call', 'digest', digest, 'ordinal', ordinal, 'seq', seq, 'role', role, 'attempt', attempt, 'level', level,
		'namespace', ns, 'created', ` + isoTime("created") + `, 'request_digest', request_digest, 'request', json(CAST(request AS TEXT)),
		'reply', json(CAST(reply AS TEXT))) FROM calls ORDER BY id`,
	`SELECT json_object('type', 'run', 'id', id, 'repository', repository, 'pull_request', pull_request, 'base', base, 'head', head,
		'started', ` + isoTime("started") + `, 'finished', ` + isoTime("finished") + `), id, form, body
		FROM runs JOIN reports ON run = id ORDER BY started, id`,
	`SELECT json_object('type', 'command', 'repository', repository, 'pull_request', pull_request, 'comment', comment, 'login', login,
		'account', account, 'verb', verb, 'argument', argument, 'cases', json(cases), 'head', head, 'refused', refused,
		'written', ` + isoTime("written") + `, 'taken', ` + isoTime("taken") + `) FROM commands ORDER BY taken, comment`,
}

// isoTime is a time of the tables as text.
func isoTime(column string) string {
	return "strftime('%Y-%m-%dT%H:%M:%fZ', " + column + " / 1000.0, 'unixepoch')"
}

// Export hands out every entry as a JSON object whose type is sample,
// judgement, verdict, call, run or command, all as of one moment. The secret is not
// among them.
func (l *Ledger) Export(ctx context.Context, do func(json.RawMessage) error) (err error) {
	defer func() { err = l.store.Fault("export", err) }()
	t, err := l.store.DB().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Rollback()) }()
	read := reading(func(ctx context.Context, do func(*sql.Rows) error, text string, args ...any) error {
		return exportRows(ctx, t, do, text, args...)
	})
	for _, text := range exports {
		err := read(ctx, func(rows *sql.Rows) error {
			line, err := read.line(ctx, rows)
			if err != nil {
				return err
			}
			return do(line)
		}, text)
		if err != nil {
			return err
		}
	}
	return nil
}

// line is an entry. That of a run comes without its report, which is put
// together and added.
func (read reading) line(ctx context.Context, rows *sql.Rows) (line []byte, err error) {
	columns, err := rows.Columns()
	if err != nil || len(columns) == 1 {
		return line, errors.Join(err, rows.Scan(&line))
	}
	var id string
	var form int
	var body []byte
	if err := rows.Scan(&line, &id, &form, &body); err != nil {
		return nil, err
	}
	report, err := read.unpack(ctx, id, form, body)
	if err != nil {
		return nil, err
	}
	return slices.Concat(line[:len(line)-1], []byte(`,"report":`), report, []byte("}")), nil
}

func exportRows(ctx context.Context, t *sql.Tx, do func(*sql.Rows) error, text string, args ...any) (err error) {
	rows, err := t.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
