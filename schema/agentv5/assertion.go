package agentv5

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/place"
)

// assertions rewrites lists of assertions of a test, or those that all tests share.
func (r *rewriter) assertions(of row, lists ...place.Place) []schema.Piece {
	var out []schema.Piece
	for _, list := range lists {
		for _, p := range list.List() {
			if p.Text() != "" {
				out = append(out, r.filled(of, p))
				continue
			}
			if a := r.assertion(of, p); !a.Missing() {
				out = append(out, a)
			}
		}
	}
	return out
}

// unread are the assertions that are not read, with what they need.
var unread = map[string]string{
	"javascript": "a program (javascript)", "python": "a program (python)", "webhook": "a program (webhook)",
	"similar": "a model that embeds (similar)", "agent-rubric": "a judge with tools (agent-rubric)",
}

// removed are the assertions and keys that AgentV 5 no longer reads: it skips the test.
var removed = []string{"rubrics", "llm-grader", "code-grader", "tool-trajectory", "skill-trigger"}

// assertion writes an assertion by the names of AgentV 4; missing where it is not read.
func (r *rewriter) assertion(of row, p place.Place) schema.Piece {
	name, kind := of.id, p.Text("type")
	for _, key := range []string{"include", "transform"} {
		if p.Has(key) {
			r.needAll(name, "`"+key+"` of an assertion")
			return schema.Piece{}
		}
	}
	if what := unread[strings.TrimPrefix(kind, "not-")]; what != "" {
		r.needAll(name, what)
		return schema.Piece{}
	}
	if slices.Contains(removed, kind) || p.Has("target") {
		r.warn(p.Doc.Problem("agentv-skips", "AgentV 5 skips the tests with this assertion; Gavel runs them", "write llm-rubric, script, trajectory:… or skill-used, and provider in place.Place of target", p.Path...))
	}
	var fields []schema.NamedPiece
	for _, key := range p.Doc.Keys(p.Path...) {
		piece, as := p.Piece(key), key
		switch {
		case key == "value" || key == "metric":
			piece = r.filled(of, p.Sub(key))
		case key == "type" && kind == "assert-set":
			piece = schema.TextPiece(p.At(key), "composite")
		case key == "assert" && kind == "assert-set":
			as, piece = "assertions", schema.ListPiece(p.At(key), r.assertions(of, p.Sub(key))...)
		case key == "threshold" && kind == "assert-set":
			continue // the score alone counts
		case key == "provider" && kind == "script":
			if as = "target"; !p.Doc.IsObject(p.Sub(key).Path...) {
				piece = schema.ObjectPiece(p.At(key)) // provider: true
			}
		case key == "provider":
			as = "target"
		}
		fields = append(fields, schema.NamedPiece{Name: as, Piece: piece})
	}
	if grader := r.grader(p, kind); !grader.Missing() {
		fields = append(fields, schema.NamedPiece{Name: "target", Piece: grader})
	}
	return schema.ObjectPiece(p.At(), fields...)
}

// grader is the judge of the file, where an assertion that a judge decides names none.
func (r *rewriter) grader(p place.Place, kind string) schema.Piece {
	if kind != "llm-rubric" || p.Has("provider") || p.Has("target") {
		return schema.Piece{}
	}
	return r.doc.Piece("defaults", "grader")
}

// needAll notes what a test needs, or all tests of the file where none is named.
func (r *rewriter) needAll(name, what string) {
	if name != "" {
		r.need(name, what)
		return
	}
	r.out.NeedOfAll = what
}
