package domain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// maxDatabase bounds the bytes of a database that a test brings.
const maxDatabase = 16 << 20

type sqlExpected struct {
	QueryType        string          `json:"query_type"`
	Columns          []string        `json:"expected_columns"`
	RequiredColumns  []string        `json:"required_columns"`
	ForbiddenColumns []string        `json:"forbidden_columns"`
	MinRows          *int            `json:"min_rows"`
	MaxRows          *int            `json:"max_rows"`
	Table            json.RawMessage `json:"table"`
	Clause           json.RawMessage `json:"clause"`
	Functions        []string        `json:"functions"`
}

func (c *compiler) sql(e *evaluatorFile) schema.Spec {
	var x sqlExpected
	if !c.expected("#SQLExpected", &x) {
		return nil
	}
	spec := evaluator.SQLExecutor{
		QueryType: x.QueryType, Columns: slices.Concat(x.Columns, x.RequiredColumns),
		ForbiddenColumns: x.ForbiddenColumns, MinRows: x.MinRows, MaxRows: x.MaxRows,
		Tables: oneOrMany(x.Table), Clauses: oneOrMany(x.Clause), Functions: x.Functions,
	}
	if !c.knownStatement(x.QueryType) {
		return nil
	}
	if len(spec.Columns)+len(spec.ForbiddenColumns)+len(spec.Tables)+len(spec.Clauses)+len(spec.Functions) == 0 &&
		spec.QueryType == "" && spec.MinRows == nil && spec.MaxRows == nil {
		c.Fail("no-check", "expected declares no check", c.orAnother("sql_executor", `add "query_type": "SELECT" or another`), "expected")
		return nil
	}
	if spec.MinRows != nil && spec.MaxRows != nil && *spec.MinRows > *spec.MaxRows {
		c.Fail("out-of-range", "min_rows is larger than max_rows", "swap them", "expected", "min_rows")
		return nil
	}
	if spec.NeedsDatabase() {
		spec.Database = c.database(e)
		if len(spec.Database) == 0 {
			return nil
		}
	}
	return spec
}

// statements are the words that a statement of SQL begins with.
var statements = []string{
	"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "UPSERT", "VALUES", "CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME",
	"EXPLAIN", "ANALYZE", "DESCRIBE", "SHOW", "PRAGMA", "SET", "USE", "CALL", "EXEC", "EXECUTE", "DO", "BEGIN", "START", "COMMIT",
	"ROLLBACK", "SAVEPOINT", "RELEASE", "GRANT", "REVOKE", "COMMENT", "COPY", "LOAD", "LOCK", "ATTACH", "DETACH", "VACUUM", "REINDEX",
}

// knownStatement rejects a query_type that no statement has. The statement after WITH
// decides, so WITH itself is not one.
func (c *compiler) knownStatement(name string) bool {
	word := strings.ToUpper(strings.TrimSpace(name))
	if word == "" || slices.Contains(statements, word) {
		return true
	}
	hint := cmp.Or(suggest.DidYouMean(word, statements), "write the word that the statement begins with, such as SELECT")
	if word == "WITH" {
		hint = "write what follows the WITH clause, such as SELECT"
	}
	c.Fail("wrong-value", fmt.Sprintf("`query_type` is %q, which no statement of SQL begins with", name), hint, "expected", "query_type")
	return false
}

func oneOrMany(raw json.RawMessage) []string {
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		return many
	}
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	return nil
}

// database returns the statement's database: the evaluator's, else the seed scripts
// next to the domain or in the definitions folder.
func (c *compiler) database(e *evaluatorFile) []schema.File {
	if e.Config.Database != "" {
		return c.namedDatabase(e)
	}
	for _, dir := range []string{path.Join(path.Dir(c.domain.file), "seed"), path.Join(c.Root, "seed")} {
		files := c.seeds(dir)
		if len(files) > 0 {
			return files
		}
	}
	c.Fail("missing-database", "columns and rows are checked, but no database is named",
		fmt.Sprintf("add %s/seed/schema.sql, or config.database to the evaluator", path.Dir(c.domain.file)), "expected")
	return nil
}

// seeds reads the scripts of a seed folder. The folder is an input as a whole,
// since a script that appears there changes the database.
func (c *compiler) seeds(dir string) []schema.File {
	entries, err := fs.ReadDir(c.FS, dir)
	if err != nil {
		c.absent(dir, "seed")
		return nil
	}
	c.input(dir, "seed")
	var files []schema.File
	for _, entry := range entries {
		if path.Ext(entry.Name()) != ".sql" {
			continue
		}
		found := c.Read(document.Reference{
			At: schema.Position{File: path.Join(dir, entry.Name())}, Path: entry.Name(), Role: "database", Most: maxDatabase,
		})
		files = append(files, c.databaseFile(found, "expected")...)
	}
	return files
}

// namedDatabase reads the database in the evaluator's config, whose path is relative to
// the evaluator's file. Its problems are reported at the test's reference to the
// evaluator, since the test cannot run.
func (c *compiler) namedDatabase(e *evaluatorFile) []schema.File {
	found := c.Read(document.Reference{
		At: schema.Position{File: e.file}, Path: e.Config.Database, Role: "database", Most: maxDatabase,
	})
	for i := range found.Problems {
		found.Problems[i].Message += " (named in " + e.databaseAt.String() + ")"
	}
	return c.databaseFile(found, "evaluator_id")
}

// databaseFile converts the result of a look-up.
func (c *compiler) databaseFile(found document.Lookup, at ...any) []schema.File {
	c.inputs = append(c.inputs, found.Inputs...)
	for _, p := range found.Problems {
		p.Position = c.Doc.At(at...)
		c.Problems = append(c.Problems, p)
	}
	if !found.Found() {
		return nil
	}
	return []schema.File{found.File}
}
