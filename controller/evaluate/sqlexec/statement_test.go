package sqlexec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
)

func TestParse(t *testing.T) {
	type st = sqlexec.Statement
	for _, tt := range []struct {
		name, text string
		want       st
	}{
		{"empty", "", st{}},
		{"prose", "I cannot help.", st{Count: 1, Type: "I"}},
		{"select", "select a from Orders o", st{Count: 1, Type: "SELECT", Tables: []string{"orders"}}},
		{"list of tables", "SELECT * FROM a, main.b AS x, \"C d\" JOIN [e f] ON 1", st{Count: 1, Type: "SELECT", Tables: []string{"a", "b", "c d", "e f"}}},
		{"with", "WITH t(x) AS (SELECT count(*) FROM a), u AS MATERIALIZED (SELECT 1) DELETE FROM b WHERE id IN (SELECT x FROM t, u)", st{Count: 1, Type: "DELETE", Tables: []string{"a", "b"}, Functions: []string{"count"}}},
		{"insert", "INSERT INTO a(x, y) VALUES (lower('SELECT * FROM z'), 2)", st{Count: 1, Type: "INSERT", Tables: []string{"a"}, Functions: []string{"lower"}}},
		{"update", "UPDATE `a` SET x = 1", st{Count: 1, Type: "UPDATE", Tables: []string{"a"}}},
		{"create", "CREATE TABLE IF NOT EXISTS a (x)", st{Count: 1, Type: "CREATE", Tables: []string{"a"}}},
		{"subquery", "SELECT * FROM (SELECT * FROM a) s JOIN b USING (id)", st{Count: 1, Type: "SELECT", Tables: []string{"a", "b"}}},
		{"comments and strings hide words", "SELECT 'it''s; FROM x' /* FROM y; */ -- FROM z;\nFROM a", st{Count: 1, Type: "SELECT", Tables: []string{"a"}}},
		{"two statements", "SELECT 1;; SELECT 2;", st{Count: 2, Type: "SELECT"}},
		{"semicolon in a name", `SELECT ";" FROM "a;b"`, st{Count: 1, Type: "SELECT", Tables: []string{"a;b"}}},
		{"open string", "SELECT 'abc; DROP TABLE x", st{Count: 1, Type: "SELECT"}},
		{"open comment", "SELECT 1 /* ; DROP", st{Count: 1, Type: "SELECT"}},
		{"open name", `SELECT "`, st{Count: 1, Type: "SELECT"}},
		{"ends in from", "SELECT 1 FROM", st{Count: 1, Type: "SELECT"}},
		{"keywords are not functions", "SELECT a FROM b WHERE c IN (1) AND EXISTS (SELECT sum(x) OVER (PARTITION BY y) FROM d)", st{Count: 1, Type: "SELECT", Tables: []string{"b", "d"}, Functions: []string{"sum"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, sqlexec.Parse(tt.text), cmpopts.IgnoreUnexported(st{})); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestHasClause(t *testing.T) {
	const text = `SELECT a, "having" FROM b LEFT OUTER JOIN c ON 1 WHERE d = 'LIMIT 3' GROUP /* x */ BY e`
	for _, tt := range []struct {
		clause string
		want   bool
	}{
		{"where", true}, {"GROUP BY", true}, {"group  by", true}, {"LEFT JOIN", true}, {"LEFT OUTER JOIN", true}, {"JOIN", true},
		{"HAVING", false}, {"LIMIT", false}, {"ORDER BY", false}, {"RIGHT JOIN", false}, {"", false}, {"OUTER", false},
	} {
		if got := sqlexec.Parse(text).HasClause(tt.clause); got != tt.want {
			t.Errorf("HasClause(%q) = %v, want %v", tt.clause, got, tt.want)
		}
	}
}

// TestStructure finds subqueries and common table expressions, for which there is no word.
func TestStructure(t *testing.T) {
	for _, tt := range []struct {
		text          string
		subquery, cte bool
	}{
		{"SELECT a FROM b", false, false},
		{"SELECT subquery, cte FROM b", false, false},
		{"SELECT a FROM b WHERE c > (SELECT avg(c) FROM b)", true, false},
		{"SELECT a FROM (SELECT a FROM b) AS s", true, false},
		{"SELECT a FROM b WHERE c IN (SELECT c FROM d)", true, false},
		{"SELECT a FROM b WHERE c >= ALL (SELECT c FROM d)", true, false},
		{"SELECT (SELECT 1) AS x", true, false},
		{"SELECT a FROM b WHERE c = '(SELECT 1)' -- (SELECT 2)", false, false},
		{"SELECT a FROM b WHERE c IN (1, 2)", false, false},
		{"WITH t AS (SELECT 1) SELECT * FROM t", false, true},
		{"WITH RECURSIVE t(x) AS NOT MATERIALIZED (SELECT 1) SELECT * FROM t", false, true},
		{"WITH t AS (SELECT a FROM b WHERE c = (SELECT 1)) SELECT * FROM t", true, true},
		{"SELECT * FROM (WITH t AS (SELECT 1) SELECT * FROM t)", true, true},
		{"(SELECT a FROM b) UNION ALL (SELECT a FROM c)", false, false},
		{"CREATE TABLE a AS (SELECT 1)", false, false},
	} {
		st := sqlexec.Parse(tt.text)
		if got := st.HasClause("SUBQUERY"); got != tt.subquery {
			t.Errorf("%s: SUBQUERY is %v, want %v", tt.text, got, tt.subquery)
		}
		if got := st.HasClause("cte"); got != tt.cte {
			t.Errorf("%s: CTE is %v, want %v", tt.text, got, tt.cte)
		}
	}
}

// TestFunctionsAndClauses looks for a clause among the functions as a clause, and reads
// ILIKE as LIKE.
func TestFunctionsAndClauses(t *testing.T) {
	st := sqlexec.Parse("SELECT a, COUNT(*) FROM b WHERE a ILIKE '%x%' GROUP BY a HAVING COUNT(*) > (SELECT 1)")
	for _, tt := range []struct {
		name string
		want bool
	}{
		{"COUNT", true}, {"count(*)", true}, {"COUNT()", true}, {"GROUP BY", true}, {"having", true}, {"SUBQUERY", true}, {"LIKE", true}, {"ILIKE", true},
		{"SUM", false}, {"ORDER BY", false}, {"CTE", false}, {"b", false}, {"a", false},
	} {
		if got := st.HasFunction(tt.name); got != tt.want {
			t.Errorf("HasFunction(%q) = %v, want %v", tt.name, got, tt.want)
		}
	}
	if !sqlexec.Parse("SELECT a FROM b WHERE a NOT LIKE 'x'").HasClause("not ilike") {
		t.Error("NOT ILIKE is not found where NOT LIKE is, want it found")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "WITH", "WITH a AS (", "SELECT '", "FROM ,", "[", "\"\"\"", "INTO .", "WITH x() AS", ")) AS (", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		st := sqlexec.Parse(s)
		if st.Count == 0 && (st.Type != "" || len(st.Tables) > 0) {
			t.Errorf("no statement, but %+v", st)
		}
		st.HasClause("GROUP BY")
	})
}
