package schema

import (
	"context"
	"errors"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/gavel-evals/gavel/schema/cuefile"
)

// parseCUE evaluates a .cue file and takes its value as if it had been written
// out at the places where its parts stand.
func parseCUE(file string, data []byte) (*Document, []Problem) {
	// Parsing has no context, and needs none: an evaluation has an end.
	value, err := cuefile.Evaluate(context.Background(), file, data)
	var wrong cuefile.Problems
	switch {
	case errors.As(err, &wrong):
		var problems []Problem
		for _, p := range wrong {
			at := Position{file, p.At.Line, p.At.Column}
			problems = append(problems, Problem{at, Error, p.Rule, p.Message, p.Hint})
		}
		return nil, SortProblems(problems)
	case err != nil:
		return nil, []Problem{{Position{file, 1, 1}, Error, "unreadable", "the file cannot be evaluated: " + err.Error(), "try again, or write it as JSON or YAML"}}
	}
	w := written{token.NewFile(file, -1, len(data))}
	w.SetLinesForContent(data)
	return build(w.expr(value), places{file: file, lines: strings.Split(string(data), "\n")})
}

// written makes of values what the parser would have read.
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
