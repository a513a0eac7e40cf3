package schema

import (
	"embed"
	"fmt"
	"sync"

	"github.com/gavel-evals/gavel/schema/shape"
)

//go:embed *.cue
var sources embed.FS

// builtin are the built-in schemas, compiled when they are first asked for:
// that takes far longer than checking a file.
var builtin library

// A library keeps what was read off schemas. It may be used by many goroutines.
type library struct {
	shapes sync.Map // of *shape.Shape by definition

	mu      sync.Mutex
	checker *shape.Checker // guarded by mu
}

// shape returns that of a definition, which is for reading.
func (l *library) shape(def string) *shape.Shape {
	if s, ok := l.shapes.Load(def); ok {
		return s.(*shape.Shape)
	}
	var s *shape.Shape
	l.use(func(c *shape.Checker) { s = c.Shape(def) })
	l.shapes.Store(def, s)
	return s
}

// use lends the Checker, which one goroutine at a time may have.
func (l *library) use(f func(c *shape.Checker)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.checker == nil {
		c, err := shape.New(sources)
		if err != nil {
			panic(fmt.Sprintf("the built-in schemas do not compile: %v", err))
		}
		l.checker = c
	}
	f(l.checker)
}

// CUE returns the text of a built-in schema file, such as domain.cue.
func CUE(name string) (string, error) {
	src, err := sources.ReadFile(name)
	return string(src), err
}

// Sources returns every file of the built-in schemas by name.
func Sources() map[string]string {
	out := map[string]string{}
	entries, err := sources.ReadDir(".")
	for _, e := range entries {
		if text, readErr := CUE(e.Name()); err == nil && readErr == nil {
			out[e.Name()] = text
		}
	}
	return out
}

// Shapes returns what the built-in schemas say of each definition. They are for
// reading.
func Shapes() map[string]*shape.Shape {
	var defs []string
	builtin.use(func(c *shape.Checker) { defs = c.Definitions() })
	out := map[string]*shape.Shape{}
	for _, def := range defs {
		out[def] = builtin.shape(def)
	}
	return out
}

// Fields lists the fields of a definition of the built-in schemas, in the
// order of its file.
func Fields(def string) []string { return builtin.shape(def).Names }
