package evalcase

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/template"
)

// tests are the places of the tests, in the file and in those that it names.
func (r *v5rewriter) tests() []document.Place {
	return append(r.testsAt(document.Place{Doc: r.doc, Path: []any{"tests"}}), r.scenarios()...)
}

// testsAt are the tests of a list, or of the file that is named in its place.
func (r *v5rewriter) testsAt(all document.Place) []document.Place {
	if name := all.Text(); name != "" {
		return r.testsIn(name, all)
	}
	var out []document.Place
	for _, p := range all.List() {
		r.Budget.Found(len(r.out.Problems))
		switch name := p.Text(); {
		case name != "":
			out = append(out, r.testsIn(name, p)...)
		case p.Text("include") != "":
			out = append(out, r.testsIn(p.Text("include"), p.Sub("include"))...)
		default:
			r.Budget.Spend(document.Tests, 1)
			out = append(out, p)
		}
	}
	return out
}

// testsIn are the tests of another file: a list, {tests: …}, a test a line, or a table.
func (r *v5rewriter) testsIn(name string, at document.Place) []document.Place {
	return r.fromFiles(name, at, "tests", "name files with tests, or a folder with folders that have a case.yaml", r.testsOf)
}

// fromFiles returns what is in the files that a name, a glob or a folder selects. Role
// names their content.
func (r *v5rewriter) fromFiles(name string, at document.Place, role, hint string, in func(name string, at document.Place) []document.Place) []document.Place {
	set, isSet := expandFragment(r.Source, at.At(), name)
	if !isSet {
		return in(name, at)
	}
	r.out.Inputs = append(r.out.Inputs, set.inputs(role)...)
	if r.add(set.Problems...); len(set.Files)+len(set.Problems) == 0 {
		r.add(at.Problem("missing-file", "there are no "+role+" in "+template.Clip(name), hint))
	}
	var out []document.Place
	for _, file := range set.Files {
		out = append(out, in(file, at)...)
	}
	return out
}

// testsOf are the tests of one file.
func (r *v5rewriter) testsOf(name string, at document.Place) []document.Place {
	ext := path.Ext(name)
	if !slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl", ".csv"}, ext) {
		r.warn(at.Doc.Problem("not-read", fmt.Sprintf("the tests of %s are not read", template.Clip(name)), "name a file that ends in .yaml, .json, .jsonl or .csv", at.Path...))
		return nil
	}
	file := r.read(name, "tests", at.At())
	if file.Path == "" {
		return nil
	}
	if ext == ".csv" {
		return r.table(file)
	}
	doc, problems := document.Parse(file.Path, file.Data)
	r.add(problems...)
	switch {
	case doc == nil:
		return nil
	case doc.IsObject() && doc.Has("tests"):
		r.Budget.Spend(document.Tests, doc.Items("tests"))
		return document.Place{Doc: doc}.List("tests")
	case doc.IsObject():
		r.Budget.Spend(document.Tests, 1)
		return []document.Place{fragmentCase(doc)}
	}
	r.Budget.Spend(document.Tests, doc.Items())
	return document.Place{Doc: doc}.List()
}

// table reads a table, whose columns are variables, apart from id, criteria and columns
// that begin with two underscores. A test without an id is named by its place.
func (r *v5rewriter) table(file schema.File) []document.Place {
	rows, problems := document.ReadTable(file)
	if rows != nil {
		problems = append(columnProblems(rows.Head), rows.Problems()...)
	}
	if r.add(problems...); len(problems) > 0 {
		return nil
	}
	r.Budget.Spend(document.Tests, len(rows.Rows))
	var out []document.Place
	for n, row := range rows.Rows {
		out = append(out, document.Place{Doc: document.Compose(file.Path, rowOf(rows.Head, row, n+1))})
	}
	return out
}

// columns are those with two underscores that are read. Those that only name something are
// ignored.
var v5columns = []string{"__expected", "__description"}

