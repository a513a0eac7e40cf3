package document

import (
	"encoding/json"
	"fmt"
	"slices"
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

// parts are further fields that loaders check piece by piece. Other values fit them as well, so
// that a JSON Schema does not have these.
var parts = map[string]string{
	"#Evalcase.expected_output":         "[#EvalcaseMessage]",
	"#EvalcaseMessage.content":          "[#EvalcaseText #EvalcaseFile #EvalcaseImage #EvalcaseJSON]",
	"#EvalcaseMessage.tool_calls":       "[#EvalcaseToolCall #EvalcaseShortCall]",
	"#EvalcaseSuite.execution":          "#EvalcaseExecution",
	"#EvalcaseTests.execution":          "#EvalcaseTestExecution",
	"#EvalcaseSuite.evaluator":          "#EvalcaseEvaluator",
	"#EvalcaseTests.input":              "[#EvalcaseMessage]",
	"#EvalcaseTests.assertions":         "[#EvalcaseAssertion]",
	"#EvalcaseTests.assert":             "[#EvalcaseAssertion]",
	"#EvalcaseTests.evaluators":         "[#EvalcaseAssertion]",
	"#EvalcaseTests.workspace":          "#EvalcaseWorkspace",
	"#EvalcaseTestExecution.assertions": "[#EvalcaseAssertion]",
	"#EvalcaseTestExecution.assert":     "[#EvalcaseAssertion]",
	"#EvalcaseTestExecution.evaluators": "[#EvalcaseAssertion]",
	"#EvalcaseTest.input":               "[#EvalcaseMessage]",
	"#EvalcaseTest.input_messages":      "[#EvalcaseMessage]",
	"#EvalcaseTest.expected_output":     "[#EvalcaseMessage]",
	"#EvalcaseTest.expected_messages":   "[#EvalcaseMessage]",
	"#EvalcaseTest.assertions":          "[#EvalcaseAssertion]",
	"#EvalcaseTest.assert":              "[#EvalcaseAssertion]",
	"#EvalcaseTest.evaluators":          "[#EvalcaseAssertion]",
	"#EvalcaseTest.rubrics":             "[#EvalcaseRubric]",
	"#EvalcaseTest.turns":               "[#EvalcaseTurn]",
	"#EvalcaseTest.workspace":           "#EvalcaseWorkspace",
	"#EvalcaseTurn.input":               "[#EvalcaseMessage]",
	"#EvalcaseTurn.expected_output":     "[#EvalcaseMessage]",
	"#EvalcaseTurn.assertions":          "[#EvalcaseAssertion]",
	"#EvalcaseTurn.assert":              "[#EvalcaseAssertion]",
	"#EvalcaseAssertion.rubrics":        "[#EvalcaseRubric]",
	"#EvalcaseAssertion.criteria":       "[#EvalcaseRubric]",
	"#EvalcaseAssertion.expected":       "[#EvalcaseStep]",
	"#EvalcaseAssertion.assertions":     "[#EvalcaseAssertion]",
	"#EvalcaseAssertion.assert":         "[#EvalcaseAssertion]",
	"#EvalcaseAssertion.evaluators":     "[#EvalcaseAssertion]",
}

// Inner returns the definitions of a field, or of the items of its list, that loaders check
// piece by piece. A value has one of them.
func Inner(def, field string) []string {
	name := def + "." + field
	of := inner[name]
	if of == "" {
		of = parts[name]
	}
	return strings.Fields(strings.Trim(of, "[]"))
}

// OfType returns the definition of the objects of a type; def itself if it has no types, or not
// this one.
func OfType(def, kind string) string {
	if def != typed || !slices.Contains(shapeOf(def).Fields["type"].Enum, kind) {
		return def
	}
	for _, other := range shapes().definitions {
		if field := shapeOf(other).Fields["type"]; field != nil && slices.Equal(field.Enum, []string{kind}) {
			return other
		}
	}
	return def
}
