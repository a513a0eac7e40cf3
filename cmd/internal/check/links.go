package main

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// docLink is a link of a doc comment to a name, as go doc reads it: of this package,
// or of one that the file imports.
var docLink = regexp.MustCompile(`(?:^|[\s(,;])\[\*?([\pL_][\pL\pN_]*(?:\.\pL[\pL\pN_]*){0,2})\](?:$|[\s),.;:'])`)

// checkLinks finds links of doc comments that lead nowhere, as after a name was
// changed.
func checkLinks(files []source) []finding {
	packages := map[string]map[string]bool{} // the names of each folder
	for _, f := range files {
		if packages[f.dir] == nil {
			packages[f.dir] = map[string]bool{}
		}
		for _, d := range f.ast.Decls {
			declare(packages[f.dir], d)
		}
	}
	var found []finding
	for _, f := range files {
		imports := importsOf(f, packages)
		for _, l := range docLinks(f) {
			if !leads(l.name, packages[f.dir], imports) {
				found = append(found, finding{f.path, l.line, fmt.Sprintf("links to [%s], which does not exist", l.name)})
			}
		}
	}
	return found
}

// A linkedName is a name in brackets on a line.
type linkedName struct {
	line int
	name string
}

// docLinks are the links of a file.
func docLinks(f source) (all []linkedName) {
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			for _, m := range docLink.FindAllStringSubmatch(c.Text, -1) {
				all = append(all, linkedName{f.line(c.Pos()), m[1]})
			}
		}
	}
	return all
}

// importsOf are the names of the module's packages that a file imports, by what it
// calls the package.
func importsOf(f source, packages map[string]map[string]bool) map[string]map[string]bool {
	imports := map[string]map[string]bool{}
	for _, i := range f.ast.Imports {
		full, err := strconv.Unquote(i.Path.Value)
		dir, own := strings.CutPrefix(full, module+"/")
		if err != nil || !own {
			continue
		}
		name := path.Base(dir)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = packages[dir]
	}
	return imports
}

// leads reports whether a link leads to one of the names. A link to a package of
// others is not followed, and a lower-case word in brackets is not a link.
func leads(name string, own map[string]bool, imports map[string]map[string]bool) bool {
	first, rest, isLong := strings.Cut(name, ".")
	if ast.IsExported(first) {
		return own[name]
	}
	of, isImported := imports[first]
	return !isLong || !isImported || of[rest]
}

// declare adds the names that a declaration declares: NAME, and TYPE.NAME of methods
// and fields.
func declare(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		names[name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			specify(names, spec)
		}
	}
}

func specify(names map[string]bool, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			names[n.Name] = true
		}
	case *ast.TypeSpec:
		names[spec.Name.Name] = true
		for _, member := range members(spec.Type) {
			names[spec.Name.Name+"."+member] = true
		}
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// members are the fields and methods that a type lists.
func members(e ast.Expr) (names []string) {
	var list *ast.FieldList
	switch t := e.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
		if len(f.Names) == 0 { // embedded
			if name := receiver(f.Type); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}
