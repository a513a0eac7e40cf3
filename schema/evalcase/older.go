package evalcase

import (
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/place"
)

// asserted are the names of the list of assertions.
var asserted = []string{"assertions", "assert", "evaluators"}

// names are the older names of fields of a test.
var names = map[string]string{"input_messages": "input", "expected_messages": "expected_output"}

// withCurrentNames is a test, or a suite, with the names of AgentV 4: of assert and evaluators, there
// and in execution and turns, of input_messages and expected_messages, and with rubrics of the
// test as an assertion. It is the document itself where nothing is older. Values keep
// their positions.
func withCurrentNames(doc *schema.Document) *schema.Document {
	if doc == nil || !doc.IsObject() || !isOlder(place.Place{Doc: doc}) {
		return doc
	}
	at := place.Place{Doc: doc}
	fields := renamed(at)
	for i, f := range fields {
		switch f.Name {
		case "execution":
			if at.IsObject("execution") {
				fields[i].Piece = schema.ObjectPiece(at.At("execution"), renamed(at.Sub("execution"))...)
			}
		case "turns":
			var turns []schema.Piece
			for _, turn := range at.List("turns") {
				turns = append(turns, schema.ObjectPiece(turn.At(), renamed(turn)...))
			}
			fields[i].Piece = schema.ListPiece(at.At("turns"), turns...)
		}
	}
	return schema.Compose(doc.File, schema.ObjectPiece(doc.At(), fields...))
}

// isOlder reports whether a test or a suite has an older name.
func isOlder(p place.Place) bool {
	has := func(p place.Place) bool {
		return p.Has("assert") || p.Has("evaluators") || p.Has("rubrics") || p.Has("input_messages") || p.Has("expected_messages")
	}
	return has(p) || has(p.Sub("execution")) || slices.ContainsFunc(p.List("turns"), has)
}

// renamed are the fields of an object under their names of today.
func renamed(p place.Place) []schema.NamedPiece {
	var out []schema.NamedPiece
	var all []schema.Piece
	if p.Has("rubrics") {
		all = append(all, schema.ObjectPiece(p.At("rubrics"),
			schema.NamedPiece{Name: "type", Piece: schema.TextPiece(p.At("rubrics"), "rubrics")}, schema.NamedPiece{Name: "rubrics", Piece: p.Piece("rubrics")}))
	}
	for _, key := range p.Keys() {
		name := key
		if as := names[key]; as != "" {
			name = as
		}
		switch {
		case key == "rubrics":
		case slices.Contains(asserted, key):
			for _, item := range p.List(key) {
				all = append(all, item.Piece())
			}
		case name != key && p.Has(name): // the name of today counts
		default:
			out = append(out, schema.NamedPiece{Name: name, Piece: p.Piece(key)})
		}
	}
	if len(all) > 0 {
		out = append(out, schema.NamedPiece{Name: "assertions", Piece: schema.ListPiece(p.At(), all...)})
	}
	return out
}
