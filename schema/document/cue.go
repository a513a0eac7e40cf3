package document

import (
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/gavel-evals/gavel/schema/cuefile"
)

// writeOut converts a value to the parser's tree.
func writeOut(v *cuefile.Value, file string, data []byte) ast.Expr {
	w := written{token.NewFile(file, -1, len(data))}
	w.SetLinesForContent(data)
	return w.expr(v)
}

// written knows the places of a file.
type written struct{ *token.File }

func (w written) at(p cuefile.Pos) token.Pos { return w.Pos(p.Offset, token.NoRelPos) }

func (w written) expr(v *cuefile.Value) ast.Expr {
	at := w.at(v.At)
	switch v.Kind {
	case cuefile.Struct:
		x := &ast.StructLit{Lbrace: at, Rbrace: at}
		for _, f := range v.Fields {
			key := &ast.BasicLit{ValuePos: w.at(f.At), Kind: token.STRING, Value: literal.String.Quote(f.Name)}
			x.Elts = append(x.Elts, &ast.Field{Label: key, Value: w.expr(f.Value)})
		}
		return x
	case cuefile.List:
		x := &ast.ListLit{Lbrack: at, Rbrack: at}
		for _, item := range v.Items {
			x.Elts = append(x.Elts, w.expr(item))
		}
		return x
	case cuefile.Number:
		digits, negative := strings.CutPrefix(v.Text, "-")
		kind := token.INT
		if strings.ContainsAny(digits, ".eE") {
			kind = token.FLOAT
		}
		x := &ast.BasicLit{ValuePos: at, Kind: kind, Value: digits}
		if negative {
			return &ast.UnaryExpr{OpPos: at, Op: token.SUB, X: x}
		}
		return x
	case cuefile.String:
		return &ast.BasicLit{ValuePos: at, Kind: token.STRING, Value: literal.String.Quote(v.Text)}
	case cuefile.Bool:
		kind := token.FALSE
		if v.Text == "true" {
			kind = token.TRUE
		}
		return &ast.BasicLit{ValuePos: at, Kind: kind, Value: v.Text}
	}
	return &ast.BasicLit{ValuePos: at, Kind: token.NULL, Value: "null"}
}
