package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
)

var (
	formatVerb = regexp.MustCompile(`%[-+# 0-9.\[\]*]*[a-zA-Z%]`)
	letter     = regexp.MustCompile(`\pL`)
)

// checkFailures finds the failures of tests that print values and not a word
// about them, since a reader of the log needs to know what was wanted, and tables whose
// rows come in another order each time.
func checkFailures(files []source) []finding {
	var found []finding
	for _, f := range files {
		if !slices.ContainsFunc(f.ast.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` }) {
			continue
		}
		for n := range ast.Preorder(f.ast) {
			if call, ok := n.(*ast.CallExpr); ok && wordless(call) {
				found = append(found, finding{f.path, f.line(call.Pos()), "the failure prints values only; say what they are and what was wanted"})
			}
			if table, ok := n.(*ast.RangeStmt); ok && unordered(table) {
				found = append(found, finding{f.path, f.line(table.Pos()), "the table is a map, whose rows have no order; write a slice"})
			}
		}
	}
	return found
}

// unordered reports a loop over a map that is written out.
func unordered(loop *ast.RangeStmt) bool {
	table, ok := loop.X.(*ast.CompositeLit)
	if !ok {
		return false
	}
	_, isMap := table.Type.(*ast.MapType)
	return isMap
}

// wordless reports a call of Errorf or Fatalf of a test whose format has no
// letter outside of its verbs.
func wordless(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Errorf" && method.Sel.Name != "Fatalf" || len(call.Args) == 0 {
		return false
	}
	if receiver, ok := method.X.(*ast.Ident); ok && receiver.Name == "fmt" {
		return false // it makes an error
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return false
	}
	format, err := strconv.Unquote(literal.Value)
	return err == nil && !letter.MatchString(formatVerb.ReplaceAllString(format, ""))
}
