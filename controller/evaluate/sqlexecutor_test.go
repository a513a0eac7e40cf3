package evaluate_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

func shop() []schema.File {
	return []schema.File{{Path: "sql/seed/shop.sql", Data: []byte(`
		CREATE TABLE products (name TEXT, price REAL, secret TEXT);
		INSERT INTO products VALUES ('tea', 3, 's'), ('rice', 12, 's'), ('salt', 1, 's');`)}}
}

func rows(n int) *int { return &n }

func TestSQLExecutor(t *testing.T) {
	const list = "Here:\n```sql\nSELECT name, price AS Price FROM products WHERE price > 2 ORDER BY price;\n```\nDone."
	for _, tt := range []struct {
		name, reply string
		spec        evaluator.SQLExecutor
		want        float64
		reason      string
	}{
		{"query type", list, evaluator.SQLExecutor{QueryType: "select"}, 1, "all 1 checks"},
		{"query type differs", "DELETE FROM products", evaluator.SQLExecutor{QueryType: "SELECT"}, 0, `is "DELETE"`},
		{"everything", list, evaluator.SQLExecutor{
			QueryType: "SELECT", Columns: []string{"NAME", "price"}, ForbiddenColumns: []string{"secret"}, MinRows: rows(1), MaxRows: rows(2),
			Tables: []string{"Products"}, Clauses: []string{"where", "order by"},
		}, 1, "all 7 checks"},
		{"columns are a subset", list, evaluator.SQLExecutor{Columns: []string{"price"}}, 1, ""},
		{"column is missing", list, evaluator.SQLExecutor{Columns: []string{"price", "id"}}, 0, `lacks the column "id"`},
		{"forbidden column", "SELECT * FROM products;", evaluator.SQLExecutor{ForbiddenColumns: []string{"Secret"}}, 0, `forbidden column "Secret"`},
		{"too few rows", list, evaluator.SQLExecutor{MinRows: rows(3)}, 0, "has 2 rows, expected at least 3"},
		{"too many rows", list, evaluator.SQLExecutor{MaxRows: rows(1)}, 0, "has 2 rows, expected at most 1"},
		{"no row is enough for 0", "SELECT 1 FROM products WHERE 0", evaluator.SQLExecutor{MinRows: rows(0), MaxRows: rows(0)}, 1, ""},
		{"half of the checks", list, evaluator.SQLExecutor{QueryType: "SELECT", MinRows: rows(9)}, 0.5, "expected at least 9"},
		{"table and function", "SELECT COUNT(*) FROM products", evaluator.SQLExecutor{Tables: []string{"products"}, Functions: []string{"count()", "sum"}}, 0.5, `lacks the function "sum"`},
		{"clause is missing", list, evaluator.SQLExecutor{Clauses: []string{"GROUP BY"}}, 0, `lacks the clause "GROUP BY"`},
		{"subquery by structure", "SELECT name FROM products WHERE price > (SELECT AVG(price) FROM products)", evaluator.SQLExecutor{QueryType: "SELECT", Functions: []string{"AVG", "SUBQUERY"}}, 1, ""},
		{"a clause among the functions", "SELECT name, COUNT(*) FROM products GROUP BY name", evaluator.SQLExecutor{Functions: []string{"COUNT", "GROUP BY"}}, 1, ""},
		{"ILIKE runs as LIKE", "SELECT name FROM products WHERE name ILIKE 'TE%'", evaluator.SQLExecutor{Clauses: []string{"ILIKE"}, MinRows: rows(1), MaxRows: rows(1)}, 1, ""},
		{"ILIKE in a text stays", "SELECT name FROM products WHERE 'ILIKE' = 'LIKE'", evaluator.SQLExecutor{MaxRows: rows(0)}, 1, ""},
		{"does not run", "SELECT name FROM nowhere", evaluator.SQLExecutor{QueryType: "SELECT", MinRows: rows(1)}, 0.5, "does not run: no such table"},
		{"may not write", "DELETE FROM products", evaluator.SQLExecutor{QueryType: "DELETE", MinRows: rows(0)}, 0.5, "not authorized"},
		{"two statements", "SELECT name FROM products; DROP TABLE products", evaluator.SQLExecutor{MinRows: rows(1)}, 0, "more than one"},
		{"endless rows", "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT x FROM n", evaluator.SQLExecutor{MaxRows: rows(10)}, 0, "more than 10000 rows"},
		{"empty reply", " ", evaluator.SQLExecutor{QueryType: "SELECT", MinRows: rows(0)}, 0, "no SQL"},
		{"first marked block", "```\nSELECT 1 FROM a\n```\n```sqlite\nDELETE FROM b\n```", evaluator.SQLExecutor{QueryType: "DELETE"}, 1, ""},
		{"block without a mark", "```text\nhello\n```\n```\nSELECT 1 FROM a\n```", evaluator.SQLExecutor{QueryType: "SELECT"}, 1, ""},
		{"block that is not closed", "```sql\nSELECT 1 FROM a", evaluator.SQLExecutor{QueryType: "SELECT"}, 1, ""},
		{"tilde block", "~~~sql\nSELECT '```' FROM a\n~~~", evaluator.SQLExecutor{Tables: []string{"a"}}, 1, ""},
		{"the reply is a query with a common table", "WITH a AS (SELECT 1) SELECT * FROM a", evaluator.SQLExecutor{QueryType: "SELECT"}, 1, ""},
		{"the reply inserts", "INSERT INTO a VALUES (1)", evaluator.SQLExecutor{QueryType: "INSERT"}, 1, ""},
		{"the reply updates", "UPDATE a SET b = 1", evaluator.SQLExecutor{QueryType: "UPDATE", Tables: []string{"a"}}, 1, ""},
		{"the reply creates", "CREATE TABLE a (b)", evaluator.SQLExecutor{QueryType: "CREATE", Functions: []string{"a"}}, 0.5, ""},
		{"empty block", "```sql\n```", evaluator.SQLExecutor{QueryType: "SELECT"}, 0, "no SQL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.spec.NeedsDatabase() {
				tt.spec.Database = shop()
			}
			m := measure(t, tt.spec, tt.reply, &script{})
			if m.Error != "" {
				t.Fatal(m.Error)
			}
			if got := score(t, tt.spec, m); math.Abs(got-tt.want) > 1e-9 || !strings.Contains(m.Reason, tt.reason) {
				t.Errorf("score %v because %q, want %v because %q", got, m.Reason, tt.want, tt.reason)
			}
		})
	}
}