// columnProblems returns problems of unsupported columns that begin with two
// underscores, so that their cells would be lost.
func columnProblems(head []document.Cell) []schema.Problem {
	var found []schema.Problem
	for _, cell := range head {
		isKnown := slices.ContainsFunc([]string{"__expected", "__description", "__metric", "__metadata:"}, func(prefix string) bool { return strings.HasPrefix(cell.Text, prefix) })
		if !strings.HasPrefix(cell.Text, "__") || isKnown {
			continue
		}
		hint := suggest.DidYouMean(cell.Text, v5columns)
		if hint == "" {
			hint = "columns that begin with two underscores are " + strings.Join(v5columns, " and ") + "; remove it, or name a variable otherwise"
		}
		found = append(found, schema.Problem{Position: cell.At, Severity: schema.Error, Rule: "unknown-column", Message: fmt.Sprintf("the column %q is not read", cell.Text), Hint: hint})
	}
	return found
}

// rowOf is a test of a table.
func rowOf(head []document.Cell, row document.TableRow, n int) document.Piece {
	id, at := "row-"+strconv.Itoa(n), row.At
	var fields, vars []document.NamedPiece
	var asserts []document.Piece
	for i, column := range head {
		name, cell := column.Text, row.Cells[i]
		if name == "" || cell.Text == "" {
			continue
		}
		text := document.TextPiece(at, cell.Text)
		switch {
		case name == "id":
			id = cell.Text
		case name == "criteria" || name == "conversation_id" || name == "expected_output":
			fields = append(fields, document.NamedPiece{Name: name, Piece: text})
		case name == "__description":
			fields = append(fields, document.NamedPiece{Name: "description", Piece: text})
		case strings.HasPrefix(name, "__expected"):
			asserts = append(asserts, shortForm(cell.At, cell.Text))
		case strings.HasPrefix(name, "__"): // names that something has in reports
		default:
			vars = append(vars, document.NamedPiece{Name: name, Piece: text})
		}
	}
	fields = append(fields, document.NamedPiece{Name: "id", Piece: document.TextPiece(at, id)}, document.NamedPiece{Name: "vars", Piece: document.ObjectPiece(at, vars...)})
	if len(asserts) > 0 {
		fields = append(fields, document.NamedPiece{Name: "assert", Piece: document.ListPiece(at, asserts...)})
	}
	return document.ObjectPiece(at, fields...)
}

// shortForm reads an assertion as tables have it, type: value. Without a type that is
// known the answer has to equal the text.
func shortForm(at schema.Position, s string) document.Piece {
	kind, value, _ := strings.Cut(s, ":")
	kind, negate := strings.CutPrefix(strings.TrimSpace(kind), "not-")
	if !slices.Contains(v5tabled, kind) {
		kind, value, negate = "equals", s, false
	}
	wanted := document.TextPiece(at, strings.TrimSpace(value))
	if strings.HasSuffix(kind, "-any") || strings.HasSuffix(kind, "-all") {
		var parts []document.Piece
		for part := range strings.SplitSeq(value, ",") {
			parts = append(parts, document.TextPiece(at, strings.TrimSpace(part)))
		}
		wanted = document.ListPiece(at, parts...)
	}
	fields := []document.NamedPiece{{Name: "type", Piece: document.TextPiece(at, kind)}, {Name: "value", Piece: wanted}}
	if negate {
		fields = append(fields, document.NamedPiece{Name: "negate", Piece: document.TruePiece(at)})
	}
	return document.ObjectPiece(at, fields...)
}

// tabled are the assertions that a cell may have.
var v5tabled = []string{"contains", "icontains", "contains-any", "contains-all", "icontains-any", "icontains-all", "equals", "starts-with", "ends-with", "regex", "is-json", "llm-rubric"}

