package agentv5

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// assertions rewrites lists of assertions of a test; an empty name is that of all
// tests of the file.
func (r *rewriter) assertions(name string, lists ...place) []schema.Piece {
	var out []schema.Piece
	for _, list := range lists {
		for _, p := range list.items() {
			if p.text() != "" {
				out = append(out, p.piece())
				continue
			}
			if a := r.assertion(name, p); !a.Missing() {
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
func (r *rewriter) assertion(name string, p place) schema.Piece {
	kind := p.text("type")
	for _, key := range []string{"include", "transform"} {
		if p.has(key) {
			r.needAll(name, "`"+key+"` of an assertion")
			return schema.Piece{}
		}
	}
	if what := unread[strings.TrimPrefix(kind, "not-")]; what != "" {
		r.needAll(name, what)
		return schema.Piece{}
	}
	if slices.Contains(removed, kind) || p.has("target") {
		r.warn(p.doc.Problem("agentv-skips", "AgentV 5 skips the tests with this assertion; Gavel runs them", "write llm-rubric, script, trajectory:… or skill-used, and provider in place of target", p.at...))
	}
	var fields []schema.NamedPiece
	for _, key := range p.doc.Keys(p.at...) {
		piece, as := p.piece(key), key
		switch {
		case key == "type" && kind == "assert-set":
			piece = schema.TextPiece(p.position(key), "composite")
		case key == "assert" && kind == "assert-set":
			as, piece = "assertions", schema.ListPiece(p.position(key), r.assertions(name, p.to(key))...)
		case key == "threshold" && kind == "assert-set":
			continue // the score alone counts
		case key == "provider" && kind == "script":
			if as = "target"; !p.doc.IsObject(p.to(key).at...) {
				piece = schema.ObjectPiece(p.position(key)) // provider: true
			}
		case key == "provider":
			as = "target"
		}
		fields = append(fields, schema.NamedPiece{Name: as, Piece: piece})
	}
	if grader := r.grader(p, kind); !grader.Missing() {
		fields = append(fields, schema.NamedPiece{Name: "target", Piece: grader})
	}
	return schema.ObjectPiece(p.position(), fields...)
}

// grader is the judge of the file, where an assertion that a judge decides names none.
func (r *rewriter) grader(p place, kind string) schema.Piece {
	if kind != "llm-rubric" || p.has("provider") || p.has("target") {
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
