package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
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
		'started', ` + isoTime("started") + `, 'finished', ` + isoTime("finished") + `, 'report', json(CAST(body AS TEXT)))
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
	for _, text := range exports {
		if err := exportRows(ctx, t, text, do); err != nil {
			return err
		}
	}
	return nil
}

func exportRows(ctx context.Context, t *sql.Tx, text string, do func(json.RawMessage) error) (err error) {
	rows, err := t.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var line []byte
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if err := do(line); err != nil {
			return err
		}
	}
	return rows.Err()
}
