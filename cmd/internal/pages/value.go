package main

import (
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"
)

// plainTypes are the words for CUE's types.
var plainTypes = map[string]string{"string": "text", "int": "whole number", "number": "number", "bool": "true or false", "_": "anything", "bytes": "bytes"}

// valueOf describes in words the values of a field. A definition is a link to its
// section. A value without its own wording is written as CUE.
func valueOf(value ast.Expr) string {
	switch v := value.(type) {
	case *ast.Ident:
		if name, ok := strings.CutPrefix(v.Name, "#"); ok {
			return "[" + name + "](#" + strings.ToLower(name) + ")"
		}
		if word, ok := plainTypes[v.Name]; ok {
			return word
		}
	case *ast.BasicLit:
		if v.Kind == token.NULL {
			return "null"
		}
		return "`" + strings.Trim(v.Value, `"`) + "`"
	case *ast.ParenExpr:
		return valueOf(v.X)
	case *ast.StructLit:
		return "object"
	case *ast.ListLit:
		return listOf(v)
	case *ast.BinaryExpr:
		if v.Op == token.OR {
			return valueOf(v.X) + " or " + valueOf(v.Y)
		}
		return bounded(value)
	case *ast.CallExpr:
		return bounded(value)
	}
	return code(value)
}

// notEmpty is a list of which CUE says that it has a first item.
const notEmpty = "list that is not empty"

// listOf describes a list with one kind of items.
func listOf(list *ast.ListLit) string {
	if len(list.Elts) == 0 {
		return "empty list"
	}
	last, ok := list.Elts[len(list.Elts)-1].(*ast.Ellipsis)
	if !ok {
		return code(list)
	}
	if last.Type == nil {
		if len(list.Elts) > 1 {
			return notEmpty
		}
		return "list"
	}
	return "list of " + valueOf(last.Type)
}

// bounds are the words for a bound.
var bounds = map[token.Token]string{token.GEQ: "from", token.LEQ: "to", token.GTR: "more than", token.LSS: "less than", token.NEQ: "not"}

// bounded writes a type with its bounds: whole number from 1 to 1000.
func bounded(value ast.Expr) string {
	var words []string
	for _, term := range terms(value) {
		switch t := term.(type) {
		case *ast.UnaryExpr:
			word, known := bounds[t.Op]
			if !known {
				return code(value)
			}
			words = append(words, word, strings.Trim(valueOf(t.X), "`"))
		case *ast.CallExpr:
			word := call(t)
			if word == "" {
				return code(value)
			}
			words = append(words, word)
		default:
			words = append(words, valueOf(term))
		}
	}
	return strings.ReplaceAll(strings.Join(words, " "), notEmpty+" list of ", "non-empty list of ")
}

// terms are the values that have to hold together.
func terms(value ast.Expr) []ast.Expr {
	if b, ok := value.(*ast.BinaryExpr); ok && b.Op == token.AND {
		return append(terms(b.X), terms(b.Y)...)
	}
	if p, ok := value.(*ast.ParenExpr); ok {
		return terms(p.X)
	}
	return []ast.Expr{value}
}

// call returns the word for a constraint that is a function in CUE; empty for none.
func call(c *ast.CallExpr) string {
	if len(c.Args) != 1 {
		return ""
	}
	argument := strings.Trim(code(c.Args[0]), "`")
	switch strings.Trim(code(c.Fun), "`") {
	case "strings.MinRunes":
		if argument == "1" {
			return "text that is not empty"
		}
		return "text of at least " + argument + " characters"
	case "strings.MaxRunes":
		return "text of at most " + argument + " characters"
	}
	return ""
}

// code returns a value in CUE's notation, in one line.
func code(value ast.Expr) string {
	text, err := format.Node(value, format.Simplify())
	if err != nil {
		return ""
	}
	return "`" + strings.Join(strings.Fields(string(text)), " ") + "`"
}