// copied are the fields of a test that AgentV 4 has under the same name.
var v5copied = []string{
	"description", "metadata", "conversation_id", "input_files", "depends_on", "on_dependency_failure", "mode", "aggregation", "on_turn_failure", "window_size",
}

// test rewrites a test: one for every prompt, provider and text among its variables.
func (r *v5rewriter) test(p document.Place) []document.Piece {
	if p.Doc.IsObject(p.Path...) {
		r.add(p.Doc.CheckPart("#EvalcaseV5Test", schema.Warning, p.Path...)...)
	}
	vars, pieces, order := r.variables(p)
	providers := r.providers
	if named := r.labels(p.Doc.Part(p.Sub(providerKey(p)).Path...)); len(named) > 0 {
		providers = r.distinct(named)
		r.out.PerTarget = r.out.PerTarget || len(providers) > 1
	}
	var out []document.Piece
	for _, v := range r.values(vars, order) {
		own := maps.Clone(pieces)
		for key, text := range v.texts {
			own[key] = document.TextPiece(p.At(), text)
		}
		for _, prompt := range r.prompts {
			r.Budget.Go()
			r.Budget.Spend(document.Parts, len(own))
			of := newRow(p.Text("id")+v.suffix, v.vars, own)
			if len(r.prompts) > 1 && p.Text("id") != "" {
				of.id += "__prompt_" + prompt.id
			}
			of.options = p.Sub("options")
			out = append(out, r.sent(of, p, prompt, providers)...)
		}
	}
	return out
}

// sent are the tests of one prompt and one set of variables, one for each provider.
func (r *v5rewriter) sent(of v5row, p document.Place, prompt v5prompt, providers []v5provider) []document.Piece {
	input, need := r.input(prompt, of)
	if p.Has("turns") && of.isUnset(prompt) {
		input, need = document.Piece{}, "" // there is no input before the turns
	}
	if need != "" {
		r.need(of.id, need)
		input = document.TextPiece(p.At(), "-") // is not sent
	}
	if judge := r.judge(of); judge.Has() {
		r.out.Judges[of.id] = judge
	}
	fields := r.fields(of, p, input)
	var out []document.Piece
	for _, one := range providers {
		if one.takes(prompt.id) {
			r.Budget.Spend(document.Rows, 1)
			all := append(slices.Clip(fields), document.NamedPiece{Name: "execution", Piece: r.execution(p, one.label)})
			out = append(out, document.ObjectPiece(p.At(), r.withTransform(all, of.id, one.transform)...))
		}
	}
	return out
}

// withTransform applies the transform of a test's provider to the answer.
func (r *v5rewriter) withTransform(fields []document.NamedPiece, id string, transform document.Place) []document.NamedPiece {
	if transform.Text() == "" {
		return fields
	}
	fields = slices.Clone(fields)
	i := slices.IndexFunc(fields, func(f document.NamedPiece) bool { return f.Name == "transform" })
	if !fields[i].Piece.Missing() {
		r.need(id, "a transform of the provider before that of the test")
	}
	fields[i].Piece = transform.Piece()
	return fields
}

func providerKey(p document.Place) string {
	if p.Has("providers") {
		return "providers"
	}
	return "provider"
}

