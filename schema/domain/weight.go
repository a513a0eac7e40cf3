package domain

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/schema"
)

// weights sums up the weights of the active tests, by the folder of their level.
type weights struct {
	mu     sync.Mutex
	levels map[string]*levelWeight
}

type levelWeight struct {
	sum   float64
	tests int
	first schema.Position
	files map[string]bool
}

// weigh counts the tests of a file.
func (t *tree) weigh(d Definition) {
	t.weights.mu.Lock()
	defer t.weights.mu.Unlock()
	if t.weights.levels == nil {
		t.weights.levels = map[string]*levelWeight{}
	}
	dir := path.Dir(d.File)
	l := t.weights.levels[dir]
	if l == nil {
		l = &levelWeight{files: map[string]bool{}}
		t.weights.levels[dir] = l
	}
	l.files[d.File] = true
	for _, test := range d.Tests {
		switch c := test.Case; {
		case c == nil:
			l.sum++ // it is not known
		case c.Skip == "":
			l.sum += c.Weight
			l.tests++
			if l.first.File == "" || c.Origin.File < l.first.File {
				l.first = c.Origin
			}
		}
	}
}

// weightless reports levels in which all tests have weight 0, so that they have no
// score. If only some of the tests are loaded, the others are read.
func (t *tree) weightless() []schema.Problem {
	var problems []schema.Problem
	for _, dir := range slices.Sorted(maps.Keys(t.weights.levels)) {
		l := t.weights.levels[dir]
		if l.tests == 0 || l.sum > 0 || t.othersWeigh(dir, l.files) {
			continue
		}
		problems = append(problems, schema.Problem{
			Position: l.first, Severity: schema.Error, Rule: "weights",
			Message: fmt.Sprintf("the weights of the tests in %s sum to 0, so that the level has no score", dir), Hint: "give one of them a weight above 0",
		})
	}
	return problems
}

// othersWeigh reports whether a folder has a test with a weight above 0 outside of the
// files.
func (t *tree) othersWeigh(dir string, files map[string]bool) bool {
	entries, err := fs.ReadDir(t.FS, dir)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		file := path.Join(dir, entry.Name())
		if files[file] || !slices.Contains(extensions, path.Ext(file)) || !entry.Type().IsRegular() || t.role(file) != "test" {
			continue
		}
		def, _ := t.test(file)
		for _, test := range def.Tests {
			if test.Case == nil || test.Case.Skip == "" && test.Case.Weight > 0 {
				return true
			}
		}
	}
	return false
}
