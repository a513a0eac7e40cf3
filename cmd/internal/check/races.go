package main

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// starting are the functions and methods that run what they are given in a goroutine of
// its own: those of time and context, of a sync.WaitGroup or an errgroup, of tests, and
// servers.
var starting = []string{"AfterFunc", "Go", "Parallel", "NewServer", "NewTLSServer", "NewUnstartedServer", "Serve", "ListenAndServe"}

// concurrent are the folders of the packages whose tests the race detector watches:
// those where the code or the tests start goroutines, talk to some or use what does so of
// a package of helpers. In the others there is nothing to find, not even where they lock
// what they share, since a package that calls them from several goroutines is watched
// with all that it calls.
func concurrent(files []source) []string {
	found, tested := map[string]bool{}, map[string]bool{}
	helpers := map[string][]source{}
	for _, f := range files {
		found[f.dir] = found[f.dir] || shares(f.ast)
		switch {
		case f.test():
			tested[f.dir] = true
		case strings.HasSuffix(f.dir, "test"):
			helpers[path.Base(f.dir)] = append(helpers[path.Base(f.dir)], f)
		}
	}
	started := map[string]map[string]bool{}
	for name, code := range helpers {
		started[name] = sharing(code)
	}
	for _, f := range files {
		if f.test() && mentions(f, started) {
			found[f.dir] = true
		}
	}
	maps.DeleteFunc(found, func(dir string, is bool) bool { return !is || !tested[dir] })
	return slices.Sorted(maps.Keys(found))
}

// mentions reports whether a file has one of the names of a package, which files import by
// its own name.
func mentions(f source, names map[string]map[string]bool) bool {
	for n := range ast.Preorder(f.ast) {
		of, selects := n.(*ast.SelectorExpr)
		if !selects {
			continue
		}
		if from, named := of.X.(*ast.Ident); named && names[from.Name][of.Sel.Name] {
			return true
		}
	}
	return false
}

// sharing are the names of a package that start goroutines or talk to some, or have a name
// that does. A type has the names of its methods.
func sharing(files []source) map[string]bool {
	found, has := map[string]bool{}, map[string][]string{}
	for _, f := range files {
		for _, d := range f.ast.Decls {
			for _, name := range declared(d) {
				found[name] = found[name] || shares(d)
				has[name] = append(has[name], identifiers(d)...)
			}
		}
	}
	for more := true; more; {
		more = false
		for name, others := range has {
			if !found[name] && slices.ContainsFunc(others, func(other string) bool { return found[other] }) {
				found[name], more = true, true
			}
		}
	}
	return found
}

// declared are the names that a declaration is of: that of the type if it is of a method.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			return identifiers(d.Recv.List[0].Type)[:1]
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			names = append(names, specified(spec)...)
		}
	}
	return names
}

// specified are the names of types, variables and constants.
func specified(spec ast.Spec) (names []string) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		names = []string{spec.Name.Name}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// identifiers are all that code has, in its order.
func identifiers(code ast.Node) (names []string) {
	for n := range ast.Preorder(code) {
		if ident, is := n.(*ast.Ident); is {
			names = append(names, ident.Name)
		}
	}
	return names
}

// shares reports whether code starts goroutines or talks to some.
func shares(code ast.Node) bool {
	for n := range ast.Preorder(code) {
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
