// Package postgres is the ledger's [store.Engine] on PostgreSQL, for controllers and
// workers on several machines.
//
// [Open] connects to a database and returns a [store.Store]. The tables are in their
// own schema. Every caller's change is its own transaction, and a lost connection is
// waited out: a change is made exactly once even if its commit was not confirmed. [Tx]
// lets others take part in such a transaction.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// A Config says where the database is.
type Config struct {
	// URL is the address of the database: postgres://user:password@host/name. It is a
	// secret.
	URL string
	// Wait bounds how long a lost connection, and a change that another process holds
	// up, are waited for.
	Wait time.Duration
	// Prepare is called in a transaction when the schema is up to date.
	Prepare func(*store.Tx) error
	// Traced, if it is set, sees every statement.
	Traced pgx.QueryTracer
}

// Schema is where the tables are unless the URL names a search_path.
const Schema = "gavel"

//go:embed migrations/*.sql
var migrations embed.FS

// connections is the most that one process opens. Changes that wait for each other must
// leave some for reading.
const (
	connections = 16
	changes     = 8
)

// frozen is after how long the server ends a transaction of a process that was
// stopped in the middle of it, so that it does not hold up the others.
const frozen = 15 * time.Second

// Open connects to a database and brings its schema up to date. The errors say what to
// do about a server that cannot be reached, a role that may not make tables, and a
// ledger that a newer version wrote. No error has the password.
func Open(ctx context.Context, cfg Config) (*store.Store, error) {
	name := Redacted(cfg.URL)
	parsed, err := parse(cfg)
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", name, err)
	}
	e := &engine{
		db:   stdlib.OpenDB(*parsed),
		wait: cfg.Wait, places: make(chan struct{}, changes),
	}
	e.db.SetMaxOpenConns(connections)
	e.db.SetMaxIdleConns(connections)
	own := native
	own.DB = e.db
	own.Rewrite = func(text string, args []any) (string, []any) {
		s := e.known.translate(text)
		return s.text, s.pick(args)
	}
	s := store.New(e, own, name)
	err = e.patiently(ctx, isStarting, func() error { return e.migrate(ctx) })
	if err == nil && cfg.Prepare != nil {
		err = e.Submit(ctx, store.Alone, cfg.Prepare)
	}
	if err != nil {
		return nil, errors.Join(s.Fault("open", answerFirst(err)), e.db.Close())
	}
	return s, nil
}

// answerFirst puts the server's answer before what else was tried to connect to it, such as
// TLS.
func answerFirst(err error) error {
	var connecting *pgconn.ConnectError
	var fault *pgconn.PgError
	if errors.As(err, &connecting) && errors.As(err, &fault) {
		return Brief(fmt.Errorf("%s: %w", fault.Message, err))
	}
	return Brief(err)
}

// Pending connects to a database and returns how many of the scripts that make its
// tables it still lacks. It writes nothing. It returns the errors of [Open] about a
// server that cannot be reached and a ledger that a newer version wrote.
func Pending(ctx context.Context, url string) (int, error) {
	parsed, err := parse(Config{URL: url})
	if err != nil {
		return 0, err
	}
	e := &engine{db: stdlib.OpenDB(*parsed)}
	version, err := e.version(ctx, e.db)
	err = errors.Join(err, e.db.Close())
	scripts, listing := fs.Glob(migrations, "migrations/*.sql")
	switch err = errors.Join(err, listing); {
	case err == nil && version > len(scripts):
		err = fmt.Errorf("%w (schema %d, this one knows %d)", store.ErrNewer, version, len(scripts))
		fallthrough
	case err != nil:
		err = Brief(err)
		if hint := e.Hint(err); hint != "" {
			err = fmt.Errorf("%w; %s", err, hint)
		}
		return 0, err
	}
	return len(scripts) - version, nil
}

// native is the behavior that is PostgreSQL's own. It frees space by itself, and it
// refuses an entry without the entries on which it rests.
var native = store.Native{
	Isolation: sql.LevelRepeatableRead,
	Sizes: `SELECT used, greatest(0, total - used) FROM
		(SELECT ((SELECT coalesce(sum(pg_column_size(body)), 0) FROM transcripts) + (SELECT coalesce(sum(pg_column_size(body)), 0) FROM judgements)
			+ (SELECT coalesce(sum(pg_column_size(request) + pg_column_size(reply)), 0) FROM calls)
			+ (SELECT coalesce(sum(pg_column_size(body)), 0) FROM reports) + (SELECT coalesce(sum(pg_column_size(v.*)), 0) FROM verdicts v)
			+ (SELECT coalesce(sum(pg_column_size(p.*)), 0) FROM parts p))::bigint AS used) u,
		(SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint AS total FROM pg_class
			WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r') t`,
	Faults: []string{`SELECT 'index ' || c.relname, 'it is not valid: REINDEX INDEX ' || c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace`},
}

