package oracle_test

import (
	"testing"

	"github.com/gavel-evals/gavel/cmd/internal/oracle"
)

// TestRecorded holds that the answers are to the rows.
func TestRecorded(t *testing.T) {
	if _, err := oracle.Recorded(oracle.Rows()); err != nil {
		t.Error(err)
	}
}