// TestSQLExecutorContrasts shows what each check asks for next to what came.
func TestSQLExecutorContrasts(t *testing.T) {
	const list = "SELECT name, price AS Price FROM products WHERE price > 2;"
	for _, tt := range []struct {
		name, reply, expected, actual string
		spec                          evaluator.SQLExecutor
	}{
		{"another type", "DELETE FROM products", "SELECT", "DELETE FROM products", evaluator.SQLExecutor{QueryType: "SELECT"}},
		{"a clause", "```sql\n" + list + "\n```", "GROUP BY, where", list, evaluator.SQLExecutor{Clauses: []string{"GROUP BY", "where"}}},
		{"a column", list, "price, id", "name, Price", evaluator.SQLExecutor{Columns: []string{"price", "id"}}},
		{"a forbidden column", "SELECT * FROM products;", "without secret", "name, price, secret", evaluator.SQLExecutor{ForbiddenColumns: []string{"secret"}}},
		{"too few rows", list, "at least 3 rows", "2 rows", evaluator.SQLExecutor{MinRows: rows(3)}},
		{"too many rows", list, "at most 1 row", "2 rows", evaluator.SQLExecutor{MaxRows: rows(1)}},
		{"endless rows", "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT x FROM n", "at most 10 rows", "more than 10000 rows", evaluator.SQLExecutor{MaxRows: rows(10)}},
		{"it does not run", "SELECT name FROM nowhere", "at least 1 row", "SELECT name FROM nowhere", evaluator.SQLExecutor{MinRows: rows(1)}},
		{"no SQL", "```sql\n```", "at least 1 row", "```sql\n```", evaluator.SQLExecutor{MinRows: rows(1)}},
		{"it holds", list, "", "", evaluator.SQLExecutor{MinRows: rows(2)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.spec.NeedsDatabase() {
				tt.spec.Database = shop()
			}
			m := measure(t, tt.spec, tt.reply, &script{})
			if m.Error != "" || len(m.Criteria) != 1 {
				t.Fatal(m.Error, m.Criteria)
			}
			if c := m.Criteria[0]; c.Expected != tt.expected || c.Actual != tt.actual {
				t.Errorf("expected %q, actual %q; want %q and %q", c.Expected, c.Actual, tt.expected, tt.actual)
			}
		})
	}
}

func TestSQLExecutorExtracts(t *testing.T) {
	for _, tt := range []struct {
		name, reply, extracted string
		want                   float64
	}{
		{"in a sentence", "Use SELECT name FROM products to get it.", `{"answer":"SELECT name FROM products"}`, 1},
		{"sentence that begins like SQL", "With pleasure! Try select * from products", `{"answer":"select * from products"}`, 1},
		{"select in prose", "Select the first one", `{"answer":null}`, 0},
		{"none", "I cannot do that", `{"answer":null}`, 0},
		{"extractor gives prose", "I cannot do that", `{"answer":"cannot"}`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := evaluator.SQLExecutor{QueryType: "SELECT"}
			s := &script{replies: []string{tt.extracted}}
			m := measure(t, spec, tt.reply, s)
			if m.Error != "" || len(s.asked) != 1 || s.roles[0] != schema.Extractor {
				t.Fatalf("error %q, roles %v", m.Error, s.roles)
			}
			if got := score(t, spec, m); got != tt.want {
				t.Errorf("score %v (%s), want %v", got, m.Reason, tt.want)
			}
		})
	}
}

func TestSQLExecutorErrors(t *testing.T) {
	fails(t, measure(t, evaluator.SQLExecutor{}, "SELECT 1 FROM a", &script{}), "no check is declared")
	fails(t, measure(t, evaluator.SQLExecutor{MinRows: rows(1)}, "SELECT 1 FROM a", &script{}), "no database")
	fails(t, measure(t, evaluator.SQLExecutor{MinRows: rows(10_001), Database: shop()}, "SELECT 1 FROM a", &script{}), "at most 10000 are counted")
	broken := []schema.File{{Path: "seed/a.sql", Data: []byte("CREATE TABEL")}}
	fails(t, measure(t, evaluator.SQLExecutor{MinRows: rows(1), Database: broken}, "SELECT 1 FROM a", &script{}), "seed/a.sql")
	fails(t, measure(t, evaluator.SQLExecutor{QueryType: "SELECT"}, "no idea", &script{}), "one call more")
}
