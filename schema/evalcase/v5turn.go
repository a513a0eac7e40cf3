package evalcase

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/template"
)

// A v5row is a test with the values of its variables. The zero v5row has the shared
// settings.
type v5row struct {
	id     string
	vars   template.Variables
	pieces map[string]document.Piece
	// all are the variables as templates find them, by name and in vars.
	all     template.Variables
	options document.Place
}

func newRow(id string, vars template.Variables, pieces map[string]document.Piece) v5row {
	out := v5row{id: id, vars: vars, pieces: pieces, all: maps.Clone(vars)}
	if len(vars) > 0 {
		out.all["vars"], _ = json.Marshal(vars) // JSON values
	}
	return out
}

// object is an object of the variables, as functions find them.
func (of v5row) object(at schema.Position) document.Piece {
	var fields []document.NamedPiece
	for _, name := range slices.Sorted(maps.Keys(of.pieces)) {
		fields = append(fields, document.NamedPiece{Name: name, Piece: of.pieces[name]})
	}
	return document.ObjectPiece(at, fields...)
}

// isUnset reports whether a prompt is a variable that the test does not have, as {{ input }}
// is in a conversation whose turns say everything.
func (of v5row) isUnset(p v5prompt) bool {
	m := onlyInput.FindStringSubmatch(p.text)
	return m != nil && of.pieces[m[1]].Missing()
}

// checkTurn checks the rewritten parts of a turn. A multiplied test has each turn
// several times, whose problems are reported once.
func (r *v5rewriter) checkTurn(turn document.Place) {
	for _, problem := range turn.Doc.CheckPart("#EvalcaseTurn", schema.Warning, turn.Path...) {
		if !slices.Contains(r.out.Problems, problem) {
			r.add(problem)
		}
	}
}

// turns returns the turns of a conversation with the test's variables filled in;
// missing if the test has none.
func (r *v5rewriter) turns(of v5row, p document.Place) document.Piece {
	if !p.IsList("turns") {
		return p.Piece("turns")
	}
	var turns []document.Piece
	for _, turn := range p.List("turns") {
		if !turn.IsObject() {
			turns = append(turns, turn.Piece())
			continue
		}
		r.checkTurn(turn)
		var fields []document.NamedPiece
		for _, key := range turn.Keys() {
			field := document.NamedPiece{Name: key, Piece: r.filled(of, turn.Sub(key))}
			if key == "assert" {
				field = document.NamedPiece{Name: "assertions", Piece: document.ListPiece(turn.At(key), r.assertions(of, turn.Sub(key))...)}
			}
			fields = append(fields, field)
		}
		turns = append(turns, document.ObjectPiece(turn.At(), fields...))
	}
	return document.ListPiece(p.At("turns"), turns...)
}

// isTemplate reports whether a text, or a text in JSON, has variables to fill in.
func isTemplate(s string) bool { return strings.Contains(s, "{{") || strings.Contains(s, "{%") }

// filled is a value with the variables of the test in its texts. A text that is one variable
// becomes its value. Without any variable nothing is filled in, as AgentV does.
func (r *v5rewriter) filled(of v5row, p document.Place) document.Piece {
	if len(of.vars) == 0 || !isTemplate(string(p.JSON())) {
		return p.Piece()
	}
	switch {
	case p.IsList():
		var items []document.Piece
		for _, item := range p.List() {
			items = append(items, r.filled(of, item))
		}
		return document.ListPiece(p.At(), items...)
	case p.IsObject():
		var fields []document.NamedPiece
		for _, key := range p.Keys() {
			fields = append(fields, document.NamedPiece{Name: key, Piece: r.filled(of, p.Sub(key))})
		}
		return document.ObjectPiece(p.At(), fields...)
	}
	if m := onlyInput.FindStringSubmatch(p.Text()); m != nil && !of.pieces[m[1]].Missing() {
		return of.pieces[m[1]]
	}
	text, err := r.engine.Fill(of.all, p.Text())
	if err != nil {
		if need := r.needOf(of.id, p.At(), err); need != "" {
			r.need(of.id, need)
		}
		return p.Piece()
	}
	r.Budget.Spend(document.Text, len(text))
	return document.TextPiece(p.At(), text)
}
