package controller_test

import (
	"os"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
)

// TestMain answers as the child in which a statement is run.
func TestMain(m *testing.M) {
	if sqlexec.ServeChild() {
		return
	}
	os.Exit(m.Run())
}
