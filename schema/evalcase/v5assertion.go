package evalcase

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/template"
)

// assertions rewrites lists of assertions of a test, or those that all tests share.
func (r *v5rewriter) assertions(of v5row, lists ...document.Place) []document.Piece {
	var out []document.Piece
	for _, list := range lists {
		for _, p := range list.List() {
			r.Budget.Spend(document.Assertions, 1)
			if p.Text() != "" {
				out = append(out, r.filled(of, p))
				continue
			}
			if p.Has("include") {
				out = append(out, r.included(of, p)...)
				continue
			}
			if a := r.assertion(of, p); !a.Missing() {
				out = append(out, a)
			}
		}
	}
	return out
}

// v5unread are unsupported assertions, with their needs.
var v5unread = map[string]string{
	"webhook": "a program (webhook)", "agent-rubric": "a judge with tools (agent-rubric)",
}

// removed are the assertions and keys that AgentV 5 no longer reads: it skips the test.
var v5removed = []string{"rubrics", "llm-grader", "code-grader", "tool-trajectory", "skill-trigger"}

// assertion writes an assertion by the names of AgentV 4; missing if it is not read.
func (r *v5rewriter) assertion(of v5row, p document.Place) document.Piece {
	name, kind := of.id, p.Text("type")
	if what := v5unread[strings.TrimPrefix(kind, "not-")]; what != "" {
		r.needAll(name, what)
		return document.Piece{}
	}
	if slices.Contains(v5removed, kind) || p.Has("target") {
		r.warn(p.Doc.Problem("agentv-skips", "AgentV 5 skips the tests with this assertion; Gavel runs them", "write llm-rubric, script, trajectory:… or skill-used, and provider in place of target", p.Path...))
	}
	var fields []document.NamedPiece
	for _, key := range p.Doc.Keys(p.Path...) {
		piece, as := p.Piece(key), key
		switch {
		case key == "value" || key == "metric":
			piece = r.filled(of, p.Sub(key))
		case key == "type" && kind == "assert-set":
			piece = document.TextPiece(p.At(key), "composite")
		case key == "assert" && kind == "assert-set":
			as, piece = "assertions", document.ListPiece(p.At(key), r.assertions(of, p.Sub(key))...)
		case key == "threshold" && kind == "assert-set":
			continue // the score alone counts
		case key == "provider" && kind == "script":
			if as = "target"; !p.Doc.IsObject(p.Sub(key).Path...) {
				piece = document.ObjectPiece(p.At(key)) // provider: true
			}
		case key == "provider":
			as = "target"
		}
		fields = append(fields, document.NamedPiece{Name: as, Piece: piece})
	}
	if prompt := r.option(of, "rubric_prompt"); kind == "llm-rubric" && !p.Has("prompt") && !p.IsList("value") {
		fields = append(fields, document.NamedPiece{Name: "prompt", Piece: prompt})
	}
	return document.ObjectPiece(p.At(), fields...)
}

// judge returns a test's judge for assertions without one: from its options, the shared
// options, or the file.
func (r *v5rewriter) judge(of v5row) document.Place {
	for _, p := range []document.Place{of.options.Sub("provider"), r.shared.Sub("options", "provider"), r.defaults.Sub("grader")} {
		switch {
		case p.Text() != "":
			return p
		case p.Text("label") != "":
			return p.Sub("label")
		case p.Text("id") != "":
			return p.Sub("id")
		}
	}
	return document.Place{}
}

// option is an option of a test, or of all.
func (r *v5rewriter) option(of v5row, name string) document.Piece {
	return cmp.Or(of.options.Piece(name), r.shared.Piece("options", name))
}

// includes bounds how deep templates of assertions include others.
const v5includes = 3

// included are the assertions of a template: a file by its path, or the one of that name in the
// nearest .agentv/templates.
func (r *v5rewriter) included(of v5row, p document.Place) []document.Piece {
	name := p.Text("include")
	if r.depth == v5includes {
		r.add(p.Problem("too-deep", fmt.Sprintf("the template %s is included by %d others", template.Clip(name), v5includes), "include it where it is needed", "include"))
		return nil
	}
	if !strings.ContainsAny(name, "./") {
		name = r.templateOf(name)
	}
	file := r.read(name, "suite", p.At("include"))
	if file.Path == "" {
		return nil
	}
	doc := r.templates[file.Path]
	if doc == nil {
		var problems []schema.Problem
		doc, problems = document.Parse(file.Path, file.Data)
		if r.add(problems...); doc == nil {
			return nil
		}
		r.templates[file.Path] = doc
	}
	list := document.Place{Doc: doc}
	for _, key := range []string{"assert", "assertions"} {
		if list.Has(key) {
			list = list.Sub(key)
			break
		}
	}
	r.depth++
	defer func() { r.depth-- }()
	return r.assertions(of, list)
}

// templateOf is the path of a template by its name, from the folder of the file.
func (r *v5rewriter) templateOf(name string) string {
	at := path.Join(".agentv/templates", name+".yaml")
	for dir, up := path.Dir(r.doc.File), ""; ; dir, up = path.Dir(dir), up+"../" {
		if info, err := fs.Stat(r.FS, path.Join(dir, at)); err == nil && info.Mode().IsRegular() {
			return up + at
		}
		r.out.Inputs = append(r.out.Inputs, schema.Input{File: path.Join(dir, at), Role: "suite", Absent: true})
		if dir == "." {
			return at
		}
	}
}

// needAll records a need of a test, or of all tests of the file without a name.
func (r *v5rewriter) needAll(name, what string) {
	if name != "" {
		r.need(name, what)
		return
	}
	r.out.NeedOfAll = what
}
