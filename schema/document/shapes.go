package document

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/shape"
)

// A storedShapes has the shapes as JSON by the names of their definitions.
type storedShapes struct {
	definitions []string // in the order of the files
	text        map[string]string
}

var shapes = sync.OnceValue(func() storedShapes {
	out := storedShapes{text: map[string]string{}}
	for line := range strings.Lines(schema.StoredShapes) {
		def, text, _ := strings.Cut(line, "\t")
		out.definitions = append(out.definitions, def)
		out.text[def] = text
	}
	return out
})

// readShapes are the stored shapes that were decoded: *shape.Shape by definition.
var readShapes sync.Map

// shapeOf returns the built-in shape of a definition, read-only.
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

// Shapes returns the built-in shape of each definition, read-only.
func Shapes() map[string]*shape.Shape {
	out := map[string]*shape.Shape{}
	for _, def := range shapes().definitions {
		out[def] = shapeOf(def)
	}
	return out
}

// Fields lists the fields of a built-in definition, in the order of its file.
func Fields(def string) []string { return shapeOf(def).Names }
