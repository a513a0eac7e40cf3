package main

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// sharing are packages that run goroutines, or that only code in several of them needs.
var sharing = []string{"net", "net/http", "net/http/httptest", "sync", "sync/atomic", "golang.org/x/sync/errgroup", "golang.org/x/sync/semaphore", "golang.org/x/sync/singleflight"}

// concurrent are the folders of the packages whose tests the race detector watches:
// those where the code or the tests start goroutines, share memory or use a package of
// helpers that does. In the others there is nothing to find, since a package that calls
// them from several goroutines is watched with all that it calls.
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

// shares reports whether a file has goroutines or what they share.
func shares(f source) bool {
	if slices.ContainsFunc(imported(f), func(name string) bool { return slices.Contains(sharing, name) }) {
		return true
	}
	for n := range ast.Preorder(f.ast) {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt:
			return true
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				return true
			}
		case *ast.SelectorExpr:
			if name := n.Sel.Name; name == "Parallel" || name == "AfterFunc" {
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
