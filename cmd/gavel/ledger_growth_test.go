package main

import (
	"database/sql"
	"path/filepath"
	"testing"
)

// TestUnchangedRunsShareTheirRows: the row of a case that is reused is the same
// in every report, so that it is stored once.
func TestUnchangedRunsShareTheirRows(t *testing.T) {
	dir := example(t, "domain")
	var counts [4]int
	for i := range counts {
		if _, stderr, code := gavel(t, dir, "run"); code != exitGate {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		db, err := sql.Open("sqlite", filepath.Join(dir, ".gavel", "ledger.db"))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRow("SELECT count(*) FROM pieces").Scan(&counts[i]); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// The first run judges, and the second one finds its results.
	if counts[0] == 0 || counts[2] != counts[1] || counts[3] != counts[1] {
		t.Errorf("after each run there are %v pieces", counts)
	}
}
