package sqlexec

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/confine"
)

// ServeChild answers one query on standard input if Query started this process, and
// reports whether it did; the program then has to end.
func ServeChild() bool {
	if os.Getenv(childEnv) == "" || len(os.Args) != 2 || os.Args[1] != childArg {
		return false
	}
	// SQLite itself refuses what the kernel cannot refuse here.
	_ = confineProcess()
	// The parent kills a child that does not end; this timer also covers a killed
	// parent.
	time.AfterFunc(maxTime, func() { os.Exit(3) })
	// Base64 turns three bytes into four; names and syntax are small.
	input, err := io.ReadAll(io.LimitReader(os.Stdin, 2*maxDatabase))
	var req request
	if err == nil {
		err = json.Unmarshal(input, &req)
	}
	var out response
	if err == nil {
		out.Result, err = query(context.Background(), req)
	}
	if err != nil {
		out.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		os.Exit(3)
	}
	return true
}

// confineProcess is a variable so that tests can remove the confinement.
var confineProcess = confine.Process

// boundMemory makes SQLite count its memory, which this build does not do by default,
// so that hard_heap_limit holds. It works only once per process and before the first
// database is opened.
func boundMemory() error {
	tls := libc.NewTLS()
	defer tls.Close()
	args := libc.NewVaList(int32(1))
	if args == 0 {
		return errors.New("limit the database: no memory")
	}
	defer libc.Xfree(tls, args)
	if rc := sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_MEMSTATUS, args); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("limit the database: counting memory gives code %d", rc)
	}
	return nil
}

func query(ctx context.Context, req request) (Result, error) {
	if err := boundMemory(); err != nil {
		return Result{}, err
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return Result{}, fmt.Errorf("open the database: %w", err)
	}
	defer db.Close() //nolint:errcheck // the process ends
	conn, err := db.Conn(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("open the database: %w", err)
	}
	defer conn.Close() //nolint:errcheck // the process ends
	if err := build(ctx, conn, req.Files); err != nil {
		return Result{}, err
	}
	if err := authorise(conn, mayQuery); err != nil {
		return Result{}, err
	}
	ctx, cancel := within(ctx, req.Within)
	defer cancel()
	res, err := read(ctx, conn, req.Statement)
	if err == nil {
		return res, nil
	}
	if ctx.Err() != nil {
		return Result{Refused: fmt.Sprintf("the statement took longer than %v", req.Within)}, nil
	}
	return Result{Refused: clean(err)}, nil
}

// within returns a context that ends once this process has worked for d.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := confine.AfterWork(d, cancel)
	return ctx, func() { stop(); cancel() }
}

// clean removes the driver's name and codes from SQLite's message.
func clean(err error) string {
	text := strings.TrimPrefix(err.Error(), "SQL logic error: ")
	if i := strings.LastIndex(text, " ("); i > 0 && strings.HasSuffix(text, ")") {
		text = text[:i]
	}
	const most = 500
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// read runs the statement and counts its rows.
func read(ctx context.Context, conn *sql.Conn, statement string) (Result, error) {
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return Result{}, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err is looked at
	var res Result
	if res.Columns, err = rows.Columns(); err != nil {
		return Result{}, err
	}
	for i, c := range res.Columns {
		const most = 256
		res.Columns[i] = strings.ToValidUTF8(c[:min(len(c), most)], "")
	}
	for rows.Next() {
		if res.Rows == MaxRows {
			res.More = true
			return res, nil
		}
		res.Rows++
	}
	return res, rows.Err()
}

// build creates the database under limits and its own authoriser.
func build(ctx context.Context, conn *sql.Conn, files []schema.File) error {
	ctx, cancel := within(ctx, buildTime)
	defer cancel()
	if err := limit(ctx, conn); err != nil {
		return err
	}
	if bytes.HasPrefix(files[0].Data, []byte("SQLite format 3\x00")) {
		if len(files) > 1 {
			return fmt.Errorf("build the database: %s is a whole database, so it cannot have other files next to it", files[0].Path)
		}
		return load(ctx, conn, files[0])
	}
	if err := authorise(conn, mayBuild); err != nil {
		return err
	}
	for _, f := range files {
		if path.Ext(f.Path) != ".sql" {
			return fmt.Errorf("build the database: %s is neither a .sql script nor a SQLite database", f.Path)
		}
		if len(f.Data) == 0 {
			continue
		}
		if _, err := conn.ExecContext(ctx, string(f.Data)); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("build the database: %s takes longer than %v", f.Path, buildTime)
			}
			return fmt.Errorf("build the database: %s: %s", f.Path, clean(err))
		}
	}
	// A script may leave a transaction open; usually it does not, and this fails
	// harmlessly.
	_, _ = conn.ExecContext(ctx, "COMMIT")
	return nil
}

