package ledger

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/schema/golden"
)

// TestSchema holds that the script for a new file makes what the numbered ones come to.
func TestSchema(t *testing.T) {
	numbered, whole := fstest.MapFS{}, fstest.MapFS{}
	entries, err := fs.ReadDir(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := fs.ReadFile(migrations, "migrations/"+e.Name())
		if err != nil {
			t.Fatal(err)
		}
		whole[e.Name()] = &fstest.MapFile{Data: text}
		if e.Name() != "schema.sql" {
			numbered[e.Name()] = whole[e.Name()]
		}
	}
	golden.Compare(t, "migrations/schema.sql", schemaOf(t, numbered))
	if got, want := schemaOf(t, whole), schemaOf(t, numbered); got != want {
		t.Errorf("schema.sql makes\n%s\nwant what the numbered scripts make:\n%s", got, want)
	}
}

// schemaOf are the statements that make what a new file has.
func schemaOf(t *testing.T, scripts fs.FS) string {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{
		Path: filepath.Join(t.TempDir(), "ledger.db"), Migrations: scripts, Prepare: func(*store.Tx) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out strings.Builder
	out.WriteString("-- What the numbered scripts come to. The reasons are in these; go test . -update writes\n-- this file.\n")
	err = s.Each(t.Context(), func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		out.WriteString("\n" + text + ";\n")
		return err
	}, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, rowid")
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
