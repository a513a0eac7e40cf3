package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/gavel-evals/gavel"

// A source is one Go file of the module.
type source struct {
	// path and dir are slash-separated and relative to the module's root.
	path, dir string
	data      []byte
	fset      *token.FileSet
	ast       *ast.File
}

func (s source) test() bool           { return strings.HasSuffix(s.path, "_test.go") }
func (s source) generated() bool      { return ast.IsGenerated(s.ast) }
func (s source) lines() int           { return s.fset.File(s.ast.FileStart).LineCount() }
func (s source) line(p token.Pos) int { return s.fset.Position(p).Line }

// length is how many lines a node takes.
func (s source) length(n ast.Node) int { return s.line(n.End()) - s.line(n.Pos()) + 1 }

// A finding is something that should be otherwise.
type finding struct {
	path    string
	line    int // 0 for the whole file or package
	message string
}

func (f finding) String() string {
	if f.line == 0 {
		return f.path + ": " + f.message
	}
	return fmt.Sprintf("%s:%d: %s", f.path, f.line, f.message)
}

// report joins findings, in the order of the files, to one error.
func report(found []finding) error {
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line), cmp.Compare(a.message, b.message))
	})
	errs := make([]error, len(found))
	for i, f := range found {
		errs[i] = errors.New(f.String())
	}
	return errors.Join(errs...)
}

// readSource parses every Go file below root but those in testdata and in
// folders that begin with a dot.
func readSource(root string) ([]source, error) {
	var files []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := parseSource(fset, filepath.ToSlash(rel), data)
		files = append(files, f)
		return err
	})
	return files, err
}

func parseSource(fset *token.FileSet, name string, data []byte) (source, error) {
	file, err := parser.ParseFile(fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, fmt.Errorf("parsing %s: %w", name, err)
	}
	return source{path: name, dir: path.Dir(name), data: data, fset: fset, ast: file}, nil
}

// foldersOf returns the folders that files are in, each once.
func foldersOf(files []source) []string {
	var dirs []string
	for _, f := range files {
		dirs = append(dirs, f.dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
