package domain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
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
	spec := schema.SQLExecutor{
		QueryType: x.QueryType, Columns: slices.Concat(x.Columns, x.RequiredColumns),
		ForbiddenColumns: x.ForbiddenColumns, MinRows: x.MinRows, MaxRows: x.MaxRows,
		Tables: oneOrMany(x.Table), Clauses: oneOrMany(x.Clause), Functions: x.Functions,
	}
	if len(spec.Columns)+len(spec.ForbiddenColumns)+len(spec.Tables)+len(spec.Clauses)+len(spec.Functions) == 0 &&
		spec.QueryType == "" && spec.MinRows == nil && spec.MaxRows == nil {
		c.fail("no-check", "expected declares no check", `add "query_type": "SELECT" or another`, "expected")
		return nil
	}
	if spec.MinRows != nil && spec.MaxRows != nil && *spec.MinRows > *spec.MaxRows {
		c.fail("out-of-range", "min_rows is larger than max_rows", "swap them", "expected", "min_rows")
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

// database reads what the statement runs on: the evaluator's, else the seed
// scripts beside the domain or in the definitions folder.
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
	c.fail("missing-database", "columns and rows are checked, but there is no database",
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
		if f, ok := c.readDatabase(path.Join(dir, entry.Name()), "expected"); ok {
			files = append(files, f)
		}
	}
	return files
}

func (c *compiler) namedDatabase(e *evaluatorFile) []schema.File {
	name := e.Config.Database
	full := path.Join(path.Dir(e.file), name)
	if strings.HasPrefix(name, "/") {
		full = path.Clean(strings.TrimPrefix(name, "/"))
	}
	if !fs.ValidPath(full) {
		c.fail("path-escapes", fmt.Sprintf("the database %q of %s is outside the repository", name, e.file), "name a file inside it", "evaluator_id")
		return nil
	}
	f, ok := c.readDatabase(full, "evaluator_id")
	if !ok {
		return nil
	}
	return []schema.File{f}
}

func (c *compiler) readDatabase(file string, at ...any) (schema.File, bool) {
	info, err := fs.Stat(c.FS, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.absent(file, "database")
		c.fail("missing-file", fmt.Sprintf("the file %s does not exist", file), "add it or correct the path", at...)
		return schema.File{}, false
	case err != nil:
		c.fail("unreadable", fmt.Sprintf("%s cannot be read: %s", file, cause(err)), "", at...)
		return schema.File{}, false
	case !info.Mode().IsRegular():
		c.fail("not-a-file", fmt.Sprintf("%s is no regular file", file), "links and submodules are not followed", at...)
		return schema.File{}, false
	case info.Size() > maxDatabase:
		c.fail("too-large", fmt.Sprintf("%s has %d bytes; a database may have %d", file, info.Size(), maxDatabase), "make it smaller", at...)
		return schema.File{}, false
	}
	c.input(file, "database")
	data, err := fs.ReadFile(c.FS, file)
	if err != nil {
		c.fail("unreadable", fmt.Sprintf("%s cannot be read: %s", file, cause(err)), "", at...)
		return schema.File{}, false
	}
	return schema.File{Path: file, Data: data}, true
}
