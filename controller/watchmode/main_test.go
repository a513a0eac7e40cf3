package watchmode_test

import (
	"os"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
)

// TestMain answers as the child in which a statement is run or a .cue file is
// read.
func TestMain(m *testing.M) {
	if sqlexec.ServeChild() || cueeval.ServeChild() {
		return
	}
	os.Exit(m.Run())
}
