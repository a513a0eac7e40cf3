package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// The limits within which code stays readable. The median is easy to keep
// small; it is the tail that is lost first, so the tail is what is limited.
// A package and an interface have no limit: each is one thing, however long.
const (
	maxFunction = 80 // lines
	p95Function = 45
	maxFile     = 1000
	maxNesting  = 3
	maxMain     = 15
)

// vague are names that say nothing about what is in a package or behind a type.
var vague = []string{"common", "helper", "helpers", "impl", "manager", "models", "service", "shared", "types", "util", "utils"}

// checkSizes finds what is larger than it should be, what is exported without
// a word about it, and what is named vaguely.
func checkSizes(files []source) []finding {
	var m measure
	for _, f := range files {
		if !f.generated() {
			m.file(f)
		}
	}
	m.whole()
	return m.found
}

// A measure collects over all files what is judged as a whole.
type measure struct {
	found     []finding
	functions []int // lengths
}

func (m *measure) add(f source, pos token.Pos, format string, args ...any) {
	line := 0
	if pos.IsValid() {
		line = f.line(pos)
	}
	m.found = append(m.found, finding{f.path, line, fmt.Sprintf(format, args...)})
}

func (m *measure) file(f source) {
	if n := f.lines(); n > maxFile {
		m.add(f, token.NoPos, "has %d lines, more than %d", n, maxFile)
	}
	if f.test() {
		return // a table of tests may be long and deep
	}
	if slices.Contains(vague, path.Base(f.dir)) || slices.Contains(vague, strings.TrimSuffix(path.Base(f.path), ".go")) {
		m.add(f, token.NoPos, "is named vaguely; say what is in it")
	}
	for _, decl := range f.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			m.function(f, d)
		case *ast.GenDecl:
			m.declaration(f, d)
		}
	}
}

func (m *measure) function(f source, d *ast.FuncDecl) {
	n := f.length(d)
	m.functions = append(m.functions, n)
	limit := maxFunction
	if f.ast.Name.Name == "main" && d.Name.Name == "main" {
		limit = maxMain
	}
	if n > limit {
		m.add(f, d.Pos(), "%s has %d lines, more than %d", d.Name.Name, n, limit)
	}
	if deep := nesting(d.Body); deep > maxNesting {
		m.add(f, d.Pos(), "%s nests %d deep, more than %d", d.Name.Name, deep, maxNesting)
	}
	if exported(d) && d.Doc == nil {
		m.add(f, d.Pos(), "%s is exported and not documented", d.Name.Name)
	}
}

func (m *measure) declaration(f source, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			m.named(f, s.Name, d.Doc != nil || s.Doc != nil)
			if isVague(s.Name.Name) {
				m.add(f, s.Pos(), "%s is named vaguely; say what it does", s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				m.named(f, name, d.Doc != nil || s.Doc != nil || s.Comment != nil)
			}
		}
	}
}

// named demands a comment for an exported name. One above a group speaks for
// the names in it.
func (m *measure) named(f source, name *ast.Ident, documented bool) {
	if name.IsExported() && !documented {
		m.add(f, name.Pos(), "%s is exported and not documented", name.Name)
	}
}

// whole judges the lengths of all functions together.
func (m *measure) whole() {
	if n := percentile(m.functions, 95); n > p95Function {
		m.found = append(m.found, finding{"module", 0, fmt.Sprintf("5 %% of the functions have %d lines or more; %d is the aim", n, p95Function)})
	}
}

// nesting is how deep control structures are nested. An else if is
// as deep as its if, and a function literal as its surroundings.
func nesting(body ast.Node) int {
	deepest := 0
	var walk func(n ast.Node, depth int)
	walk = func(n ast.Node, depth int) {
		ast.Inspect(n, func(child ast.Node) bool {
			if child == nil || child == n {
				return true
			}
			switch s := child.(type) {
			case *ast.IfStmt:
				deepest = max(deepest, depth+1)
				walk(s.Body, depth+1)
				for next := s.Else; next != nil; {
					chained, ok := next.(*ast.IfStmt)
					if !ok {
						walk(next, depth+1)
						break
					}
					walk(chained.Body, depth+1)
					next = chained.Else
				}
				return false
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				deepest = max(deepest, depth+1)
				walk(s, depth+1)
				return false
			}
			return true
		})
	}
	if body != (*ast.BlockStmt)(nil) {
		walk(body, 0)
	}
	return deepest
}

// exported reports whether a function can be called from another package.
func exported(d *ast.FuncDecl) bool {
	if !d.Name.IsExported() || d.Recv == nil {
		return d.Name.IsExported()
	}
	receiver := d.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	id, ok := receiver.(*ast.Ident)
	return ok && id.IsExported()
}

// isVague knows a type by the end of its name.
func isVague(name string) bool {
	return slices.ContainsFunc(vague, func(word string) bool {
		return strings.HasSuffix(name, strings.ToUpper(word[:1])+word[1:]) || strings.EqualFold(name, word)
	})
}

// percentile is the nearest rank; 0 for no values.
func percentile(values []int, p int) int {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)*p+99)/100-1]
}
