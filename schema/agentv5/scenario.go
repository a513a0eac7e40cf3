package agentv5

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// scenarios are the tests of scenarios, each with what each setting of its scenario
// says. A setting without tests is a test itself.
func (r *rewriter) scenarios() []place {
	var out []place
	for _, p := range (place{r.doc, []any{"scenarios"}}).items() {
		all := []place{p}
		if name := p.text(); name != "" {
			all = r.scenariosIn(name, p)
		}
		for _, s := range all {
			out = append(out, r.scenario(s)...)
		}
	}
	return out
}

// scenariosIn are those of another file: one, or a list.
func (r *rewriter) scenariosIn(name string, at place) []place {
	doc := r.open(name, at.at...)
	switch {
	case doc == nil:
		return nil
	case doc.IsList():
		return place{doc, nil}.items()
	}
	return []place{{doc, nil}}
}

func (r *rewriter) scenario(p place) []place {
	settings := p.items("config")
	if len(settings) == 0 {
		r.add(p.doc.Problem("missing-field", "the scenario has no `config`", "write config: [{vars: {…}}], with the settings that its tests are run with", p.at...))
		return nil
	}
	tests := r.testsAt(p.to("tests"))
	var out []place
	for _, setting := range settings {
		suffix := ""
		if len(settings) > 1 {
			suffix = "__config_" + nameOf(setting)
		}
		if len(tests) == 0 {
			out = append(out, setting)
		}
		for _, test := range tests {
			if len(out) > maxTests {
				return out
			}
			out = append(out, combine(setting, test, suffix))
		}
	}
	return out
}

// nameOf is the id of a setting, or a hash of what it says.
func nameOf(setting place) string {
	if id := setting.text("id"); id != "" {
		return id
	}
	sum := sha256.Sum256(setting.doc.JSON(setting.at...))
	return hex.EncodeToString(sum[:4])
}

// combine is a test with what a setting says: variables, metadata and options of the
// test win over those of the setting, and its assertions follow the setting's.
func combine(setting, test place, suffix string) place {
	keys := append(slices.Clone(setting.doc.Keys(setting.at...)), test.doc.Keys(test.at...)...)
	slices.Sort(keys)
	var fields []schema.NamedPiece
	for _, key := range slices.Compact(keys) {
		piece := test.piece(key)
		switch {
		case key == "id" && test.text(key) != "":
			piece = schema.TextPiece(test.position(key), test.text(key)+suffix)
		case key == "id":
			continue // a setting's names no test
		case !setting.has(key):
		case !test.has(key):
			piece = setting.piece(key)
		case key == "assert":
			piece = schema.ListPiece(test.position(key), append(pieces(setting.items(key)), pieces(test.items(key))...)...)
		case key == "vars" || key == "metadata" || key == "options":
			piece = merge(setting.to(key), test.to(key))
		}
		fields = append(fields, schema.NamedPiece{Name: key, Piece: piece})
	}
	return place{schema.Compose(test.doc.File, schema.ObjectPiece(test.position(), fields...)), nil}
}

// merge has the fields of two objects; those of the second win.
func merge(under, over place) schema.Piece {
	var fields []schema.NamedPiece
	for _, key := range over.doc.Keys(over.at...) {
		fields = append(fields, schema.NamedPiece{Name: key, Piece: over.piece(key)})
	}
	for _, key := range under.doc.Keys(under.at...) {
		if !over.has(key) {
			fields = append(fields, schema.NamedPiece{Name: key, Piece: under.piece(key)})
		}
	}
	return schema.ObjectPiece(over.position(), fields...)
}

func pieces(places []place) []schema.Piece {
	out := make([]schema.Piece, len(places))
	for i, p := range places {
		out[i] = p.piece()
	}
	return out
}
