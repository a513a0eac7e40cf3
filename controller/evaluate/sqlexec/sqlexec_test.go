package sqlexec_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/schema"
)

func TestMain(m *testing.M) {
	if sqlexec.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

const shop = `
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL);
INSERT INTO products VALUES (1,'tea; green',3.5),(2,'rice',12),(3,'salt',1);
CREATE VIEW cheap AS SELECT name FROM products WHERE price < 5;
COMMIT;
`

func script(text string) []schema.File {
	return []schema.File{{Path: "seed/shop.sql", Data: []byte(text)}}
}

func TestQueryReads(t *testing.T) {
	for _, tt := range []struct {
		name, statement string
		want            sqlexec.Result
	}{
		{"columns and rows", "SELECT name, price AS Cost FROM products ORDER BY price", sqlexec.Result{Columns: []string{"name", "Cost"}, Rows: 3}},
		{"trailing semicolon and comment", "SELECT 1 AS one; -- done", sqlexec.Result{Columns: []string{"one"}, Rows: 1}},
		{"no row", "SELECT id FROM products WHERE price > 100", sqlexec.Result{Columns: []string{"id"}}},
		{"view", "SELECT * FROM cheap", sqlexec.Result{Columns: []string{"name"}, Rows: 2}},
		{"local time is UTC on every machine", "SELECT 1 AS noon WHERE datetime('2026-07-01 12:00', 'localtime') = '2026-07-01 12:00:00'", sqlexec.Result{Columns: []string{"noon"}, Rows: 1}},
		{"functions", "SELECT count(*) n, max(upper(name)) m FROM products", sqlexec.Result{Columns: []string{"n", "m"}, Rows: 1}},
		{"finite recursion", "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x<50) SELECT x FROM n", sqlexec.Result{Columns: []string{"x"}, Rows: 50}},
		{"row cap", "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT x FROM n", sqlexec.Result{Columns: []string{"x"}, Rows: sqlexec.MaxRows, More: true}},
		{"exactly the cap", "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n LIMIT 10000) SELECT x FROM n", sqlexec.Result{Columns: []string{"x"}, Rows: sqlexec.MaxRows}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := sqlexec.Query(t.Context(), script(shop), tt.statement)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueryRefuses(t *testing.T) {
	stolen := filepath.Join(t.TempDir(), "stolen.db")
	for _, tt := range []struct{ name, statement, want string }{
		{"empty", "", "no statement"},
		{"comment only", "-- nothing", "no statement"},
		{"syntax", "SELEC name FROM products", "syntax error"},
		{"unknown table", "SELECT * FROM nowhere", "no such table"},
		{"second statement", "SELECT 1; DROP TABLE products", "more than one"},
		{"NUL hides a second statement", "SELECT 1\x00; DROP TABLE products", "NUL"},
		{"too long", "SELECT '" + strings.Repeat("x", 64<<10) + "'", "longer than"},
		{"insert", "INSERT INTO products VALUES (4,'x',1)", "not authorized"},
		{"delete", "DELETE FROM products", "not authorized"},
		{"update by a common table", "WITH a AS (SELECT 1) UPDATE products SET price=0", "not authorized"},
		{"drop", "DROP TABLE products", "not authorized"},
		{"create", "CREATE TEMP TABLE t(x)", "not authorized"},
		{"begin", "BEGIN", "not authorized"},
		{"attach", "ATTACH '" + stolen + "' AS other", "authoriz"},
		{"vacuum into", "VACUUM INTO '" + stolen + "'", "authoriz"},
		{"pragma", "PRAGMA database_list", "not authorized"},
		{"pragma that lifts the memory limit", "PRAGMA hard_heap_limit=0", "not authorized"},
		{"pragma as a function", "SELECT * FROM pragma_database_list", "not authorized"},
		{"load extension", "SELECT load_extension('/lib/evil.so')", "not authorized"},
		{"fts tokenizer", "SELECT fts3_tokenizer('simple')", "no such function|not authorized"},
		{"read a file", "SELECT readfile('/etc/passwd')", "no such function"},
		{"huge blob", "SELECT randomblob(900000000)", "too big"},
		{"huge text", "SELECT length(replace(hex(zeroblob(400000)),'0','1234567890'))", "too big"},
		{"deep expression", "SELECT 1" + strings.Repeat("+1", 500), "too large"},
		{"many columns", "SELECT " + strings.TrimSuffix(strings.Repeat("1,", 300), ","), "too many columns"},
		{"long chain of selects", "SELECT 1" + strings.Repeat(" UNION SELECT 1", 60), "too many terms"},
		{"like pattern", "SELECT 'a' LIKE hex(zeroblob(1000))", "too complex"},
		{
			"memory by sorting distinct rows",
			"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n LIMIT 500) SELECT zeroblob(1000000)||x AS y FROM n ORDER BY y",
			"out of memory",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := sqlexec.Query(t.Context(), script(shop), tt.statement)
			if err != nil {
				t.Fatal(err)
			}
			if !containsOne(got.Refused, tt.want) {
				t.Errorf("refused %q, want %q", got.Refused, tt.want)
			}
		})
	}
	if _, err := os.Stat(stolen); !os.IsNotExist(err) {
		t.Errorf("a statement wrote a file: %v", err)
	}
}

func containsOne(s, alternatives string) bool {
	for a := range strings.SplitSeq(alternatives, "|") {
		if strings.Contains(s, a) {
			return true
		}
	}
	return false
}

// The statement gives no row and never ends by itself.
func TestQueryEndsEndlessRecursion(t *testing.T) {
	const endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT x FROM n WHERE x < 0"
	got, err := sqlexec.QueryWithin(t.Context(), script(shop), endless, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if want := "the statement took longer than 50ms"; got.Refused != want {
		t.Errorf("refused %q, want %q", got.Refused, want)
	}
}

func TestQueryStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlexec.Query(ctx, script(shop), "SELECT 1"); err == nil {
		t.Error("a query under a cancelled context succeeded")
	}
}

func TestQueryDatabaseProblems(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.db")
	for _, tt := range []struct {
		name  string
		files []schema.File
		want  string
	}{
		{"none", nil, "no database"},
		{"script does not parse", script("CREATE TABLE"), "seed/shop.sql: "},
		{"script attaches", script("ATTACH '" + out + "' AS o; CREATE TABLE o.t(x);"), "seed/shop.sql: "},
		{"script vacuums into a file", script("VACUUM INTO '" + out + "'"), "seed/shop.sql: "},
		{"script loads code", script("SELECT load_extension('x')"), "not authorized"},
		{"script makes a virtual table", script("CREATE VIRTUAL TABLE t USING fts5(x)"), "seed/shop.sql: "},
		{"script builds too large a value", script("CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(9000000));"), "too big"},
		{"script fills the memory", script("CREATE TABLE t(x); INSERT INTO t WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT zeroblob(1000000) FROM n;"), "out of memory"},
		{"not a database", []schema.File{{Path: "shop.sqlite", Data: []byte("hello")}}, "neither"},
		{"corrupt database", []schema.File{{Path: "shop.sqlite", Data: append([]byte("SQLite format 3\x00"), make([]byte, 4000)...)}}, "shop.sqlite: "},
		{"cut off header", []schema.File{{Path: "shop.sqlite", Data: []byte("SQLite format 3\x00")}}, "shop.sqlite: "},
		{"database next to a script", []schema.File{{Path: "a.sqlite", Data: []byte("SQLite format 3\x00")}, {Path: "b.sql"}}, "other files"},
		{"too large", []schema.File{{Path: "a.sql", Data: make([]byte, 33<<20)}}, "more than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := sqlexec.Query(t.Context(), tt.files, "SELECT 1")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("result %+v, error %v, want one with %q", got, err, tt.want)
			}
		})
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("a script wrote a file: %v", err)
	}
}

func TestQueryScripts(t *testing.T) {
	files := []schema.File{
		{Path: "seed/1.sql", Data: []byte("PRAGMA hard_heap_limit=0; PRAGMA foreign_keys=ON; CREATE TABLE a(id INTEGER PRIMARY KEY);")},
		{Path: "seed/2.sql"},
		{Path: "seed/3.sql", Data: []byte("CREATE TABLE b(a REFERENCES a ON DELETE CASCADE); INSERT INTO a VALUES (1),(2); INSERT INTO b VALUES (1),(2); DELETE FROM a WHERE id=1;")},
	}
	got, err := sqlexec.Query(t.Context(), files, "SELECT a FROM b")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sqlexec.Result{Columns: []string{"a"}, Rows: 1}, got); diff != "" {
		t.Errorf("foreign keys were not followed (-want +got):\n%s", diff)
	}
}

// A file in WAL mode is what applications leave behind.
func TestQuerySQLiteFile(t *testing.T) {
	for _, mode := range []string{"delete", "wal"} {
		t.Run(mode, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "shop.sqlite")
			db, err := sql.Open("sqlite", name)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{"PRAGMA journal_mode=" + mode, shop} {
				if _, err := db.ExecContext(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			before := string(data)
			got, err := sqlexec.Query(t.Context(), []schema.File{{Path: "shop.sqlite", Data: data}}, "SELECT name FROM products")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sqlexec.Result{Columns: []string{"name"}, Rows: 3}, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if string(data) != before {
				t.Error("the caller's bytes were changed")
			}
		})
	}
}

func TestChildStartsNoOther(t *testing.T) {
	t.Setenv("GAVEL_SQLEXEC_CHILD", "1")
	_, err := sqlexec.Query(t.Context(), script(shop), "SELECT 1")
	if err == nil || !strings.Contains(err.Error(), "ServeChild") {
		t.Errorf("error %v, want one that names ServeChild", err)
	}
}
