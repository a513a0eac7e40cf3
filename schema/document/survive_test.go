package document

import (
	"testing"

	"cuelang.org/go/cue/ast"
)

// TestSurvive holds that a parser that panics costs its file and nothing else.
func TestSurvive(t *testing.T) {
	expr, m := survive(func(string, []byte) (ast.Expr, *mistake) { panic("index out of range") }, "a.yaml", nil)
	if expr != nil || m == nil || m.Line != 1 || m.Message != "the parser broke off: index out of range" {
		t.Errorf("got %v, %+v", expr, m)
	}
}