// parse returns the errors of [CheckURL].
func parse(cfg Config) (*pgx.ConnConfig, error) {
	if err := CheckURL(cfg.URL); err != nil {
		return nil, err
	}
	parsed, err := pgx.ParseConfig(cfg.URL)
	if err != nil {
		return nil, err
	}
	session(parsed, map[string]string{
		"idle_in_transaction_session_timeout": fmt.Sprint(frozen.Milliseconds()),
		"lock_timeout":                        fmt.Sprint(cfg.Wait.Milliseconds()),
	})
	parsed.Tracer = cfg.Traced
	return parsed, nil
}

// migrating is the lock for making tables. It is taken before the transaction begins: a
// transaction that waited for it inside would not see a schema that was made in the
// meantime, since it remembers the existing schemas.
const migrating = 0x6761766c00

// makeSchema makes the schema in which a session first looks for tables. An address
// with its own search_path keeps it.
const makeSchema = `DO $$ BEGIN
	IF current_schema() IS DISTINCT FROM '` + Schema + `' AND current_setting('search_path') LIKE '` + Schema + `,%' THEN CREATE SCHEMA ` + Schema + `; END IF;
END $$`

// MakeSchema makes the schema of the tables, if there is none, and returns the one in
// which new tables are made. Other processes that make tables wait for it. It comes
// before anything else that makes tables.
func MakeSchema(ctx context.Context, conn *pgx.Conn) (name string, err error) {
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrating)); err != nil {
		return "", err
	}
	defer func() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(migrating))
	}()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, makeSchema); err != nil {
			return err
		}
		return tx.QueryRow(ctx, "SELECT coalesce(current_schema(), '')").Scan(&name)
	})
	return name, err
}

// migrate runs the scripts that the database lacks, in one transaction. A role that may
// only use the tables can call it if there is nothing to run.
func (e *engine) migrate(ctx context.Context) (err error) {
	scripts, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	version, err := e.version(ctx, e.db)
	if err != nil || version == len(scripts) {
		return err
	}
	if version > len(scripts) {
		return fmt.Errorf("%w (schema %d, this one knows %d)", store.ErrNewer, version, len(scripts))
	}
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it goes back to the pool
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(migrating)); err != nil {
		return err
	}
	defer func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(migrating))
	}()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // the first error says why
		}
	}()
	// Another process may have been quicker.
	if version, err = e.version(ctx, tx); err != nil {
		return err
	}
	if version == 0 {
		for _, text := range []string{makeSchema, "CREATE TABLE ledger_version (version BIGINT NOT NULL)", "INSERT INTO ledger_version VALUES (0)"} {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return err
			}
		}
	}
	for _, name := range scripts[min(version, len(scripts)):] {
		script, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE ledger_version SET version = $1", len(scripts)); err != nil {
		return err
	}
	return tx.Commit()
}

type rower interface {
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}

// version is how many scripts the database has run, 0 if there is no ledger.
func (e *engine) version(ctx context.Context, in rower) (version int, err error) {
	var there bool
	err = in.QueryRowContext(ctx, "SELECT to_regclass('ledger_version') IS NOT NULL").Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	return version, in.QueryRowContext(ctx, "SELECT version FROM ledger_version").Scan(&version)
}

// Hint says what to do about an error, or nothing.
func (e *engine) Hint(err error) string {
	var fault *pgconn.PgError
	switch {
	case errors.Is(err, store.ErrNewer):
		return "update gavel"
	case !errors.As(err, &fault) && isLost(err):
		return "PostgreSQL cannot be reached: once it can, run again; finished results are kept"
	case fault == nil:
		return ""
	}
	switch fault.Code[:2] {
	case "28":
		return "the user or the password in the address is not the one that PostgreSQL has"
	case "3D":
		return "make the database: createdb NAME"
	case "42":
		if fault.Code == "42501" {
			return "give the role the right to make and use tables: GRANT CREATE ON DATABASE … TO …"
		}
	case "53":
		return "PostgreSQL has no room or no connections left: once it has, run again; finished results are kept"
	case "55", "57":
		return "PostgreSQL is busy or is being stopped: run again; finished results are kept"
	}
	return ""
}
