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

// A storedShapes has the shapes as JSON by the names of their definitions.
type storedShapes struct {
	definitions []string // in the order of the files
	text        map[string]string
}

var shapes = sync.OnceValue(func() storedShapes {
	out := storedShapes{text: map[string]string{}}
	for line := range strings.Lines(stored) {
		def, text, _ := strings.Cut(line, "\t")
		out.definitions = append(out.definitions, def)
		out.text[def] = text
	}
	return out
})

// readShapes are those that were read from the stored ones: *shape.Shape by definition.
var readShapes sync.Map

// shapeOf returns what the built-in schemas say of a definition, for reading.
func shapeOf(def string) *shape.Shape {
	if s, ok := readShapes.Load(def); ok {
		return s.(*shape.Shape)
	}
	s := new(shape.Shape)
	if err := json.Unmarshal([]byte(shapes().text[def]), s); err != nil {
		panic(fmt.Sprintf("the definition %s has no shape: %v; go generate ./cmd/internal/pages writes it", def, err))
	}
	readShapes.Store(def, s)
	return s
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
	for _, def := range shapes().definitions {
		out[def] = shapeOf(def)
	}
	return out
}

// Fields lists the fields of a built-in definition, in the order of its file.
func Fields(def string) []string { return shapeOf(def).Names }
