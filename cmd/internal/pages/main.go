// Command pages writes the pages on formats and configuration, and the shapes that
// schema stores, from the CUE files that the product checks with, so that they cannot
// differ, and an index of all pages:
//
//	go generate ./cmd/internal/pages
package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"

	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
)

//go:generate go run . ../../..

// A page is a written page, with its source file. The text before the tables has the
// name of the page.
type page struct{ file, source string }

var pages = []page{
	{"examples/configuration.md", "schema/gavel.cue"},
	{"examples/server/configuration.md", "schema/server.cue"},
	{"examples/formats/testcase.md", "schema/testcase.cue"},
	{"examples/formats/promptval.md", "schema/promptval.cue"},
	{"examples/formats/domain.md", "schema/domain.cue"},
	{"examples/formats/evalcase.md", "schema/evalcase.cue"},
	{"examples/formats/matrix.md", "schema/matrix.cue"},
	{"examples/formats/skill.md", "schema/skill.cue"},
	{"examples/formats/checks.md", "schema/checks.cue"},
}

//go:embed text
var texts embed.FS

func main() {
	err := writeShapes(filepath.Join(os.Args[1], "schema"))
	for _, p := range pages {
		err = errors.Join(err, p.write(os.Args[1]))
	}
	err = errors.Join(err, writeIndex(os.Args[1]))
	if err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

// writeShapes writes a line for each definition of the schemas in a folder.
func writeShapes(folder string) error {
	schemas, err := cueeval.CompileSchemas(os.DirFS(folder))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, def := range schemas.Definitions() {
		s := schemas.Shape(def)
		if !s.Complete() {
			return fmt.Errorf("the shape of %s does not say all that the schema says", def)
		}
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s\t%s\n", def, text)
	}
	return os.WriteFile(filepath.Join(folder, "shapes.txt"), b.Bytes(), 0o644)
}

func (p page) write(root string) error {
	source, err := os.ReadFile(filepath.Join(root, p.source))
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(p.file, "examples/"), "/", "_"), ".md") + ".txt"
	text, err := texts.ReadFile("text/" + name)
	if err != nil {
		return err
	}
	tables, err := tables(p.source, source)
	if err != nil {
		return err
	}
	tables = elsewhere(tables)
	file := filepath.Join(root, p.file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.TrimRight(string(text), "\n")+"\n\n"+tables), 0o644)
}

// anyLink is a link of Markdown.
var anyLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// link returns a link to a section of the same page.
var link = regexp.MustCompile(`\]\(#([a-z0-9_]+)\)`)

// elsewhere makes links to definitions of gavel.yaml, which other files share, lead to
// its page.
func elsewhere(tables string) string {
	sections := strings.ToLower(tables)
	return link.ReplaceAllStringFunc(tables, func(found string) string {
		name := link.FindStringSubmatch(found)[1]
		if strings.Contains(sections, "## "+name+"\n") {
			return found
		}
		return "](../configuration.md#" + name + ")"
	})
}

// tables returns a section for each definition of a CUE file, with a row for each
// field.
func tables(name string, source []byte) (string, error) {
	file, err := parser.ParseFile(name, source, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, decl := range file.Decls {
		field, ok := decl.(*ast.Field)
		if !ok {
			continue
		}
		label, _, _ := ast.LabelName(field.Label)
		rows := rowsOf("", field.Value)
		if !strings.HasPrefix(label, "#") {
			continue
		}
		fmt.Fprintf(&out, "## %s\n\n", strings.TrimPrefix(label, "#"))
		if doc := docOf(field); doc != "" {
			out.WriteString(doc + "\n\n")
		}
		if len(rows) == 0 {
			out.WriteString("Value: " + valueOf(field.Value) + ".\n\n")
			continue
		}
		out.WriteString("| field | value | meaning |\n|:--|:--|:--|\n")
		for _, r := range rows {
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", r.name, r.value, r.doc)
		}
		out.WriteString("\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n", nil
}

// A row is one field.
type row struct{ name, value, doc string }

// rowsOf returns the fields of a struct; fields of inner structs are named by their
// path.
func rowsOf(path string, value ast.Expr) []row {
	var rows []row
	for _, s := range structs(value) {
		for _, elt := range s.Elts {
			if field, ok := elt.(*ast.Field); ok {
				rows = append(rows, rowsOfField(path, field)...)
			}
		}
	}
	return rows
}

// rowsOfField returns the rows of a field and of the fields below it. An object whose
// fields have rows has its own row only if it has a comment.
func rowsOfField(path string, field *ast.Field) []row {
	r := row{name: path + labelOf(field), value: escape(valueOf(field.Value)), doc: docOf(field)}
	below := rowsOf(r.name+".", field.Value)
	if len(below) > 0 && r.doc == "" {
		return below
	}
	if field.Constraint.String() == "!" {
		r.doc = strings.TrimSpace("Required. " + r.doc)
	}
	return append([]row{r}, below...)
}

// structs returns the structs that a value may be.
func structs(value ast.Expr) []*ast.StructLit {
	switch v := value.(type) {
	case *ast.StructLit:
		return []*ast.StructLit{v}
	case *ast.ParenExpr:
		return structs(v.X)
	case *ast.BinaryExpr:
		return append(structs(v.X), structs(v.Y)...)
	}
	return nil
}

// labelOf returns the name of a field; a field with any name is written *.
func labelOf(field *ast.Field) string {
	if name, _, err := ast.LabelName(field.Label); err == nil {
		return name
	}
	return "*"
}

// docOf returns the comment of a field in one line, without comments of the code that
// follow an empty line.
func docOf(field *ast.Field) string {
	var lines []string
	for _, group := range ast.Comments(field) {
		if !group.Doc {
			continue
		}
		for _, c := range group.List {
			lines = append(lines, strings.TrimSpace(strings.TrimPrefix(c.Text, "//")))
		}
	}
	return escape(strings.Join(lines, " "))
}

func escape(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
