package load

import (
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/skill"
)

// inlineChecks gives the cases of a document the checks that are written in them.
// A case whose checks cannot be read would pass without them, so it is left out.
func inlineChecks(def *Definition, doc *document.Document) []schema.Problem {
	r := checksReader{Complaints: document.Complaints{Doc: doc}, def: def}
	at := map[schema.Position]*schema.Case{}
	for _, c := range def.Cases {
		at[c.Origin] = c
	}
	broken := map[*schema.Case]bool{}
	for _, way := range casePlaces(doc) {
		place := append(slices.Clip(way), "checks")
		if !doc.Has(place...) || def.Dialect == schema.DialectSkill && skill.HasSentences(doc, place...) {
			continue
		}
		if isMisshapen(doc, place) && def.Dialect != schema.DialectSkill {
			continue // the schema of the format has reported it, and the case is left out
		}
		before := len(r.Problems)
		list, found := readChecks(doc, "the checks", place...)
		r.Problems = append(r.Problems, found...)
		c, ok := at[doc.At(way...)]
		switch {
		case !ok: // it has problems of its own
		case schema.HasErrors(r.Problems[before:]):
			broken[c] = true
		default:
			r.attach(c, list)
		}
	}
	def.Cases = slices.DeleteFunc(def.Cases, func(c *schema.Case) bool { return broken[c] })
	return r.Problems
}

// isMisshapen reports whether the value under checks is an empty list, or neither a list
// nor null.
func isMisshapen(doc *document.Document, at []any) bool {
	if doc.IsList(at...) {
		return doc.Items(at...) == 0
	}
	return string(doc.JSON(at...)) != "null"
}

// casePlaces returns the paths of a document's cases: its items, the items of the list
// in it, or the document itself.
func casePlaces(doc *document.Document) [][]any {
	var list []any
	if doc.IsObject() {
		for _, name := range []string{"evalcases", "eval_cases", "cases", "tests", "test_cases", "evals", "evaluations"} {
			if doc.IsList(name) {
				list = []any{name}
			}
		}
		if list == nil {
			return [][]any{nil}
		}
	}
	places := make([][]any, doc.Items(list...))
	for i := range places {
		places[i] = append(slices.Clip(list), i)
	}
	return places
}