// fields returns the fields of an AgentV 4 test, apart from its execution.
func (r *v5rewriter) fields(of v5row, p document.Place, input document.Piece) []document.NamedPiece {
	name := of.id
	asserts := r.assertions(of, p.Sub("assert"), p.Sub("execution", "assert"))
	if r.sharedFilled && !p.Truth("execution", "skip_defaults") {
		asserts = append(asserts, r.assertions(of, r.sharedAsserts()...)...)
	}
	fields := []document.NamedPiece{
		{Name: "workspace", Piece: cmp.Or(p.Piece("environment"), p.Piece("workspace"))}, {Name: "input", Piece: input}, {Name: "expected_output", Piece: of.pieces["expected_output"]},
		{Name: "criteria", Piece: r.filled(of, p.Sub("criteria"))}, {Name: "turns", Piece: r.turns(of, p)},
		{Name: "transform", Piece: r.option(of, "transform")}, {Name: "vars", Piece: of.object(p.At())},
	}
	if name != "" {
		at := p.At()
		if p.Has("id") {
			at = p.At("id")
		}
		fields = append(fields, document.NamedPiece{Name: "id", Piece: document.TextPiece(at, name)})
	}
	if r.out.Needs[name]+r.out.NeedOfAll != "" && !p.Has("criteria") {
		fields = append(fields, document.NamedPiece{Name: "criteria", Piece: document.TextPiece(p.At(), "-")}) // is not judged
	}
	if len(asserts) > 0 {
		fields = append(fields, document.NamedPiece{Name: "assertions", Piece: document.ListPiece(p.At(), asserts...)})
	}
	for _, key := range v5copied {
		fields = append(fields, document.NamedPiece{Name: key, Piece: p.Piece(key)})
	}
	return fields
}

// execution describes the execution of a test: its provider, with the first threshold
// of its own, the shared one and the file's.
func (r *v5rewriter) execution(p document.Place, provider document.Piece) document.Piece {
	threshold := document.Piece{}
	for _, from := range []document.Piece{
		p.Piece("run", "threshold"), p.Piece("execution", "threshold"), r.shared.Piece("threshold"), r.doc.Piece("threshold"),
	} {
		if threshold.Missing() {
			threshold = from
		}
	}
	return document.ObjectPiece(p.At(),
		document.NamedPiece{Name: "target", Piece: provider}, document.NamedPiece{Name: "threshold", Piece: threshold},
		document.NamedPiece{Name: "skip_defaults", Piece: p.Piece("execution", "skip_defaults")},
		document.NamedPiece{Name: "timeout_seconds", Piece: p.Piece("run", "timeout_seconds")},
		document.NamedPiece{Name: "trials", Piece: r.trials(p)})
}

// trials returns the number of runs of a test, of which AgentV 5 takes the best: the
// first number of its own, the shared one and the file's.
func (r *v5rewriter) trials(p document.Place) document.Piece {
	for _, count := range []document.Piece{
		p.Piece("run", "repeat"), p.Piece("options", "repeat"), r.shared.Piece("options", "repeat"), r.doc.Piece("evaluate_options", "repeat"),
	} {
		if !count.Missing() {
			return document.ObjectPiece(p.At(), document.NamedPiece{Name: "count", Piece: count})
		}
	}
	return document.Piece{}
}

// A v5value is one of the texts of each variable that has several.
type v5value struct {
	vars   template.Variables
	texts  map[string]string
	suffix string // of the id, from the texts
}

// values multiplies a test by the lists of texts in its variables, as promptfoo does.
func (r *v5rewriter) values(vars template.Variables, order []string) []v5value {
	all := []v5value{{vars: vars}}
	for _, name := range order {
		texts := listOfTexts(vars[name])
		if len(texts) == 0 || name == "expected_output" {
			continue
		}
		all = r.multiply(all, name, texts)
	}
	return all
}

// multiply gives a variable each of its texts in turn.
func (r *v5rewriter) multiply(all []v5value, name string, texts []string) []v5value {
	r.Budget.Within(document.Rows, len(all)*len(texts))
	var more []v5value
	for _, v := range all {
		for _, text := range texts {
			sum := sha256.Sum256([]byte(text))
			next := v5value{vars: maps.Clone(v.vars), texts: map[string]string{name: text}, suffix: v.suffix + "__" + name + "-" + hex.EncodeToString(sum[:4])}
			maps.Copy(next.texts, v.texts)
			next.vars[name], _ = json.Marshal(text) // a text
			r.Budget.Spend(document.Parts, len(v.vars))
			more = append(more, next)
		}
	}
	return more
}
