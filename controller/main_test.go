package controller

import (
	"os"
	"testing"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
)

// TestMain answers as a child that runs a statement or a program, or as the program that
// grades.
func TestMain(m *testing.M) {
	switch {
	case sqlexec.ServeChild() || cueeval.ServeChild() || sandbox.ServeChild():
	case len(os.Args) == 2 && os.Args[1] == "grade":
		grade()
	default:
		os.Exit(m.Run())
	}
}
