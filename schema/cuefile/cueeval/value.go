package cueeval

import (
	"encoding/json"
	"fmt"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/gavel-evals/gavel/schema/cuefile"
)

// An origin is the position of a value and its key.
type origin struct {
	key, value token.Pos
	// nodes are all the places that the value is put together from.
	nodes []ast.Node
}

// placeOf finds the position of a value. Often several places determine it: a
// definition demands a string, a field provides it. The providing field counts, and
// among several the one written inside the parent value.
func placeOf(v cue.Value, around origin) origin {
	out := origin{key: around.value, value: around.value, nodes: sources(v)}
	best := -1
	for i, n := range out.nodes {
		rank := 0
		if around.encloses(n) {
			rank = 1
		}
		if rank > best {
			best = rank
			out.key, out.value = n.Pos(), n.Pos()
			if f, ok := out.nodes[i].(*ast.Field); ok {
				out.key, out.value = f.Label.Pos(), f.Value.Pos()
			}
		}
	}
	return out
}

// encloses reports whether a node is within the text of the value.
func (p origin) encloses(n ast.Node) bool {
	for _, outer := range p.nodes {
		if outer.Pos().Filename() == n.Pos().Filename() && outer.Pos().Offset() <= n.Pos().Offset() && n.End().Offset() <= outer.End().Offset() {
			return true
		}
	}
	return false
}

// sources returns the places that determine a value; places that only bound it come
// last.
func sources(v cue.Value) []ast.Node {
	src := v.Source()
	if f, ok := src.(*ast.Field); ok {
		return []ast.Node{f}
	}
	var given, bounds []ast.Node
	if op, args := v.Expr(); op == cue.AndOp {
		for _, a := range args {
			n := a.Source()
			switch {
			case n == nil || n.Pos().Filename() != source:
			case a.IsConcrete():
				given = append(given, n)
			default:
				bounds = append(bounds, n)
			}
		}
	}
	if src != nil && src.Pos().Filename() == source {
		bounds = append(bounds, src)
	}
	return append(given, bounds...)
}

// value builds the tree of a value; at is its own position. If it finds a problem, the
// tree must not be used.
func (e *evaluation) value(v cue.Value, at origin, depth int) *cuefile.Value {
	out := &cuefile.Value{Kind: cuefile.Null}
	out.At, _ = pos(at.value)
	if d, ok := v.Default(); ok {
		v = d
	}
	e.values++
	switch {
	case e.full:
		return out
	case depth > cuefile.MaxDepth:
		e.stop(at, "too-deep", fmt.Sprintf("values are nested more than %d deep", cuefile.MaxDepth), "flatten the file")
		return out
	case e.values > cuefile.MaxValues:
		e.stop(at, "too-many-values", fmt.Sprintf("the file has more than %d values", cuefile.MaxValues), "generate less, or split the file")
		return out
	}
	switch v.Kind() {
	case cue.StructKind:
		out.Kind = cuefile.Struct
		e.fields(out, v, at, depth)
	case cue.ListKind:
		out.Kind = cuefile.List
		items, err := v.List()
		if err != nil {
			e.collect(v, err)
			return out
		}
		for items.Next() && !e.full {
			item := items.Value()
			out.Items = append(out.Items, e.value(item, placeOf(item, at), depth+1))
		}
	default:
		e.scalar(out, v, at)
	}
	return out
}

func (e *evaluation) fields(out *cuefile.Value, v cue.Value, at origin, depth int) {
	iter, err := v.Fields()
	if err != nil {
		e.collect(v, err)
		return
	}
	for iter.Next() && !e.full {
		f := cuefile.Field{Name: iter.Selector().Unquoted()}
		inner := placeOf(iter.Value(), at)
		f.At, _ = pos(inner.key)
		e.count(len(f.Name), inner)
		f.Value = e.value(iter.Value(), inner, depth+1)
		out.Fields = append(out.Fields, f)
	}
}

func (e *evaluation) scalar(out *cuefile.Value, v cue.Value, at origin) {
	var err error
	switch v.Kind() {
	case cue.NullKind:
	case cue.BoolKind:
		out.Kind, out.Text = cuefile.Bool, "false"
		var yes bool
		if yes, err = v.Bool(); yes {
			out.Text = "true"
		}
	case cue.StringKind:
		out.Kind = cuefile.String
		out.Text, err = v.String()
	case cue.IntKind, cue.FloatKind:
		out.Kind = cuefile.Number
		var raw []byte
		if raw, err = v.MarshalJSON(); err == nil && !json.Valid(raw) {
			e.fail(at.value, "not-finite", "the number is not finite", "write a finite number")
		}
		out.Text = string(raw)
	case cue.BytesKind:
		e.fail(at.value, "cue-bytes", "bytes have no place in JSON", "write a string: text in double quotes, not in single ones")
	default:
		e.open(v, at)
	}
	if err != nil {
		e.collect(v, err)
	}
	e.count(len(out.Text), at)
}

// open reports a value that is not concrete yet.
func (e *evaluation) open(v cue.Value, at origin) {
	if err := v.Err(); err != nil {
		e.collect(v, err)
		return
	}
	if len(e.problems) == 0 {
		e.fail(at.value, "cue-incomplete", clip(fmt.Sprintf("`%v` has no value yet, only %v", v.Path(), v)), "give it a value; of several that are possible, mark one as the default with *")
	}
}

// count adds to the text that the file came to.
func (e *evaluation) count(n int, at origin) {
	if e.text += n; e.text > cuefile.MaxText && !e.full {
		e.stop(at, "too-large", fmt.Sprintf("the names, strings and numbers of the file have more than %d bytes", cuefile.MaxText), "generate less, or split the file")
	}
}

func (e *evaluation) stop(at origin, rule, message, hint string) {
	e.full = true
	e.fail(at.value, rule, message, hint)
}
