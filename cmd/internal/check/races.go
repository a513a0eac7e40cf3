package main

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// starting are the functions and methods that run what they are given in a goroutine of
// its own: those of time and context, of a sync.WaitGroup or an errgroup, of tests, and
// servers.
var starting = []string{"AfterFunc", "Go", "Parallel", "NewServer", "NewTLSServer", "NewUnstartedServer", "Serve", "ListenAndServe"}

// concurrent are the folders of the packages whose tests the race detector watches:
// those where the code or the tests start goroutines, talk to some or use a package of
// helpers that does. In the others there is nothing to find, not even where they lock
// what they share, since a package that calls them from several goroutines is watched
// with all that it calls.
func concurrent(files []source) []string {
	found, tested := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if found[f.dir] = found[f.dir] || shares(f); f.test() {
			tested[f.dir] = true
		}
	}
	for _, f := range files {
		if f.test() && slices.ContainsFunc(imported(f), func(name string) bool {
			return strings.HasSuffix(name, "test") && found[strings.TrimPrefix(name, module+"/")]
		}) {
			found[f.dir] = true
		}
	}
	maps.DeleteFunc(found, func(dir string, is bool) bool { return !is || !tested[dir] })
	return slices.Sorted(maps.Keys(found))
}

// shares reports whether a file starts goroutines or talks to some.
func shares(f source) bool {
	for n := range ast.Preorder(f.ast) {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt:
			return true
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				return true
			}
		case *ast.SelectorExpr:
			if slices.Contains(starting, n.Sel.Name) {
				return true
			}
		}
	}
	return false
}

func imported(f source) []string {
	var out []string
	for _, spec := range f.ast.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, name)
		}
	}
	return out
}
