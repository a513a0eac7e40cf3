package schema

import (
	"embed"
	"fmt"
	"sync"

	"github.com/gavel-evals/gavel/schema/shape"
)

//go:embed *.cue
var sources embed.FS

// checkers keeps Checkers that are not in use: compiling takes far longer than
// checking a file.
var checkers = sync.Pool{New: func() any {
	c, err := shape.New(sources)
	if err != nil {
		panic(fmt.Sprintf("the built-in schemas do not compile: %v", err))
	}
	return c
}}

// CUE gives the text of a built-in schema file, such as domain.cue.
func CUE(name string) (string, error) {
	src, err := sources.ReadFile(name)
	return string(src), err
}

// Sources gives every file of the built-in schemas by name.
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

// Shapes gives what the built-in schemas say of each definition. They are for
// reading.
func Shapes() map[string]*shape.Shape {
	c := checkers.Get().(*shape.Checker)
	defer checkers.Put(c)
	out := map[string]*shape.Shape{}
	for _, def := range c.Definitions() {
		out[def] = c.Shape(def)
	}
	return out
}

// Fields lists the fields of a definition of the built-in schemas, in the
// order of its file.
func Fields(def string) []string {
	c := checkers.Get().(*shape.Checker)
	defer checkers.Put(c)
	return c.Shape(def).Names
}
