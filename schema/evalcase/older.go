package evalcase

import (
	"slices"

	"github.com/gavel-evals/gavel/schema/document"
)

// asserted are the names of the list of assertions.
var asserted = []string{"assertions", "assert", "evaluators"}

// names are the older names of fields of a test.
var names = map[string]string{"input_messages": "input", "expected_messages": "expected_output"}

// withCurrentNames is a test, or a suite, with the names of AgentV 4: of assert and evaluators, there
// and in execution and turns, of input_messages and expected_messages, and with rubrics of the
// test as an assertion. It returns the document itself if nothing is older. Values keep
// their positions.
func withCurrentNames(doc *document.Document) *document.Document {
	if doc == nil || !doc.IsObject() || !isOlder(document.Place{Doc: doc}) {
		return doc
	}
	at := document.Place{Doc: doc}
	fields := renamed(at)
	for i, f := range fields {
		switch f.Name {
		case "execution":
			if at.IsObject("execution") {
				fields[i].Piece = document.ObjectPiece(at.At("execution"), renamed(at.Sub("execution"))...)
			}
		case "turns":
			var turns []document.Piece
			for _, turn := range at.List("turns") {
				turns = append(turns, document.ObjectPiece(turn.At(), renamed(turn)...))
			}
			fields[i].Piece = document.ListPiece(at.At("turns"), turns...)
		}
	}
	return document.Compose(doc.File, document.ObjectPiece(doc.At(), fields...))
}

// isOlder reports whether a test or a suite has an older name.
func isOlder(p document.Place) bool {
	has := func(p document.Place) bool {
		return p.Has("assert") || p.Has("evaluators") || p.Has("rubrics") || p.Has("input_messages") || p.Has("expected_messages")
	}
	return has(p) || has(p.Sub("execution")) || slices.ContainsFunc(p.List("turns"), has)
}

// renamed are the fields of an object under their names of today.
func renamed(p document.Place) []document.NamedPiece {
	var out []document.NamedPiece
	var all []document.Piece
	if p.Has("rubrics") {
		all = append(all, document.ObjectPiece(p.At("rubrics"),
			document.NamedPiece{Name: "type", Piece: document.TextPiece(p.At("rubrics"), "rubrics")}, document.NamedPiece{Name: "rubrics", Piece: p.Piece("rubrics")}))
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
			out = append(out, document.NamedPiece{Name: name, Piece: p.Piece(key)})
		}
	}
	if len(all) > 0 {
		out = append(out, document.NamedPiece{Name: "assertions", Piece: document.ListPiece(p.At(), all...)})
	}
	return out
}
