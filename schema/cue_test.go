package schema_test

import (
	"os"
	"testing"

	"github.com/gavel-evals/gavel/schema/cuefile"
)

// TestMain answers as the child that evaluates .cue files.
func TestMain(m *testing.M) {
	if cuefile.ServeChild() {
		return
	}
	os.Exit(m.Run())
}