// load opens a database file's bytes as the database.
func load(ctx context.Context, conn *sql.Conn, f schema.File) error {
	data := bytes.Clone(f.Data)
	if len(data) >= 100 {
		// A database in WAL mode cannot be opened from memory; with the old
		// format numbers (SQLite file format, bytes 18 and 19) it can.
		data[18], data[19] = 1, 1
	}
	err := conn.Raw(func(c any) error {
		d, ok := c.(interface{ Deserialize([]byte) error })
		if !ok {
			return errors.New("the driver cannot load databases")
		}
		return d.Deserialize(data)
	})
	if err == nil {
		_, err = conn.ExecContext(ctx, "SELECT count(*) FROM sqlite_master")
	}
	if err != nil {
		return fmt.Errorf("build the database: %s: %s", f.Path, clean(err))
	}
	return nil
}

// limit sets the bounds of memory and work. The pragmas come before any authoriser,
// which refuses them.
func limit(ctx context.Context, conn *sql.Conn) error {
	for _, pragma := range []string{
		"hard_heap_limit = 134217728", // 128 MiB for all of SQLite in this process
		"temp_store = MEMORY",         // sorting must not fill a disk instead
		"trusted_schema = OFF",        // views and triggers of a .sqlite file
		"cell_size_check = ON",
	} {
		if _, err := conn.ExecContext(ctx, "PRAGMA "+pragma); err != nil {
			return fmt.Errorf("limit the database: %w", err)
		}
	}
	limits := map[int]int{
		sqlite3.SQLITE_LIMIT_LENGTH:              1 << 20, // randomblob(900000000) ignores deadlines
		sqlite3.SQLITE_LIMIT_SQL_LENGTH:          maxDatabase,
		sqlite3.SQLITE_LIMIT_COLUMN:              200,
		sqlite3.SQLITE_LIMIT_EXPR_DEPTH:          100,
		sqlite3.SQLITE_LIMIT_COMPOUND_SELECT:     50,
		sqlite3.SQLITE_LIMIT_VDBE_OP:             250_000,
		sqlite3.SQLITE_LIMIT_FUNCTION_ARG:        100,
		sqlite3.SQLITE_LIMIT_ATTACHED:            0,
		sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000, // LIKE takes quadratic time
		sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH:       10,
		sqlite3.SQLITE_LIMIT_WORKER_THREADS:      0,
	}
	for id, value := range limits {
		if _, err := sqlite.Limit(conn, id, value); err != nil {
			return fmt.Errorf("limit the database: %w", err)
		}
	}
	return nil
}

func authorise(conn *sql.Conn, may sqlite.AuthorizerFn) error {
	err := conn.Raw(func(c any) error {
		r, ok := c.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errors.New("the driver has no authoriser")
		}
		return r.RegisterAuthorizer(may)
	})
	if err != nil {
		return fmt.Errorf("restrict the database: %w", err)
	}
	return nil
}

// mayQuery allows only reading.
func mayQuery(action sqlite.AuthorizerActionCode, _, function, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
		return sqlite.AuthorizerOK
	case sqlite.AuthFunction:
		if !strings.EqualFold(function, "load_extension") {
			return sqlite.AuthorizerOK
		}
	}
	return sqlite.AuthorizerDeny
}

// mayBuild allows the statements of an ordinary script: no other files, no virtual
// tables, no settings. Settings are ignored rather than refused, because dumps begin
// with them; foreign keys affect the data and are followed.
func mayBuild(action sqlite.AuthorizerActionCode, arg, function, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthAttach, sqlite.AuthDetach, sqlite.AuthCreateVTable, sqlite.AuthDropVTable:
		return sqlite.AuthorizerDeny
	case sqlite.AuthPragma:
		if strings.EqualFold(arg, "foreign_keys") {
			return sqlite.AuthorizerOK
		}
		return sqlite.AuthorizerIgnore
	case sqlite.AuthCreateIndex, sqlite.AuthCreateTable, sqlite.AuthCreateTempIndex, sqlite.AuthCreateTempTable,
		sqlite.AuthCreateTempTrigger, sqlite.AuthCreateTempView, sqlite.AuthCreateTrigger, sqlite.AuthCreateView,
		sqlite.AuthDelete, sqlite.AuthInsert, sqlite.AuthUpdate, sqlite.AuthAlterTable, sqlite.AuthReindex, sqlite.AuthAnalyze,
		sqlite.AuthDropIndex, sqlite.AuthDropTable, sqlite.AuthDropTempIndex, sqlite.AuthDropTempTable,
		sqlite.AuthDropTempTrigger, sqlite.AuthDropTempView, sqlite.AuthDropTrigger, sqlite.AuthDropView,
		sqlite.AuthTransaction, sqlite.AuthSavepoint:
		return sqlite.AuthorizerOK
	}
	return mayQuery(action, arg, function, "", "")
}
