package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// exports return the entries of each kind as JSON objects, in the order in which they
// were made.
var exports = []string{
	`SELECT json_object('type', 'sample', 'e', lower(hex(e)), 'ordinal', ordinal, 'level', level, 'namespace', ns, 'created', ` + isoTime("created") + `,
		'duration_ms', duration / 1000000, 'transcript', json(CAST(body AS TEXT))) FROM samples JOIN transcripts ON sample = id ORDER BY id`,
	`SELECT json_object('type', 'judgement', 'j', lower(hex(j.j)), 'e', lower(hex(s.e)), 'ordinal', s.ordinal, 'level', j.level, 'namespace', j.ns,
		'created', ` + isoTime("j.created") + `, 'judgement', json(CAST(j.body AS TEXT))) FROM judgements j JOIN samples s ON s.id = j.sample ORDER BY j.id`,
	`SELECT json_object('type', 'verdict', 'd', lower(hex(d)), 'j', lower(hex(j)), 'e', lower(hex(e)), 'last', last, 'level', level, 'namespace', ns, 'created', ` + isoTime("created") + `,
		'decision', json(CAST(body AS TEXT))) FROM verdicts ORDER BY id`,
	`SELECT json_object('type', 'call', 'digest', lower(hex(digest)), 'ordinal', ordinal, 'seq', seq, 'role', role, 'attempt', attempt, 'level', level,
		'namespace', ns, 'created', ` + isoTime("created") + `, 'request_digest', lower(hex(request_digest)), 'request', json(CAST(request AS TEXT)),
		'reply', json(CAST(reply AS TEXT))) FROM calls ORDER BY id`,
	`SELECT json_object('type', 'run', 'id', id, 'repository', repository, 'pull_request', pull_request, 'base', base, 'head', head,
		'started', ` + isoTime("started") + `, 'finished', ` + isoTime("finished") + `), id
		FROM runs WHERE id IN (SELECT run FROM reports) ORDER BY started, id`,
	`SELECT json_object('type', 'command', 'repository', repository, 'pull_request', pull_request, 'comment', comment, 'login', login,
		'account', account, 'verb', verb, 'argument', argument, 'cases', json(cases), 'head', head, 'refused', refused,
		'written', ` + isoTime("written") + `, 'taken', ` + isoTime("taken") + `) FROM commands ORDER BY taken, comment`,
}

// isoTime returns a time of the tables as text.
func isoTime(column string) string {
	return "strftime('%Y-%m-%dT%H:%M:%fZ', " + column + " / 1000.0, 'unixepoch')"
}

// Export hands out every entry as a JSON object whose type is sample,
// judgement, verdict, call, run or command, all as of one moment. The secret is not
// among them.
func (l *Ledger) Export(ctx context.Context, do func(json.RawMessage) error) (err error) {
	defer func() { err = l.store.Fault("export", err) }()
	return l.store.AsOf(ctx, func(r store.Reader) error {
		for _, text := range exports {
			if err := reading(r).export(ctx, do, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// A runEntry is the entry of a run without its report.
type runEntry struct {
	line []byte
	run  string
}

// export passes on the entries of one kind. Reports are read after the list of their
// runs, since a connection to PostgreSQL returns one answer at a time.
func (read reading) export(ctx context.Context, do func(json.RawMessage) error, text string) error {
	var runs []runEntry
	err := read(ctx, func(rows *sql.Rows) error {
		var l runEntry
		columns, err := rows.Columns()
		switch {
		case err != nil:
			return err
		case len(columns) > 1:
			err = rows.Scan(&l.line, &l.run)
			runs = append(runs, l)
			return err
		}
		if err := rows.Scan(&l.line); err != nil {
			return err
		}
		return do(l.line)
	}, text)
	if err != nil {
		return err
	}
	for _, l := range runs {
		report, err := read.report(ctx, l.run)
		if err != nil {
			return err
		}
		if err := do(slices.Concat(l.line[:len(l.line)-1], []byte(`,"report":`), report, []byte("}"))); err != nil {
			return err
		}
	}
	return nil
}

// report returns the report of a run.
func (read reading) report(ctx context.Context, run string) (json.RawMessage, error) {
	var body []byte
	err := read(ctx, func(rows *sql.Rows) error { return rows.Scan(&body) }, "SELECT body FROM reports WHERE run = ?", run)
	if err != nil {
		return nil, err
	}
	return read.unpack(ctx, run, body)
}
