package document

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
)

// maxReferences bounds how many references lead to one value.
const maxReferences = 16

// dereference returns the tree with each {$ref: "#/a/b"} replaced by the value at that
// place, overridden by the object's other keys. A reference to a missing place, to
// another file, or to itself is unchanged.
func dereference(expr ast.Expr) ast.Expr {
	d := dereferencer{root: expr}
	return d.value(expr, nil)
}

type dereferencer struct {
	root   ast.Expr
	values int // that were copied
}

// value copies a value that was reached through references.
func (d *dereferencer) value(expr ast.Expr, through []string) ast.Expr {
	if d.values++; d.values > maxValues {
		return expr
	}
	switch x := expr.(type) {
	case *ast.ListLit:
		out := *x
		out.Elts = nil
		for _, item := range x.Elts {
			out.Elts = append(out.Elts, d.value(item, through))
		}
		return &out
	case *ast.StructLit:
		return d.object(x, through)
	case *ast.BasicLit:
		out := *x
		return &out
	}
	return expr
}

func (d *dereferencer) object(x *ast.StructLit, through []string) ast.Expr {
	own := d.fields(x, through)
	to := pointer(x)
	target := d.target(to)
	if target == nil || slices.Contains(through, to) || len(through) >= maxReferences {
		out := *x
		out.Elts = own
		return &out
	}
	found := d.value(target, append(slices.Clip(through), to))
	object, isObject := found.(*ast.StructLit)
	if !isObject {
		return found
	}
	out := *x
	out.Elts = nil
	for _, elt := range object.Elts {
		if label(elt) == "$ref" || !slices.ContainsFunc(own, func(e ast.Decl) bool { return label(e) == label(elt) }) {
			out.Elts = append(out.Elts, elt)
		}
	}
	for _, elt := range own {
		if label(elt) != "$ref" {
			out.Elts = append(out.Elts, elt)
		}
	}
	return &out
}

// fields returns the fields of an object, with their values copied.
func (d *dereferencer) fields(x *ast.StructLit, through []string) []ast.Decl {
	var own []ast.Decl
	for _, elt := range x.Elts {
		if f, isField := elt.(*ast.Field); isField {
			one := *f
			one.Value = d.value(f.Value, through)
			elt = &one
		}
		own = append(own, elt)
	}
	return own
}

// label returns the key of a field, or an empty string.
func label(elt ast.Decl) string {
	f, isField := elt.(*ast.Field)
	if !isField {
		return ""
	}
	name, _, err := ast.LabelName(f.Label)
	if err != nil {
		return ""
	}
	return name
}

// pointer returns the $ref of an object, or an empty string.
func pointer(x *ast.StructLit) string {
	for _, elt := range x.Elts {
		if lit, isLit := fieldValue(elt).(*ast.BasicLit); isLit && label(elt) == "$ref" {
			if text, err := literal.Unquote(lit.Value); err == nil {
				return text
			}
		}
	}
	return ""
}

func fieldValue(elt ast.Decl) ast.Expr {
	if f, isField := elt.(*ast.Field); isField {
		return f.Value
	}
	return nil
}

// target returns the value that a JSON pointer behind # refers to, or nil.
func (d *dereferencer) target(pointer string) ast.Expr {
	rest, isLocal := strings.CutPrefix(pointer, "#/")
	if !isLocal {
		return nil
	}
	at := d.root
	for step := range strings.SplitSeq(rest, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch x := at.(type) {
		case *ast.StructLit:
			i := slices.IndexFunc(x.Elts, func(e ast.Decl) bool { return label(e) == step })
			if i < 0 {
				return nil
			}
			at = fieldValue(x.Elts[i])
		case *ast.ListLit:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(x.Elts) {
				return nil
			}
			at = x.Elts[i]
		default:
			return nil
		}
	}
	return at
}
