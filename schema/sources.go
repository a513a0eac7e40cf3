package schema

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/schema/shape"
)

//go:embed *.cue
var sources embed.FS

// stored has a line for each definition: its name, a tab, and its shape as JSON.
//
//go:embed shapes.txt
var stored string

// storedShapes are the shapes as JSON by the names of their definitions.
var storedShapes = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(stored) {
		def, text, _ := strings.Cut(line, "\t")
		out[def] = text
	}
	return out
})

// builtin are the built-in schemas. Their shapes are stored; CUE compiles them when it is
// first asked, which takes far longer than checking a file.
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
	s := new(shape.Shape)
	if err := json.Unmarshal([]byte(storedShapes()[def]), s); err != nil {
		panic(fmt.Sprintf("the definition %s has no shape: %v; go generate ./cmd/internal/pages writes it", def, err))
	}
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

// Shapes returns what the built-in schemas say of each definition, for reading.
func Shapes() map[string]*shape.Shape {
	out := map[string]*shape.Shape{}
	for def := range storedShapes() {
		out[def] = builtin.shape(def)
	}
	return out
}

// Fields lists the fields of a built-in definition, in the order of its file.
func Fields(def string) []string { return builtin.shape(def).Names }
