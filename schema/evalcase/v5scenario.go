package evalcase

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// scenarios returns the tests of scenarios, each merged with each setting of its
// scenario. A setting without tests is a test itself.
func (r *v5rewriter) scenarios() []document.Place {
	var out []document.Place
	for i, p := range (document.Place{Doc: r.doc, Path: []any{"scenarios"}}).List() {
		r.Budget.At("scenarios", i)
		all := []document.Place{p}
		if name := p.Text(); name != "" {
			all = r.fromFiles(name, p, "scenarios", "name files with scenarios", r.scenariosIn)
		}
		for _, s := range all {
			out = append(out, r.scenario(s)...)
		}
	}
	return out
}

// scenariosIn returns the scenarios of another file: one, or a list.
func (r *v5rewriter) scenariosIn(name string, at document.Place) []document.Place {
	doc := r.open(name, at.Path...)
	switch {
	case doc == nil:
		return nil
	case doc.IsList():
		return document.Place{Doc: doc}.List()
	}
	return []document.Place{{Doc: doc}}
}

func (r *v5rewriter) scenario(p document.Place) []document.Place {
	r.add(p.Doc.CheckPart("#MatrixScenario", schema.Warning, p.Path...)...)
	settings := p.List("config")
	if len(settings) == 0 {
		r.add(p.Doc.Problem("missing-field", "the scenario has no `config`", "write config: [{vars: {…}}], with the settings that its tests are run with", p.Path...))
		return nil
	}
	tests := r.testsAt(p.Sub("tests"))
	var out []document.Place
	for _, setting := range settings {
		suffix := ""
		if len(settings) > 1 {
			suffix = "__config_" + nameOf(setting)
		}
		if len(tests) == 0 {
			r.Budget.Spend(document.Tests, 1)
			out = append(out, setting)
		}
		for _, test := range tests {
			r.Budget.Spend(document.Tests, 1)
			r.Budget.Spend(document.Assertions, setting.Doc.Items(setting.Sub("assert").Path...))
			out = append(out, combine(setting, test, suffix))
		}
	}
	return out
}

// nameOf returns the id of a setting, or a hash of its content.
func nameOf(setting document.Place) string {
	if id := setting.Text("id"); id != "" {
		return id
	}
	sum := sha256.Sum256(setting.Doc.JSON(setting.Path...))
	return hex.EncodeToString(sum[:4])
}

// combine merges a setting into a test: the test's variables, metadata and options win
// over the setting's, and its assertions follow the setting's.
func combine(setting, test document.Place, suffix string) document.Place {
	keys := append(slices.Clone(setting.Doc.Keys(setting.Path...)), test.Doc.Keys(test.Path...)...)
	slices.Sort(keys)
	var fields []document.NamedPiece
	for _, key := range slices.Compact(keys) {
		piece := test.Piece(key)
		switch {
		case key == "id" && test.Text(key) != "":
			piece = document.TextPiece(test.At(key), test.Text(key)+suffix)
		case key == "id":
			continue // a setting's names no test
		case !setting.Has(key):
		case !test.Has(key):
			piece = setting.Piece(key)
		case key == "assert":
			piece = document.ListPiece(test.At(key), append(pieces(setting.List(key)), pieces(test.List(key))...)...)
		case key == "vars" || key == "metadata" || key == "options":
			piece = merge(setting.Sub(key), test.Sub(key))
		}
		fields = append(fields, document.NamedPiece{Name: key, Piece: piece})
	}
	return document.Place{Doc: document.Compose(test.Doc.File, document.ObjectPiece(test.At(), fields...))}
}

// merge returns the fields of two objects; the second's win.
func merge(under, over document.Place) document.Piece {
	var fields []document.NamedPiece
	for _, key := range over.Doc.Keys(over.Path...) {
		fields = append(fields, document.NamedPiece{Name: key, Piece: over.Piece(key)})
	}
	for _, key := range under.Doc.Keys(under.Path...) {
		if !over.Has(key) {
			fields = append(fields, document.NamedPiece{Name: key, Piece: under.Piece(key)})
		}
	}
	return document.ObjectPiece(over.At(), fields...)
}

func pieces(places []document.Place) []document.Piece {
	out := make([]document.Piece, len(places))
	for i, p := range places {
		out[i] = p.Piece()
	}
	return out
}
