package matrix

import (
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// Code that may read the provider or the test of its context.
var (
	readsProvider = lazyregexp.New(`\bcontext\s*\??\.\s*provider|[{,]\s*provider|\bcontext\s*[^\s.?]|\bcontext\s*\?\.\[`)
	readsTest     = lazyregexp.New(`\bcontext\s*\??\.\s*test\b|[{,]\s*test\s*[,}:]|\bcontext\s*[^\s.?]|\bcontext\s*\?\.\[`)
)

// A scanner searches the code of functions, and remembers what it found: the rows of a
// file have the same code.
type scanner struct {
	found     map[string]use
	computing map[fileFunction]string
}

// A use is what code uses.
type use struct {
	// provider and test are parts of the context that it may read.
	provider, test bool
	// foreign is the name of something that only a program has, or empty.
	foreign string
}

// A fileFunction is a function of a file.
type fileFunction struct{ path, function string }

func newScanner() *scanner {
	return &scanner{found: map[string]use{}, computing: map[fileFunction]string{}}
}

// use returns what code uses.
func (s *scanner) use(code string) use {
	found, known := s.found[code]
	if !known {
		found = use{provider: readsProvider.MatchString(code), test: readsTest.MatchString(code), foreign: assertion.Foreign(code)}
		s.found[code] = found
	}
	return found
}

// file returns the code that calls a function of a file that only computes; empty for any
// other file.
func (s *scanner) file(file schema.File, function string) string {
	key := fileFunction{file.Path, function}
	code, known := s.computing[key]
	if !known {
		code = assertion.Computing(file, function)
		s.computing[key] = code
	}
	return code
}
